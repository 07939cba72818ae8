/* health.c - rules about GPUs: when they act, when they undo, and their limits
 */
#include <err.h>
#include <stdlib.h>

#include "common/base/array.h"
#include "policyd/health/health.h"
#include "policyd/health/xid.h"
#include "t/lib/unit/tap.h"

enum { INTERVAL_S = 30, N1 = 0, N2 = 1, ALICE = 7, BOB = 8 };

/* A story: an engine, and what its last step did. */
struct story {
	struct egs_health *h;
	struct egs_policy_conf *conf;
	uint64_t session;
	uint64_t holder;
	uint32_t done, held, undone; /* remedies of the last step */
	size_t n;		     /* actions of the last step */
	struct egs_health_action last;
};

static struct story story_new(void)
{
	struct story s = { .conf = egs_policy_conf_new(),
			   .h = egs_health_new(),
			   .session = 1,
			   .holder = ALICE };

	if (!s.conf || !s.h)
		err(1, "out of memory");
	egs_health_set_acting(s.h, true);
	egs_health_set_max(s.h, 100, 1000);
	egs_health_set_rules(s.h, s.conf);
	return s;
}

static void story_end(struct story *s)
{
	egs_health_free(s->h);
	egs_policy_conf_free(s->conf);
}

static struct egs_rule *add_rule(struct story *s, const char *name,
				 enum egs_rule_on on, uint32_t remedies)
{
	struct egs_rule *rule = egs_conf_add_rule(s->conf, name);

	rule->on = on;
	rule->does.set = remedies;
	return rule;
}

static void use_rules(struct story *s)
{
	egs_health_set_rules(s->h, s->conf);
	egs_health_clear_actions(s->h);
}

static void take_actions(struct story *s)
{
	const struct egs_health_action *a = egs_health_actions(s->h, &s->n);

	s->done = s->held = s->undone = 0;
	for (size_t i = 0; i < s->n; i++) {
		uint32_t *sum = a[i].kind == EGS_HEALTH_DO     ? &s->done
				: a[i].kind == EGS_HEALTH_HOLD ? &s->held
							       : &s->undone;

		*sum |= a[i].remedies;
		s->last = a[i];
	}
	egs_health_clear_actions(s->h);
}

static struct egs_health_gpu fine_gpu(const struct story *s, uint32_t node)
{
	return (struct egs_health_gpu){
		.node = node,
		.interval_s = INTERVAL_S,
		.session = s->session,
		.holder = s->holder,
		.value = { [EGS_ON_TEMPERATURE] = 40 },
	};
}

static void step(struct story *s, egs_time_t now,
		 const struct egs_health_gpu *gpu)
{
	if (egs_health_add_sample(s->h, gpu, now) < 0)
		err(1, "out of memory");
	take_actions(s);
}

static void show_value(struct story *s, egs_time_t now, uint32_t node,
		       enum egs_rule_on on, int64_t value)
{
	struct egs_health_gpu gpu = fine_gpu(s, node);

	gpu.value[on] = value;
	step(s, now, &gpu);
}

static void show_heat(struct story *s, egs_time_t now, int64_t celsius)
{
	show_value(s, now, N1, EGS_ON_TEMPERATURE, celsius);
}

static void show_xid(struct story *s, egs_time_t now, uint32_t node,
		     uint32_t number, uint32_t count)
{
	struct egs_health_xid xid = { number, count, s->holder };
	struct egs_health_gpu gpu = fine_gpu(s, node);

	gpu.xid = &xid;
	gpu.nxids = count ? 1 : 0;
	step(s, now, &gpu);
}

static const uint32_t drain = EGS_REMEDY_NOTE | EGS_REMEDY_DRAIN;

/* ---- conditions and time ---- */

static void a_condition_must_hold(void)
{
	struct story s = story_new();

	add_rule(&s, "hot", EGS_ON_TEMPERATURE, EGS_REMEDY_WARN);
	s.conf->rule[0].above = 85;
	s.conf->rule[0].for_s = 60;
	use_rules(&s);
	show_heat(&s, 0, 91);
	show_heat(&s, 30, 91);
	is_int(s.n, 0, "nothing happens before For= is over");
	show_heat(&s, 60, 86);
	is_int(s.done, EGS_REMEDY_NOTE | EGS_REMEDY_WARN,
	       "a rule acts when its condition has held for For=");
	is_int(s.last.value, 86, "an action has the last value");
	show_heat(&s, 90, 95);
	is_int(s.n, 0, "a rule acts once while its condition holds");
	show_heat(&s, 120, 85);
	is_int(s.n, 0, "a condition that has just ended is not undone yet");
	show_heat(&s, 150, 86);
	show_heat(&s, 180, 80);
	show_heat(&s, 210, 80);
	is_int(s.n, 0, "the time to undo begins again when it is hot again");
	show_heat(&s, 240, 80);
	is_int(s.undone, EGS_REMEDY_NOTE | EGS_REMEDY_WARN,
	       "a rule is undone when its condition is gone for For=");
	story_end(&s);
}

static void interruptions_do_not_count(void)
{
	struct story s = story_new();

	add_rule(&s, "hot", EGS_ON_TEMPERATURE, EGS_REMEDY_WARN);
	s.conf->rule[0].above = 85;
	s.conf->rule[0].for_s = 60;
	use_rules(&s);
	show_heat(&s, 0, 91);
	show_heat(&s, 30, 40);
	show_heat(&s, 60, 91);
	is_int(s.n, 0, "a GPU that was cool in between is not hot for long");
	show_heat(&s, 5000, 91);
	is_int(s.n, 0, "an hour without samples is no hour of heat");
	show_heat(&s, 5030, EGS_HEALTH_UNKNOWN);
	show_heat(&s, 5060, 91);
	is_int(s.n, 0, "a time with an unknown value does not count");
	show_heat(&s, 5090, 91);
	show_heat(&s, 5120, 91);
	is_int(s.done, EGS_REMEDY_NOTE | EGS_REMEDY_WARN,
	       "heat without an interruption counts");
	show_heat(&s, 5150, EGS_HEALTH_UNKNOWN);
	show_heat(&s, 9000, EGS_HEALTH_UNKNOWN);
	is_int(s.n, 0, "an unknown value undoes nothing");
	story_end(&s);
}

static void each_subject_has_its_condition(void)
{
	static const struct {
		enum egs_rule_on on;
		uint32_t above;
		int64_t fine, bad;
		const char *name;
	} rows[] = {
		{ EGS_ON_RECOVERY, EGS_UNSET, EGS_HEALTH_FINE, EGS_HEALTH_RESET,
		  "recovery" },
		{ EGS_ON_ECC, EGS_UNSET, 0, 1, "ecc" },
		{ EGS_ON_ECC, 3, 3, 4, "ecc" },
		{ EGS_ON_POWER, 700, 700, 701, "power" },
		{ EGS_ON_SLOWDOWN, EGS_UNSET, 0, 1, "slowdown" },
		{ EGS_ON_MEMORY, 98, 98, 99, "memory" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct story s = story_new();

		add_rule(&s, "r", rows[i].on, EGS_REMEDY_DRAIN)->above =
			rows[i].above;
		use_rules(&s);
		show_value(&s, 0, N1, rows[i].on, rows[i].fine);
		is_int(s.n, 0, "On=%s does nothing at %d", rows[i].name,
		       (int)rows[i].fine);
		show_value(&s, 30, N1, rows[i].on, rows[i].bad);
		is_int(s.done, drain, "On=%s acts at %d", rows[i].name,
		       (int)rows[i].bad);
		show_value(&s, 60, N1, rows[i].on, rows[i].fine);
		is_int(s.undone, drain, "On=%s is undone at %d", rows[i].name,
		       (int)rows[i].fine);
		story_end(&s);
	}
}

/* ---- XIDs ---- */

static void xids_have_classes(void)
{
	static const uint32_t application[] = { 13, 31, 43, 45 };
	static const uint32_t hardware[] = { 48, 63, 64, 74, 79, 95, 119, 120 };

	for (size_t i = 0; i < ARRAY_SIZE(application); i++)
		is_int(egs_xid_classify(application[i]), EGS_XID_APPLICATION,
		       "XID %u is a fault of a program", application[i]);
	for (size_t i = 0; i < ARRAY_SIZE(hardware); i++)
		is_int(egs_xid_classify(hardware[i]), EGS_XID_HARDWARE,
		       "XID %u is a fault of the hardware", hardware[i]);
	is_int(egs_xid_classify(94), EGS_XID_CONTAINED, "XID 94 is contained");
	is_int(egs_xid_classify(12345), EGS_XID_UNKNOWN,
	       "an XID that is not in the table is unknown");
}

static struct story xid_story(void)
{
	struct story s = story_new();

	add_rule(&s, "fault", EGS_ON_XID, EGS_REMEDY_DRAIN);
	use_rules(&s);
	return s;
}

static void a_program_never_drains(void)
{
	struct story s = xid_story();
	uint32_t all = 0;

	for (uint32_t i = 1; i <= 11760; i++) {
		show_xid(&s, i * 30, N1, 45, i);
		all |= s.done;
		if (i == 1)
			is_int(s.n, 1, "the first XID of a job is noted");
		else if (s.n)
			break;
	}
	is_int(s.n, 0, "11760 XIDs of a job are one note");
	is_int(all, EGS_REMEDY_NOTE, "an XID of a program drains nothing");
	s.holder = BOB;
	show_xid(&s, 400000, N1, 45, 11760);
	is_int(s.n, 0, "the next job on the GPU is not to blame for old XIDs");
	show_xid(&s, 400030, N1, 45, 11761);
	is_int(s.done, EGS_REMEDY_NOTE, "the next job gets a note of its own");
	is_int((int)s.last.holder, BOB, "a note names the job of the XID");
	show_xid(&s, 400060, N1, 12345, 1);
	is_int(s.done, EGS_REMEDY_NOTE, "an unknown XID is only noted");
	story_end(&s);
}

static void a_flood_hides_nothing(void)
{
	struct story s = xid_story();
	struct egs_health_xid xid[] = { { 45, 11760, ALICE },
					{ 79, 1, ALICE } };
	struct egs_health_gpu gpu = fine_gpu(&s, N1);

	gpu.xid = xid;
	gpu.nxids = ARRAY_SIZE(xid);
	step(&s, 0, &gpu);
	is_int(s.done, drain, "one XID of the hardware is seen in a flood");
	is_int(s.last.xid, 79, "the action names the XID of the hardware");
	xid[1].count = 4000000;
	step(&s, 30, &gpu);
	is_int(s.n, 0, "a flood of one XID of the hardware acts once");
	story_end(&s);
}

static void an_xid_ends_with_a_reset(void)
{
	struct story s = xid_story();
	struct egs_health_gpu gpu;

	show_xid(&s, 0, N1, 79, 1);
	is_int(s.done, drain, "an XID of the hardware acts at once");
	show_xid(&s, 90000, N1, 79, 1);
	is_int(s.n, 0, "an XID is not gone because time has passed");
	s.session = 2;
	gpu = fine_gpu(&s, N1);
	gpu.value[EGS_ON_RECOVERY] = EGS_HEALTH_LOST;
	step(&s, 90030, &gpu);
	is_int(s.undone & EGS_REMEDY_DRAIN, 0,
	       "a restart of egs-noded does not undo what is still wrong");
	show_xid(&s, 90060, N1, 79, 0);
	is_int(s.undone, drain,
	       "an XID is gone when egs-noded has started and all is well");
	show_xid(&s, 90090, N1, 79, 1);
	is_int(s.done, drain, "an XID after the reset acts again");
	story_end(&s);
}

static void a_silent_driver_is_not_well(void)
{
	struct story s = xid_story();
	struct egs_health_gpu gpu;

	show_xid(&s, 0, N1, 79, 1);
	s.session = 2;
	gpu = fine_gpu(&s, N1);
	gpu.value[EGS_ON_RECOVERY] = EGS_HEALTH_UNKNOWN;
	step(&s, 30, &gpu);
	is_int(s.n, 0, "a driver that cannot tell does not undo a drain");
	gpu.node_up = true;
	step(&s, 60, &gpu);
	is_int(s.undone, drain, "a drain that an operator has lifted ends");
	story_end(&s);
}

static void a_contained_error_moves_no_job(void)
{
	struct story s = story_new();

	add_rule(&s, "fault", EGS_ON_XID, EGS_REMEDY_MOVE | EGS_REMEDY_AVOID);
	use_rules(&s);
	show_xid(&s, 0, N1, 94, 1);
	is_int(s.done, EGS_REMEDY_NOTE | EGS_REMEDY_AVOID,
	       "a contained error moves no job from its node");
	show_xid(&s, 30, N1, 95, 1);
	is_int(s.done, EGS_REMEDY_NOTE | EGS_REMEDY_MOVE | EGS_REMEDY_AVOID,
	       "an uncontained error moves the job");
	story_end(&s);
}

/* ---- limits ---- */

static void limit_of_a_rule(void)
{
	struct story s = xid_story();

	show_xid(&s, 0, 0, 79, 1);
	s.conf->rule[0].limit = (struct egs_rate){ 2, 3600 };
	use_rules(&s);
	show_xid(&s, 0, 1, 79, 1);
	show_xid(&s, 10, 2, 79, 1);
	is_int(s.done, drain, "with Limit=none nothing is counted");
	show_xid(&s, 20, 3, 79, 1);
	is_int(s.done, EGS_REMEDY_NOTE, "beyond Limit= there is only a note");
	is_int(s.held, EGS_REMEDY_DRAIN,
	       "a remedy that Limit= prevents is told");
	is_int(s.last.bound, EGS_HEALTH_LIMIT, "Limit= is named as the cause");
	show_xid(&s, 50, 3, 79, 1);
	is_int(s.n, 0, "a remedy that Limit= prevents is told once");
	show_xid(&s, 3600, 3, 79, 1);
	is_int(s.done, EGS_REMEDY_DRAIN, "a rule acts when Limit= allows it");
	story_end(&s);
}

static uint32_t count_drains(struct story *s, egs_time_t now, uint32_t nodes)
{
	uint32_t drains = 0;

	for (uint32_t i = 0; i < nodes; i++) {
		show_xid(s, now, i, 79, 1);
		drains += (s->done & EGS_REMEDY_DRAIN) != 0;
	}
	return drains;
}

static void the_cluster_is_not_drained(void)
{
	struct story s = xid_story();

	egs_health_set_max(s.h, 5, 1000);
	is_int(count_drains(&s, 0, 1000), 50,
	       "RemediateMax=5%% drains 50 of 1000 nodes that all fail");
	is_int(s.held, EGS_REMEDY_DRAIN, "RemediateMax= holds the others back");
	is_int(s.last.bound, EGS_HEALTH_MAX, "RemediateMax= is named");
	is_int(count_drains(&s, 30, 1000), 0, "RemediateMax= goes on to hold");
	s.session = 2;
	show_xid(&s, 60, 0, 79, 0);
	is_int(s.undone, drain, "a node that was repaired is undrained");
	s.session = 1;
	show_xid(&s, 90, 999, 79, 1);
	is_int(s.done, EGS_REMEDY_DRAIN,
	       "the place of a repaired node goes to another");
	egs_health_set_max(s.h, 0, 1000);
	show_xid(&s, 120, 1001, 79, 1);
	is_int(s.done, EGS_REMEDY_NOTE, "RemediateMax=none allows only notes");
	egs_health_set_max(s.h, 5, 4);
	story_end(&s);
	s = xid_story();
	egs_health_set_max(s.h, 5, 4);
	is_int(count_drains(&s, 0, 4), 1, "5%% of 4 nodes is one node");
	story_end(&s);
}

/* ---- modes, rules, restarts, operators ---- */

static void observing(void)
{
	struct story s = xid_story();

	egs_health_set_acting(s.h, false);
	show_xid(&s, 0, N1, 79, 1);
	is_int(s.done, drain, "an observed rule tells what it would do");
	ok(s.last.observed, "an observed action must not be carried out");
	egs_health_set_acting(s.h, true);
	take_actions(&s);
	is_int(s.undone, drain, "observed cases end when EGS begins to act");
	ok(s.last.observed, "the end of an observed case undoes nothing");
	show_xid(&s, 30, N1, 79, 1);
	is_int(s.done, drain,
	       "a condition that still holds acts when EGS does");
	ok(!s.last.observed, "an action is carried out when EGS acts");
	story_end(&s);
}

static void a_note_is_not_observed(void)
{
	struct story s = xid_story();

	egs_health_set_max(s.h, 0, 1000);
	egs_health_set_acting(s.h, false);
	show_xid(&s, 0, N1, 79, 1);
	is_int(s.done, EGS_REMEDY_NOTE, "a note is written in observe mode");
	egs_health_set_max(s.h, 100, 1000);
	egs_health_set_acting(s.h, true);
	show_xid(&s, 30, N1, 79, 1);
	is_int(s.done, EGS_REMEDY_DRAIN, "a drain follows when EGS acts");
	s.session = 2;
	show_xid(&s, 60, N1, 79, 0);
	ok(s.undone == drain && !s.last.observed,
	   "a drain after a note in observe mode is undone");
	story_end(&s);
}

static void rules_change(void)
{
	struct story s = xid_story();

	s.conf->rule[0].limit = (struct egs_rate){ 2, 3600 };
	use_rules(&s);
	show_xid(&s, 0, N1, 79, 1);
	s.conf->rule[0].limit = (struct egs_rate){ 1, 3600 };
	egs_health_set_rules(s.h, s.conf);
	take_actions(&s);
	is_int(s.n, 0, "a reload keeps the cases of a rule");
	show_xid(&s, 30, N2, 79, 1);
	is_int(s.held, EGS_REMEDY_DRAIN, "a reload does not reset Limit=");
	s.conf->nrules = 0;
	egs_health_set_rules(s.h, s.conf);
	take_actions(&s);
	is_int(s.undone, drain, "a rule that is removed is undone");
	show_xid(&s, 60, N1, 79, 1);
	is_int(s.done, EGS_REMEDY_NOTE, "without a rule an XID is noted");
	is_str(s.last.rule, "default", "the note has the rule 'default'");
	show_value(&s, 90, N1, EGS_ON_RECOVERY, EGS_HEALTH_REBOOT);
	is_int(s.done, EGS_REMEDY_NOTE, "without a rule recovery is noted");
	show_heat(&s, 120, 200);
	is_int(s.done, 0, "without a rule heat is not noted");
	story_end(&s);
}

static struct egs_health_action saved_drain(enum egs_health_kind kind)
{
	return (struct egs_health_action){
		.kind = kind,
		.rule = "fault",
		.on = EGS_ON_XID,
		.xid = 79,
		.session = 1,
		.remedies = drain,
	};
}

static void restarts_of_the_daemon(void)
{
	struct egs_health_action saved = saved_drain(EGS_HEALTH_DO);
	struct story s = xid_story();

	egs_health_restore(s.h, &saved, 5);
	show_xid(&s, 10, N1, 79, 1);
	is_int(s.n, 0, "a new daemon does nothing twice");
	s.session = 2;
	show_xid(&s, 40, N1, 79, 0);
	is_int(s.undone, drain, "a new daemon undoes what the last one did");
	story_end(&s);

	s = xid_story();
	s.conf->rule[0].limit = (struct egs_rate){ 1, 3600 };
	use_rules(&s);
	egs_health_restore_use(s.h, "fault", 600, 5);
	show_xid(&s, 10, N1, 79, 1);
	is_int(s.held, EGS_REMEDY_DRAIN, "a restart does not reset Limit=");
	show_xid(&s, 3006, N1, 79, 1);
	is_int(s.done, EGS_REMEDY_DRAIN, "Limit= counts the time before it");
	story_end(&s);

	s = xid_story();
	s.conf->nrules = 0;
	use_rules(&s);
	egs_health_restore(s.h, &saved, 5);
	take_actions(&s);
	is_int(s.undone, drain,
	       "a case of a rule that is gone is undone after a restart");
	story_end(&s);
}

static void operators_decide(void)
{
	struct egs_health_action saved = saved_drain(EGS_HEALTH_UNDO);
	struct story s = xid_story();

	egs_health_set_max(s.h, 1, 100);
	show_xid(&s, 0, N1, 79, 1);
	egs_health_drop(s.h, N1, EGS_REMEDY_DRAIN);
	show_xid(&s, 30, N1, 79, 1);
	is_int(s.n, 0, "a drain that an operator took over is not done again");
	show_xid(&s, 60, N2, 79, 1);
	is_int(s.done, drain,
	       "a node of an operator does not count for RemediateMax=");
	s.session = 2;
	show_xid(&s, 90, N1, 79, 0);
	is_int(s.undone, EGS_REMEDY_NOTE,
	       "a drain that an operator took over is not undone");
	is_int(s.last.ended, drain, "a case ends with all its remedies");
	story_end(&s);

	s = xid_story();
	egs_health_restore(s.h, &saved, 5);
	show_xid(&s, 10, N1, 79, 1);
	is_int(s.n, 0, "a new daemon knows what an operator has taken over");
	story_end(&s);
}

static void two_gpus_of_a_node(void)
{
	struct story s = xid_story();
	struct egs_health_xid xid = { 79, 1, ALICE };
	struct egs_health_gpu gpu = fine_gpu(&s, N1);

	egs_health_set_max(s.h, 1, 100);
	gpu.xid = &xid;
	gpu.nxids = 1;
	step(&s, 0, &gpu);
	gpu.gpu = 1;
	step(&s, 0, &gpu);
	is_int(s.done, drain, "a second GPU of a node counts as one node");
	story_end(&s);
}

static void words(void)
{
	struct egs_text text;

	is_str(egs_health_describe(EGS_ON_XID, 0, 79, &text), "XID 79",
	       "an XID is described by its number");
	is_str(egs_health_describe(EGS_ON_TEMPERATURE, 91, 0, &text),
	       "temperature 91 C", "heat is described in degrees");
	is_str(egs_health_describe(EGS_ON_RECOVERY, EGS_HEALTH_LOST, 0, &text),
	       "is lost", "a lost GPU is described so");
	is_str(egs_health_describe(EGS_ON_RECOVERY, 77, 0, &text),
	       "is not well", "an unknown recovery action has words, too");
}

int main(void)
{
	plan_none();
	a_condition_must_hold();
	interruptions_do_not_count();
	each_subject_has_its_condition();
	xids_have_classes();
	a_program_never_drains();
	a_flood_hides_nothing();
	an_xid_ends_with_a_reset();
	a_silent_driver_is_not_well();
	a_contained_error_moves_no_job();
	limit_of_a_rule();
	the_cluster_is_not_drained();
	observing();
	a_note_is_not_observed();
	rules_change();
	restarts_of_the_daemon();
	operators_decide();
	two_gpus_of_a_node();
	words();
	return done_testing();
}
