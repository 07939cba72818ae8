/* policy_why.c - each answer of `egs why` is one sentence with its numbers */
#include <string.h>

#include "policyd/policy/policy_internal.h"
#include "t/lib/unit/policy_fixture.h"
#include "t/lib/unit/tap.h"

/* The sentence is the title. */
static void says(struct story *s, uint32_t id, const char *want)
{
	struct egs_why why;
	char got[512] = "";

	if (egs_policy_why(s->p, id, s->now, &why) == 0)
		egs_why_format(&why, s->conf, s->now, got, sizeof(got));
	is_str(got, want, "%s", want);
}

static void running(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 1, 2, RED, RESEARCH, 1, 4);
	story_run(&s, 2, 3, RED, RESEARCH, 2, 4);
	story_run(&s, 3, 4, RED, -1, 3, 1);
	says(&s, 1,
	     "job 1: running on 4 h100 within quota (red uses 8 of 8, and 4 on "
	     "loan)");
	says(&s, 3,
	     "job 3: running on 4 h100 on loan (red uses 8 of 8, and 4 on "
	     "loan)");
	says(&s, 4, "job 4: not managed by EGS; Slurm alone decides");
	ev = story_event(&s, 3, EGS_EV_PREEMPTING);
	ev.requester = 9;
	story_step(&s, 10, &ev);
	story_tick(&s, 30);
	says(&s, 3,
	     "job 3: being preempted; job 9 needs its 4 h100; 100 s to its "
	     "deadline");
	ev = story_event(&s, 2, EGS_EV_PREEMPTING);
	ev.notify_job = true;
	story_step(&s, 30, &ev);
	says(&s, 2,
	     "job 2: being preempted; its 4 h100 are needed; 120 s to its "
	     "deadline");
	story_end(&s);
}

/* A reload has made the quota smaller: MinRuntime protects the jobs. */
static void after_a_reload(void)
{
	struct story s = story_new();
	struct egs_policy_conf *c = story_conf();
	struct egs_event ev = { .kind = EGS_EV_CONF, .conf = c };

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 4);
	c->team[RED].quota[STORY_GPU] = 4;
	story_step(&s, 100, &ev);
	egs_policy_conf_free(s.conf);
	s.conf = c;
	says(&s, 1,
	     "job 1: running on 4 h100, owned for another 800 s (MinRuntime), "
	     "although red uses 8 and its quota is 4 now");
	story_tick(&s, STORY_MIN_RUNTIME);
	says(&s, 1,
	     "job 1: running on 4 h100 within quota (red uses 4 of 4, and 4 on "
	     "loan)");
	says(&s, 2,
	     "job 2: running on 4 h100 on loan (red uses 4 of 4, and 4 on "
	     "loan)");
	story_end(&s);
}

static void two_victims(void)
{
	struct story s = story_new();

	for (uint32_t i = 0; i < 8; i++)
		story_run(&s, 1, 10 + i, BLUE, RESEARCH, i / 2, 2);
	story_submit(&s, 2, 1, RED, RESEARCH, 4);
	says(&s, 1,
	     "job 1: waiting for 4 h100 within quota; 2 jobs (first: job 14) "
	     "must be preempted for it");
	story_end(&s);
}

static void pending(void)
{
	struct story s = story_new();

	story_submit(&s, 0, 1, RED, RESEARCH, 4);
	says(&s, 1,
	     "job 1: waiting for 4 h100 within quota; EGS does not hold it "
	     "back (red uses 0 of 8)");
	for (uint32_t i = 0; i < 4; i++)
		story_run(&s, 1, 10 + i, BLUE, RESEARCH, i, 4);
	says(&s, 1,
	     "job 1: waiting for 4 h100 within quota; job 12 must be preempted "
	     "for it");
	story_submit(&s, 2, 2, BLUE, RESEARCH, 4);
	says(&s, 2,
	     "job 2: waiting for 4 h100 on loan; 0 of 16 are free, and it may "
	     "not preempt the other jobs (job 10 holds 4; blue uses 8 of 8)");
	story_submit(&s, 3, 3, BLUE, PROD, 4);
	says(&s, 3,
	     "job 3: waiting for 4 h100 on loan; job 12 could be preempted for "
	     "it but is protected for another 898 s");
	story_end(&s);
}

/* The job is stronger than all others. */
static void heterogeneous(void)
{
	struct story s = story_new();
	struct egs_event ev = story_job(1, RED, PROD, 4);

	for (uint32_t i = 0; i < 4; i++)
		story_run(&s, 1, 10 + i, BLUE, SCAVENGE, i, 4);
	ev.facts.het_job = 1;
	story_step(&s, 2, &ev);
	says(&s, 1,
	     "job 1: waiting for 4 h100 within quota; 0 of 16 are free, and a "
	     "heterogeneous job preempts no other (red uses 0 of 8)");
	ok(!story_may_take(&s, 1, 10), "a heterogeneous job preempts no job");
	ev = story_job(2, RED, PROD, 4);
	story_step(&s, 2, &ev);
	ok(story_may_take(&s, 2, 10),
	   "a job like a heterogeneous one preempts a weaker job");
	story_end(&s);
}

static int get_rule(struct story *s, uint32_t id)
{
	struct egs_why why;

	egs_policy_why(s->p, id, s->now, &why);
	return (int)why.rule;
}

/* Team blue has all GPUs, and a job of red within quota waits. */
static void protected_jobs(void)
{
	struct story s = story_new();
	struct egs_event ev;
	uint32_t victim;

	for (uint32_t i = 0; i < 4; i++)
		story_run(&s, 1, 10 + i, BLUE, SCAVENGE, i, 4);
	story_submit(&s, 2, 1, RED, PROD, 4);
	is_int(get_rule(&s, 1), EGS_RULE_NEEDS_VICTIMS,
	       "a job on loan must be preempted");
	egs_policy_set_team_observed(s.p, BLUE, true);
	is_int(get_rule(&s, 1), EGS_RULE_NO_VICTIMS,
	       "a job of a team that EGS only observes is no victim");
	is_int(egs_policy_find_victims(s.p, 1, 2, &victim, 1), 1,
	       "a team that EGS observes has victims if EGS enforced for it");
	egs_policy_set_team_observed(s.p, RED, true);
	is_int(get_rule(&s, 1), EGS_RULE_NEEDS_VICTIMS,
	       "a job of an observed team would preempt another such job");
	egs_policy_set_team_observed(s.p, RED, false);
	egs_policy_set_team_observed(s.p, BLUE, false);
	for (uint32_t i = 1; i < 4; i++)
		story_node(&s, 3, i, false);
	ev = story_job(10, BLUE, SCAVENGE, 4);
	ev.facts.no_preempt = true;
	story_step(&s, 4, &ev);
	is_int(get_rule(&s, 1), EGS_RULE_NO_VICTIMS,
	       "no job is a victim under PreemptMode=OFF or on a fenced node");
	story_node(&s, 5, 0, false);
	is_int(get_rule(&s, 1), EGS_RULE_TOO_FEW_UP,
	       "jobs on fenced nodes are not named as holders of GPUs");
	story_end(&s);
}

/* Free GPUs that do not fit, and nodes that are down. */
static void no_room(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 2);
	story_run(&s, 0, 2, RED, RESEARCH, 1, 3);
	story_run(&s, 0, 3, BLUE, RESEARCH, 2, 4);
	story_run(&s, 0, 4, BLUE, RESEARCH, 3, 3);
	story_submit(&s, 1, 5, RED, RESEARCH, 3);
	says(&s, 5,
	     "job 5: waiting for 3 h100 within quota; 4 of 16 are free, but "
	     "not on nodes where the job fits (red uses 5 of 8)");
	story_end(&s);

	s = story_new();
	story_node(&s, 0, 2, false);
	story_submit(&s, 0, 6, RED, RESEARCH, 16);
	says(&s, 6,
	     "job 6: waiting for 16 h100 on loan; 12 are up (red uses 0 of 6)");
	for (uint32_t i = 0; i < 4; i++)
		if (i != 2)
			story_run(&s, 1, 10 + i, RED, RESEARCH, i, 4);
	ev = story_job(7, RED, RESEARCH, 4);
	ev.facts.need.type = EGS_TYPE_ANY;
	story_step(&s, 2, &ev);
	says(&s, 7,
	     "job 7: waiting for 4 h100 on loan; 0 of 12 are free, and it may "
	     "not preempt the other jobs (job 10 holds 4; red uses 4 of 6)");
	story_end(&s);
}

static void deferred(void)
{
	struct egs_policy_conf *c = story_conf();
	struct story s;

	c->team[RED].max_gpus[STORY_GPU] = 6;
	c->team[RED].limit_action = EGS_LIMIT_HOLD;
	c->tier[PROD].loan = EGS_LOAN_NEVER;
	s = story_with(c);
	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_submit(&s, 0, 2, RED, RESEARCH, 4);
	says(&s, 2,
	     "job 2: deferred: it needs 4 h100; MaxGpus= of red allows 6 (4 in "
	     "use within quota, 0 on loan)");
	story_run(&s, 0, 3, BLUE, PROD, 1, 4);
	story_run(&s, 0, 4, BLUE, PROD, 2, 4);
	story_submit(&s, 0, 5, BLUE, PROD, 1);
	says(&s, 5,
	     "job 5: deferred: 1 h100 do not fit in the quota of blue, and its "
	     "tier does not borrow (blue uses 8 of 8)");
	story_end(&s);
}

/* Node 0 belongs to the phase, or all nodes to nobody. */
static void mark_node(struct story *s, uint32_t phases)
{
	struct egs_event ev = { .kind = EGS_EV_NODE, .node = 0 };

	ev.node_state = s->p->node[0];
	ev.node_state.phases = phases;
	story_step(s, 1, &ev);
}

static void submit_in_phase(struct story *s, uint32_t id, int phase)
{
	struct egs_event ev = story_job(id, RED, RESEARCH, 2);

	ev.facts.phase = (int16_t)phase;
	story_step(s, 2, &ev);
}

/* A phase with Nodes= and Spill=no. */
static void own_nodes(void)
{
	struct egs_policy_conf *c = story_conf();
	int infer = egs_conf_find_phase(c, "infer");
	struct story s;

	c->phase[infer].nodes = strdup("n1");
	c->phase[infer].spill = false;
	s = story_with(c);
	mark_node(&s, 1U << infer);
	submit_in_phase(&s, 1, infer);
	says(&s, 1,
	     "job 1: waiting for 2 h100 within quota; EGS does not hold it "
	     "back (red uses 0 of 8)");
	story_run(&s, 3, 2, RED, RESEARCH, 0, 3);
	says(&s, 1,
	     "job 1: waiting for 2 h100 within quota; phase infer runs only "
	     "on n1 (Spill=no), where 1 of 4 are free");
	story_run(&s, 4, 3, BLUE, RESEARCH, 1, 4);
	story_run(&s, 4, 4, BLUE, RESEARCH, 2, 4);
	story_run(&s, 4, 5, BLUE, RESEARCH, 3, 4);
	says(&s, 1,
	     "job 1: waiting for 2 h100 within quota; phase infer runs only "
	     "on n1 (Spill=no), where 1 of 4 are free");
	mark_node(&s, 0);
	says(&s, 1,
	     "job 1: waiting for 2 h100 within quota; phase infer runs only "
	     "on n1 (Spill=no), and the cluster has no such node");
	c->phase[infer].spill = true;
	says(&s, 1,
	     "job 1: waiting for 2 h100 within quota; job 5 could be preempted "
	     "for it but is protected for another 3 s");
	story_end(&s);

	c = story_conf();
	c->tier[RESEARCH].nodes = strdup("rack[1-4]n[01-16],rack[6-9]n[01-16],"
					 "big[001-100],huge[1-2],old[1-20]");
	c->tier[RESEARCH].spill = false;
	s = story_with(c);
	submit_in_phase(&s, 1, -1);
	says(&s, 1,
	     "job 1: waiting for 2 h100 within quota; tier research runs only "
	     "on rack[1-4]n[01-16],rack[6-9]n[01-16],big[001-100],huge[1-2],"
	     "old[1... (Spill=no), and the cluster has no such node");
	story_end(&s);
}

/* Node 0 has 2 h100, and 2 of another type, which counts as its type. */
static void mixed_node(void)
{
	struct story s = story_new();
	struct egs_event ev = { .kind = EGS_EV_NODE, .node = 0 };

	ev.node_state = s.p->node[0];
	ev.node_state.mixed = true;
	ev.node_state.type = (uint8_t)s.conf->ntypes;
	ev.node_state.by_type[STORY_GPU] = 2;
	ev.node_state.by_type[s.conf->ntypes] = 2;
	story_step(&s, 0, &ev);
	for (uint32_t i = 1; i < 4; i++)
		story_node(&s, 0, i, false);
	ev = story_job(1, -1, -1, 2);
	ev.facts.need.type = (uint8_t)s.conf->ntypes;
	story_step(&s, 0, &ev);
	ev.kind = EGS_EV_STARTED;
	ev.type = (uint8_t)s.conf->ntypes;
	ev.alloc = &(struct egs_node_alloc){ .node = 0, .gpus = 2 };
	ev.nallocs = 1;
	story_step(&s, 0, &ev);
	story_submit(&s, 1, 2, RED, RESEARCH, 2);
	says(&s, 2,
	     "job 2: waiting for 2 h100 on loan; EGS does not hold it back "
	     "(red uses 0 of 1)");
	story_run(&s, 2, 3, RED, RESEARCH, 0, 1);
	says(&s, 2,
	     "job 2: waiting for 2 h100 on loan; 1 of 2 are free, and it may "
	     "not preempt the other jobs (job 3 holds 1; red uses 1 of 1)");
	story_end(&s);
}

static void bounds(void)
{
	struct story s = story_new();
	struct egs_why why;
	char small[10];

	story_submit(&s, 0, 1, RED, -1, 4);
	egs_policy_why(s.p, 1, 0, &why);
	is_int(egs_why_format(&why, s.conf, 0, small, sizeof(small)), 46,
	       "a short buffer still gets the length of the whole sentence");
	is_str(small, "job 1: no", "a short buffer gets the part that fits");
	is_int(egs_policy_why(s.p, 2, 0, &why), -1,
	       "an unknown job has no reason");
	story_end(&s);
}

/* From the preemption to the release: Slurm shows a begin time or a job that is
 * completing, and the sentence tells what has happened.
 */
static void requeued(void)
{
	struct story s = story_new();
	struct egs_event ev;

	story_run(&s, 0, 1, RED, RESEARCH, 0, 4);
	story_submit(&s, 1, 2, BLUE, PROD, 16);
	ev = story_event(&s, 1, EGS_EV_PREEMPTING);
	ev.requester = 2;
	story_step(&s, 10, &ev);
	story_tell(&s, 12, 1, EGS_EV_REQUEUED);
	ev = story_event(&s, 1, EGS_EV_UPDATED);
	ev.facts = egs_policy_job(s.p, 1)->facts;
	ev.facts.not_schedulable = ev.facts.completing = true;
	story_step(&s, 12, &ev);
	says(&s, 1,
	     "job 1: its last run is ending; it can start again when its "
	     "processes are gone");
	ev.facts.not_schedulable = ev.facts.departed = true;
	ev.facts.completing = false;
	story_step(&s, 13, &ev);
	says(&s, 1,
	     "job 1: preempted for job 2 and requeued; it starts again when 4 "
	     "h100 are free");
	ev.facts.not_schedulable = true;
	ev.facts.departed = false;
	story_step(&s, 14, &ev);
	says(&s, 1,
	     "job 1: waiting for a dependency, a begin time or a hold, not for "
	     "GPUs");
	story_end(&s);
}

int main(void)
{
	plan_none();
	running();
	after_a_reload();
	pending();
	heterogeneous();
	protected_jobs();
	two_victims();
	no_room();
	deferred();
	own_nodes();
	mixed_node();
	requeued();
	bounds();
	return done_testing();
}
