/* why.c - why a job is where it is, as one sentence
 *
 * To add a rule: a row in enum egs_why_rule, a row in rules[] with its words.
 * In the words, %j is the job, %g its GPUs with their type, %t its team, %q
 * the quota in force, %o what the team owns, %b what it has on loan, %h the
 * other job, %m its GPUs, %v how many victims, %f GPUs that are free, %c that
 * are there, %l the limit, %u the seconds until 'until', %w whether it is owned
 * or on loan.
 */
#include <stdio.h>
#include <string.h>

#include "policyd/policy/why.h"

#define VALUE_SIZE (EGS_NAME_SIZE + 16)

struct rule {
	const char *text;
	bool holds_job;
};

static const struct rule rules[] = {
	[EGS_RULE_UNMANAGED] = { "job %j is not managed: Slurm alone decides",
				 false },
	[EGS_RULE_NOT_SCHEDULABLE] = { "job %j waits for a dependency, a begin "
				       "time or "
				       "a hold, not for GPUs",
				       false },
	[EGS_RULE_OWNED] = { "job %j runs on %g inside the quota of %t: %o of "
			     "%q owned, %b on loan",
			     false },
	[EGS_RULE_ON_LOAN] = { "job %j runs on %g on loan: of its quota of %q "
			       "%t "
			       "owns %o, and %b are on loan",
			       false },
	[EGS_RULE_OVER_LIMIT] = { "job %j runs on %g on loan: it is past a "
				  "limit of "
				  "its team or workload and goes first; %t "
				  "owns %o "
				  "of %q",
				  false },
	[EGS_RULE_PREEMPTED_FOR] = { "job %j was asked to save and leave %g to "
				     "job %h, "
				     "%u s to its deadline",
				     false },
	[EGS_RULE_PREEMPTED] = { "job %j was asked to save and leave %g, %u s "
				 "to "
				 "its deadline",
				 false },
	[EGS_RULE_NO_GPUS] = { "job %j needs no GPU in its phase: Slurm alone "
			       "decides",
			       false },
	[EGS_RULE_FITS] = { "job %j wants %g, %w, and nothing of EGS is in its "
			    "way: %t owns %o of %q",
			    false },
	[EGS_RULE_NEEDS_VICTIMS] = { "job %j wants %g, %w, and %v job(s) have "
				     "to leave "
				     "first, among them job %h",
				     false },
	[EGS_RULE_WAITS_FOR_SHRINK] = { "job %j wants %g, %w: job %h was asked "
					"to go on "
					"with %l GPUs and has %u s to answer",
					false },
	[EGS_RULE_PROTECTED] = { "job %j wants %g, %w: job %h could make room "
				 "but is protected for another %u s",
				 false },
	[EGS_RULE_NO_VICTIMS] = { "job %j wants %g, %w: %f of %c are free, the "
				  "others with jobs it may not take from, the "
				  "most "
				  "(%m) with job %h; %t owns %o of %q",
				  false },
	[EGS_RULE_FRAGMENTED] = { "job %j wants %g, %w: %f of %c are free, but "
				  "not on nodes as it wants them; %t owns %o "
				  "of "
				  "%q",
				  false },
	[EGS_RULE_TOO_FEW_UP] = { "job %j wants %g, %w, and %c are up; %t owns "
				  "%o of "
				  "%q",
				  false },
	[EGS_RULE_QUOTA] = { "job %j wants %g: its tier does not borrow, and "
			     "%t owns %o of %q",
			     true },
	[EGS_RULE_LEND_LIMIT] = { "job %j wants %g on loan, but only %l are "
				  "lent; %t "
				  "owns %o of %q",
				  true },
	[EGS_RULE_BORROW_LIMIT] = { "job %j wants %g on loan, but %t may "
				    "borrow %l "
				    "and has %b",
				    true },
	[EGS_RULE_MAX_GPUS] = { "job %j wants %g, but %t may use %l: it owns "
				"%o "
				"and has %b on loan",
				true },
	[EGS_RULE_GPU_HOURS] = { "job %j wants %g, but the limit of %l "
				 "GPU-hours is reached; the next period "
				 "begins in %u s",
				 true },
};

bool egs_why_is_held(const struct egs_why *why)
{
	return rules[why->rule].holds_job;
}

static const char *type_name(const struct egs_why *why,
			     const struct egs_policy_conf *conf)
{
	const char *name = "";

	if (why->type >= 0 && why->type < conf->ntypes)
		name = conf->type[why->type].name;
	return *name ? name : "GPUs";
}

static const char *team_name(const struct egs_why *why,
			     const struct egs_policy_conf *conf)
{
	return why->team < 0 ? "no team" : conf->team[why->team].name;
}

static void format_number(char *buf, int64_t n)
{
	snprintf(buf, VALUE_SIZE, "%lld", (long long)n);
}

/* What one letter of the words stands for. */
static void format_value(char letter, const struct egs_why *why,
			 const struct egs_policy_conf *conf, egs_time_t now,
			 char *buf)
{
	switch (letter) {
	case 'g':
		snprintf(buf, VALUE_SIZE, "%u %s", why->gpus,
			 type_name(why, conf));
		return;
	case 't':
		snprintf(buf, VALUE_SIZE, "%s", team_name(why, conf));
		return;
	case 'w':
		snprintf(buf, VALUE_SIZE, "%s",
			 why->on_loan ? "on loan" : "owned");
		return;
	case 'u':
		format_number(buf, why->until > now ? why->until - now : 0);
		return;
	default:
		format_number(buf, letter == 'j'   ? why->job_id
				   : letter == 'h' ? why->other_job
				   : letter == 'm' ? why->other_gpus
				   : letter == 'v' ? why->nvictims
				   : letter == 'f' ? why->free_gpus
				   : letter == 'c' ? why->up_gpus
				   : letter == 'q' ? why->quota
				   : letter == 'o' ? why->owned
				   : letter == 'b' ? why->team_on_loan
						   : why->limit);
		return;
	}
}

/* Append at most what fits; 'at' counts what did not, too. */
static void append_text(char *buf, size_t size, size_t *at, const char *text,
			size_t len)
{
	for (size_t i = 0; i < len; i++, (*at)++)
		if (*at + 1 < size)
			buf[*at] = text[i];
}

int egs_why_format(const struct egs_why *why,
		   const struct egs_policy_conf *conf, egs_time_t now,
		   char *buf, size_t size)
{
	const char *s = rules[why->rule].text;
	char one[VALUE_SIZE];
	size_t at = 0;

	while (*s) {
		size_t plain = strcspn(s, "%");

		append_text(buf, size, &at, s, plain);
		s += plain;
		if (!*s)
			break;
		format_value(s[1], why, conf, now, one);
		append_text(buf, size, &at, one, strlen(one));
		s += 2;
	}
	if (size)
		buf[at < size ? at : size - 1] = '\0';
	return (int)at;
}
