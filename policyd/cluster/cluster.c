/* cluster.c - what changed since the last look is told to the policy */
#include <stdlib.h>
#include <string.h>

#include "common/ipc/table.h"
#include "policyd/cluster/cluster_internal.h"

struct egs_world *egs_world_new(struct egs_policy *policy,
				const struct egs_policy_conf *conf,
				const struct egs_world_ops *ops, void *arg)
{
	struct egs_world *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->policy = policy;
	w->conf = conf;
	w->ops = ops;
	w->arg = arg;
	w->look = w->node_look = 1;
	w->first = true;
	return w;
}

void egs_world_free(struct egs_world *w)
{
	if (!w)
		return;
	egs_idmap_clear(&w->jobs);
	egs_names_clear(&w->people);
	egs_names_clear(&w->hosts);
	egs_buf_clear(&w->scratch);
	free(w->seen);
	free(w->node);
	free(w->part);
	free(w);
}

/* The sums are dropped, so every fact looks new; what an operator set is kept
 * by name by the caller and set again.
 */
void egs_world_conf(struct egs_world *w, const struct egs_policy_conf *conf)
{
	uint32_t i;

	for (i = 0; i < w->jobs.nslots; i++) {
		struct egs_seen *s = &w->seen[i];

		s->sum = 0;
		if (s->tier >= 0)
			s->tier = (int16_t)egs_conf_tier(
				conf, w->conf->tier[s->tier].name);
		if (s->phase >= 0)
			s->phase = (int16_t)egs_conf_phase(
				conf, w->conf->phase[s->phase].name);
	}
	w->conf = conf;
}

void egs_world_begin(struct egs_world *w)
{
	w->look++;
}

static void changed(struct egs_world *w, const struct egs_ident *job,
		    bool ended)
{
	if (w->ops && w->ops->changed)
		w->ops->changed(w->arg, job, ended);
}

/* The slot of a job, with room to remember it; what an earlier daemon kept of
 * it comes back.
 */
static struct egs_seen *remember(struct egs_world *w,
				 const struct egs_job_fact *f)
{
	uint32_t slot = egs_idmap_add(&w->jobs, f->job_id);

	if (slot == EGS_IDMAP_NONE)
		return NULL;
	if (slot >= w->nseen) {
		uint32_t room = w->nseen + w->nseen / 8 + 64;
		struct egs_seen *more = realloc(w->seen, room * sizeof(*more));

		if (!more) {
			egs_idmap_drop(&w->jobs, f->job_id);
			return NULL;
		}
		memset(more + w->nseen, 0, (room - w->nseen) * sizeof(*more));
		w->seen = more;
		w->nseen = room;
	}
	return &w->seen[slot];
}

/* What an earlier daemon kept of it, or NULL: what others have set holds. */
static const struct egs_kept *
adopt(struct egs_world *w, const struct egs_event *ev, struct egs_seen *seen)
{
	const struct egs_kept *kept = NULL;

	seen->tier = seen->phase = -1;
	if (w->ops && w->ops->kept)
		kept = w->ops->kept(w->arg, &ev->job);
	if (!kept)
		return NULL;
	seen->tier = (int16_t)egs_conf_tier(w->conf, kept->tier);
	seen->phase = (int16_t)egs_conf_phase(w->conf, kept->phase);
	seen->restarts = kept->job.restarts;
	return kept;
}

/* FNV-1a over the encoded fact.  The priority grows with age, and so does the
 * start and end that Slurm expects of a pending job: neither is news.
 */
static uint64_t sum_of(struct egs_world *w, const struct egs_job_fact *f)
{
	struct egs_job_fact still = *f;
	uint64_t sum = UINT64_C(14695981039346656037);
	size_t i;

	still.priority = 0;
	if (f->state == EGS_JOB_PENDING)
		still.start = still.end = 0;
	w->scratch.used = 0;
	w->scratch.failed = false;
	egs_job_fact_put(&w->scratch, &still);
	for (i = 0; i < w->scratch.used; i++)
		sum = (sum ^ (unsigned char)w->scratch.bytes[i]) *
		      UINT64_C(1099511628211);
	return sum | 1; /* 0: not seen yet */
}

static int tell(struct egs_world *w, struct egs_event *ev,
		enum egs_event_kind kind, egs_time_t now)
{
	ev->kind = kind;
	return egs_policy_apply(w->policy, ev, now);
}

static bool holds(uint32_t state)
{
	return state == EGS_JOB_RUNNING || state == EGS_JOB_SUSPENDED;
}

/* It was asked and went between two looks: the first is told first. */
static int tell_left(struct egs_world *w, const struct egs_seen *was,
		     const struct egs_event *ev, egs_time_t now)
{
	struct egs_event asked = *ev;

	asked.job.restarts = was->restarts;
	return tell(w, &asked, EGS_EV_ASKED, now);
}

/* It ended before anybody looked: what it used counts.  Cancelled in the queue
 * it shows a start that never was.
 */
static int tell_ended(struct egs_world *w, const struct egs_job_fact *f,
		      const struct egs_event *ev, egs_time_t now)
{
	const struct egs_part held = { .gpus = egs_gres_total(&f->gpus) };
	struct egs_event ended = *ev;

	if (!ev->adopted || !f->nodes || !*f->nodes)
		return 0;
	ended.since = (egs_time_t)f->start;
	ended.until = (egs_time_t)f->end;
	ended.part = &held;
	ended.nparts = 1;
	return tell(w, &ended, EGS_EV_ENDED, now);
}

/* From what it was to what it is.  A run that began and ended between two
 * looks shows in the restart count.
 */
static int follow(struct egs_world *w, const struct egs_job_fact *f,
		  const struct egs_seen *was, struct egs_event *ev,
		  egs_time_t now)
{
	bool again = was->known && f->restarts != was->restarts;

	if (again && f->preempted && tell_left(w, was, ev, now) < 0)
		return -1;
	if (f->state == EGS_JOB_ENDED)
		return was->known ? tell(w, ev, EGS_EV_ENDED, now)
				  : tell_ended(w, f, ev, now);
	if (tell(w, ev, EGS_EV_JOB, now) < 0)
		return -1;
	if ((again || (holds(was->state) && !holds(f->state))) && was->known &&
	    tell(w, ev, EGS_EV_REQUEUED, now) < 0)
		return -1;
	if (!holds(f->state))
		return 0;
	ev->since = (egs_time_t)f->start;
	if (tell(w, ev, EGS_EV_STARTED, now) < 0)
		return -1;
	if (!f->preempted)
		return tell(w, ev, EGS_EV_SPARED, now);
	ev->since = (egs_time_t)f->preempted;
	ev->until = (egs_time_t)f->end; /* Slurm's own deadline */
	return tell(w, ev, EGS_EV_ASKED, now);
}

/* Another job under an id we know: Slurm hands ids out again. */
static bool reused(const struct egs_world *w, const struct egs_seen *seen,
		   const struct egs_event *ev)
{
	const struct egs_job *j =
		seen->known ? egs_policy_job(w->policy, ev->job.job_id) : NULL;

	return j && !egs_ident_same(&j->ident, &ev->job);
}

/* The job with this id that the policy was told of has ended. */
static void end_known(struct egs_world *w, const struct egs_seen *seen,
		      uint32_t id, egs_time_t now)
{
	const struct egs_job *j =
		seen->known ? egs_policy_job(w->policy, id) : NULL;
	struct egs_event ev = { .kind = EGS_EV_ENDED };

	if (!j)
		return;
	ev.job = j->ident;
	egs_policy_apply(w->policy, &ev, now);
	changed(w, &ev.job, true);
}

/* A job that was asked and whose last processes are being ended may have ended
 * or may be on its way into the queue: Slurm itself looks at its exit code when
 * that is over.
 */
static bool is_leaving(const struct egs_world *w, const struct egs_job_fact *f)
{
	const struct egs_job *j = egs_policy_job(w->policy, f->job_id);

	return f->state == EGS_JOB_ENDED && f->flags & EGS_FACT_COMPLETING &&
	       j && j->running && (j->asked || j->deadline || f->preempted);
}

/* Slurm may have heard of it before we were there. */
static bool was_spared(const struct egs_world *w, const struct egs_job_fact *f)
{
	const struct egs_job *j = egs_policy_job(w->policy, f->job_id);

	return j && j->sparing && !f->preempted;
}

static int see_job(struct egs_world *w, const struct egs_job_fact *f,
		   egs_time_t now)
{
	struct egs_seen *seen = remember(w, f);
	uint64_t sum = sum_of(w, f);
	struct egs_seen was;
	struct egs_event ev;
	const struct egs_kept *kept;

	if (!seen || w->scratch.failed)
		return -1;
	seen->look = w->look;
	seen->expected = f->state == EGS_JOB_PENDING ? (uint32_t)f->start : 0;
	if (f->state == EGS_JOB_PENDING)
		egs_world_wait_on(w, f->dependency);
	if (seen->sum == sum && !was_spared(w, f))
		return 0;
	if (w->ops && w->ops->fact)
		w->ops->fact(w->arg, f, now);
	if (egs_world_event(w, f, seen, &ev) < 0)
		return -1;
	if (reused(w, seen, &ev)) {
		end_known(w, seen, f->job_id, now);
		seen->known = false;
	}
	if (!seen->known) {
		*seen = (struct egs_seen){ .look = w->look,
					   .expected = seen->expected,
					   .waited = seen->waited };
		kept = adopt(w, &ev, seen);
		if (egs_world_event(w, f, seen, &ev) < 0)
			return -1;
		ev.owned = kept && kept->owned;
		ev.past = kept ? &kept->past : NULL;
		ev.adopted = w->first;
	}
	was = *seen;
	if (follow(w, f, &was, &ev, now) < 0)
		return -1; /* the sum stays old: the next look tries again */
	seen->sum = sum;
	seen->known = f->state != EGS_JOB_ENDED;
	seen->state = (uint8_t)f->state;
	seen->restarts = f->restarts;
	seen->array_job_id = f->array_job_id;
	seen->user = egs_names_add(&w->people, f->user);
	seen->account = egs_names_add(&w->people, f->account);
	changed(w, &ev.job, f->state == EGS_JOB_ENDED);
	return 0;
}

/* A job beyond a limit is kept out of Slurm's queue by its begin time, and is
 * blocked by the limit.
 */
static bool is_barred(const struct egs_world *w, const struct egs_job_fact *f,
		      egs_time_t now)
{
	struct egs_row row;

	return f->state == EGS_JOB_PENDING && f->reason &&
	       strcmp(f->reason, "BeginTime") == 0 &&
	       (egs_time_t)f->eligible <= now + EGS_BARRED_S &&
	       egs_policy_row(w->policy, f->job_id, now, &row) == 0 &&
	       row.barred;
}

int egs_world_job(struct egs_world *w, const struct egs_job_fact *f,
		  egs_time_t now)
{
	struct egs_job_fact seen = *f;

	if (is_leaving(w, f))
		seen.state = EGS_JOB_RUNNING;
	if (is_barred(w, f, now)) {
		seen.flags |= EGS_FACT_BLOCKED | EGS_FACT_LIMITED;
		seen.eligible = f->submit;
	}
	return see_job(w, &seen, now);
}

/* Ended is what the policy forgets; the slot is kept until Slurm forgets the
 * job too, or it would be new at every look.
 */
static void end_job(struct egs_world *w, uint32_t slot, egs_time_t now)
{
	uint32_t id = w->jobs.id[slot];

	end_known(w, &w->seen[slot], id, now);
	if (w->ops && w->ops->gone)
		w->ops->gone(w->arg, id);
	w->seen[slot] = (struct egs_seen){ .sum = 0 };
	egs_idmap_drop(&w->jobs, id);
}

void egs_world_gone(struct egs_world *w, uint32_t job_id, egs_time_t now)
{
	uint32_t slot = egs_idmap_find(&w->jobs, job_id);

	if (slot != EGS_IDMAP_NONE)
		end_job(w, slot, now);
}

/* Tell the policy of a job whose facts changed though Slurm's did not. */
static int retell(struct egs_world *w, const struct egs_job *j,
		  const struct egs_facts *facts, egs_time_t now)
{
	struct egs_event ev = { .kind = EGS_EV_JOB,
				.job = j->ident,
				.facts = *facts };

	return egs_policy_apply(w->policy, &ev, now);
}

/* Who is waited for is known when all have been seen. */
static void follow_waits(struct egs_world *w, uint32_t slot, egs_time_t now)
{
	const struct egs_job *j = egs_policy_job(w->policy, w->jobs.id[slot]);
	bool waited = w->seen[slot].waited == w->look;
	struct egs_facts facts;

	if (!w->seen[slot].known || !j || j->facts.dependents == waited)
		return;
	facts = j->facts;
	facts.dependents = waited;
	retell(w, j, &facts, now);
}

void egs_world_end(struct egs_world *w, egs_time_t now)
{
	uint32_t slot;

	w->first = false;
	for (slot = 0; slot < w->jobs.nslots; slot++) {
		if (!w->jobs.id[slot])
			continue;
		if (w->seen[slot].look != w->look)
			end_job(w, slot, now);
		else
			follow_waits(w, slot, now);
	}
}
