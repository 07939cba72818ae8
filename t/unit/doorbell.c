/* doorbell.c - the doorbell: rings arrive, and nothing else does any harm */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ipc/doorbell.h"
#include "t/lib/tap.h"

static char dir[] = "/tmp/egs-bell-XXXXXX";
static _Atomic int out = -1;

static void ring(uint32_t job_id, enum egs_bell_what what)
{
	struct egs_bell bell = { .magic = EGS_BELL_MAGIC,
				 .what = what,
				 .job_id = job_id };

	egs_bell_ring(&out, dir, &bell);
}

static void test_story(struct egs_bell_claim *got)
{
	struct egs_err err = { .msg = "" };
	struct stat st;
	char path[64];
	int fd;

	ring(1, EGS_BELL_BEGIN);
	ok(1, "nobody has hung up the bell: a ring is lost, and that is all");
	fd = egs_bell_hang(dir, &err);
	ok(fd >= 0, "the daemon hangs it up %s", err.msg);
	snprintf(path, sizeof(path), "%s/doorbell", dir);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600,
	   "only its own user can ring");
	is_int(egs_bell_next(fd, got), 0, "it is quiet");
	ring(7, EGS_BELL_BEGIN);
	ring(8, EGS_BELL_END);
	is_int(egs_bell_next(fd, got), 1, "a ring comes");
	ok(got->bell.job_id == 7 && got->bell.what == EGS_BELL_BEGIN,
	   "with its job and what happened");
	is_int(egs_bell_next(fd, got), 1, "and the next one");
	is_int(got->bell.job_id, 8, "of the other job");
	close(fd);
	ring(9, EGS_BELL_END);
	fd = egs_bell_hang(dir, &err);
	ring(10, EGS_BELL_END);
	is_int(egs_bell_next(fd, got), 1, "another daemon is heard, too");
	is_int(got->bell.job_id, 10, "what was between the two is lost");
	close(fd);
}

static void test_claim(struct egs_bell_claim *got)
{
	struct egs_bell_claim *c = calloc(1, sizeof(*c));
	int fd = egs_bell_hang(dir, NULL);

	c->bell = (struct egs_bell){ .magic = EGS_BELL_MAGIC,
				     .what = EGS_BELL_CLAIM,
				     .job_id = 5,
				     .nparts = EGS_BELL_PARTS };
	for (uint32_t i = 0; i < EGS_BELL_PARTS; i++) {
		memset(c->part[i].node, 'n', EGS_TABLE_NAME);
		c->part[i].gpus = i;
	}
	egs_bell_ring(&out, dir, &c->bell);
	is_int(egs_bell_next(fd, got), 1, "the largest claim comes whole");
	is_int(got->part[EGS_BELL_PARTS - 1].gpus, EGS_BELL_PARTS - 1,
	       "to its last node");
	is_int((intmax_t)strlen(got->part[3].node), EGS_TABLE_NAME - 1,
	       "and a name without an end gets one");
	close(fd);
	free(c);
}

static void send_bytes(const void *bytes, size_t n)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/doorbell", dir);
	sendto(out, bytes, n, MSG_DONTWAIT, (struct sockaddr *)&at, sizeof(at));
}

static void test_hostile(struct egs_bell_claim *got)
{
	struct egs_bell bad[] = {
		{ .magic = 1, .job_id = 1 },
		{ .magic = EGS_BELL_MAGIC, .job_id = 0 },
		{ .magic = EGS_BELL_MAGIC, .job_id = 1, .what = 99 },
		{ .magic = EGS_BELL_MAGIC, .job_id = 1, .nparts = 3 },
		{ .magic = EGS_BELL_MAGIC, .job_id = 1, .nparts = UINT32_MAX },
	};
	int fd = egs_bell_hang(dir, NULL);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		send_bytes(&bad[i], sizeof(bad[i]));
	send_bytes("", 0);
	send_bytes("x", 1);
	is_int(egs_bell_next(fd, got), 0, "what is no ring is passed over");
	ring(3, EGS_BELL_MODIFY);
	send_bytes("x", 1);
	is_int(egs_bell_next(fd, got), 1, "and a ring behind it is heard");
	for (int i = 0; i < 10000; i++)
		ring(4, EGS_BELL_MODIFY);
	ok(1, "a daemon that does not listen stops nobody");
	close(fd);
}

int main(void)
{
	struct egs_bell_claim *got = malloc(sizeof(*got));
	char path[64];

	plan_none();
	if (!mkdtemp(dir) || !got)
		return 1;
	test_story(got);
	test_claim(got);
	test_hostile(got);
	snprintf(path, sizeof(path), "%s/doorbell", dir);
	unlink(path);
	rmdir(dir);
	free(got);
	close(out);
	return done_testing();
}
