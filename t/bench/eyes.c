/* eyes.c - what samples of GPUs cost egs-policyd
 *
 * 1,000 nodes with 8 GPUs each send a batch every 30 seconds, and a job has
 * each node.  Runs ten minutes of that with a clock of its own, in the seconds
 * that they take: parsing, attributing, adding up, and writing to a real file.
 * Prints the CPU time, less that of the same ten minutes without batches, as a
 * part of a core, and the longest second.  Exits 1 when one is over its limit.
 * Sockets and MUNGE are not part of it: contrib/bench/eyes has them.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "policyd/requests/gpu_samples.h"
#include "t/bench/gpu_batch.h"
#include "t/lib/unit/daemon_fixture.h"

enum {
	NODES = 1000,
	GPUS = 8,
	INTERVAL_S = 30,
	SECONDS = 600,
};

#define PERCENT_MAX 1.0
#define SECOND_MS   100.0

/* 2026-11-16 10:00:00 UTC */
static egs_time_t clock_s = 1794823200;

time_t time(time_t *timer)
{
	if (timer)
		*timer = clock_s;
	return clock_s;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *name_node(int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "node%04d", i);
	return name;
}

/* Job 1000 + i has node i. */
static void show_node(int i)
{
	struct egs_node_fact node = { .name = name_node(i), .cpus = 64 };
	struct egs_fact_alloc part = { name_node(i), GPUS, 64, 0xff };
	struct egs_job_fact f = daemon_job(1000 + (uint32_t)i, EGS_JOB_RUNNING);
	struct egs_buf parts = { .used = 0 };

	egs_gpu_count_add(&node.gpus, "gpu:a100:8", 1);
	egs_cluster_update_node(d->cluster, &node, clock_s);
	memset(&f.gpus, 0, sizeof(f.gpus));
	egs_gpu_count_add(&f.gpus, "gpu:a100:8", 1);
	f.nodes = name_node(i);
	egs_fact_put_alloc(&parts, &part);
	f.allocs = (struct egs_buf_reader){ .at = parts.bytes,
					    .left = parts.used };
	egs_cluster_update_job(d->cluster, &f, clock_s);
	egs_buf_clear(&parts);
}

/* A batch as it comes from the network. */
static char *make_batch(int node, size_t *len)
{
	struct egs_msg *request =
		make_gpu_batch(name_node(node), GPUS, INTERVAL_S);
	const char *text = request ? egs_msg_to_text(request, len) : NULL;
	char *copy = text ? strdup(text) : NULL;

	egs_msg_free(request);
	if (!copy)
		errx(1, "out of memory");
	return copy;
}

static void take_batch(const char *text, size_t len)
{
	const struct egs_peer peer = { .uid = 0, .local = true };
	struct egs_err why;
	struct egs_msg *request =
		egs_msg_parse(text, len, EGS_MSG_REQUEST_MAX, &why);
	struct egs_msg *answer = egs_msg_new();

	if (!request || egs_verb_node_gpus(d, &peer, request, answer, &why) < 0)
		errx(1, "%s", why.msg);
	egs_msg_free(request);
	egs_msg_free(answer);
}

/* Batches of this second, if any, and the work of each second.  Every minute
 * the daemon writes its totals, with samples and without.
 */
static void run_second(int second, char **batch, const size_t *len)
{
	for (int i = second % INTERVAL_S; batch && i < NODES; i += INTERVAL_S)
		take_batch(batch[i], len[i]);
	egs_gpu_sums_part.tick(d);
	if (second % 60 == 0)
		egs_daemon_recompute(d);
}

/* CPU time of ten minutes; '*longest' is that of a second. */
static double run_minutes(char **batch, const size_t *len, double *longest)
{
	double begin = cpu_seconds();

	*longest = 0;
	for (int second = 0; second < SECONDS; second++, clock_s++) {
		double start = cpu_seconds();

		run_second(second, batch, len);
		start = cpu_seconds() - start;
		*longest = start > *longest ? start : *longest;
	}
	return cpu_seconds() - begin;
}

int main(void)
{
	static char *batch[NODES];
	static size_t len[NODES];
	double on, off, longest, longest_off, percent;

	conf_enter();
	daemon_start();
	for (int i = 0; i < NODES; i++) {
		show_node(i);
		batch[i] = make_batch(i, &len[i]);
	}
	egs_daemon_update(d);
	off = run_minutes(NULL, NULL, &longest_off);
	on = run_minutes(batch, len, &longest);
	percent = 100 * (on - off) / SECONDS;
	printf("%d nodes with %d GPUs, a batch every %d s: %.3f %% of a core "
	       "(limit %.1f %%)\n",
	       NODES, GPUS, INTERVAL_S, percent, PERCENT_MAX);
	printf("the longest second takes %.1f ms, without batches %.1f ms "
	       "(limit %.0f ms)\n",
	       1e3 * longest, 1e3 * longest_off, SECOND_MS);
	for (int i = 0; i < NODES; i++)
		free(batch[i]);
	daemon_stop();
	daemon_leave();
	return percent <= PERCENT_MAX && 1e3 * longest <= SECOND_MS
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}
