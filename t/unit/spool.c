/* spool.c - messages of jobs are saved in order and survive a restart */
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
	struct egs_spool_message *message;
	struct egs_spool spool;
	struct stat is;

	open_spool(&spool);
	ok(fstat(spool.fd, &is) == 0 && (is.st_mode & 07777) == 0700,
	   "only its owner can open the spool");
	ok(add(&spool, 7, "b") && add(&spool, 8, "a") && add(&spool, 7, "a"),
	   "messages are added");
	is_int(files(), 3, "each message is a file");
	ok(egs_spool_find(&spool, 7, 1000, "a"), "a message is found");
	ok(!egs_spool_find(&spool, 7, 1001, "a"),
	   "a message is not found under another user");
	ok(!egs_spool_find(&spool, 9, 1000, "a"),
	   "a message is not found under another job");
	egs_spool_close(&spool);

	open_spool(&spool);
	is_int((int)spool.n, 3, "all messages survive a restart");
	message = TAILQ_FIRST(&spool.list);
	is_str(message->name, "b", "the oldest message is the first");
	is_str(message->text, MESSAGE, "the text survives a restart");
	is_int(message->job, 7, "the job survives a restart");
	ok(message->received_s > 0, "the time of arrival survives a restart");
	is_int((int)message->uid, 1000, "the user survives a restart");
	egs_spool_drop(&spool, message);
	is_str(TAILQ_FIRST(&spool.list)->name, "a",
	       "after a drop, the next message is the first");
	add(&spool, 7, "c");
	is_str(TAILQ_LAST(&spool.list, egs_spool_queue)->name, "c",
	       "a new message is the last");
	is_int(files(), 3, "a dropped message has no file");
	egs_spool_close(&spool);
}

/* Files of a process that was killed, or written to a full disk. */
static void test_odd_files(void)
{
	struct egs_spool spool;

	put(".new", "{\"job\":1");
	put("00000000000000000050", "");
	put("00000000000000000051", "{\"job\":1}");
	put("99", "{\"job\":5,\"uid\":-1,\"name\":\"x\",\"request\":\"y\"}");
	open_spool(&spool);
	is_int((int)spool.n, 3, "unreadable files are not messages");
	ok(add(&spool, 7, "d"), "a message is added beside unreadable files");
	is_int(files(), 7, "unreadable files are not removed");
	egs_spool_close(&spool);
	open_spool(&spool);
	is_int((int)spool.n, 4, "the next start does not read them again");
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
	is_int(n, EGS_SPOOL_JOB_MAX,
	       "the number of messages of a job is limited");
	ok(egs_spool_has_room(&spool, 8),
	   "a job at its limit leaves room for other jobs");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ok(!add(&spool, 8, name), "a message with too long a name is refused");
	while (!TAILQ_EMPTY(&spool.list))
		egs_spool_drop(&spool, TAILQ_FIRST(&spool.list));
	egs_spool_close(&spool);
}

static void test_refusals(void)
{
	struct egs_spool spool;
	struct egs_err err;

	ok(egs_spool_open(&spool, "/nonexistent/spool", "n1", &err) < 0,
	   "a spool in a missing directory is refused: %s", err.msg);
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
