/* resize.c - running jobs change their number of GPUs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "common/hint/stamp.h"
#include "policyd/requests/node.h"
#include "policyd/requests/resize.h"
#include "policyd/requests/resize_refusal.h"
#include "policyd/requests/resize_unlock.h"

enum {
	/* Pause between two steps while a helper job is pending.  A change of
	 * the helper job ends the pause.
	 */
	RETRY_S = 2,
	/* Pause while the helper job ends on its nodes, and how often. */
	FINISH_MS = 200,
	FINISH_TRIES = 25,
	/* A node that has not answered by then has no egs-noded. */
	GPU_SCAN_S = 10,
};

struct egs_resizes {
	struct egs_resize *list;
	size_t n, room;
	uint32_t last_gpu_scan; /* starts at the daemon's start time */
	uint32_t last_news;	/* likewise */
	uint32_t last_serial;
	struct egs_watch *wake_timer;
	struct egs_watch *step_timer;
};

static int init_resizes(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_resizes *all = calloc(1, sizeof(*all));

	if (!all)
		return egs_errf(err, "out of memory");
	all->last_gpu_scan = all->last_news = (uint32_t)egs_daemon_now();
	d->requests->resizes = all;
	return 0;
}

static void free_resizes(struct egs_daemon *d)
{
	struct egs_resizes *all = d->requests ? d->requests->resizes : NULL;

	if (!all)
		return;
	for (size_t i = 0; i < all->n; i++)
		egs_resize_forget(&all->list[i]);
	egs_watch_free(all->wake_timer);
	egs_watch_free(all->step_timer);
	free(all->list);
	free(all);
}

struct egs_resize *egs_resize_find(const struct egs_daemon *d, uint32_t job_id)
{
	struct egs_resizes *all = d->requests->resizes;

	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].used && all->list[i].request.job_id == job_id)
			return &all->list[i];
	return NULL;
}

/* Returns NULL if out of memory. */
static struct egs_resize *find_unused(struct egs_resizes *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (!all->list[i].used)
			return &all->list[i];
	if (egs_grow(&all->list, &all->room, all->n + 1) < 0)
		return NULL;
	return &all->list[all->n++];
}

/* ---- news for a job that waits ---- */

uint32_t egs_resize_news(const struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_resize *r =
		d->requests->resizes ? egs_resize_find(d, job_id) : NULL;

	return r ? r->news : 0;
}

uint32_t egs_resize_last_news(const struct egs_daemon *d)
{
	return d->requests->resizes->last_news;
}

/* Nodes use small keys, and reports use hashes.  A wrong wake is harmless. */
uint64_t egs_resize_wait_key(uint32_t job_id)
{
	return UINT64_C(1) << 40 | job_id;
}

/* Returns whether Slurm shows the new number of GPUs, or the job has ended. */
static bool is_complete(const struct egs_daemon *d, const struct egs_resize *r)
{
	const struct egs_job *j = egs_policy_job(d->policy, r->request.job_id);

	return !j || !j->running ||
	       (r->state == EGS_RESIZE_DONE && j->gpus == r->request.gpus);
}

/* egs_server_wake() answers held messages, which may change the list.  So this
 * runs from the loop, and uses no pointer after the call.
 */
static void send_news(struct egs_daemon *d)
{
	struct egs_resizes *all = d->requests->resizes;
	bool any = false;

	for (size_t i = 0; i < all->n; i++) {
		struct egs_resize *r = &all->list[i];

		if (!r->used)
			continue;
		if (!r->complete && is_complete(d, r)) {
			r->complete = true;
			r->news = ++all->last_news;
		}
		any |= r->news != r->news_sent;
	}
	if (!any)
		return;
	egs_nodes_mark_changed(d);
	egs_nodes_wake(d);
	for (size_t i = 0; i < all->n; i++) {
		struct egs_resize *r = &all->list[i];

		if (!r->used || r->news == r->news_sent)
			continue;
		r->news_sent = r->news;
		if (d->requests->server)
			egs_server_wake(d->requests->server,
					egs_resize_wait_key(r->request.job_id));
	}
}

static void on_wake_timer(void *arg, uint32_t events)
{
	(void)events;
	send_news(arg);
}

static void schedule_news(struct egs_daemon *d)
{
	struct egs_resizes *all = d->requests->resizes;

	if (!all->wake_timer && d->loop)
		all->wake_timer =
			egs_loop_add_timer(d->loop, on_wake_timer, d, NULL);
	if (all->wake_timer)
		egs_timer_start(all->wake_timer, 0);
}

void egs_resize_add_news(struct egs_daemon *d, uint32_t job_id)
{
	struct egs_resize *r = egs_resize_find(d, job_id);

	if (!r)
		return;
	r->news = ++d->requests->resizes->last_news;
	schedule_news(d);
}

/* ---- GPU scan ---- */

uint32_t egs_resize_gpu_scan(const struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_resize *r =
		d->requests->resizes ? egs_resize_find(d, job_id) : NULL;

	return r && r->gpu_scan ? r->gpu_scan
				: egs_resize_unlock_number(d, job_id);
}

static void end_gpu_scan(struct egs_daemon *d, struct egs_resize *r)
{
	free(r->unanswered);
	r->unanswered = NULL;
	r->gpu_scan = r->nunanswered = 0;
	egs_nodes_mark_changed(d);
}

/* Request a scan from all nodes where the job has GPUs. */
static int begin_gpu_scan(struct egs_daemon *d, struct egs_resize *r,
			  const struct egs_job *j)
{
	r->unanswered = calloc(j->nallocs + 1, sizeof(*r->unanswered));
	if (!r->unanswered)
		return -1;
	for (uint32_t i = 0; i < j->nallocs; i++)
		if (j->alloc[i].gpus)
			r->unanswered[r->nunanswered++] = j->alloc[i].node;
	r->request.open_gpus[0] = r->gpu_user.msg[0] = '\0';
	r->gpu_scan = ++d->requests->resizes->last_gpu_scan;
	if (egs_resize_unlock_expect(d, r) < 0) {
		end_gpu_scan(d, r);
		return -1;
	}
	egs_nodes_mark_changed(d);
	egs_nodes_wake(d);
	return 0;
}

static void send_to_worker(struct egs_daemon *d, struct egs_resize *r)
{
	r->submit_refusal.msg[0] = '\0';
	r->request.serial = ++d->requests->resizes->last_serial;
	egs_resize_unlock_ask_worker(d, &r->request);
}

static void run_step(struct egs_daemon *d, struct egs_resize *r)
{
	const struct egs_job *j = egs_policy_job(d->policy, r->request.job_id);

	r->worker_busy = true;
	r->sent_at = egs_daemon_now();
	r->request.gpus_scanned = false;
	if (j && j->running &&
	    (r->needs_gpu_scan || j->gpus > r->request.gpus) &&
	    begin_gpu_scan(d, r, j) == 0)
		return;
	send_to_worker(d, r);
}

/* Steps run from the loop: a step may answer held messages, which may change
 * the list.
 */
static void on_step_timer(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;
	struct egs_resizes *all = d->requests->resizes;

	(void)events;
	for (size_t i = 0; i < all->n; i++) {
		struct egs_resize *r = &all->list[i];

		if (!r->used || !r->step_due || r->worker_busy ||
		    r->state != EGS_RESIZE_WAITING || !r->request.gpus)
			continue;
		r->step_due = false;
		run_step(d, r);
	}
}

static void schedule_step(struct egs_daemon *d, struct egs_resize *r,
			  uint64_t in_ms)
{
	struct egs_resizes *all = d->requests->resizes;

	r->step_due = true;
	if (!all->step_timer && d->loop)
		all->step_timer =
			egs_loop_add_timer(d->loop, on_step_timer, d, NULL);
	if (all->step_timer)
		egs_timer_start(all->step_timer, in_ms);
}

static void on_step_done(struct egs_daemon *d, uint32_t job_id,
			 enum egs_resize_outcome end, const char *text);

static void refuse_resize(struct egs_daemon *d, struct egs_resize *r,
			  const struct egs_err *why)
{
	end_gpu_scan(d, r);
	egs_resize_unlock_end(d, r->request.job_id);
	on_step_done(d, r->request.job_id, EGS_RESIZE_REFUSED, why->msg);
}

static const char *node_name(const struct egs_daemon *d, uint32_t node)
{
	const struct egs_node_info *n = egs_cluster_get_node(d->cluster, node);

	return n ? n->name : "?";
}

/* Slurm starts the batch script on the first node. */
static bool has_batch_script(const struct egs_daemon *d, uint32_t job_id,
			     uint32_t node)
{
	const struct egs_job *j = egs_policy_job(d->policy, job_id);

	return j && j->nallocs && j->alloc[0].node == node;
}

/* Append "n1:c:620" to the list: open GPUs, and memory if it is known. */
static int add_node_use(struct egs_resize *r, const char *node,
			const struct egs_node_use *use)
{
	char *list = r->request.open_gpus;
	size_t used = strlen(list), size = sizeof(r->request.open_gpus) - used;
	char mem[16] = "";
	int n;

	if (use->mem_mb != EGS_MEM_UNKNOWN)
		snprintf(mem, sizeof(mem), ":%" PRIu32, use->mem_mb);
	n = snprintf(list + used, size, "%s%s:%" PRIx64 "%s", used ? "," : "",
		     node, use->open_gpus, mem);
	if (n > 0 && (size_t)n < size)
		return 0;
	list[used] = '\0';
	return -1;
}

void egs_resize_add_gpu_users(struct egs_daemon *d, uint32_t job_id,
			      uint32_t look, uint32_t node,
			      const struct egs_node_use *use,
			      const struct egs_err *who)
{
	struct egs_resize *r = egs_resize_find(d, job_id);
	struct egs_node_use known = *use;
	struct egs_err why;
	uint32_t i = 0;

	if (!r || !look || r->gpu_scan != look)
		return;
	while (i < r->nunanswered && r->unanswered[i] != node)
		i++;
	if (i == r->nunanswered)
		return;
	r->unanswered[i] = r->unanswered[--r->nunanswered];
	if (!has_batch_script(d, job_id, node))
		known.mem_mb = EGS_MEM_UNKNOWN;
	if (use->open_gpus)
		r->gpu_user = *who;
	if ((use->open_gpus || known.mem_mb != EGS_MEM_UNKNOWN) &&
	    add_node_use(r, node_name(d, node), &known) < 0) {
		egs_errf(&why,
			 "job %" PRIu32 ": not resized: processes have GPUs "
			 "open on too many nodes",
			 job_id);
		refuse_resize(d, r, &why);
		return;
	}
	if (r->nunanswered)
		return;
	end_gpu_scan(d, r);
	r->request.gpus_scanned = true;
	send_to_worker(d, r);
}

void egs_resize_fail_gpu_scan(struct egs_daemon *d, uint32_t job_id,
			      uint32_t look, uint32_t node, const char *reason)
{
	struct egs_resize *r = egs_resize_find(d, job_id);
	struct egs_err why;

	if (!r || !look || r->gpu_scan != look)
		return;
	egs_errf(&why,
		 "job %" PRIu32 ": not resized: egs-noded of %s cannot find "
		 "open GPUs: %s",
		 job_id, node_name(d, node), reason);
	egs_log_error("%s", why.msg);
	refuse_resize(d, r, &why);
}

static void give_up_gpu_scan(struct egs_daemon *d, struct egs_resize *r)
{
	struct egs_err why;

	egs_errf(&why,
		 "job %" PRIu32 ": not resized: egs-noded of %s does not "
		 "answer, so open GPUs are not known",
		 r->request.job_id, node_name(d, r->unanswered[0]));
	refuse_resize(d, r, &why);
}

/* ---- steps ---- */

static uint32_t job_restarts(const struct egs_daemon *d, uint32_t job_id)
{
	const struct egs_job *j = egs_policy_job(d->policy, job_id);

	return j ? j->ident.restarts : 0;
}

int egs_resize_begin(struct egs_daemon *d,
		     const struct egs_resize_params *params,
		     struct egs_err *err)
{
	struct egs_resize *r = find_unused(d->requests->resizes);

	if (!r)
		return egs_errf(err, "out of memory");
	*r = (struct egs_resize){ .request = *params,
				  .restarts = job_restarts(d, params->job_id),
				  .state = EGS_RESIZE_WAITING,
				  .received_at = egs_daemon_now(),
				  .news = d->requests->resizes->last_news,
				  .news_sent = d->requests->resizes->last_news,
				  .used = true };
	r->request.serial = 0;
	run_step(d, r);
	return 0;
}

void egs_resize_forget(struct egs_resize *r)
{
	free(r->text);
	free(r->unanswered);
	*r = (struct egs_resize){ .used = false };
}

void egs_resize_cancel(struct egs_daemon *d, struct egs_resize *r)
{
	struct egs_resize_params params = r->request;

	params.way = EGS_RESIZE_CANCEL;
	params.serial = 0;
	egs_resize_forget(r);
	egs_resize_unlock_ask_worker(d, &params);
}

/* A requeued job with a number of GPUs in its stamp gets that number.  After a
 * restart of the daemon a poll may show a helper job without a resize.  Begin
 * an empty resize, so that the job has time to send its message again.
 */
static void on_job_seen(struct egs_daemon *d, const struct egs_job_fact *fact)
{
	struct egs_stamp stamp = egs_stamp_read(fact->admin_comment);
	uint32_t job_id = stamp.helper_for;
	struct egs_resize_params next = { .job_id = fact->job_id,
					  .uid = fact->uid,
					  .way = EGS_RESIZE_AT_RESTART };
	struct egs_resize *r;

	if (fact->state == EGS_JOB_PENDING && stamp.next_gpus)
		egs_resize_unlock_ask_worker(d, &next);
	if (egs_resize_find(d, fact->job_id))
		schedule_news(d);
	r = job_id ? egs_resize_find(d, job_id) : NULL;
	if (r && r->helper_state != fact->state) {
		r->helper_state = fact->state;
		schedule_step(d, r, 0);
	}
	if (!job_id || fact->state > EGS_JOB_RUNNING || r)
		return;
	r = find_unused(d->requests->resizes);
	if (!r)
		return;
	*r = (struct egs_resize){ .request = { .job_id = job_id,
					       .uid = fact->uid },
				  .restarts = job_restarts(d, job_id),
				  .state = EGS_RESIZE_WAITING,
				  .received_at = egs_daemon_now(),
				  .used = true };
}

void egs_resize_set_next_run(struct egs_daemon *d,
			     const struct egs_identity *job, uint32_t gpus)
{
	const struct egs_resize_params params = {
		.job_id = job->job_id,
		.uid = job->uid,
		.gpus = gpus,
		.way = EGS_RESIZE_AT_RESTART,
	};

	egs_resize_unlock_ask_worker(d, &params);
}

/* Poll the job first: the job gets its answer when Slurm shows the GPUs.  The
 * same text is news once, also if no job asks for it.
 */
static void on_step_done(struct egs_daemon *d, uint32_t job_id,
			 enum egs_resize_outcome end, const char *text)
{
	struct egs_resize *r = egs_resize_find(d, job_id);
	bool is_new;

	if (!r)
		return;
	r->needs_gpu_scan = end == EGS_RESIZE_NEEDS_SCAN;
	if (end == EGS_RESIZE_NEEDS_SCAN) {
		run_step(d, r);
		return;
	}
	if (end == EGS_RESIZE_FINISHING) {
		end = EGS_RESIZE_WAITING;
		if (r->finish_tries++ < FINISH_TRIES)
			schedule_step(d, r, FINISH_MS);
	} else if (r->step_due) {
		schedule_step(d, r, 0);
	}
	if (end == EGS_RESIZE_DONE) {
		egs_log_info("job %" PRIu32 ": has %" PRIu32 " GPUs now",
			     job_id, r->request.gpus);
		egs_worker_read_job(d->worker, job_id);
	}
	is_new = !r->text || strcmp(r->text, text) != 0;
	r->text_sent &= !is_new;
	free(r->text);
	r->text = strdup(text);
	r->worker_busy = false;
	r->state = end;
	if (egs_resize_is_refused(r))
		egs_log_info("%s", text);
	if (egs_resize_is_refused(r) ||
	    (end == EGS_RESIZE_WAITING && *text && is_new))
		r->news = ++d->requests->resizes->last_news;
	schedule_news(d);
}

/* An answer to a cancelled resize says nothing about the next one. */
static bool is_waited_for(const struct egs_daemon *d,
			  const struct egs_resize_params *params)
{
	const struct egs_resize *r = egs_resize_find(d, params->job_id);

	return r && params->serial && params->serial == r->request.serial;
}

static void on_worker_answer(struct egs_daemon *d,
			     const struct egs_resize_params *params,
			     enum egs_resize_outcome end, const char *text)
{
	bool is_own = is_waited_for(d, params);

	if (is_own && end == EGS_RESIZE_DONE)
		egs_resize_unlock_expect_done(d, params->job_id);
	egs_resize_unlock_answered(d, params->job_id);
	if (is_own)
		on_step_done(d, params->job_id, end, text);
}

static void on_tick(struct egs_daemon *d)
{
	struct egs_resizes *all = d->requests->resizes;
	egs_time_t now = egs_daemon_now();

	for (size_t i = 0; i < all->n; i++) {
		struct egs_resize *r = &all->list[i];

		if (!r->used)
			continue;
		if (r->gpu_scan && now - r->sent_at > GPU_SCAN_S) {
			give_up_gpu_scan(d, r);
		} else if (r->state != EGS_RESIZE_WAITING) {
			if (now - r->sent_at > EGS_RESIZE_LEASE_S)
				egs_resize_forget(r);
		} else if (now - r->received_at > EGS_RESIZE_LEASE_S) {
			egs_log_info("job %" PRIu32
				     ": no longer waits for GPUs",
				     r->request.job_id);
			egs_resize_cancel(d, r);
		} else if (r->request.gpus && !r->worker_busy &&
			   now - r->sent_at >= RETRY_S) {
			run_step(d, r);
		}
	}
	send_news(d);
}

const struct egs_part egs_resize_part = {
	.name = "resize",
	.init = init_resizes,
	.stop = free_resizes,
	.tick = on_tick,
	.job_seen = on_job_seen,
	.update_refused = egs_resize_refusal_record,
	.resize_step = on_worker_answer,
};
