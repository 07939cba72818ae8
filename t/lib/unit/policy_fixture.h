/* policy_fixture.h - a small cluster for stories about the policy
 *
 *	struct story s = story_new();	4 nodes of 4 GPUs, teams red and blue
 *	story_submit(&s, 0, 7, RED, RESEARCH, 4);
 *	story_start(&s, 10, 7, 0, 4);	on node 0
 *	ok(story_row(&s, 7).on_loan, "...");
 *	story_end(&s);			frees it all
 *
 * Tiers are prod, research and scavenge (Loan=always, MinRuntime=0); red and
 * blue have a quota of 8 GPUs each, of one type.  's.conf' may be changed
 * before the first event.  Each step ends with an update.  's.seen' counts the
 * actions of the last step by kind, 's.last' has the last of each kind.
 */
#ifndef EGS_T_POLICY_FIXTURE_H
#define EGS_T_POLICY_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "policyd/policy/loan_book.h"
#include "policyd/policy/policy.h"

enum { PROD, RESEARCH, SCAVENGE };
enum { RED, BLUE };

#define STORY_GPU	  0
#define STORY_NODES	  4
#define STORY_NODE_GPUS	  4
#define STORY_MIN_RUNTIME INT64_C(900)

struct story {
	struct egs_policy_conf *conf;
	struct egs_policy *p;
	egs_time_t now;
	int seen[EGS_ACT_ID_REUSED + 1];
	struct egs_action last[EGS_ACT_ID_REUSED + 1];
	bool rows_changed, claims_changed;
};

static inline struct egs_policy_conf *story_conf(void)
{
	struct egs_policy_conf *c = egs_policy_conf_new();

	c->mode = EGS_MODE_ENFORCE;
	egs_conf_add_type(c, "h100");
	egs_conf_add_tier(c, "prod")->min_runtime_s = STORY_MIN_RUNTIME;
	egs_conf_add_tier(c, "research")->min_runtime_s = STORY_MIN_RUNTIME;
	egs_conf_add_tier(c, "scavenge")->loan = EGS_LOAN_ALWAYS;
	c->tier[SCAVENGE].min_runtime_s = 0;
	egs_conf_add_team(c, "red")->quota[STORY_GPU] = 8;
	egs_conf_add_team(c, "blue")->quota[STORY_GPU] = 8;
	return c;
}

static inline void story_step(struct story *s, egs_time_t now,
			      const struct egs_event *ev)
{
	const struct egs_action *a;
	size_t n;

	s->now = now;
	memset(s->seen, 0, sizeof(s->seen));
	egs_policy_clear_actions(s->p);
	egs_policy_apply(s->p, ev, now);
	egs_policy_update(s->p, now);
	s->rows_changed = egs_policy_rows_changed(s->p);
	s->claims_changed = egs_policy_claims_changed(s->p);
	a = egs_policy_actions(s->p, &n);
	for (size_t i = 0; i < n; i++) {
		s->seen[a[i].kind]++;
		s->last[a[i].kind] = a[i];
	}
}

static inline void story_node(struct story *s, egs_time_t now, uint32_t node,
			      bool up)
{
	struct egs_event ev = { .kind = EGS_EV_NODE,
				.node = node,
				.node_state = { .gpus = STORY_NODE_GPUS,
						.cores = 64,
						.mem_mb = 512000,
						.type = STORY_GPU,
						.up = up } };

	story_step(s, now, &ev);
}

static inline struct story story_with(struct egs_policy_conf *conf)
{
	struct story s = { .conf = conf };

	s.p = egs_policy_new(conf);
	for (uint32_t i = 0; i < STORY_NODES; i++)
		story_node(&s, 0, i, true);
	return s;
}

static inline struct story story_new(void)
{
	return story_with(story_conf());
}

static inline void story_end(struct story *s)
{
	egs_policy_free(s->p);
	egs_policy_conf_free(s->conf);
}

/* A stamped job of one node that can checkpoint and be requeued. */
static inline struct egs_event story_job(uint32_t id, int team, int tier,
					 uint32_t gpus)
{
	return (struct egs_event){
		.kind = EGS_EV_UPDATED,
		.job = { .nonce = 1000 + id,
			 .job_id = id,
			 .uid = 1000,
			 .array_task = EGS_NO_TASK,
			 .submit = 1 },
		.facts = { .need = { .nodes = 1,
				     .gpus = gpus,
				     .cores = gpus,
				     .type = STORY_GPU },
			   .team = (int16_t)team,
			   .tier = (int16_t)tier,
			   .workload = -1,
			   .phase = -1,
			   .can_requeue = true,
			   .ckpt = true },
	};
}

static inline void story_submit(struct story *s, egs_time_t now, uint32_t id,
				int team, int tier, uint32_t gpus)
{
	struct egs_event ev = story_job(id, team, tier, gpus);

	story_step(s, now, &ev);
}

/* An event of a known job without further fields. */
static inline struct egs_event story_event(const struct story *s, uint32_t id,
					   enum egs_event_kind kind)
{
	return (struct egs_event){ .kind = kind,
				   .job = egs_policy_job(s->p, id)->ident };
}

static inline void story_tell(struct story *s, egs_time_t now, uint32_t id,
			      enum egs_event_kind kind)
{
	struct egs_event ev = story_event(s, id, kind);

	if (kind == EGS_EV_REQUEUED)
		ev.job.restarts++;
	story_step(s, now, &ev);
}

/* Slurm preempts the job for job 'by', 0: not named. */
static inline void story_preempt(struct story *s, egs_time_t now, uint32_t id,
				 uint32_t by)
{
	struct egs_event ev = story_event(s, id, EGS_EV_PREEMPTING);

	ev.requester = by;
	story_step(s, now, &ev);
}

/* The job reports a save that took this long. */
static inline void story_saved(struct story *s, egs_time_t now, uint32_t id,
			       uint32_t took_s)
{
	struct egs_event ev = story_event(s, id, EGS_EV_SAVED);

	ev.took_s = took_s;
	story_step(s, now, &ev);
}

static inline void story_start(struct story *s, egs_time_t now, uint32_t id,
			       uint32_t node, uint32_t gpus)
{
	struct egs_event ev = story_event(s, id, EGS_EV_STARTED);
	struct egs_node_alloc part = { .node = node,
				       .gpus = gpus,
				       .cores = gpus };

	ev.facts = egs_policy_job(s->p, id)->facts;
	ev.alloc = &part;
	ev.nallocs = 1;
	ev.type = STORY_GPU;
	story_step(s, now, &ev);
}

/* Submit a job and start it at once. */
static inline void story_run(struct story *s, egs_time_t now, uint32_t id,
			     int team, int tier, uint32_t node, uint32_t gpus)
{
	story_submit(s, now, id, team, tier, gpus);
	story_start(s, now, id, node, gpus);
}

static inline void story_tick(struct story *s, egs_time_t now)
{
	struct egs_event ev = { .kind = EGS_EV_TICK };

	story_step(s, now, &ev);
}

static inline struct egs_take_view story_row(const struct story *s, uint32_t id)
{
	struct egs_take_view row = { 0 };

	egs_policy_take_view(s->p, id, s->now, &row);
	return row;
}

static inline bool story_may_take(const struct story *s, uint32_t requester,
				  uint32_t victim)
{
	struct egs_take_view p = story_row(s, requester),
			     v = story_row(s, victim);

	return egs_may_take(&p, &v, s->now) == EGS_TAKE_YES;
}

#endif
