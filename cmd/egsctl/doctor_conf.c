/* doctor_conf.c - the lines of slurm.conf that EGS needs, one row each
 *
 * To add a line, add a row here and a line to etc/slurm.conf.snippet.  Add the
 * reason to egs-plugins(8).
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/egsctl/doctor.h"
#include "common/base/array.h"

enum line_check {
	IS,	  /* the value; advice for another value is "change" */
	BECOMES,  /* the value; advice for another value is "add" */
	HAS,	  /* the list has this word */
	AT_LEAST, /* the number is at least this */
	HAS_NOT,  /* the list does not have this word */
};

struct conf_line {
	const char *key;
	const char *want;
	enum line_check check;
	unsigned since, before; /* release of Slurm, 0: any */
	bool needs_policy;	/* only with an egs.conf */
};

static const struct conf_line conf_lines[] = {
	{ "JobSubmitPlugins", "egs", HAS, 0, 0, false },
	{ "SelectType", "select/cons_tres", IS, 0, 2505, false },
	{ "SelectType", "select/cons_tres_egs", BECOMES, 2505, 0, false },
	{ "PreemptType", "preempt/egs", BECOMES, 0, 0, true },
	{ "PreemptMode", "REQUEUE", BECOMES, 0, 0, true },
	{ "PreemptMode", "GANG", HAS_NOT, 0, 0, true },
	{ "PriorityType", "priority/multifactor", IS, 0, 0, true },
	{ "PrioritySiteFactorPlugin", "site_factor/egs", BECOMES, 0, 0, true },
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

/* The word "KEY=4" matches KEY= with any number. */
static bool has_word(const char *list, const char *word)
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

static bool is_line_ok(const struct conf_line *l, const char *value)
{
	switch (l->check) {
	case HAS:
		return has_word(value, l->want);
	case HAS_NOT:
		return !has_word(value, l->want);
	case AT_LEAST:
		return strtoul(value, NULL, 10) >= strtoul(l->want, NULL, 10);
	default:
		return strcmp(value, l->want) == 0;
	}
}

static void print_bad_line(struct egs_doctor *d, const struct conf_line *l,
			   const char *value)
{
	const char *now = *value ? value : "nothing";

	switch (l->check) {
	case IS:
		egs_doctor_print(d, EGS_ADVICE_CHANGE, "%s=%s, now it is %s",
				 l->key, l->want, now);
		break;
	case HAS_NOT:
		egs_doctor_print(d, EGS_ADVICE_CHANGE, "%s=%s: remove %s",
				 l->key, value, l->want);
		break;
	case HAS:
		egs_doctor_print(d, EGS_ADVICE_ADD, "%s=%s%s%s", l->key, value,
				 *value ? "," : "", l->want);
		break;
	default:
		egs_doctor_print(d, EGS_ADVICE_ADD, "%s=%s, now it is %s",
				 l->key, l->want, now);
	}
}

/* EGS must see the job as all other plugins have changed it. */
static void check_order(struct egs_doctor *d)
{
	char list[EGS_DOCTOR_VALUE_SIZE];
	const char *last;

	egs_doctor_get_value(d, "JobSubmitPlugins", list);
	last = strrchr(list, ',');
	if (has_word(list, "egs") && last && strcmp(last, ",egs") != 0)
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"JobSubmitPlugins=%s: egs is not last; plugins "
			"after it can change what EGS has checked",
			list);
}

/* Jobs that EGS does not manage keep the preemption that the site had. */
static void check_base(struct egs_doctor *d)
{
	char type[EGS_DOCTOR_VALUE_SIZE];
	const char *base = d->policy ? d->policy->preempt_base : NULL;

	egs_doctor_get_value(d, "PreemptType", type);
	if (strcmp(type, "preempt/egs") == 0 || !*type ||
	    strcmp(type, "preempt/none") == 0 ||
	    (base && strcmp(base, type) == 0))
		return;
	egs_doctor_print(d, EGS_ADVICE_ADD,
			 "in egs.conf: PreemptBase=%s, for jobs that are not "
			 "managed",
			 type);
}

/* slurmctld reads PreemptBase when it starts, and remembers it. */
static void check_remembered_base(struct egs_doctor *d)
{
	char now[EGS_DOCTOR_VALUE_SIZE] = "", type[EGS_DOCTOR_VALUE_SIZE];
	const char *want = d->policy && d->policy->preempt_base
				   ? d->policy->preempt_base
				   : "none";

	egs_doctor_get_value(d, "PreemptType", type);
	if (!d->settings || !d->policy || strcmp(type, "preempt/egs") != 0)
		return;
	egs_doctor_find_key(d->settings, "PreemptBase", now);
	if (*now && strcmp(now, want) != 0)
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "PreemptBase=%s in egs.conf, but slurmctld "
				 "uses %s until its next restart",
				 want, now);
}

static unsigned long get_number(const struct egs_doctor *d, const char *key)
{
	char value[EGS_DOCTOR_VALUE_SIZE];

	return strtoul(egs_doctor_get_value(d, key, value), NULL, 10);
}

static void check_times(struct egs_doctor *d)
{
	if (get_number(d, "MinJobAge") < 30)
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"MinJobAge=%lu: slurmctld may forget a job that "
			"ends between two polls of egs-policyd; 300 is usual",
			get_number(d, "MinJobAge"));
	if (get_number(d, "JobRequeue") == 0)
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "JobRequeue=0: after a preemption only jobs "
				 "with a checkpoint (--ckpt) or with --requeue "
				 "are requeued; other jobs, and jobs submitted "
				 "while EGS only observes, follow NoRequeue= "
				 "of their tier");
}

/* Only device cgroups keep a process from GPUs that its job has given back. */
static void check_devices(struct egs_doctor *d)
{
	char value[EGS_DOCTOR_VALUE_SIZE];

	if (!d->policy || !d->policy->live_resize)
		return;
	if (strcasecmp(egs_doctor_get_value(d, "ConstrainDevices", value),
		       "yes") != 0)
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"LiveResize=yes without ConstrainDevices=yes in "
			"cgroup.conf: a new step can open GPUs that its "
			"job has given back");
	else if (strcasecmp(egs_doctor_get_value(d, "CgroupPlugin", value),
			    "cgroup/v1") == 0)
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "ConstrainDevices=yes with CgroupPlugin="
				 "cgroup/v1: LiveResize=yes is tested with "
				 "cgroup/v2 only");
}

static void check_accounting(struct egs_doctor *d)
{
	char value[EGS_DOCTOR_VALUE_SIZE];

	egs_doctor_get_value(d, "AccountingStorageType", value);
	if (d->policy && d->policy->live_resize &&
	    !egs_doctor_has_release(d, 2411) && strstr(value, "slurmdbd"))
		egs_doctor_print(
			d, EGS_ADVICE_WORRY,
			"LiveResize=yes with slurmdbd before Slurm 24.11: jobs "
			"cannot give back whole nodes, and a second resize "
			"waits until slurmdbd answers");
}

void egs_doctor_check_conf(struct egs_doctor *d)
{
	bool decides = d->preflight || d->policy;
	char value[EGS_DOCTOR_VALUE_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(conf_lines); i++) {
		const struct conf_line *l = &conf_lines[i];

		if ((l->needs_policy && !decides) ||
		    (l->since && !egs_doctor_has_release(d, l->since)) ||
		    (l->before && egs_doctor_has_release(d, l->before)))
			continue;
		egs_doctor_get_value(d, l->key, value);
		if (!is_line_ok(l, value))
			print_bad_line(d, l, value);
		else if (l->check != HAS_NOT)
			egs_doctor_print(d, EGS_ADVICE_FINE, "%s=%s", l->key,
					 value);
	}
	check_order(d);
	check_times(d);
	check_devices(d);
	check_accounting(d);
	check_remembered_base(d);
	if (decides)
		check_base(d);
	else
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "there is no egs.conf: EGS checks and stamps "
				 "hints, and decides nothing");
}
