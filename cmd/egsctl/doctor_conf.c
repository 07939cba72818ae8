/* doctor_conf.c - the lines of slurm.conf that EGS wants, one row each
 *
 * To add one: a row here, a line in etc/slurm.conf.snippet, a paragraph in
 * egs-plugins(8) that says why.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/egsctl/doctor.h"
#include "common/base/array.h"

enum how {
	IS,	  /* the value is this; another one is in the way */
	BECOMES,  /* the same, and another one is simply replaced */
	HAS,	  /* the list has this word */
	AT_LEAST, /* the number is not less */
	HAS_NOT,  /* the list must not have this word */
};

struct line {
	const char *key;
	const char *want;
	enum how how;
	unsigned since, before; /* release of Slurm, 0: any */
	bool decides;		/* only where there is an egs.conf */
};

static const struct line lines[] = {
	{ "JobSubmitPlugins", "egs", HAS, 0, 0, false },
	{ "SelectType", "select/cons_tres", IS, 0, 2505, false },
	{ "SelectType", "select/egs", BECOMES, 2505, 0, false },
	{ "PreemptType", "preempt/egs", BECOMES, 0, 0, true },
	{ "PreemptMode", "REQUEUE", BECOMES, 0, 0, true },
	{ "PreemptMode", "GANG", HAS_NOT, 0, 0, true },
	{ "PriorityType", "priority/multifactor", IS, 0, 0, true },
	{ "PrioritySiteFactorPlugin", "site_factor/egs", BECOMES, 0, 0, true },
	{ "RequeueExit", "99", HAS, 0, 0, true },
	{ "SchedulerParameters", "preempt_strict_order", HAS, 0, 2302, true },
	{ "SchedulerParameters", "preempt_reorder_count=4", HAS, 0, 2302,
	  true },
	{ "SchedulerParameters", "preempt_youngest_first", HAS_NOT, 0, 2302,
	  true },
	{ "SlurmctldParameters", "preempt_send_user_signal", HAS, 0, 2302,
	  true },
	{ "PreemptParameters", "strict_order", HAS, 2302, 0, true },
	{ "PreemptParameters", "reorder_count=4", HAS, 2302, 0, true },
	{ "PreemptParameters", "send_user_signal", HAS, 2302, 0, true },
	{ "PreemptParameters", "youngest_first", HAS_NOT, 2302, 0, true },
	{ "MaxBatchRequeue", "1000000", AT_LEAST, 2302, 0, true },
};

/* "KEY=4" of a list counts with any number behind it. */
static bool has(const char *list, const char *word)
{
	size_t len = strcspn(word, "=");

	len += word[len] == '=';
	while (*list) {
		size_t entry = strcspn(list, ",");

		if (word[len - 1] == '='
			    ? strncmp(list, word, len) == 0
			    : entry == len && strncasecmp(list, word, len) == 0)
			return true;
		list += entry + (list[entry] == ',');
	}
	return false;
}

static bool good(const struct line *l, const char *value)
{
	switch (l->how) {
	case HAS:
		return has(value, l->want);
	case HAS_NOT:
		return !has(value, l->want);
	case AT_LEAST:
		return strtoul(value, NULL, 10) >= strtoul(l->want, NULL, 10);
	default:
		return strcmp(value, l->want) == 0;
	}
}

static void say_bad(struct egs_doctor *d, const struct line *l,
		    const char *value)
{
	const char *now = *value ? value : "nothing";

	switch (l->how) {
	case IS:
		egs_doctor_say(d, EGS_ADVICE_CHANGE, "%s=%s, now it is %s",
			       l->key, l->want, now);
		break;
	case HAS_NOT:
		egs_doctor_say(d, EGS_ADVICE_CHANGE, "%s=%s: without %s",
			       l->key, value, l->want);
		break;
	case HAS:
		egs_doctor_say(d, EGS_ADVICE_ADD, "%s=%s%s%s", l->key, value,
			       *value ? "," : "", l->want);
		break;
	default:
		egs_doctor_say(d, EGS_ADVICE_ADD, "%s=%s, now it is %s", l->key,
			       l->want, now);
	}
}

/* Others of the kind go first, so that EGS sees the job as they leave it. */
static void look_at_order(struct egs_doctor *d)
{
	char list[EGS_DOCTOR_VALUE];
	const char *last;

	egs_doctor_value(d, "JobSubmitPlugins", list);
	last = strrchr(list, ',');
	if (has(list, "egs") && last && strcmp(last, ",egs") != 0)
		egs_doctor_say(d, EGS_ADVICE_WORRY,
			       "JobSubmitPlugins=%s: egs is not the last, so "
			       "others change what it has checked",
			       list);
}

/* Where preemption was on already, those jobs must not lose it. */
static void look_at_base(struct egs_doctor *d)
{
	char type[EGS_DOCTOR_VALUE];
	const char *base = d->policy ? d->policy->preempt_base : NULL;

	egs_doctor_value(d, "PreemptType", type);
	if (strcmp(type, "preempt/egs") == 0 || !*type ||
	    strcmp(type, "preempt/none") == 0 ||
	    (base && strcmp(base, type) == 0))
		return;
	egs_doctor_say(d, EGS_ADVICE_ADD,
		       "in egs.conf: PreemptBase=%s, for jobs that are not "
		       "managed",
		       type);
}

static unsigned long number(const struct egs_doctor *d, const char *key)
{
	char value[EGS_DOCTOR_VALUE];

	return strtoul(egs_doctor_value(d, key, value), NULL, 10);
}

static void look_at_times(struct egs_doctor *d)
{
	if (number(d, "MinJobAge") < 30)
		egs_doctor_say(d, EGS_ADVICE_WORRY,
			       "MinJobAge=%lu: a job may end and be forgotten "
			       "between two looks of the daemon; 300 is usual",
			       number(d, "MinJobAge"));
	if (number(d, "JobRequeue") == 0)
		egs_doctor_say(d, EGS_ADVICE_WORRY,
			       "JobRequeue=0: jobs that do not say --requeue "
			       "cannot come back after a preemption");
}

/* Nothing else keeps a process away from a GPU that its job has given back. */
static void look_at_devices(struct egs_doctor *d)
{
	char value[EGS_DOCTOR_VALUE];

	if (!d->policy || !d->policy->live_resize)
		return;
	if (strcasecmp(egs_doctor_value(d, "ConstrainDevices", value), "yes") !=
	    0)
		egs_doctor_say(d, EGS_ADVICE_WORRY,
			       "LiveResize=yes without ConstrainDevices=yes in "
			       "cgroup.conf: a new step can open GPUs that its "
			       "job has given back");
	else if (strcasecmp(egs_doctor_value(d, "CgroupPlugin", value),
			    "cgroup/v1") == 0)
		egs_doctor_say(d, EGS_ADVICE_WORRY,
			       "ConstrainDevices=yes with CgroupPlugin="
			       "cgroup/v1: with it LiveResize=yes is untested, "
			       "with cgroup/v2 it is not");
}

void egs_doctor_lines(struct egs_doctor *d)
{
	bool decides = d->preflight || d->policy;
	char value[EGS_DOCTOR_VALUE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct line *l = &lines[i];

		if ((l->decides && !decides) ||
		    (l->since && !egs_doctor_since(d, l->since)) ||
		    (l->before && egs_doctor_since(d, l->before)))
			continue;
		egs_doctor_value(d, l->key, value);
		if (!good(l, value))
			say_bad(d, l, value);
		else if (l->how != HAS_NOT)
			egs_doctor_say(d, EGS_ADVICE_FINE, "%s=%s", l->key,
				       value);
	}
	look_at_order(d);
	look_at_times(d);
	look_at_devices(d);
	if (decides)
		look_at_base(d);
	else
		egs_doctor_say(d, EGS_ADVICE_WORRY,
			       "there is no egs.conf: hints are checked and "
			       "stamped, nothing is decided");
}
