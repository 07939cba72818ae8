/* doorbell.c - datagrams of plugins arrive, and invalid ones do no harm */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ipc/doorbell.h"
#include "t/lib/unit/tap.h"

static char dir[] = "/tmp/egs-bell-XXXXXX";
static _Atomic int out = -1;

static void ring(uint32_t job_id, enum egs_doorbell_event what)
{
	struct egs_doorbell_msg bell = { .magic = EGS_DOORBELL_MAGIC,
					 .event = what,
					 .job_id = job_id };

	egs_doorbell_ring(&out, dir, &bell);
}

static void test_story(struct egs_doorbell_claim *got)
{
	struct egs_err err = { .msg = "" };
	struct stat st;
	char path[64];
	int fd;

	ring(1, EGS_DOORBELL_BEGIN);
	ok(1, "a datagram without a socket is lost, without harm");
	fd = egs_doorbell_listen(dir, &err);
	ok(fd >= 0, "the daemon makes the socket %s", err.msg);
	snprintf(path, sizeof(path), "%s/doorbell", dir);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600,
	   "only the daemon's user can write to the socket");
	is_int(egs_doorbell_read(fd, got), 0, "a new socket has no datagram");
	ring(7, EGS_DOORBELL_BEGIN);
	ring(8, EGS_DOORBELL_END);
	is_int(egs_doorbell_read(fd, got), 1, "a datagram arrives");
	ok(got->msg.job_id == 7 && got->msg.event == EGS_DOORBELL_BEGIN,
	   "a datagram has job and event");
	is_int(egs_doorbell_read(fd, got), 1, "the next datagram arrives");
	is_int(got->msg.job_id, 8, "the next datagram is of the other job");
	close(fd);
	ring(9, EGS_DOORBELL_END);
	fd = egs_doorbell_listen(dir, &err);
	ring(10, EGS_DOORBELL_END);
	is_int(egs_doorbell_read(fd, got), 1,
	       "a datagram reaches the next daemon");
	is_int(got->msg.job_id, 10, "a datagram between two daemons is lost");
	close(fd);
}

static void test_claim(struct egs_doorbell_claim *got)
{
	struct egs_doorbell_claim *c = calloc(1, sizeof(*c));
	int fd = egs_doorbell_listen(dir, NULL);

	c->msg = (struct egs_doorbell_msg){ .magic = EGS_DOORBELL_MAGIC,
					    .event = EGS_DOORBELL_CLAIM,
					    .job_id = 5,
					    .nparts = EGS_DOORBELL_PARTS_MAX };
	for (uint32_t i = 0; i < EGS_DOORBELL_PARTS_MAX; i++) {
		memset(c->part[i].node, 'n', EGS_TABLE_NAME_SIZE);
		c->part[i].gpus = i;
	}
	egs_doorbell_ring(&out, dir, &c->msg);
	is_int(egs_doorbell_read(fd, got), 1, "the largest claim arrives");
	is_int(got->part[EGS_DOORBELL_PARTS_MAX - 1].gpus,
	       EGS_DOORBELL_PARTS_MAX - 1,
	       "the largest claim arrives with its last node");
	is_int((intmax_t)strlen(got->part[3].node), EGS_TABLE_NAME_SIZE - 1,
	       "a node name without a NUL is terminated");
	close(fd);
	free(c);
}

static void send_bytes(const void *bytes, size_t n)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/doorbell", dir);
	sendto(out, bytes, n, MSG_DONTWAIT, (struct sockaddr *)&at, sizeof(at));
}

static void test_hostile(struct egs_doorbell_claim *got)
{
	struct egs_doorbell_msg bad[] = {
		{ .magic = 1, .job_id = 1 },
		{ .magic = EGS_DOORBELL_MAGIC, .job_id = 0 },
		{ .magic = EGS_DOORBELL_MAGIC, .job_id = 1, .event = 99 },
		{ .magic = EGS_DOORBELL_MAGIC, .job_id = 1, .nparts = 3 },
		{ .magic = EGS_DOORBELL_MAGIC,
		  .job_id = 1,
		  .nparts = UINT32_MAX },
	};
	int fd = egs_doorbell_listen(dir, NULL);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		send_bytes(&bad[i], sizeof(bad[i]));
	send_bytes("", 0);
	send_bytes("x", 1);
	is_int(egs_doorbell_read(fd, got), 0, "invalid datagrams are skipped");
	ring(3, EGS_DOORBELL_MODIFY);
	send_bytes("x", 1);
	is_int(egs_doorbell_read(fd, got), 1,
	       "a datagram after an invalid one arrives");
	for (int i = 0; i < 10000; i++)
		ring(4, EGS_DOORBELL_MODIFY);
	ok(1, "a sender does not wait for a daemon that does not read");
	close(fd);
}

int main(void)
{
	struct egs_doorbell_claim *got = malloc(sizeof(*got));
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
