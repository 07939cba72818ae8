/* nodes.c - be many nodes that send samples of their GPUs to egs-policyd
 *
 *	nodes NODES INTERVAL SECONDS
 *
 * The nodes c1, c2, ... have 8 GPUs each and send a batch every INTERVAL
 * seconds, one after the other, for SECONDS.  With INTERVAL 0 all send one
 * batch at the same moment.  Each batch is a request as egs-noded makes it: a
 * process, a credential of munged, a TCP connection, and a sealed answer.
 * Prints "SENT FAILED MEDIAN P99 LONGEST", the last three in milliseconds.
 */
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/conf/slurm_conf.h"
#include "common/ipc/client.h"
#include "t/bench/gpu_batch.h"

enum { GPUS = 8, ANSWER_MS = 60000, PORT = 6827 };

static struct egs_endpoint endpoint;

/* A node; 'due_ms' is when it sends next. */
struct node {
	struct egs_msg *batch;
	struct egs_child child;
	uint64_t due_ms, began_ms;
};

static struct {
	struct node *node;
	uint32_t n;
	uint64_t interval_ms, end_ms;
	uint64_t *took_ms; /* of each answer */
	size_t answers, room, failed, busy;
} bench;

static void find_daemon(void)
{
	static char address[EGS_SLURM_HOST_MAX + 8];
	static char
		audience[sizeof(EGS_CRED_AUDIENCE_PREFIX) + EGS_SLURM_NAME_MAX];
	static struct egs_slurm_conf slurm;

	egs_slurm_conf_read(&slurm, NULL);
	snprintf(address, sizeof(address), "%s:%d", slurm.host[0], PORT);
	snprintf(audience, sizeof(audience), EGS_CRED_AUDIENCE_PREFIX "%s",
		 slurm.cluster);
	endpoint = (struct egs_endpoint){ .address = address,
					  .slurm_user = slurm.user,
					  .cred.audience = audience };
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		errx(1, "out of memory");
	return memory;
}

static void read_arguments(char **argv)
{
	uint64_t ms = strtoull(argv[3], NULL, 10) * 1000;

	bench.n = (uint32_t)strtoul(argv[1], NULL, 10);
	bench.interval_ms = strtoull(argv[2], NULL, 10) * 1000;
	bench.end_ms = egs_now_ms() + ms;
	bench.room = bench.n;
	if (bench.interval_ms)
		bench.room += bench.n * (ms / bench.interval_ms + 1);
	bench.node = allocate(bench.n, sizeof(*bench.node));
	bench.took_ms = allocate(bench.room, sizeof(*bench.took_ms));
}

/* The nodes take turns within an interval. */
static void make_nodes(void)
{
	uint64_t now = egs_now_ms();

	for (uint32_t i = 0; i < bench.n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "c%u", i + 1);
		bench.node[i].child.fd = -1;
		bench.node[i].due_ms = now + bench.interval_ms * i / bench.n;
		bench.node[i].batch = make_gpu_batch(
			name, GPUS, (int64_t)(bench.interval_ms / 1000));
		if (!bench.node[i].batch)
			errx(1, "out of memory");
	}
}

static bool is_due(const struct node *node, uint64_t now)
{
	return node->child.fd < 0 && node->due_ms <= now &&
	       (!bench.interval_ms || now < bench.end_ms);
}

static void send_batch(struct node *node, uint64_t now)
{
	struct egs_err err;

	node->began_ms = now;
	node->due_ms = bench.interval_ms ? node->due_ms + bench.interval_ms
					 : UINT64_MAX;
	if (egs_client_start(&node->child, &endpoint, node->batch, ANSWER_MS,
			     &err) < 0)
		errx(1, "%s", err.msg);
	bench.busy++;
}

static void read_answer(struct node *node)
{
	struct egs_msg *answer = NULL;
	struct egs_err err = { "" };
	uid_t uid;
	int rc = egs_client_receive(&node->child, &endpoint, &answer, &uid,
				    &err);

	if (rc > 0)
		return;
	if (rc < 0 && !bench.failed++)
		warnx("%s", err.msg);
	if (rc == 0 && bench.answers < bench.room)
		bench.took_ms[bench.answers++] = egs_now_ms() - node->began_ms;
	egs_msg_free(answer);
	egs_child_stop(&node->child);
	node->child.fd = -1;
	bench.busy--;
}

/* Send what is due, and read what is there, for some milliseconds. */
static void turn(struct pollfd *fds)
{
	uint64_t now = egs_now_ms();

	for (uint32_t i = 0; i < bench.n; i++)
		if (is_due(&bench.node[i], now))
			send_batch(&bench.node[i], now);
	for (uint32_t i = 0; i < bench.n; i++)
		fds[i] = (struct pollfd){ .fd = bench.node[i].child.fd,
					  .events = POLLIN };
	poll(fds, bench.n, 5);
	for (uint32_t i = 0; i < bench.n; i++)
		if (fds[i].revents)
			read_answer(&bench.node[i]);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void print_result(void)
{
	const uint64_t *ms = bench.took_ms;
	size_t n = bench.answers;

	qsort(bench.took_ms, n, sizeof(*ms), compare);
	printf("%zu %zu %llu %llu %llu\n", n + bench.failed, bench.failed,
	       n ? (unsigned long long)ms[n / 2] : 0,
	       n ? (unsigned long long)ms[n * 99 / 100] : 0,
	       n ? (unsigned long long)ms[n - 1] : 0);
}

int main(int argc, char **argv)
{
	struct pollfd *fds;

	if (argc != 4)
		errx(2, "usage: nodes NODES INTERVAL SECONDS");
	read_arguments(argv);
	find_daemon();
	make_nodes();
	fds = allocate(bench.n, sizeof(*fds));
	do {
		turn(fds);
	} while (bench.busy ||
		 (bench.interval_ms && egs_now_ms() < bench.end_ms));
	print_result();
	return EXIT_SUCCESS;
}
