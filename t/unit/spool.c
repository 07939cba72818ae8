/* spool.c - what jobs have said is kept, in order, and found again */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noded/spool.h"
#include "t/lib/unit/tap.h"

#define MESSAGE "{\"verb\":\"saved\",\"path\":\"\xc3\xa9 \\\"x\\\"\"}"

static char top[] = "/tmp/egs-spool.XXXXXX";

static void open_spool(struct egs_spool *spool)
{
	struct egs_err err = { "" };

	ok(egs_spool_open(spool, top, "n1", &err) == 0, "a spool is opened %s",
	   err.msg);
}

static struct egs_spool_message *add(struct egs_spool *spool, uint32_t job,
				     const char *name)
{
	return egs_spool_add(spool, job, 1000, name, MESSAGE, NULL);
}

static int files(void)
{
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/n1", top);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

static void put(const char *name, const char *text)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/n1/%s", top, name);
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		exit(1);
}

static void test_life(void)
{
	struct egs_spool_message *said;
	struct egs_spool spool;
	struct stat is;

	open_spool(&spool);
	ok(fstat(spool.fd, &is) == 0 && (is.st_mode & 07777) == 0700,
	   "which is for us alone");
	ok(add(&spool, 7, "b") && add(&spool, 8, "a") && add(&spool, 7, "a"),
	   "messages are kept");
	is_int(files(), 3, "each in a file");
	ok(egs_spool_find(&spool, 7, 1000, "a"), "one is found again");
	ok(!egs_spool_find(&spool, 7, 1001, "a"), "and is of one user");
	ok(!egs_spool_find(&spool, 9, 1000, "a"), "and of one job");
	egs_spool_close(&spool);

	open_spool(&spool);
	is_int((int)spool.n, 3, "the next one of us finds all");
	said = TAILQ_FIRST(&spool.list);
	is_str(said->name, "b", "the oldest first");
	is_str(said->text, MESSAGE, "as it was said");
	is_int(said->job, 7, "by its job");
	ok(said->received_s > 0, "at its time");
	is_int((int)said->uid, 1000, "and user");
	egs_spool_drop(&spool, said);
	is_str(TAILQ_FIRST(&spool.list)->name, "a", "then the next");
	add(&spool, 7, "c");
	is_str(TAILQ_LAST(&spool.list, egs_spool_queue)->name, "c",
	       "and a new one is the last");
	is_int(files(), 3, "what is answered has no file");
	egs_spool_close(&spool);
}

/* Left by one that was killed, or by a disk that was full. */
static void test_odd_files(void)
{
	struct egs_spool spool;

	put(".new", "{\"job\":1");
	put("00000000000000000050", "");
	put("00000000000000000051", "{\"job\":1}");
	put("99", "{\"job\":5,\"uid\":-1,\"name\":\"x\",\"request\":\"y\"}");
	open_spool(&spool);
	is_int((int)spool.n, 3, "what is no message is none");
	ok(add(&spool, 7, "d"), "and keeps none away");
	is_int(files(), 7, "nor is it lost");
	egs_spool_close(&spool);
	open_spool(&spool);
	is_int((int)spool.n, 4, "the next time it is not looked at");
	while (!TAILQ_EMPTY(&spool.list))
		egs_spool_drop(&spool, TAILQ_FIRST(&spool.list));
	egs_spool_close(&spool);
}

static void test_limits(void)
{
	char name[EGS_RUNDIR_NAME_MAX + 2];
	struct egs_spool spool;
	int n = 0;

	open_spool(&spool);
	for (; n < 1000 && egs_spool_has_room(&spool, 7); n++) {
		snprintf(name, sizeof(name), "m%d", n);
		add(&spool, 7, name);
	}
	is_int(n, EGS_SPOOL_JOB_MAX, "a job has so much room");
	ok(egs_spool_has_room(&spool, 8), "and leaves some to others");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ok(!add(&spool, 8, name), "a name that is too long is not kept");
	while (!TAILQ_EMPTY(&spool.list))
		egs_spool_drop(&spool, TAILQ_FIRST(&spool.list));
	egs_spool_close(&spool);
}

static void test_refusals(void)
{
	struct egs_spool spool;
	struct egs_err err;

	ok(egs_spool_open(&spool, "/nonexistent/spool", "n1", &err) < 0,
	   "a spool needs a directory: %s", err.msg);
}

int main(void)
{
	char command[80];

	plan_none();
	if (!mkdtemp(top))
		return 1;
	test_life();
	test_odd_files();
	test_limits();
	test_refusals();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command) != 0)
		return 1;
	return done_testing();
}
