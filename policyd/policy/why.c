/* why.c - why a job waits or runs, as one sentence
 *
 * To add a rule: a row in enum egs_why_rule, a row in sentences[], a case in
 * t/unit/policy_why.c.  In a sentence, %j is the job, %g its GPUs with their
 * type, %w "within quota" or "on loan", %t its team, %q the quota in force, %o
 * what the team uses of it, %b what the team has on loan, %h the other job, %m
 * its GPUs, %v the victims, %f GPUs that are free, %c GPUs that are up, %l the
 * limit, %u the seconds until 'until', %p the phase or tier that has nodes of
 * its own, %n these nodes.
 */
#include <stdio.h>
#include <string.h>

#include "policyd/policy/why.h"

#define VALUE_SIZE (EGS_NAME_SIZE + 16)

/* Bytes of a list of nodes that a sentence has. */
#define NODES_SHOWN 64

/* Prefix of a job that waits, suffix with the numbers of its team. */
#define WAITING "job %j: waiting for %g %w; "
#define USES	" (%t uses %o of %q)"

static const char *const sentences[] = {
	[EGS_RULE_UNMANAGED] = "job %j: not managed by EGS; Slurm alone "
			       "decides",
	[EGS_RULE_NOT_SCHEDULABLE] = "job %j: waiting for a dependency, a "
				     "begin time or a hold, not for GPUs",
	[EGS_RULE_COMPLETING] = "job %j: its last run is ending; it can start "
				"again when its processes are gone",
	[EGS_RULE_REQUEUED_FOR] = "job %j: preempted for job %h and requeued; "
				  "it starts again when %g are free",
	[EGS_RULE_REQUEUED] = "job %j: preempted and requeued; it starts again "
			      "when %g are free",
	[EGS_RULE_OWNED] = "job %j: running on %g within quota (%t uses %o of "
			   "%q, and %b on loan)",
	[EGS_RULE_OWNED_FOR_NOW] =
		"job %j: running on %g, owned for another %u s (MinRuntime), "
		"although %t uses %o and its quota is %q now",
	[EGS_RULE_ON_LOAN] = "job %j: running on %g on loan (%t uses %o of %q, "
			     "and %b on loan)",
	[EGS_RULE_OVER_LIMIT] = "job %j: running on %g on loan; it is over a "
				"limit of its team or workload and is "
				"preempted first" USES,
	[EGS_RULE_PREEMPTED_FOR] = "job %j: being preempted; job %h needs its "
				   "%g; %u s to its deadline",
	[EGS_RULE_PREEMPTED] = "job %j: being preempted; its %g are needed; %u "
			       "s to its deadline",
	[EGS_RULE_NO_GPUS] = "job %j: needs no GPU in its phase; Slurm alone "
			     "decides",
	[EGS_RULE_FITS] = WAITING "EGS does not hold it back" USES,
	[EGS_RULE_NEEDS_VICTIMS] = WAITING "%v must be preempted for it",
	[EGS_RULE_WAITS_FOR_SHRINK] = WAITING "job %h was asked to shrink to "
					      "%l GPUs and has %u s to answer",
	[EGS_RULE_PROTECTED] = WAITING "job %h could be preempted for it but "
				       "is protected for another %u s",
	[EGS_RULE_NO_VICTIMS] = WAITING "%f of %c are free, and it may not "
					"preempt the other jobs (job %h holds "
					"%m; %t uses %o of %q)",
	[EGS_RULE_HET] = WAITING "%f of %c are free, and a heterogeneous job "
				 "preempts no other" USES,
	[EGS_RULE_FRAGMENTED] = WAITING "%f of %c are free, but not on nodes "
					"where the job fits" USES,
	[EGS_RULE_TOO_FEW_UP] = WAITING "%c are up" USES,
	[EGS_RULE_OWN_NODES] = WAITING "%p runs only on %n (Spill=no), where "
				       "%f of %c are free",
	[EGS_RULE_NO_OWN_NODES] = WAITING "%p runs only on %n (Spill=no), "
					  "and the cluster has no such node",
	[EGS_RULE_QUOTA] = "job %j: deferred: %g do not fit in the quota of "
			   "%t, and its tier does not borrow" USES,
	[EGS_RULE_LEND_LIMIT] = "job %j: deferred: it needs %g on loan, and "
				"only %l are lent" USES,
	[EGS_RULE_BORROW_LIMIT] = "job %j: deferred: it needs %g on loan; "
				  "Borrow= of %t allows %l, and %b are on loan "
				  "already",
	[EGS_RULE_MAX_GPUS] = "job %j: deferred: it needs %g; MaxGpus= of %t "
			      "allows %l (%o in use within quota, %b on loan)",
	[EGS_RULE_HET_MAX_GPUS] =
		"job %j: deferred: the components of its heterogeneous job "
		"need %g together; MaxGpus= of %t allows %l (%o in use within "
		"quota, %b on loan)",
	[EGS_RULE_GPU_HOURS] = "job %j: deferred: it needs %g; the limit of %l "
			       "GPU-hours is reached; the next period begins "
			       "in %u s",
};

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

static void format_binder(const struct egs_why *why,
			  const struct egs_policy_conf *conf, char *buf)
{
	if (why->phase >= 0)
		snprintf(buf, VALUE_SIZE, "phase %s",
			 conf->phase[why->phase].name);
	else
		snprintf(buf, VALUE_SIZE, "tier %s",
			 why->tier < 0 ? "?" : conf->tier[why->tier].name);
}

static void format_number(char *buf, int64_t n)
{
	snprintf(buf, VALUE_SIZE, "%lld", (long long)n);
}

/* The value of one letter. */
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
			 why->on_loan ? "on loan" : "within quota");
		return;
	case 'p':
		format_binder(why, conf, buf);
		return;
	case 'n':
		snprintf(buf, VALUE_SIZE, "%.*s%s", NODES_SHOWN, why->nodes,
			 strlen(why->nodes) > NODES_SHOWN ? "..." : "");
		return;
	case 'v':
		if (why->nvictims == 1)
			snprintf(buf, VALUE_SIZE, "job %u", why->other_job);
		else
			snprintf(buf, VALUE_SIZE, "%u jobs (first: job %u)",
				 why->nvictims, why->other_job);
		return;
	case 'u':
		format_number(buf, why->until > now ? why->until - now : 0);
		return;
	default:
		format_number(buf, letter == 'j'   ? why->job_id
				   : letter == 'h' ? why->other_job
				   : letter == 'm' ? why->other_gpus
				   : letter == 'f' ? why->free_gpus
				   : letter == 'c' ? why->up_gpus
				   : letter == 'q' ? why->quota
				   : letter == 'o' ? why->owned
				   : letter == 'b' ? why->team_on_loan
						   : why->limit);
		return;
	}
}

/* Append what fits; '*at' also counts what does not fit. */
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
	const char *s = sentences[why->rule];
	char value[VALUE_SIZE];
	size_t at = 0;

	while (*s) {
		size_t plain = strcspn(s, "%");

		append_text(buf, size, &at, s, plain);
		s += plain;
		if (!*s)
			break;
		format_value(s[1], why, conf, now, value);
		append_text(buf, size, &at, value, strlen(value));
		s += 2;
	}
	if (size)
		buf[at < size ? at : size - 1] = '\0';
	return (int)at;
}
