/* long_poll.c - get orders of egs-policyd for the jobs of this node */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/ipc/node_columns.h"
#include "noded/noded.h"

enum {
	/* Extra time, after the time that egs-policyd may hold the request. */
	ANSWER_MS = 10000,
	/* Hold time while a directory may become removable soon. */
	SHORT_WAIT_S = 5,
	/* Pause between an answer and the next request, and between hosts. */
	PAUSE_MS = 100,
	/* Likewise while GPUs are scanned, because a job waits. */
	LOCKED_PAUSE_MS = 10,
	/* A connection that is refused costs little, and jobs wait. */
	UNREACHABLE_PAUSE_MS = 2000,
};

void egs_noded_poll_orders(struct egs_noded *noded)
{
	int wait_s =
		noded->removal_pending ? SHORT_WAIT_S : EGS_NODE_LONG_POLL_S;
	/* Without a sequence number egs-policyd answers at once. */
	int hold_s = *noded->seq ? wait_s : 0;
	struct egs_msg *request = egs_msg_new();

	if (!request) {
		egs_timer_start(noded->poll_timer,
				egs_noded_backoff_ms(1, EGS_BACKOFF_MAX_MS));
		return;
	}
	egs_msg_set_str(request, "verb", "node-wait");
	egs_msg_set_str(request, "node", noded->node);
	egs_msg_set_str(request, "seq", noded->seq);
	egs_msg_set_int(request, "wait", wait_s);
	noded->polled_s = time(NULL);
	egs_policyd_call_start(&noded->poll_call, request,
			       hold_s * 1000 + ANSWER_MS);
	egs_msg_free(request);
}

static int64_t read_int_cell(const struct egs_msg *answer, size_t row,
			     enum egs_node_column column)
{
	const char *text;
	bool number;

	text = egs_msg_get_cell(answer, row, column, &number);
	return strtoll(text, NULL, 10);
}

/* 'now_s' is the time of egs-policyd. */
static void read_orders(const struct egs_msg *answer, size_t row, int64_t now_s,
			struct egs_job_orders *orders)
{
	bool number;

	orders->job = (uint32_t)read_int_cell(answer, row, EGS_NODE_COL_JOB);
	orders->uid = (uid_t)read_int_cell(answer, row, EGS_NODE_COL_UID);
	orders->restarts =
		(uint32_t)read_int_cell(answer, row, EGS_NODE_COL_RESTARTS);
	orders->notice = (struct egs_rundir_notice){
		.number = (uint32_t)read_int_cell(answer, row,
						  EGS_NODE_COL_NOTICE),
		.kind = (uint32_t)read_int_cell(answer, row, EGS_NODE_COL_KIND),
		.gpus = (uint32_t)read_int_cell(answer, row, EGS_NODE_COL_GPUS),
		.deadline_s = read_int_cell(answer, row, EGS_NODE_COL_DEADLINE),
	};
	orders->gpu_scan =
		(uint32_t)read_int_cell(answer, row, EGS_NODE_COL_GPU_SCAN);
	orders->news = read_int_cell(answer, row, EGS_NODE_COL_NEWS);
	egs_errf(&orders->reason, "%s",
		 egs_msg_get_cell(answer, row, EGS_NODE_COL_REASON, &number));
	orders->has_saver = read_int_cell(answer, row, EGS_NODE_COL_SAVER);
	orders->gpu_set = strtoull(
		egs_msg_get_cell(answer, row, EGS_NODE_COL_GPU_SET, &number),
		NULL, 16);
	orders->start = read_int_cell(answer, row, EGS_NODE_COL_START);
	orders->age_ms = now_s > orders->start
				 ? (uint64_t)(now_s - orders->start) * 1000
				 : 0;
}

/* Replace all orders by the orders in the answer.  If the answer is invalid,
 * replace none.
 */
static int store_orders(struct egs_noded *noded, const struct egs_msg *answer,
			struct egs_err *err)
{
	const char *seq = egs_msg_get_str(answer, "seq");
	struct egs_job_orders *orders;
	size_t columns, rows, i;
	int64_t age = 0, now_s = 0;

	egs_msg_get_int(answer, "now", &now_s);
	if (!seq || !egs_msg_get_int(answer, "age", &age) ||
	    egs_msg_check_table(answer, &columns, &rows, err) < 0 ||
	    columns < EGS_NODE_COL_COUNT)
		return egs_errf(err, "invalid answer from egs-policyd");
	orders = calloc(rows + 1, sizeof(*orders));
	if (!orders)
		return egs_errf(err, "out of memory");
	for (i = 0; i < rows; i++)
		read_orders(answer, i, now_s, &orders[i]);
	free(noded->orders);
	noded->orders = orders;
	noded->norders = rows;
	noded->orders_as_of_s = noded->polled_s - age;
	noded->orders_ms = egs_now_ms();
	noded->has_orders = true;
	snprintf(noded->seq, sizeof(noded->seq), "%s", seq);
	return 0;
}

/* Try all hosts of a round at once, then pause.  A daemon that has just started
 * refuses for some seconds.
 */
static uint64_t choose_pause_ms(struct egs_noded *noded, int rc)
{
	if (rc != noded->poll_rc)
		noded->poll_failures = 0;
	noded->poll_rc = rc;
	if (rc != EGS_CLIENT_UNREACHABLE)
		return egs_noded_backoff_ms(++noded->poll_failures,
					    EGS_BACKOFF_MAX_MS);
	if (++noded->hosts_failed < noded->slurm.nhosts)
		return PAUSE_MS;
	noded->hosts_failed = 0;
	return egs_noded_backoff_ms(++noded->poll_failures,
				    UNREACHABLE_PAUSE_MS);
}

/* The next host may be a stranger that never answers: ask it for an answer at
 * once.
 */
static void schedule_retry(struct egs_noded *noded, int rc,
			   const struct egs_err *err)
{
	if (!noded->policyd_down || (noded->is_forged && !noded->forged_logged))
		egs_log_warn("%s; messages of jobs wait in the spool",
			     err->msg);
	if (noded->is_forged) {
		noded->forged_logged = true;
		noded->trusted[0] = '\0';
	}
	noded->policyd_down = true;
	noded->seq[0] = '\0';
	egs_noded_update_map(noded);
	if (rc == EGS_CLIENT_UNREACHABLE)
		egs_noded_switch_host(noded);
	egs_timer_start(noded->poll_timer, choose_pause_ms(noded, rc));
}

/* Log which daemon is trusted and why, if that is news. */
static void log_trust(struct egs_noded *noded)
{
	char now[sizeof(noded->trusted)];

	snprintf(now, sizeof(now), "%s %lu", noded->policyd_addr,
		 (unsigned long)noded->policyd_uid);
	if (strcmp(now, noded->trusted) != 0)
		egs_log_info("egs-policyd at %s: trusted, its answers are "
			     "credentials of uid %lu (%s%s)",
			     noded->policyd_addr,
			     (unsigned long)noded->policyd_uid,
			     noded->policyd_uid ? "SlurmUser " : "",
			     noded->policyd_uid ? noded->slurm.user : "root");
	snprintf(noded->trusted, sizeof(noded->trusted), "%s", now);
}

static uint64_t choose_next_ms(const struct egs_noded *noded)
{
	for (size_t i = 0; i < noded->norders; i++)
		if (noded->orders[i].gpu_scan)
			return LOCKED_PAUSE_MS;
	return PAUSE_MS;
}

void egs_noded_on_poll_answer(struct egs_noded *noded, int rc,
			      const struct egs_msg *answer,
			      const struct egs_err *err)
{
	struct egs_err why;
	bool is_unlocked;

	if (rc == 0)
		rc = store_orders(noded, answer, &why);
	else
		why = *err;
	if (rc < 0) {
		schedule_retry(noded, rc, &why);
		return;
	}
	log_trust(noded);
	if (noded->policyd_down)
		egs_log_info("egs-policyd at %s: reachable again",
			     noded->policyd_addr);
	noded->policyd_down = noded->forged_logged = false;
	noded->poll_failures = noded->hosts_failed = 0;
	egs_noded_update_tenures(noded);
	egs_noded_update_map(noded);
	is_unlocked = egs_noded_follow_locks(noded);
	egs_noded_start_gpu_scans(noded);
	egs_noded_apply_orders(noded);
	egs_noded_relay_next(noded);
	/* The next request tells egs-policyd that these orders are obeyed. */
	if (is_unlocked)
		egs_timer_start(noded->poll_timer, choose_next_ms(noded));
}
