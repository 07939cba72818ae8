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
	const char *never;	/* a word with which EGS does not work */
};

static const struct conf_line conf_lines[] = {
	{ "JobSubmitPlugins", "egs", HAS, 0, 0, false, NULL },
	{ "SelectType", "select/cons_tres", IS, 0, 2505, false, NULL },
	{ "SelectType", "select/cons_tres_egs", BECOMES, 2505, 0, false, NULL },
	{ "PreemptType", "preempt/egs", BECOMES, 0, 0, true, NULL },
	{ "PreemptMode", "REQUEUE", BECOMES, 0, 0, true, "GANG" },
	{ "PriorityType", "priority/multifactor", IS, 0, 0, true, NULL },
	{ "PrioritySiteFactorPlugin", "site_factor/egs", BECOMES, 0, 0, true,
	  NULL },
	{ "SchedulerParameters", "preempt_strict_order", HAS, 0, 2302, true,
	  NULL },
	{ "SchedulerParameters", "preempt_reorder_count=4", HAS, 0, 2302, true,
	  NULL },
	{ "SchedulerParameters", "preempt_youngest_first", HAS_NOT, 0, 2302,
	  true, NULL },
	{ "SlurmctldParameters", "preempt_send_user_signal", HAS, 0, 2302, true,
	  NULL },
	{ "PreemptParameters", "strict_order", HAS, 2302, 0, true, NULL },
	{ "PreemptParameters", "reorder_count=4", HAS, 2302, 0, true, NULL },
	{ "PreemptParameters", "send_user_signal", HAS, 2302, 0, true, NULL },
	{ "PreemptParameters", "youngest_first", HAS_NOT, 2302, 0, true, NULL },
	{ "MaxBatchRequeue", "1000000", AT_LEAST, 2302, 0, true, NULL },
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

static bool is_line_due(const struct egs_doctor *d, const struct conf_line *l)
{
	bool decides = d->preflight || d->policy;

	return (!l->needs_policy || decides) &&
	       (!l->since || egs_doctor_has_release(d, l->since)) &&
	       (!l->before || !egs_doctor_has_release(d, l->before));
}

/* ---- a key whose value is a list: one line for all its rows ---- */

static bool is_list_line(const struct conf_line *l)
{
	return l->check == HAS || l->check == HAS_NOT;
}

static void append_word(char list[EGS_DOCTOR_VALUE_SIZE], const char *word,
			size_t len)
{
	size_t used = strlen(list);

	snprintf(list + used, EGS_DOCTOR_VALUE_SIZE - used, "%s%.*s",
		 used ? "," : "", (int)len, word);
}

/* Append the words of 'value' that no row forbids. */
static void append_allowed(const struct egs_doctor *d, const char *key,
			   const char *value, char list[EGS_DOCTOR_VALUE_SIZE])
{
	char word[EGS_DOCTOR_VALUE_SIZE];

	while (*value) {
		size_t len = strcspn(value, ",");
		bool allowed = true;

		snprintf(word, sizeof(word), "%.*s", (int)len, value);
		for (size_t i = 0; i < ARRAY_SIZE(conf_lines); i++)
			if (conf_lines[i].check == HAS_NOT &&
			    strcmp(conf_lines[i].key, key) == 0 &&
			    is_line_due(d, &conf_lines[i]))
				allowed &= !has_word(word, conf_lines[i].want);
		if (allowed)
			append_word(list, word, len);
		value += len + (value[len] == ',');
	}
}

/* Print one line for all rows of the list 'key', which can be pasted. */
static void check_list(struct egs_doctor *d, const char *key, const char *value)
{
	char good[EGS_DOCTOR_VALUE_SIZE] = "", bad[EGS_DOCTOR_VALUE_SIZE] = "";
	bool adds = false;

	append_allowed(d, key, value, good);
	for (size_t i = 0; i < ARRAY_SIZE(conf_lines); i++) {
		const struct conf_line *l = &conf_lines[i];

		if (!is_list_line(l) || strcmp(l->key, key) != 0 ||
		    !is_line_due(d, l) || is_line_ok(l, value))
			continue;
		adds |= l->check == HAS;
		append_word(l->check == HAS ? good : bad, l->want,
			    strlen(l->want));
	}
	if (*bad)
		egs_doctor_print(d, EGS_ADVICE_CHANGE, "%s=%s # without %s",
				 key, good, bad);
	else
		egs_doctor_print(d, adds ? EGS_ADVICE_ADD : EGS_ADVICE_FINE,
				 "%s=%s", key, good);
}

/* Is this the first row of its key that counts here? */
static bool is_first_of_list(const struct egs_doctor *d,
			     const struct conf_line *l)
{
	const struct conf_line *first = conf_lines;

	while (strcmp(first->key, l->key) != 0 || !is_line_due(d, first))
		first++;
	return first == l;
}

/* ---- a key with one value ---- */

static void print_bad_line(struct egs_doctor *d, const struct conf_line *l,
			   const char *value)
{
	const char *now = *value ? value : "nothing";
	const char *never =
		l->never && has_word(value, l->never) ? l->never : NULL;

	if (never)
		egs_doctor_print(d, EGS_ADVICE_CHANGE,
				 "%s=%s # now it is %s; EGS does not work "
				 "with %s",
				 l->key, l->want, now, never);
	else
		egs_doctor_print(
			d, l->check == IS ? EGS_ADVICE_CHANGE : EGS_ADVICE_ADD,
			"%s=%s # now it is %s", l->key, l->want, now);
}

static void check_line(struct egs_doctor *d, const struct conf_line *l)
{
	char value[EGS_DOCTOR_VALUE_SIZE];

	egs_doctor_get_value(d, l->key, value);
	if (is_list_line(l)) {
		if (is_first_of_list(d, l))
			check_list(d, l->key, value);
	} else if (is_line_ok(l, value)) {
		egs_doctor_print(d, EGS_ADVICE_FINE, "%s=%s", l->key, value);
	} else {
		print_bad_line(d, l, value);
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

/* A job with a step manager of its own keeps its GPUs (resize_checks.c). */
static void check_stepmgr(struct egs_doctor *d)
{
	char value[EGS_DOCTOR_VALUE_SIZE];

	egs_doctor_get_value(d, "SlurmctldParameters", value);
	if (d->policy && d->policy->live_resize &&
	    has_word(value, "enable_stepmgr"))
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "LiveResize=yes with enable_stepmgr in "
				 "SlurmctldParameters: no job changes its GPUs "
				 "while it runs");
}

void egs_doctor_check_conf(struct egs_doctor *d)
{
	for (size_t i = 0; i < ARRAY_SIZE(conf_lines); i++)
		if (is_line_due(d, &conf_lines[i]))
			check_line(d, &conf_lines[i]);
	check_order(d);
	check_times(d);
	check_devices(d);
	check_accounting(d);
	check_stepmgr(d);
	check_remembered_base(d);
	if (d->preflight || d->policy)
		check_base(d);
	else if (d->has_policy_file)
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "egs.conf cannot be used, so what depends on "
				 "it is not checked; slurmctld and egs-policyd "
				 "continue with the last valid file");
	else
		egs_doctor_print(d, EGS_ADVICE_WORRY,
				 "there is no egs.conf: EGS checks and stamps "
				 "hints, and decides nothing");
}
