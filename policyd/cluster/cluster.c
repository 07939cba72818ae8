/* cluster.c - changes since the last poll become events of the policy */
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
	struct egs_cluster *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->policy = policy;
	c->conf = conf;
	c->ops = ops;
	c->arg = arg;
	c->poll = c->node_poll = 1;
	c->first_poll = true;
	return c;
}

void egs_cluster_free(struct egs_cluster *c)
{
	if (!c)
		return;
	egs_idmap_clear(&c->jobs);
	egs_intern_clear(&c->strings);
	egs_intern_clear(&c->node_strings);
	egs_intern_clear(&c->node_names);
	egs_buf_clear(&c->scratch);
	free(c->last_facts);
	free(c->nodes);
	free(c->allocs);
	free(c);
}

/* Without a checksum every fact is applied again.  Overrides keep their names,
 * whose numbers may change.
 */
void egs_cluster_set_conf(struct egs_cluster *c,
			  const struct egs_policy_conf *conf)
{
	for (uint32_t i = 0; i < c->jobs.nslots; i++) {
		struct egs_last_fact *s = &c->last_facts[i];

		s->checksum = 0;
		if (s->tier_override >= 0)
			s->tier_override = (int16_t)egs_conf_find_tier(
				conf, c->conf->tier[s->tier_override].name);
		if (s->phase_override >= 0)
			s->phase_override = (int16_t)egs_conf_find_phase(
				conf, c->conf->phase[s->phase_override].name);
	}
	c->conf = conf;
}

void egs_cluster_begin_poll(struct egs_cluster *c)
{
	c->poll++;
}

static void notify_changed(struct egs_cluster *c,
			   const struct egs_identity *job, bool ended)
{
	if (c->ops && c->ops->job_changed)
		c->ops->job_changed(c->arg, job, ended);
}

/* The entry of a job, added if it is new; NULL: out of memory. */
static struct egs_last_fact *add_slot(struct egs_cluster *c,
				      const struct egs_job_fact *f)
{
	uint32_t slot = egs_idmap_add(&c->jobs, f->job_id);

	if (slot == EGS_IDMAP_NONE)
		return NULL;
	if (egs_grow(&c->last_facts, &c->last_facts_cap, slot + 1) < 0) {
		egs_idmap_drop(&c->jobs, f->job_id);
		return NULL;
	}
	return &c->last_facts[slot];
}

/* Restore the overrides that an earlier daemon saved; NULL: none saved. */
static const struct egs_saved_job *restore_saved(struct egs_cluster *c,
						 const struct egs_event *ev,
						 struct egs_last_fact *last)
{
	const struct egs_saved_job *saved = NULL;

	last->tier_override = last->phase_override = -1;
	if (c->ops && c->ops->saved_job)
		saved = c->ops->saved_job(c->arg, &ev->job);
	if (!saved)
		return NULL;
	last->tier_override = (int16_t)egs_conf_find_tier(c->conf, saved->tier);
	last->phase_override =
		(int16_t)egs_conf_find_phase(c->conf, saved->phase);
	last->restarts = saved->job.restarts;
	return saved;
}

/* Checksum of the encoded fact.  The priority grows with age, and so do the
 * expected start and end of a pending job: they are left out.
 */
static uint64_t checksum_fact(struct egs_cluster *c,
			      const struct egs_job_fact *f)
{
	struct egs_job_fact stable = *f;

	stable.priority = 0;
	if (f->state == EGS_JOB_PENDING)
		stable.start = stable.end = 0;
	c->scratch.used = 0;
	c->scratch.failed = false;
	egs_fact_put_job(&c->scratch, &stable);
	/* 0: not applied yet */
	return egs_hash(EGS_HASH_START, c->scratch.bytes, c->scratch.used) | 1;
}

static int apply_event(struct egs_cluster *c, struct egs_event *ev,
		       enum egs_event_kind kind, egs_time_t now)
{
	ev->kind = kind;
	return egs_policy_apply(c->policy, ev, now);
}

static bool has_allocation(uint32_t state)
{
	return state == EGS_JOB_RUNNING || state == EGS_JOB_SUSPENDED;
}

/* The job was preempted and requeued between two polls: apply both, in order.
 */
static int apply_missed_preempt(struct egs_cluster *c,
				const struct egs_last_fact *was,
				const struct egs_event *ev, egs_time_t now)
{
	struct egs_event preempting = *ev;

	preempting.job.restarts = was->restarts;
	return apply_event(c, &preempting, EGS_EV_PREEMPTING, now);
}

/* The job ended before the first poll: its use counts.  A job that was
 * cancelled while pending has a start time and no nodes.
 */
static int apply_missed_end(struct egs_cluster *c, const struct egs_job_fact *f,
			    const struct egs_event *ev, egs_time_t now)
{
	const struct egs_node_alloc alloc = { .gpus = egs_gpu_count_total(
						      &f->gpus) };
	struct egs_event ended = *ev;

	if (!ev->started_unseen || !f->nodes || !*f->nodes)
		return 0;
	ended.since = (egs_time_t)f->start;
	ended.until = (egs_time_t)f->end;
	ended.alloc = &alloc;
	ended.nallocs = 1;
	return apply_event(c, &ended, EGS_EV_ENDED, now);
}

/* Apply the events from the last state to the new state.  A run that began and
 * ended between two polls shows in the restart count.
 */
static int apply_transition(struct egs_cluster *c, const struct egs_job_fact *f,
			    const struct egs_last_fact *was,
			    struct egs_event *ev, egs_time_t now)
{
	bool restarted = was->in_policy && f->restarts != was->restarts;

	if (restarted && f->preempt_time &&
	    apply_missed_preempt(c, was, ev, now) < 0)
		return -1;
	if (f->state == EGS_JOB_ENDED)
		return was->in_policy ? apply_event(c, ev, EGS_EV_ENDED, now)
				      : apply_missed_end(c, f, ev, now);
	if (apply_event(c, ev, EGS_EV_UPDATED, now) < 0)
		return -1;
	if ((restarted ||
	     (has_allocation(was->state) && !has_allocation(f->state))) &&
	    was->in_policy && apply_event(c, ev, EGS_EV_REQUEUED, now) < 0)
		return -1;
	if (!has_allocation(f->state))
		return 0;
	ev->since = (egs_time_t)f->start;
	if (apply_event(c, ev, EGS_EV_STARTED, now) < 0)
		return -1;
	if (!f->preempt_time)
		return apply_event(c, ev, EGS_EV_WITHDRAWN, now);
	ev->since = (egs_time_t)f->preempt_time;
	ev->until = (egs_time_t)f->end; /* Slurm's own deadline */
	return apply_event(c, ev, EGS_EV_PREEMPTING, now);
}

/* Is this another job with the id of a known job?  Slurm reuses ids. */
static bool is_id_reused(const struct egs_cluster *c,
			 const struct egs_last_fact *last,
			 const struct egs_event *ev)
{
	const struct egs_job *j =
		last->in_policy ? egs_policy_job(c->policy, ev->job.job_id)
				: NULL;

	return j && !egs_identity_is_same(&j->ident, &ev->job);
}

/* End the job that the policy has under this id. */
static void end_policy_job(struct egs_cluster *c,
			   const struct egs_last_fact *last, uint32_t id,
			   egs_time_t now)
{
	const struct egs_job *j =
		last->in_policy ? egs_policy_job(c->policy, id) : NULL;
	struct egs_event ev = { .kind = EGS_EV_ENDED };

	if (!j)
		return;
	ev.job = j->ident;
	egs_policy_apply(c->policy, &ev, now);
	notify_changed(c, &ev.job, true);
}

/* A preempted job that is completing may end or be requeued.  Slurm decides by
 * its exit code when all its processes have ended.
 */
static bool may_be_requeued(const struct egs_cluster *c,
			    const struct egs_job_fact *f)
{
	const struct egs_job *j = egs_policy_job(c->policy, f->job_id);

	return f->state == EGS_JOB_ENDED && f->flags & EGS_FACT_COMPLETING &&
	       j && j->running &&
	       (j->preempting || j->deadline || f->preempt_time);
}

/* slurmctld may have withdrawn the preemption before an earlier daemon ended.
 */
static bool is_withdrawn(const struct egs_cluster *c,
			 const struct egs_job_fact *f)
{
	const struct egs_job *j = egs_policy_job(c->policy, f->job_id);

	return j && j->withdrawing && !f->preempt_time;
}

static int update_job(struct egs_cluster *c, const struct egs_job_fact *f,
		      egs_time_t now)
{
	struct egs_last_fact *last = add_slot(c, f);
	uint64_t sum = checksum_fact(c, f);
	struct egs_last_fact was;
	struct egs_event ev;
	const struct egs_saved_job *saved;

	if (!last || c->scratch.failed)
		return -1;
	last->last_poll = c->poll;
	last->expected_start =
		f->state == EGS_JOB_PENDING ? (uint32_t)f->start : 0;
	if (f->state == EGS_JOB_PENDING)
		egs_cluster_mark_awaited(c, f);
	if (last->checksum == sum && !is_withdrawn(c, f))
		return 0;
	if (c->ops && c->ops->fact_changed)
		c->ops->fact_changed(c->arg, f, now);
	if (egs_cluster_make_event(c, f, last, &ev) < 0)
		return -1;
	if (is_id_reused(c, last, &ev)) {
		end_policy_job(c, last, f->job_id, now);
		last->in_policy = false;
	}
	if (!last->in_policy) {
		*last = (struct egs_last_fact){ .last_poll = c->poll,
						.expected_start =
							last->expected_start,
						.awaited_poll =
							last->awaited_poll };
		saved = restore_saved(c, &ev, last);
		if (egs_cluster_make_event(c, f, last, &ev) < 0)
			return -1;
		ev.owned = saved && saved->owned;
		ev.history = saved ? &saved->history : NULL;
		ev.started_unseen = c->first_poll;
	}
	was = *last;
	if (apply_transition(c, f, &was, &ev, now) < 0)
		return -1; /* old checksum: the next poll tries again */
	last->checksum = sum;
	last->in_policy = f->state != EGS_JOB_ENDED;
	last->state = (uint8_t)f->state;
	last->restarts = f->restarts;
	last->array_job_id = f->array_job_id;
	last->user = egs_intern_add(&c->strings, f->user);
	last->account = egs_intern_add(&c->strings, f->account);
	last->name = egs_intern_add(&c->strings, f->name);
	last->time_limit_s = f->time_limit_s;
	last->reason = egs_intern_add(&c->strings, f->reason ? f->reason : "");
	notify_changed(c, &ev.job, f->state == EGS_JOB_ENDED);
	return 0;
}

/* Is the job deferred because it is over a limit?  Then its begin time
 * prevents the start, but the limit is the reason.
 */
static bool is_over_limit(const struct egs_cluster *c,
			  const struct egs_job_fact *f, egs_time_t now)
{
	struct egs_take_view row;

	return f->state == EGS_JOB_PENDING && f->reason &&
	       strcmp(f->reason, "BeginTime") == 0 &&
	       (egs_time_t)f->eligible <= now + EGS_DEFER_S &&
	       egs_policy_take_view(c->policy, f->job_id, now, &row) == 0 &&
	       row.over_limit_pending;
}

int egs_cluster_update_job(struct egs_cluster *c, const struct egs_job_fact *f,
			   egs_time_t now)
{
	struct egs_job_fact fact = *f;

	if (may_be_requeued(c, f))
		fact.state = EGS_JOB_RUNNING;
	if (is_over_limit(c, f, now)) {
		fact.flags |= EGS_FACT_BLOCKED | EGS_FACT_LIMITED;
		fact.eligible = f->submit;
	}
	return update_job(c, &fact, now);
}

/* The policy forgets a job when it ends.  The slot stays until Slurm forgets
 * the job too; otherwise the job would be new at every poll.
 */
static void drop_job(struct egs_cluster *c, uint32_t slot, egs_time_t now)
{
	uint32_t id = c->jobs.id[slot];

	end_policy_job(c, &c->last_facts[slot], id, now);
	if (c->ops && c->ops->job_gone)
		c->ops->job_gone(c->arg, id);
	c->last_facts[slot] = (struct egs_last_fact){ .checksum = 0 };
	egs_idmap_drop(&c->jobs, id);
}

void egs_cluster_job_gone(struct egs_cluster *c, uint32_t job_id,
			  egs_time_t now)
{
	uint32_t slot = egs_idmap_find(&c->jobs, job_id);

	if (slot != EGS_IDMAP_NONE)
		drop_job(c, slot, now);
}

/* Update a job whose fact in Slurm has not changed. */
static int reapply_facts(struct egs_cluster *c, const struct egs_job *j,
			 const struct egs_facts *facts, egs_time_t now)
{
	struct egs_event ev = { .kind = EGS_EV_UPDATED,
				.job = j->ident,
				.facts = *facts };

	return egs_policy_apply(c->policy, &ev, now);
}

/* Dependencies are known when all jobs of the poll were shown. */
static void update_dependents(struct egs_cluster *c, uint32_t slot,
			      egs_time_t now)
{
	const struct egs_job *j = egs_policy_job(c->policy, c->jobs.id[slot]);
	bool awaited = c->last_facts[slot].awaited_poll == c->poll;
	struct egs_facts facts;

	if (!c->last_facts[slot].in_policy || !j ||
	    j->facts.dependents == awaited)
		return;
	facts = j->facts;
	facts.dependents = awaited;
	reapply_facts(c, j, &facts, now);
}

/* Users choose names, workloads and programs: forget those of jobs that are
 * gone.
 */
static void sweep_strings(struct egs_cluster *c)
{
	if (!egs_intern_begin_sweep(&c->strings))
		return;
	for (uint32_t slot = 0; slot < c->last_facts_cap; slot++) {
		const struct egs_last_fact *last = &c->last_facts[slot];

		egs_intern_mark(&c->strings, last->user);
		egs_intern_mark(&c->strings, last->account);
		egs_intern_mark(&c->strings, last->name);
		egs_intern_mark(&c->strings, last->partition);
		egs_intern_mark(&c->strings, last->reason);
		egs_intern_mark(&c->strings, last->dependency);
		egs_intern_mark(&c->strings, last->depends_on);
		egs_intern_mark(&c->strings, last->workload);
		egs_intern_mark(&c->strings, last->phase_gpus);
		egs_intern_mark(&c->strings, last->save_program);
	}
	egs_intern_end_sweep(&c->strings);
}

void egs_cluster_end_poll(struct egs_cluster *c, egs_time_t now)
{
	c->first_poll = false;
	for (uint32_t slot = 0; slot < c->jobs.nslots; slot++) {
		if (!c->jobs.id[slot])
			continue;
		if (c->last_facts[slot].last_poll != c->poll)
			drop_job(c, slot, now);
		else
			update_dependents(c, slot, now);
	}
	sweep_strings(c);
}
