/* cluster.c - what changed since the last look is told to the policy */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hash.h"
#include "common/ipc/table.h"
#include "policyd/cluster/cluster_internal.h"

struct egs_cluster *egs_cluster_new(struct egs_policy *policy,
				    const struct egs_policy_conf *conf,
				    const struct egs_cluster_ops *ops,
				    void *arg)
{
	struct egs_cluster *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->policy = policy;
	w->conf = conf;
	w->ops = ops;
	w->arg = arg;
	w->poll = w->node_poll = 1;
	w->first_poll = true;
	return w;
}

void egs_cluster_free(struct egs_cluster *w)
{
	if (!w)
		return;
	egs_idmap_clear(&w->jobs);
	egs_intern_clear(&w->strings);
	egs_intern_clear(&w->node_names);
	egs_buf_clear(&w->scratch);
	free(w->last_facts);
	free(w->nodes);
	free(w->allocs);
	free(w);
}

/* The sums are dropped, so every fact looks new; what an operator set is kept
 * by name by the caller and set again.
 */
void egs_cluster_set_conf(struct egs_cluster *w,
			  const struct egs_policy_conf *conf)
{
	uint32_t i;

	for (i = 0; i < w->jobs.nslots; i++) {
		struct egs_last_fact *s = &w->last_facts[i];

		s->checksum = 0;
		if (s->tier_override >= 0)
			s->tier_override = (int16_t)egs_conf_find_tier(
				conf, w->conf->tier[s->tier_override].name);
		if (s->phase_override >= 0)
			s->phase_override = (int16_t)egs_conf_find_phase(
				conf, w->conf->phase[s->phase_override].name);
	}
	w->conf = conf;
}

void egs_cluster_begin_poll(struct egs_cluster *w)
{
	w->poll++;
}

static void notify_changed(struct egs_cluster *w,
			   const struct egs_identity *job, bool ended)
{
	if (w->ops && w->ops->job_changed)
		w->ops->job_changed(w->arg, job, ended);
}

/* The slot of a job, with room to remember it; what an earlier daemon kept of
 * it comes back.
 */
static struct egs_last_fact *add_slot(struct egs_cluster *w,
				      const struct egs_job_fact *f)
{
	uint32_t slot = egs_idmap_add(&w->jobs, f->job_id);

	if (slot == EGS_IDMAP_NONE)
		return NULL;
	if (egs_grow(&w->last_facts, &w->last_facts_cap, slot + 1) < 0) {
		egs_idmap_drop(&w->jobs, f->job_id);
		return NULL;
	}
	return &w->last_facts[slot];
}

/* What an earlier daemon kept of it, or NULL: what others have set holds. */
static const struct egs_saved_job *restore_saved(struct egs_cluster *w,
						 const struct egs_event *ev,
						 struct egs_last_fact *seen)
{
	const struct egs_saved_job *kept = NULL;

	seen->tier_override = seen->phase_override = -1;
	if (w->ops && w->ops->saved_job)
		kept = w->ops->saved_job(w->arg, &ev->job);
	if (!kept)
		return NULL;
	seen->tier_override = (int16_t)egs_conf_find_tier(w->conf, kept->tier);
	seen->phase_override =
		(int16_t)egs_conf_find_phase(w->conf, kept->phase);
	seen->restarts = kept->job.restarts;
	return kept;
}

/* FNV-1a over the encoded fact.  The priority grows with age, and so does the
 * start and end that Slurm expects of a pending job: neither is news.
 */
static uint64_t checksum_fact(struct egs_cluster *w,
			      const struct egs_job_fact *f)
{
	struct egs_job_fact still = *f;

	still.priority = 0;
	if (f->state == EGS_JOB_PENDING)
		still.start = still.end = 0;
	w->scratch.used = 0;
	w->scratch.failed = false;
	egs_fact_put_job(&w->scratch, &still);
	/* 0 is "not seen yet". */
	return egs_hash(EGS_HASH_START, w->scratch.bytes, w->scratch.used) | 1;
}

static int apply_event(struct egs_cluster *w, struct egs_event *ev,
		       enum egs_event_kind kind, egs_time_t now)
{
	ev->kind = kind;
	return egs_policy_apply(w->policy, ev, now);
}

static bool has_allocation(uint32_t state)
{
	return state == EGS_JOB_RUNNING || state == EGS_JOB_SUSPENDED;
}

/* It was asked and went between two looks: the first is told first. */
static int apply_missed_preempt(struct egs_cluster *w,
				const struct egs_last_fact *was,
				const struct egs_event *ev, egs_time_t now)
{
	struct egs_event asked = *ev;

	asked.job.restarts = was->restarts;
	return apply_event(w, &asked, EGS_EV_PREEMPTING, now);
}

/* It ended before anybody looked: what it used counts.  Cancelled in the queue
 * it shows a start that never was.
 */
static int apply_missed_end(struct egs_cluster *w, const struct egs_job_fact *f,
			    const struct egs_event *ev, egs_time_t now)
{
	const struct egs_node_alloc held = { .gpus = egs_gpu_count_total(
						     &f->gpus) };
	struct egs_event ended = *ev;

	if (!ev->started_unseen || !f->nodes || !*f->nodes)
		return 0;
	ended.since = (egs_time_t)f->start;
	ended.until = (egs_time_t)f->end;
	ended.alloc = &held;
	ended.nallocs = 1;
	return apply_event(w, &ended, EGS_EV_ENDED, now);
}

/* From what it was to what it is.  A run that began and ended between two
 * looks shows in the restart count.
 */
static int apply_transition(struct egs_cluster *w, const struct egs_job_fact *f,
			    const struct egs_last_fact *was,
			    struct egs_event *ev, egs_time_t now)
{
	bool again = was->in_policy && f->restarts != was->restarts;

	if (again && f->preempt_time &&
	    apply_missed_preempt(w, was, ev, now) < 0)
		return -1;
	if (f->state == EGS_JOB_ENDED)
		return was->in_policy ? apply_event(w, ev, EGS_EV_ENDED, now)
				      : apply_missed_end(w, f, ev, now);
	if (apply_event(w, ev, EGS_EV_UPDATED, now) < 0)
		return -1;
	if ((again ||
	     (has_allocation(was->state) && !has_allocation(f->state))) &&
	    was->in_policy && apply_event(w, ev, EGS_EV_REQUEUED, now) < 0)
		return -1;
	if (!has_allocation(f->state))
		return 0;
	ev->since = (egs_time_t)f->start;
	if (apply_event(w, ev, EGS_EV_STARTED, now) < 0)
		return -1;
	if (!f->preempt_time)
		return apply_event(w, ev, EGS_EV_WITHDRAWN, now);
	ev->since = (egs_time_t)f->preempt_time;
	ev->until = (egs_time_t)f->end; /* Slurm's own deadline */
	return apply_event(w, ev, EGS_EV_PREEMPTING, now);
}

/* Another job under an id we know: Slurm hands ids out again. */
static bool is_id_reused(const struct egs_cluster *w,
			 const struct egs_last_fact *seen,
			 const struct egs_event *ev)
{
	const struct egs_job *j =
		seen->in_policy ? egs_policy_job(w->policy, ev->job.job_id)
				: NULL;

	return j && !egs_identity_is_same(&j->ident, &ev->job);
}

/* The job with this id that the policy was told of has ended. */
static void end_policy_job(struct egs_cluster *w,
			   const struct egs_last_fact *seen, uint32_t id,
			   egs_time_t now)
{
	const struct egs_job *j =
		seen->in_policy ? egs_policy_job(w->policy, id) : NULL;
	struct egs_event ev = { .kind = EGS_EV_ENDED };

	if (!j)
		return;
	ev.job = j->ident;
	egs_policy_apply(w->policy, &ev, now);
	notify_changed(w, &ev.job, true);
}

/* A job that was asked and whose last processes are being ended may have ended
 * or may be on its way into the queue: Slurm itself looks at its exit code when
 * that is over.
 */
static bool may_be_requeued(const struct egs_cluster *w,
			    const struct egs_job_fact *f)
{
	const struct egs_job *j = egs_policy_job(w->policy, f->job_id);

	return f->state == EGS_JOB_ENDED && f->flags & EGS_FACT_COMPLETING &&
	       j && j->running &&
	       (j->preempting || j->deadline || f->preempt_time);
}

/* Slurm may have heard of it before we were there. */
static bool is_withdrawn(const struct egs_cluster *w,
			 const struct egs_job_fact *f)
{
	const struct egs_job *j = egs_policy_job(w->policy, f->job_id);

	return j && j->withdrawing && !f->preempt_time;
}

static int update_job(struct egs_cluster *w, const struct egs_job_fact *f,
		      egs_time_t now)
{
	struct egs_last_fact *seen = add_slot(w, f);
	uint64_t sum = checksum_fact(w, f);
	struct egs_last_fact was;
	struct egs_event ev;
	const struct egs_saved_job *kept;

	if (!seen || w->scratch.failed)
		return -1;
	seen->last_poll = w->poll;
	seen->expected_start =
		f->state == EGS_JOB_PENDING ? (uint32_t)f->start : 0;
	if (f->state == EGS_JOB_PENDING)
		egs_cluster_mark_awaited(w, f->dependency);
	if (seen->checksum == sum && !is_withdrawn(w, f))
		return 0;
	if (w->ops && w->ops->fact_changed)
		w->ops->fact_changed(w->arg, f, now);
	if (egs_cluster_make_event(w, f, seen, &ev) < 0)
		return -1;
	if (is_id_reused(w, seen, &ev)) {
		end_policy_job(w, seen, f->job_id, now);
		seen->in_policy = false;
	}
	if (!seen->in_policy) {
		*seen = (struct egs_last_fact){ .last_poll = w->poll,
						.expected_start =
							seen->expected_start,
						.awaited_poll =
							seen->awaited_poll };
		kept = restore_saved(w, &ev, seen);
		if (egs_cluster_make_event(w, f, seen, &ev) < 0)
			return -1;
		ev.owned = kept && kept->owned;
		ev.history = kept ? &kept->history : NULL;
		ev.started_unseen = w->first_poll;
	}
	was = *seen;
	if (apply_transition(w, f, &was, &ev, now) < 0)
		return -1; /* the sum stays old: the next look tries again */
	seen->checksum = sum;
	seen->in_policy = f->state != EGS_JOB_ENDED;
	seen->state = (uint8_t)f->state;
	seen->restarts = f->restarts;
	seen->array_job_id = f->array_job_id;
	seen->user = egs_intern_add(&w->strings, f->user);
	seen->account = egs_intern_add(&w->strings, f->account);
	notify_changed(w, &ev.job, f->state == EGS_JOB_ENDED);
	return 0;
}

/* A job beyond a limit is kept out of Slurm's queue by its begin time, and is
 * blocked by the limit.
 */
static bool is_over_limit(const struct egs_cluster *w,
			  const struct egs_job_fact *f, egs_time_t now)
{
	struct egs_take_view row;

	return f->state == EGS_JOB_PENDING && f->reason &&
	       strcmp(f->reason, "BeginTime") == 0 &&
	       (egs_time_t)f->eligible <= now + EGS_DEFER_S &&
	       egs_policy_take_view(w->policy, f->job_id, now, &row) == 0 &&
	       row.over_limit_pending;
}

int egs_cluster_update_job(struct egs_cluster *w, const struct egs_job_fact *f,
			   egs_time_t now)
{
	struct egs_job_fact seen = *f;

	if (may_be_requeued(w, f))
		seen.state = EGS_JOB_RUNNING;
	if (is_over_limit(w, f, now)) {
		seen.flags |= EGS_FACT_BLOCKED | EGS_FACT_LIMITED;
		seen.eligible = f->submit;
	}
	return update_job(w, &seen, now);
}

/* Ended is what the policy forgets; the slot is kept until Slurm forgets the
 * job too, or it would be new at every look.
 */
static void drop_job(struct egs_cluster *w, uint32_t slot, egs_time_t now)
{
	uint32_t id = w->jobs.id[slot];

	end_policy_job(w, &w->last_facts[slot], id, now);
	if (w->ops && w->ops->job_gone)
		w->ops->job_gone(w->arg, id);
	w->last_facts[slot] = (struct egs_last_fact){ .checksum = 0 };
	egs_idmap_drop(&w->jobs, id);
}

void egs_cluster_job_gone(struct egs_cluster *w, uint32_t job_id,
			  egs_time_t now)
{
	uint32_t slot = egs_idmap_find(&w->jobs, job_id);

	if (slot != EGS_IDMAP_NONE)
		drop_job(w, slot, now);
}

/* Tell the policy of a job whose facts changed though Slurm's did not. */
static int reapply_facts(struct egs_cluster *w, const struct egs_job *j,
			 const struct egs_facts *facts, egs_time_t now)
{
	struct egs_event ev = { .kind = EGS_EV_UPDATED,
				.job = j->ident,
				.facts = *facts };

	return egs_policy_apply(w->policy, &ev, now);
}

/* Who is waited for is known when all have been seen. */
static void update_dependents(struct egs_cluster *w, uint32_t slot,
			      egs_time_t now)
{
	const struct egs_job *j = egs_policy_job(w->policy, w->jobs.id[slot]);
	bool waited = w->last_facts[slot].awaited_poll == w->poll;
	struct egs_facts facts;

	if (!w->last_facts[slot].in_policy || !j ||
	    j->facts.dependents == waited)
		return;
	facts = j->facts;
	facts.dependents = waited;
	reapply_facts(w, j, &facts, now);
}

void egs_cluster_end_poll(struct egs_cluster *w, egs_time_t now)
{
	uint32_t slot;

	w->first_poll = false;
	for (slot = 0; slot < w->jobs.nslots; slot++) {
		if (!w->jobs.id[slot])
			continue;
		if (w->last_facts[slot].last_poll != w->poll)
			drop_job(w, slot, now);
		else
			update_dependents(w, slot, now);
	}
}
