/* conf_msg.c - egs.conf as tables: its values, and which tier may take GPUs
 * from which
 */
#include "common/ipc/conf_msg.h"
#include "common/base/array.h"
#include "common/conf/values.h"
#include "common/rules/take_rule.h"

static void add_value(void *arg, const struct egs_conf_value *value)
{
	struct egs_msg *answer = arg;
	struct egs_text text = { "-" };

	egs_msg_add_row(answer);
	if (*value->name || *value->record->name)
		egs_textf(&text, "%s=%s", value->record->name, value->name);
	egs_msg_add_cell(answer, text.text);
	egs_msg_add_cell(answer, value->key->name);
	egs_msg_add_cell(answer, value->text);
	egs_textf(&text, "default");
	if (value->file)
		egs_textf(&text, "%s:%u", value->file, value->line);
	egs_msg_add_cell(answer, text.text);
}

int egs_show_conf_values(const struct egs_conf *conf, struct egs_msg *answer)
{
	static const char *const columns[] = { "RECORD", "KEY", "VALUE",
					       "SOURCE" };

	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	return egs_conf_for_each_value(conf, add_value, answer);
}

/* A job of a tier after its MinRuntime, as input of the take rule. */
static struct egs_take_view make_typical_job(const struct egs_policy_conf *conf,
					     int tier, bool on_loan)
{
	return (struct egs_take_view){
		.tier = (uint8_t)tier,
		.managed = true,
		.on_loan = on_loan,
		.needs_gpus = true,
		.not_preemptible = !conf->tier[tier].yields && !on_loan,
	};
}

/* Can a job of this tier be within quota, or on loan? */
static bool can_exist(const struct egs_policy_conf *conf, int tier,
		      bool on_loan)
{
	return conf->tier[tier].loan !=
	       (on_loan ? EGS_LOAN_NEVER : EGS_LOAN_ALWAYS);
}

/* "scavenge/loan,research/loan": the jobs from which a job may take GPUs,
 * weakest first.
 */
static struct egs_text list_takes_from(const struct egs_policy_conf *conf,
				       const struct egs_take_view *taker)
{
	struct egs_text text = { "" };

	for (int i = 2 * conf->ntiers - 1; i >= 0; i--) {
		int tier = i % conf->ntiers;
		bool on_loan = i >= conf->ntiers;
		struct egs_take_view victim =
			make_typical_job(conf, tier, on_loan);

		if (can_exist(conf, tier, on_loan) &&
		    egs_may_take(taker, &victim, 1) == EGS_TAKE_YES)
			egs_text_append(&text, "%s%s%s", *text.text ? "," : "",
					conf->tier[tier].name,
					on_loan ? "/loan" : "");
	}
	if (!*text.text)
		egs_textf(&text, "-");
	return text;
}

/* Which jobs may take GPUs from their equals: with DependentsFirst=preempt,
 * jobs that other jobs depend on.
 */
static const char *describe_equals(const struct egs_policy_conf *conf)
{
	bool some = false;

	if (conf->dependents_first == EGS_DEPENDENTS_PREEMPT)
		return "dependents";
	for (int i = 0; i < conf->nworkloads; i++)
		some |= conf->workload[i].dependents_first ==
			EGS_DEPENDENTS_PREEMPT;
	return some ? "workloads" : "-";
}

static void add_tier(const struct egs_policy_conf *conf, int tier, bool on_loan,
		     struct egs_msg *answer)
{
	const struct egs_take_view row = make_typical_job(conf, tier, on_loan);
	char seconds[EGS_CONF_VALUE_MAX];

	if (!can_exist(conf, tier, on_loan))
		return;
	egs_msg_add_row(answer);
	egs_msg_add_cell(answer, conf->tier[tier].name);
	egs_msg_add_cell(answer, on_loan ? "loan" : "owned");
	egs_msg_add_cell(answer, list_takes_from(conf, &row).text);
	egs_msg_add_cell(answer, describe_equals(conf));
	egs_conf_write_seconds(conf->tier[tier].min_runtime_s, seconds,
			       sizeof(seconds));
	egs_msg_add_cell(answer, row.not_preemptible ? "always" : seconds);
	egs_conf_write_seconds(conf->recall_delay_s, seconds, sizeof(seconds));
	egs_msg_add_cell(answer, on_loan ? seconds : "-");
}

int egs_show_conf_tiers(const struct egs_conf *conf, struct egs_msg *answer)
{
	static const char *const columns[] = { "TIER",	 "GPUS",  "TAKES_FROM",
					       "EQUALS", "KEEPS", "RECALL" };
	const struct egs_policy_conf *policy = egs_conf_policy(conf);

	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	for (int i = 0; i < policy->ntiers; i++)
		add_tier(policy, i, false, answer);
	for (int i = 0; i < policy->ntiers; i++)
		add_tier(policy, i, true, answer);
	return 0;
}
