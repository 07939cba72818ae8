/* save_program.c - the save program of a job is kept on its node, for its user
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/node/rundir.h"
#include "common/node/save_program.h"
#include "t/lib/unit/tap.h"

#define JOB  812
#define USER 64001

static char top[] = "/tmp/egs-save-program.XXXXXX";
static int dirs;

/* The program of the job for 'uid', or why there is none. */
static const char *read_it(uid_t uid)
{
	static char program[EGS_SAVE_PROGRAM_SIZE];
	static struct egs_err err;

	return egs_save_program_read(dirs, JOB, uid, program, &err) == 0
		       ? program
		       : err.msg;
}

static void write_file(const char *text)
{
	int fd = openat(dirs, ".save-812", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		exit(1);
	close(fd);
}

static void test_keeping(void)
{
	struct egs_err err = { "" };
	char path[80];

	is_str(read_it(USER),
	       "no step of the job on this node had --ckpt=cmd:PROGRAM",
	       "a job without a program has none");
	is_int(egs_save_program_keep(dirs, JOB, USER, "./save", false, &err), 0,
	       "a program is kept %s", err.msg);
	is_str(read_it(USER), "./save", "the kept program is read");
	is_str(read_it(USER + 1), "the program on this node is of uid 64001",
	       "another user does not get the program");
	egs_save_program_keep(dirs, JOB, USER, "./other", false, &err);
	is_str(read_it(USER), "./save", "a later step does not change it");
	egs_save_program_keep(dirs, JOB, USER, "", false, &err);
	is_str(read_it(USER), "./save",
	       "a later step without a program does not remove it");
	egs_save_program_keep(dirs, JOB, USER, "./other", true, &err);
	is_str(read_it(USER), "./other", "a new run of the job replaces it");
	egs_save_program_keep(dirs, JOB, USER + 1, "./theirs", false, &err);
	is_str(read_it(USER + 1), "./theirs",
	       "the program of an earlier job with this id is replaced");
	snprintf(path, sizeof(path), "%065d", 1);
	is_int(egs_save_program_keep(dirs, JOB, USER, path, true, &err), -1,
	       "a program of 65 bytes is refused");
	is_str(err.msg, "the program has more than 64 bytes",
	       "the refusal names the limit");
	egs_save_program_keep(dirs, JOB, USER, "", true, &err);
	ok(strstr(read_it(USER), "no step"),
	   "a new run without a program has none");
}

static void test_bad_files(void)
{
	char text[200];

	write_file("");
	ok(strstr(read_it(USER), "of uid 0"), "an empty file is refused");
	write_file("64001\n\n");
	ok(strstr(read_it(USER), "not valid"),
	   "a file without a program is refused");
	snprintf(text, sizeof(text), "64001\n%0100d\n", 1);
	write_file(text);
	ok(strstr(read_it(USER), "not valid"),
	   "a program that is too long is refused");
	unlinkat(dirs, ".save-812", 0);
	if (symlinkat("/etc/passwd", dirs, ".save-812") < 0)
		exit(1);
	ok(strstr(read_it(USER), "no step"), "a symbolic link is refused");
	unlinkat(dirs, ".save-812", 0);
}

static void test_retired(void)
{
	struct egs_err err;

	egs_save_program_keep(dirs, JOB, USER, "./save", true, &err);
	egs_rundir_retire(dirs, JOB);
	ok(strstr(read_it(USER), "no step"),
	   "the program goes with the run directory of its job");
}

static time_t ahead_s;

/* The clock of the functions under test. */
time_t time(time_t *timer)
{
	struct timespec is;

	(void)timer; /* always NULL here */
	clock_gettime(CLOCK_REALTIME, &is);
	return is.tv_sec + ahead_s;
}

static bool is_kept(const char *name)
{
	return faccessat(dirs, name, F_OK, 0) == 0;
}

static void test_left_files(void)
{
	struct egs_err err = { "" };

	egs_save_program_keep(dirs, JOB, USER, "./save", true, &err);
	egs_save_program_keep(dirs, JOB + 1, USER, "./save", true, &err);
	mkdirat(dirs, "813", 0755);
	close(openat(dirs, ".save-813.17", O_CREAT | O_WRONLY, 0600));
	is_int(egs_rundirs_clean(dirs, &err), 0, "a cleaning succeeds");
	ok(is_kept(".save-812") && is_kept(".save-813.17"),
	   "new save programs stay: their step may be starting");
	ahead_s = 302;
	is_int(egs_rundirs_clean(dirs, &err), 0, "a later cleaning succeeds");
	ok(!is_kept(".save-812"),
	   "an old save program of a job without a directory goes");
	ok(!is_kept(".save-813.17"), "a save program half written goes");
	ok(is_kept(".save-813"),
	   "an old save program of a job with a directory stays");
	ahead_s = 0;
	egs_save_program_forget(dirs, JOB + 1);
	unlinkat(dirs, "813", AT_REMOVEDIR);
}

int main(void)
{
	plan_none();
	dirs = mkdtemp(top) ? open(top, O_RDONLY | O_DIRECTORY) : -1;
	if (dirs < 0)
		return 1;
	test_keeping();
	test_bad_files();
	test_retired();
	test_left_files();
	ok(rmdir(top) == 0, "no file is left behind");
	return done_testing();
}
