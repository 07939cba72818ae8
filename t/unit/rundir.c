/* rundir.c - run directories, also with hostile files in them
 *
 * If root runs this test, the user is another one; else we play both.
 */
#define _GNU_SOURCE /* setns */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"

#include "common/node/rundir.h"
#include "t/lib/unit/tap.h"

#define JOB 812

static char top[] = "/tmp/egs-rundir.XXXXXX";
static char node_dir[64];
static uid_t user;
static int dirs;
static uint32_t size_kib; /* 0: a plain directory */

/* Run a shell command as the user, in the run directory. */
static void as_user(const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "cd %s/n1/%d/dir 2>/dev/null || exit 1; %s", node_dir, JOB,
		 command);
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

static bool make(uid_t uid, bool replace)
{
	const struct egs_rundir_spec spec = {
		.job = JOB,
		.uid = uid,
		.gid = geteuid() == 0 ? uid : getegid(),
		.size_kib = size_kib,
		.inodes = 64,
	};
	struct egs_err err;

	if (egs_rundir_make(dirs, &spec, replace, &err) == 0)
		return true;
	note("%s", err.msg);
	return false;
}

static void test_making(void)
{
	struct egs_rundir dir, again;
	struct stat is;

	ok(make(user, false), "a run directory is made");
	dir = open_it();
	ok(fstat(dir.fd, &is) == 0 && is.st_uid == user &&
		   (is.st_mode & 07777) == 0700,
	   "only its user can open a run directory");
	ok(fstatat(dir.fd, "flag", &is, 0) == 0 &&
		   is.st_size == EGS_RUNDIR_FLAG_SIZE,
	   "a new run directory has a flag");
	ok(fstatat(dir.fd, "out", &is, 0) == 0 && is.st_uid == user,
	   "a new run directory has out/ for messages of the job");
	ok(make(user, false), "a second step of the job succeeds");
	again = open_it();
	ok(again.inode == dir.inode, "a second step uses the same directory");
	egs_rundir_close(&again);
	ok(make(user, true), "a restart of the job succeeds");
	again = open_it();
	ok(again.inode != dir.inode, "a restarted job gets a new directory");
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
	   "users can enter a node's directory, whatever the umask");
	close(fd);
}

static void test_reuse(void)
{
	struct egs_rundir dir;

	if (geteuid() != 0) {
		ok(1, "# SKIP needs root, to have two users");
		return;
	}
	ok(make(user + 1, false),
	   "an id is used again by a job of another user");
	dir = open_it();
	ok(dir.uid == user + 1, "the other user gets another directory");
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
	is_int(nseen, 1, "files with a dot in their name are not messages");
	is_str(seen[0], "m-1", "a message is found");
	is_int((int)egs_rundir_read_message(&dir, "m-1", text), 6,
	       "a message is read");
	is_str(text, "hello\n", "the whole message is read");
	ok(egs_rundir_drop_message(&dir, "m-1") == 0 &&
		   read_it(&dir, "m-1") < 0,
	   "a message is removed");
	ok(egs_rundir_write_answer(&dir, "m-1", "{}", 2) == 0,
	   "an answer is written");
	as_user("test \"$(cat in/m-1)\" = {} && mv in/m-1 out/got");
	ok(read_it(&dir, "got") == 2, "the user can read the answer");
	egs_rundir_drop_message(&dir, "got");
	egs_rundir_close(&dir);
}

static void test_planted(void)
{
	struct egs_rundir dir = open_it();

	as_user("head -c 4097 /dev/zero >out/long; mkfifo out/fifo; "
		"mkdir out/dir; ln -s /etc/passwd out/link; "
		"ln -s ../flag out/loop");
	ok(read_it(&dir, "long") < 0, "a message that is too long is refused");
	ok(read_it(&dir, "fifo") < 0, "a FIFO is refused, without waiting");
	ok(read_it(&dir, "dir") < 0, "a directory is refused");
	ok(read_it(&dir, "link") < 0, "a link to a file of root is refused");
	ok(read_it(&dir, "loop") < 0,
	   "a link to a file of the user is refused");
	as_user("head -c 4096 /dev/zero >out/most");
	is_int((int)read_it(&dir, "most"), 4096, "the longest message is read");

	as_user("rm -rf in; ln -s /etc in");
	ok(egs_rundir_write_answer(&dir, "planted", "{}", 2) < 0,
	   "an answer does not follow a link in place of in/");
	as_user("rm in; mkdir in; ln -s /etc/planted in/x; mkdir in/d");
	ok(egs_rundir_write_answer(&dir, "x", "{}", 2) == 0,
	   "an answer replaces a link");
	ok(access("/etc/planted", F_OK) < 0,
	   "an answer is not written through a link");
	ok(egs_rundir_write_answer(&dir, "d", "{}", 2) < 0,
	   "an answer does not replace a directory");
	as_user("mkdir in/.y.new");
	ok(egs_rundir_write_answer(&dir, "y", "{}", 2) < 0,
	   "a directory in place of the temporary file is an error");
	as_user("rm -rf out; mkfifo out");
	nseen = 0;
	egs_rundir_each_message(&dir, see, NULL);
	is_int(nseen, 0, "a FIFO in place of out/ has no messages");
	as_user("rm out; mkdir out; echo x >out/m; chmod 0 out");
	ok(geteuid() != 0 || (egs_rundir_drop_message(&dir, "m") < 0),
	   "a file that the user may not remove stays");
	as_user("chmod 700 out");
	egs_rundir_close(&dir);
}

/* ---- notices ---- */

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

static void test_notices(void)
{
	struct egs_rundir dir = open_it();
	struct egs_rundir_notice r = { .number = 17,
				       .kind = EGS_NOTICE_SHRINK,
				       .gpus = 2,
				       .deadline_s = 1000,
				       .reason = "a\nb" };
	struct egs_rundir_flag flag;

	is_int(egs_rundir_write_notice(&dir, &r), 0, "a notice is written");
	flag = flag_of(&dir);
	ok(memcmp(flag.magic, EGS_RUNDIR_FLAG_MAGIC, 8) == 0 &&
		   flag.notice == 17 && flag.kind == EGS_NOTICE_SHRINK &&
		   flag.gpus == 2 && flag.deadline == 1000,
	   "the flag has the notice");
	as_user("printf \"request=17\\nkind=shrink\\ngpus=2\\n"
		"deadline=1000\\nreason=a?b\\n\" | cmp - request && "
		": >out/same");
	ok(read_it(&dir, "same") == 0, "the file has the notice as text");
	r = (struct egs_rundir_notice){ .number = 0 };
	is_int(egs_rundir_write_notice(&dir, &r), 0, "a notice is withdrawn");
	ok(flag_of(&dir).notice == 0 && flag_of(&dir).gpus == 0,
	   "a withdrawn notice clears the flag");
	ok(faccessat(dir.fd, "request", F_OK, 0) < 0,
	   "a withdrawn notice removes the file");

	as_user("rm flag; ln -s /etc/passwd flag; mkdir request");
	r = (struct egs_rundir_notice){ .number = 18,
					.kind = EGS_NOTICE_YIELD };
	ok(egs_rundir_write_notice(&dir, &r) < 0,
	   "a link in place of the flag is refused");
	as_user("rm flag; mkfifo flag");
	ok(egs_rundir_write_notice(&dir, &r) < 0,
	   "a FIFO in place of the flag is refused");
	as_user("rm flag; rmdir request");
	is_int(egs_rundir_write_notice(&dir, &r), 0,
	       "a missing flag is created");
	is_int((int)flag_of(&dir).notice, 18, "the new flag has the notice");
	egs_rundir_close(&dir);
}

/* ---- the end ---- */

/* One call has a limit of time, and the next one continues. */
static bool clean_all(struct egs_err *err)
{
	for (int i = 0; i < 200; i++)
		if (egs_rundirs_clean(dirs, err) == 0)
			return true;
	return false;
}

static void test_removal(void)
{
	char path[160];
	struct egs_err err = { "" };
	struct egs_rundir dir;
	struct stat is;

	snprintf(path, sizeof(path), "%s/mine", top);
	mkdir(path, 0700);
	as_user("mkdir -p a/b/c/.egs-0/d .egs-1/x a/.egs-1/y; touch a/b/f; "
		"ln -s ../../../mine a/b/link; mkfifo a/p; "
		"chmod 0 a/b/c; chmod 500 a");
	as_user("i=0; while test $i -lt 300; do mkdir deep && cd deep || "
		"exit 1; i=$((i+1)); done");
	is_int(egs_rundir_retire(dirs, JOB), 0,
	       "the directory of a job that has ended is retired");
	ok(egs_rundir_open(dirs, JOB, &dir) < 0,
	   "a job has no directory after that");
	ok(clean_all(&err), "retired directories are removed %s", err.msg);
	snprintf(path, sizeof(path), "rmdir %s/n1 %s/n2", node_dir, node_dir);
	ok(system(path) == 0, "the node's directory is empty after that");
	snprintf(path, sizeof(path), "%s/mine", top);
	ok(stat(path, &is) == 0, "the target of a link is not removed");
}

/* ---- a file system of its own ---- */

static bool is_gone(void)
{
	struct egs_err err = { "" };
	char path[160];

	if (!clean_all(&err))
		note("%s", err.msg);
	snprintf(path, sizeof(path), "test -z \"$(ls -A %s/n1)\"", node_dir);
	return system(path) == 0;
}

static void test_limits(void)
{
	struct egs_rundir dir = open_it();
	struct statvfs is;

	ok(fstatvfs(dir.fd, &is) == 0 && is.f_files == 64 &&
		   is.f_blocks * is.f_bsize == size_kib * 1024,
	   "a run directory has a limit of size and files");
	as_user("head -c 1M /dev/zero >big 2>/dev/null; "
		"test $(stat -c %s big) -le 131072 && rm big && : >out/full");
	ok(read_it(&dir, "full") == 0,
	   "a job cannot write more than the size of its run directory");
	as_user("i=0; while touch out/.$i; do i=$((i+1)); done 2>/dev/null; "
		"test $i -lt 64 && rm out/.1 && touch out/many");
	ok(read_it(&dir, "many") == 0,
	   "a job cannot make more files than its run directory may have");
	egs_rundir_close(&dir);
}

/* It keeps its working directory in the run directory and adds files. */
static pid_t start_writer(void)
{
	pid_t pid = fork();
	char path[100];

	if (pid != 0)
		return pid;
	snprintf(path, sizeof(path), "%s/n1/%d/dir", node_dir, JOB);
	if (chdir(path) < 0 || setgid(user) < 0 || setuid(user) < 0)
		_exit(1);
	for (unsigned i = 0;; i++) {
		char name[16];
		int fd;

		snprintf(name, sizeof(name), "%u", i % 32);
		fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd >= 0)
			close(fd);
	}
}

static void test_writer(void)
{
	pid_t writer = start_writer();

	egs_rundir_retire(dirs, JOB);
	ok(is_gone(), "a process that writes does not prevent the removal");
	ok(kill(writer, 0) == 0, "the process that writes goes on");
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	make(user, false);
	egs_rundir_retire(dirs, JOB);
	egs_rundirs_unmount_retired(dirs);
	ok(is_gone(), "a retired directory is unmounted before the next step");
}

/* A mount namespace that does not get later mounts, as Slurm makes for a job.
 * Returns the process that keeps it.
 */
static pid_t make_namespace(void)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	if (pipe(ready) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(ready[0]);
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0 ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		note("no mount namespace");
	close(ready[0]);
	return pid;
}

/* In a process that has joined the namespace: show what 'held' holds. */
static int show_in_namespace(pid_t keeper, int held)
{
	char ns[64], path[100];
	struct stat is, there;
	int fd;

	snprintf(ns, sizeof(ns), "/proc/%d/ns/mnt", (int)keeper);
	snprintf(path, sizeof(path), "%s/n1/%d/dir", node_dir, JOB);
	fd = open(ns, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNS) < 0 || fstat(held, &is) < 0 ||
	    stat(path, &there) < 0 || there.st_dev == is.st_dev)
		return 1;
	if (egs_rundir_show(held, path) < 0 || stat(path, &there) < 0 ||
	    there.st_dev != is.st_dev)
		return 2;
	return egs_rundir_show(held, path) < 0 ? 3 : 0;
}

static void test_namespace(void)
{
	pid_t keeper = make_namespace(), pid;
	int held, status = -1;

	make(user, true);
	held = egs_rundir_hold(dirs, JOB);
	if (held < 0 && errno == ENOSYS) {
		ok(true, "Linux before 5.2 cannot hold a mount # SKIP");
	} else {
		pid = fork();
		if (pid == 0)
			_exit(show_in_namespace(keeper, held));
		waitpid(pid, &status, 0);
		is_int(status, 0,
		       "a job with an older mount namespace gets its run "
		       "directory");
		close(held);
	}
	kill(keeper, SIGKILL);
	waitpid(keeper, NULL, 0);
}

/* ---- mounts of the user ---- */

/* Mount FUSE on 'name' in the run directory, as fusermount does for the user.
 * No process answers its requests.  Returns its file, or -1: no FUSE here.
 */
static int mount_fuse(const char *name)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char path[160], options[160];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/n1/%d/dir%s", node_dir, JOB, name);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", fd,
		 (int)user, (int)user);
	if (mount("egs-test", path, "fuse", MS_NOSUID | MS_NODEV, options) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The directory of the job cannot be opened, is retired and goes. */
static void check_covered(const char *what)
{
	struct egs_rundir dir;

	alarm(20); /* a request to FUSE waits for ever */
	ok(egs_rundir_open(dirs, JOB, &dir) < 0,
	   "a run directory under %s is not opened", what);
	egs_rundir_retire_unusable(dirs, JOB);
	ok(is_gone(), "a run directory under %s is removed", what);
	ok(make(user, false), "after %s the next step has a run directory",
	   what);
	alarm(0);
}

/* A file system in out/ is not asked, and goes with the directory. */
static void check_mounted_inside(const char *what)
{
	struct egs_rundir dir = open_it();

	alarm(20);
	ok(egs_rundir_open_out(&dir) < 0, "%s on out/ is not opened", what);
	egs_rundir_close(&dir);
	egs_rundir_retire(dirs, JOB);
	ok(is_gone(), "a run directory with %s on out/ is removed", what);
	alarm(0);
	make(user, false);
}

static void test_user_mounts(void)
{
	int fuse[20], n = 0;

	make(user, true);
	fuse[n++] = mount_fuse("");
	if (fuse[0] < 0) {
		ok(true,
		   "a run directory under FUSE is removed # SKIP no FUSE");
		return;
	}
	check_covered("FUSE");
	while (n < (int)ARRAY_SIZE(fuse))
		fuse[n++] = mount_fuse("");
	check_covered("19 file systems of FUSE");
	for (int i = 0; i < n; i++)
		close(fuse[i]);
	fuse[0] = mount_fuse("/out");
	check_mounted_inside("FUSE");
	close(fuse[0]);
	size_kib = 0;
	make(user, true);
	fuse[0] = mount_fuse("/out");
	check_mounted_inside("FUSE in a plain directory");
	close(fuse[0]);
	fuse[0] = mount_fuse("");
	check_covered("FUSE on a plain directory");
	close(fuse[0]);
}

static void test_file_system(void)
{
	if (geteuid() != 0) {
		ok(true, "only root can mount # SKIP");
		return;
	}
	size_kib = 128;
	dirs = egs_rundir_open_node_dir(node_dir, "n1", NULL);
	if (!make(user, false)) {
		ok(true, "this root cannot mount # SKIP");
		return;
	}
	test_messages();
	test_planted();
	test_notices();
	test_namespace();
	test_limits();
	test_writer();
	test_user_mounts();
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
	if (!ok(dirs >= 0, "the node's directory is made %s", err.msg))
		return done_testing();
	test_making();
	test_umask();
	test_reuse();
	test_refusals();
	test_messages();
	test_planted();
	test_notices();
	test_removal();
	test_file_system();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command) != 0)
		return 1;
	return done_testing();
}
