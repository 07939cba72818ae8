/* rundir_owner.c - who makes and who empties a run directory
 *
 * If root runs this test, the user is another one; else we play both.
 */
#define _GNU_SOURCE /* syscall */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/node/rundir.h"
#include "t/lib/unit/tap.h"

static char top[] = "/tmp/egs-rundir-owner.XXXXXX";
static struct egs_rundir_spec spec = { .job = 812 };
static int dirs;

/* ---- two steps at a time ---- */

static bool other_step_comes;

/* Before a new directory gets its name, another step makes one. */
int renameat(int oldfd, const char *old, int newfd, const char *new)
{
	if (other_step_comes) {
		other_step_comes = false;
		is_int(egs_rundir_make(dirs, &spec, false, NULL), 0,
		       "another step makes the directory first");
	}
	return (int)syscall(SYS_renameat2, oldfd, old, newfd, new, 0);
}

static void test_simultaneous_steps(void)
{
	struct egs_err err = { "" };

	other_step_comes = true;
	is_int(egs_rundir_make(dirs, &spec, false, &err), 0,
	       "the directory that another step made meanwhile is used");
	is_str(err.msg, "", "two steps that start together meet no error");
	egs_rundir_retire(dirs, spec.job);
	is_int(egs_rundirs_clean(dirs, &err), 0, "both directories go %s",
	       err.msg);
}

/* ---- the rights of the owner ---- */

/* Processes of the user may be at work in there: root itself does nothing. */
static void test_removal(void)
{
	struct egs_err err = { "" };
	struct egs_rundir dir;
	struct stat is;
	int fd;

	egs_rundir_make(dirs, &spec, false, &err);
	if (geteuid() != 0 || egs_rundir_open(dirs, spec.job, &dir) < 0) {
		ok(true, "root empties no directory as root # SKIP no root");
		return;
	}
	mkdirat(dir.fd, "of-root", 0755);
	fd = openat(dir.fd, "of-root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(openat(fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	egs_rundir_close(&dir);
	egs_rundir_retire(dirs, spec.job);
	ok(egs_rundirs_clean(dirs, &err) < 0 &&
		   faccessat(fd, "file", F_OK, 0) == 0,
	   "root removes only what the owner of a directory may: %s", err.msg);
	ok(fstatat(fd, "../../device", &is, AT_SYMLINK_NOFOLLOW) == 0,
	   "the device of a directory that is left stays known");
	ok(fchown(fd, spec.uid, spec.gid) == 0 &&
		   egs_rundirs_clean(dirs, &err) == 0,
	   "the rest goes when the owner may remove it");
	close(fd);
}

int main(void)
{
	char command[80];
	struct egs_err err = { "" };

	plan_none();
	spec.uid = geteuid() == 0 ? 64999 : geteuid();
	spec.gid = geteuid() == 0 ? 64999 : getegid();
	if (!mkdtemp(top) || chmod(top, 0755) < 0)
		return 1;
	dirs = egs_rundir_open_node_dir(top, "n1", &err);
	if (!ok(dirs >= 0, "the directory of the node is made %s", err.msg))
		return done_testing();
	test_simultaneous_steps();
	test_removal();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command) != 0)
		return 1;
	return done_testing();
}
