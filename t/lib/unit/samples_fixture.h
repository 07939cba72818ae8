/* samples_fixture.h - samples of n1, a node of egs-policyd without Slurm
 *
 * send_samples(change)	n1 sends a sample of each of its four GPUs; GPU i uses
 *			i * 10 %, and 'change' may set more
 * send_batch(...)	n1 sends these samples, or why there are none;
 *			'batch_caps' are the power limits that it tells
 * samples_of_n1()	what the daemon has of n1
 * hold_longer(s)	the holders of the GPUs have them for longer
 * query_sql(sql)	a number from the file of the daemon
 * clock_s		the clock of the program, which stands still
 *
 * 'answer' and 'why' are of the last request.
 */
#ifndef EGS_T_SAMPLES_FIXTURE_H
#define EGS_T_SAMPLES_FIXTURE_H

#include <sqlite3.h>
#include <time.h>

#include "common/ipc/gpu_sample.h"
#include "policyd/requests/gpu_samples.h"
#include "t/lib/unit/daemon_fixture.h"

/* 2026-11-16 10:01:40 UTC: no cell ends while this program runs. */
static egs_time_t clock_s = 1794823300;

/* The clock of this program. */
time_t time(time_t *timer)
{
	if (timer)
		*timer = clock_s;
	return clock_s;
}

static struct egs_msg *answer;
static struct egs_err why;
static const char *batch_caps;

/* Send a batch of n1 as 'uid'. */
static inline int send_batch(uid_t uid, const struct egs_gpu_sample *samples,
			     int n, const char *error)
{
	const struct egs_peer peer = { .uid = uid, .local = true };
	struct egs_msg *request = egs_msg_new();
	int rc;

	egs_msg_set_str(request, "node", "n1");
	egs_msg_set_int(request, "interval", 10);
	egs_msg_set_str(request, "driver", error ? NULL : "555.42");
	egs_msg_set_str(request, "error", error);
	egs_msg_set_str(request, "caps", batch_caps);
	egs_gpu_sample_begin(request);
	for (int i = 0; i < n; i++)
		egs_gpu_sample_add(request, &samples[i]);
	rc = egs_verb_node_gpus(d, &peer, request, answer, &why);
	egs_msg_free(request);
	return rc;
}

/* A sample of each GPU: GPU i uses i * 10 %. */
static inline void send_samples(void (*change)(struct egs_gpu_sample *sample))
{
	struct egs_gpu_sample samples[4];

	for (uint32_t i = 0; i < 4; i++) {
		samples[i] = (struct egs_gpu_sample){ .gpu = i };
		egs_gpu_sample_set(&samples[i], EGS_GPU_SM, i * 10,
				   EGS_GPU_SOURCE_NVML);
		if (change)
			change(&samples[i]);
	}
	if (send_batch(0, samples, 4, NULL) < 0)
		errx(1, "%s", why.msg);
}

static inline struct egs_node_samples *samples_of_n1(void)
{
	return (struct egs_node_samples *)egs_gpu_samples_of(
		d, (uint32_t)egs_cluster_find_node(d->cluster, "n1"));
}

/* Time passes for the holder of a GPU. */
static inline void hold_longer(int64_t seconds)
{
	struct egs_node_samples *node = samples_of_n1();

	for (uint32_t i = 0; i < node->n; i++)
		node->gpu[i].held_since -= seconds;
}

static inline int64_t query_sql(const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t n = -1;

	if (sqlite3_open("state", &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

#endif
