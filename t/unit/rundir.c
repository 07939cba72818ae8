/* rundir.c - run directories, and users who put odd things there
 *
 * As root the user is another one than we are; else we play both.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/node/as_user.h"
#include "common/node/rundir.h"
#include "t/lib/unit/tap.h"

#define JOB 812

static char top[] = "/tmp/egs-rundir.XXXXXX";
static char node_dir[64];
static uid_t user;
static int dirs;

/* As the user, in the run directory: run a command of the shell. */
static void as_user(const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text), "cd %s/n1/%d 2>/dev/null || exit 1; %s",
		 node_dir, JOB, command);
	egs_as_user_end();
	if (geteuid() == 0) {
		char whole[1200];

		snprintf(whole, sizeof(whole),
			 "setpriv --reuid=%d --regid=%d --clear-groups "
			 "sh -c '%s'",
			 (int)user, (int)user, text);
		if (system(whole) != 0)
			note("failed: %s", command);
		return;
	}
	if (system(text) != 0)
		note("failed: %s", command);
}

static struct egs_rundir open_it(void)
{
	struct egs_rundir dir = { .fd = -1 };

	ok(egs_rundir_open(dirs, JOB, &dir) == 0, "there is a run directory");
	return dir;
}

static bool make(uid_t uid, bool anew)
{
	gid_t gid = geteuid() == 0 ? uid : getegid();
	struct egs_err err;

	return egs_rundir_make(dirs, JOB, uid, gid, anew, &err) == 0;
}

static void test_making(void)
{
	struct egs_rundir dir, again;
	struct stat is;

	ok(make(user, false), "a run directory is made");
	dir = open_it();
	ok(fstat(dir.fd, &is) == 0 && is.st_uid == user &&
		   (is.st_mode & 07777) == 0700,
	   "for its user alone");
	ok(fstatat(dir.fd, "flag", &is, 0) == 0 &&
		   is.st_size == EGS_RUNDIR_FLAG_SIZE,
	   "with a flag");
	ok(fstatat(dir.fd, "out", &is, 0) == 0 && is.st_uid == user,
	   "and a place for what the job says");
	ok(make(user, false), "another step makes none");
	again = open_it();
	ok(again.inode == dir.inode, "for there is one");
	egs_rundir_close(&again);
	ok(make(user, true), "but another run of the job does");
	again = open_it();
	ok(again.inode != dir.inode, "so nothing of the last is in it");
	egs_rundir_close(&again);
	egs_rundir_close(&dir);
}

static void test_umask(void)
{
	mode_t was = umask(077);
	int fd = egs_rundir_open_node_dir(node_dir, "n2", NULL);
	struct stat is;

	umask(was);
	ok(fstat(fd, &is) == 0 && (is.st_mode & 07777) == 0755,
	   "a node's directory is open to users, whatever the umask");
	close(fd);
}

static void test_reuse(void)
{
	struct egs_rundir dir;

	if (geteuid() != 0) {
		ok(1, "# SKIP one user is not enough");
		return;
	}
	ok(make(user + 1, false), "an id goes to a job of another user");
	dir = open_it();
	ok(dir.uid == user + 1, "who gets another directory");
	egs_rundir_close(&dir);
	make(user, false);
}

static void test_refusals(void)
{
	static const char *const names[] = { "",    ".",   "..",  ".hidden",
					     "a/b", "a b", "a\nb" };
	struct egs_err err;
	char path[80];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ok(egs_rundir_open_node_dir(node_dir, names[i], &err) < 0, "%s",
		   err.msg);
	ok(egs_rundir_open_node_dir("/nonexistent/dir", "n1", &err) < 0, "%s",
	   err.msg);
	snprintf(path, sizeof(path), "%s/open", top);
	mkdir(path, 0777);
	chmod(path, 0777);
	ok(egs_rundir_open_node_dir(path, "n1", &err) < 0, "%s", err.msg);
	snprintf(path, sizeof(path), "%s/link", top);
	ok(symlink(node_dir, path) == 0 &&
		   egs_rundir_open_node_dir(path, "n1", &err) < 0,
	   "%s", err.msg);
}

/* ---- messages ---- */

static int nseen;
static char seen[16][EGS_RUNDIR_NAME_MAX + 1];

static void see(void *arg, const char *name)
{
	(void)arg;
	if (nseen < (int)ARRAY_SIZE(seen))
		snprintf(seen[nseen], sizeof(seen[0]), "%s", name);
	nseen++;
}

static ssize_t read_it(const struct egs_rundir *dir, const char *name)
{
	char text[EGS_RUNDIR_MESSAGE_MAX + 1];

	return egs_rundir_read_message(dir, name, text);
}

static void test_messages(void)
{
	struct egs_rundir dir = open_it();
	char text[EGS_RUNDIR_MESSAGE_MAX + 1];

	as_user("echo hello >out/m-1; echo x >out/.hidden; echo x >out/a.b");
	nseen = 0;
	egs_rundir_each_message(&dir, see, NULL);
	is_int(nseen, 1, "a message has a name without a dot");
	is_str(seen[0], "m-1", "and is found");
	is_int((int)egs_rundir_read_message(&dir, "m-1", text), 6,
	       "it is read");
	is_str(text, "hello\n", "to its end");
	ok(egs_rundir_drop_message(&dir, "m-1") == 0 &&
		   read_it(&dir, "m-1") < 0,
	   "and removed");
	ok(egs_rundir_write_answer(&dir, "m-1", "{}", 2) == 0,
	   "it is answered");
	as_user("test \"$(cat in/m-1)\" = {} && mv in/m-1 out/got");
	ok(read_it(&dir, "got") == 2, "to the user");
	egs_rundir_drop_message(&dir, "got");
	egs_rundir_close(&dir);
}

static void test_planted(void)
{
	struct egs_rundir dir = open_it();

	as_user("head -c 4097 /dev/zero >out/long; mkfifo out/fifo; "
		"mkdir out/dir; ln -s /etc/passwd out/link; "
		"ln -s ../flag out/loop");
	ok(read_it(&dir, "long") < 0, "what is too long is no message");
	ok(read_it(&dir, "fifo") < 0, "nor is a FIFO, which is not waited for");
	ok(read_it(&dir, "dir") < 0, "nor a directory");
	ok(read_it(&dir, "link") < 0, "nor a link to somewhere else");
	ok(read_it(&dir, "loop") < 0, "nor one to a file of the user's");
	as_user("head -c 4096 /dev/zero >out/most");
	is_int((int)read_it(&dir, "most"), 4096, "so much may be in one");

	as_user("rm -rf in; ln -s /etc in");
	ok(egs_rundir_write_answer(&dir, "planted", "{}", 2) < 0,
	   "an answer follows no link");
	as_user("rm in; mkdir in; ln -s /etc/planted in/x; mkdir in/d");
	ok(egs_rundir_write_answer(&dir, "x", "{}", 2) == 0, "it replaces one");
	ok(access("/etc/planted", F_OK) < 0, "and does not write through it");
	ok(egs_rundir_write_answer(&dir, "d", "{}", 2) < 0,
	   "a directory is in its way");
	as_user("mkdir in/.y.new");
	ok(egs_rundir_write_answer(&dir, "y", "{}", 2) < 0,
	   "and another, where it is written");
	as_user("rm -rf out; mkfifo out");
	nseen = 0;
	egs_rundir_each_message(&dir, see, NULL);
	is_int(nseen, 0, "a job that says nothing is heard");
	as_user("rm out; mkdir out; echo x >out/m; chmod 0 out");
	ok(geteuid() != 0 || (egs_rundir_drop_message(&dir, "m") < 0),
	   "what the user may not, we may not");
	as_user("chmod 700 out");
	egs_rundir_close(&dir);
}

/* ---- requests ---- */

static struct egs_rundir_flag flag_of(const struct egs_rundir *dir)
{
	struct egs_rundir_flag flag = { .notice = 99 };
	int fd = openat(dir->fd, "flag", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &flag, sizeof(flag)) != sizeof(flag))
		flag.notice = 98;
	if (fd >= 0)
		close(fd);
	return flag;
}

static void test_requests(void)
{
	struct egs_rundir dir = open_it();
	struct egs_rundir_notice r = { .number = 17,
				       .kind = EGS_NOTICE_SHRINK,
				       .gpus = 2,
				       .deadline_s = 1000,
				       .reason = "a\nb" };
	struct egs_rundir_flag flag;

	is_int(egs_rundir_write_notice(&dir, &r), 0, "a request is told");
	flag = flag_of(&dir);
	ok(memcmp(flag.magic, EGS_RUNDIR_FLAG_MAGIC, 8) == 0 &&
		   flag.notice == 17 && flag.kind == EGS_NOTICE_SHRINK &&
		   flag.gpus == 2 && flag.deadline == 1000,
	   "by the flag");
	as_user("printf \"request=17\\nkind=shrink\\ngpus=2\\n"
		"deadline=1000\\nreason=a?b\\n\" | cmp - request && "
		": >out/same");
	ok(read_it(&dir, "same") == 0, "and in words, on a line each");
	r = (struct egs_rundir_notice){ .number = 0 };
	is_int(egs_rundir_write_notice(&dir, &r), 0, "it is over");
	ok(flag_of(&dir).notice == 0 && flag_of(&dir).gpus == 0,
	   "the flag says so");
	ok(faccessat(dir.fd, "request", F_OK, 0) < 0, "the words are gone");

	as_user("rm flag; ln -s /etc/passwd flag; mkdir request");
	r = (struct egs_rundir_notice){ .number = 18,
					.kind = EGS_NOTICE_YIELD };
	ok(egs_rundir_write_notice(&dir, &r) < 0, "a link is no flag");
	as_user("rm flag; mkfifo flag");
	ok(egs_rundir_write_notice(&dir, &r) < 0, "nor is a FIFO");
	as_user("rm flag; rmdir request");
	is_int(egs_rundir_write_notice(&dir, &r), 0,
	       "one that is missing is made");
	is_int((int)flag_of(&dir).notice, 18, "and set");
	egs_rundir_close(&dir);
}

/* ---- the end ---- */

static void test_removal(void)
{
	char name[64], path[160];
	struct egs_err err = { "" };
	struct egs_rundir dir;
	struct stat is;
	FILE *list;

	snprintf(path, sizeof(path), "%s/mine", top);
	mkdir(path, 0700);
	as_user("mkdir -p a/b/c/.egs-0/d .egs-1/x a/.egs-1/y; touch a/b/f; "
		"ln -s ../../../mine a/b/link; mkfifo a/p; "
		"chmod 0 a/b/c; chmod 500 a");
	as_user("i=0; while test $i -lt 300; do mkdir deep && cd deep || "
		"exit 1; i=$((i+1)); done");
	is_int(egs_rundir_retire(dirs, JOB), 0, "a job has ended");
	ok(egs_rundir_open(dirs, JOB, &dir) < 0, "it has no directory");
	snprintf(path, sizeof(path), "ls -A %s/n1 | grep ^.gone-%d", node_dir,
		 JOB);
	list = popen(path, "r");
	while (list && fscanf(list, "%63s", name) == 1)
		ok(egs_rundir_remove(dirs, name, &err) == 0,
		   "all that was put aside goes %s", err.msg);
	if (list)
		pclose(list);
	snprintf(path, sizeof(path), "rmdir %s/n1 %s/n2", node_dir, node_dir);
	ok(system(path) == 0, "nothing is left");
	snprintf(path, sizeof(path), "%s/mine", top);
	ok(stat(path, &is) == 0, "but what a link led to");
}

int main(void)
{
	char command[80];
	struct egs_err err = { "" };

	plan_none();
	user = geteuid() == 0 ? 64999 : geteuid();
	if (!mkdtemp(top) || chmod(top, 0755) < 0)
		return 1;
	snprintf(node_dir, sizeof(node_dir), "%s/node", top);
	dirs = egs_rundir_open_node_dir(node_dir, "n1", &err);
	if (!ok(dirs >= 0, "a node has a directory %s", err.msg))
		return done_testing();
	test_making();
	test_umask();
	test_reuse();
	test_refusals();
	test_messages();
	test_planted();
	test_requests();
	test_removal();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command) != 0)
		return 1;
	return done_testing();
}
