/* hint_values.c - parse the values of a hint */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/conf/names.h"
#include "common/conf/values.h"
#include "common/hint/hint_values.h"

enum { CHOICES_MAX = 32, GPUS_MAX = 65535, COUNT_MAX = 10000000 };

void egs_hint_append_name(struct egs_text *list, const char *name)
{
	egs_text_append(list, "%s%s", *list->text ? ", " : "", name);
}

struct egs_text egs_hint_did_you_mean(const char *typed,
				      const char *const *names, size_t count)
{
	const char *name = egs_suggest(typed, names, count);
	struct egs_text part = { "" };

	if (name)
		egs_textf(&part, "; did you mean '%s'?", name);
	return part;
}

/* The canonical word for 'value', or NULL. */
static const char *find_choice(const struct egs_hint_key *k, const char *value)
{
	for (size_t i = 0; i < k->nchoices; i++)
		if (!strcasecmp(value, k->choices[i].typed))
			return k->choices[i].means;
	return NULL;
}

static bool is_about_phases(const struct egs_hint_key *k)
{
	return k->read == egs_hint_read_phase ||
	       k->read == egs_hint_read_phase_gpus;
}

/* Phase 'i' of the site; NULL if it is a choice of the key, too. */
static const char *get_site_phase(const struct egs_hint_key *k,
				  const struct egs_hint_site *site, size_t i)
{
	return find_choice(k, site->phases[i]) ? NULL : site->phases[i];
}

void egs_hint_list_choices(const struct egs_hint_key *k,
			   const struct egs_hint_site *site,
			   struct egs_text *list)
{
	list->text[0] = '\0';
	for (size_t i = 0; i < k->nchoices; i++)
		if (!k->choices[i].means ||
		    !strcmp(k->choices[i].typed, k->choices[i].means))
			egs_hint_append_name(list, k->choices[i].typed);
	if (!site || !is_about_phases(k))
		return;
	for (size_t i = 0; i < site->nphases; i++)
		if (get_site_phase(k, site, i))
			egs_hint_append_name(list, site->phases[i]);
}

/* 'value' is neither a choice of 'k' nor a phase of the site. */
static int refuse_choice(const struct egs_hint_key *k, const char *value,
			 const struct egs_hint_site *site, struct egs_err *err)
{
	const char *names[CHOICES_MAX + EGS_PHASES_MAX];
	struct egs_text list;
	size_t count = 0;

	egs_hint_list_choices(k, site, &list);
	for (size_t i = 0; i < k->nchoices && i < CHOICES_MAX; i++)
		names[count++] = k->choices[i].typed;
	for (size_t i = 0; site && i < site->nphases; i++)
		if (count < ARRAY_SIZE(names))
			names[count++] = get_site_phase(k, site, i);
	return egs_errf(err, "is not a %s%s (%ss: %s)", k->value_kind,
			egs_hint_did_you_mean(value, names, count).text,
			k->value_kind, list.text);
}

int egs_hint_read_choice(const struct egs_hint_key *k, const char *value,
			 const struct egs_hint_site *site, char *out,
			 struct egs_err *err)
{
	const char *means = find_choice(k, value);

	(void)site;
	if (!means)
		return refuse_choice(k, value, NULL, err);
	snprintf(out, EGS_HINT_VALUE_MAX + 1, "%s", means);
	return 0;
}

static int read_name(enum egs_conf_record_id record, const char *value,
		     char *out, struct egs_err *err)
{
	return egs_conf_read_name(record, value, out, err);
}

int egs_hint_read_phase(const struct egs_hint_key *k, const char *value,
			const struct egs_hint_site *site, char *out,
			struct egs_err *err)
{
	const char *alias;

	if (find_choice(k, value))
		return egs_hint_read_choice(k, value, NULL, out, err);
	if (site && site->any_phase)
		return read_name(EGS_CONF_PHASE_RECORD, value, out, err);
	for (size_t i = 0; site && i < site->nphases; i++)
		if (!strcasecmp(value, site->phases[i])) {
			snprintf(out, EGS_HINT_VALUE_MAX + 1, "%s",
				 site->phases[i]);
			return 0;
		}
	alias = site ? egs_phase_weak_alias(value) : NULL;
	if (!alias)
		return refuse_choice(k, value, site, err);
	/* The phases of the site are unknown: slurmctld knows them. */
	if (!site->phases)
		return read_name(EGS_CONF_PHASE_RECORD, value, out, err);
	snprintf(out, EGS_HINT_VALUE_MAX + 1, "%s", alias);
	return 0;
}

/* Append one PHASE:N to those in 'out'. */
static int add_phase_gpus(const struct egs_hint_key *k, char *pair,
			  const struct egs_hint_site *site, char *out,
			  struct egs_err *err)
{
	char *colon = strrchr(pair, ':');
	char phase[EGS_HINT_VALUE_MAX + 1];
	size_t used = strlen(out);
	uint32_t gpus;

	if (!colon || egs_conf_read_number(colon + 1, &gpus, NULL) < 0 ||
	    gpus > GPUS_MAX)
		return egs_errf(err, "wants a number of GPUs for each phase, "
				     "as in train:4,infer:1");
	*colon = '\0';
	if (egs_hint_read_phase(k, pair, site, phase, err) < 0)
		return egs_errf(err, "has '%s', which %s",
				egs_printable(pair).text, err ? err->msg : "");
	if (egs_hint_gpus_for_phase(out, phase) >= 0)
		return egs_errf(err, "has %s twice", phase);
	if (snprintf(out + used, EGS_HINT_VALUE_MAX + 1 - used, "%s%s:%u",
		     used ? "+" : "", phase,
		     gpus) > (int)(EGS_HINT_VALUE_MAX - used))
		return egs_errf(err, "is longer than %d bytes",
				EGS_HINT_VALUE_MAX);
	return 0;
}

int egs_hint_read_phase_gpus(const struct egs_hint_key *k, const char *value,
			     const struct egs_hint_site *site, char *out,
			     struct egs_err *err)
{
	char copy[EGS_HINT_VALUE_MAX + 1];
	char *next = copy;

	snprintf(copy, sizeof(copy), "%s", value);
	out[0] = '\0';
	while (next)
		if (add_phase_gpus(k, strsep(&next, ",+"), site, out, err) < 0)
			return -1;
	return 0;
}

int egs_hint_read_tier(const struct egs_hint_key *k, const char *value,
		       const struct egs_hint_site *site, char *out,
		       struct egs_err *err)
{
	(void)k;
	(void)site;
	return read_name(EGS_CONF_TIER_RECORD, value, out, err);
}

/* NAME or NAME/STAGE, both with the grammar of names in egs.conf. */
int egs_hint_read_workload(const struct egs_hint_key *k, const char *value,
			   const struct egs_hint_site *site, char *out,
			   struct egs_err *err)
{
	size_t len = strcspn(value, "/");
	char name[EGS_HINT_VALUE_MAX + 1], part[EGS_HINT_VALUE_MAX + 1];

	(void)k;
	(void)site;
	memcpy(name, value, len);
	name[len] = '\0';
	if (read_name(EGS_CONF_WORKLOAD_RECORD, name, part, err) < 0)
		return -1;
	if (value[len] &&
	    read_name(EGS_CONF_WORKLOAD_RECORD, value + len + 1, part, err) < 0)
		return -1;
	if (strchr(".-", name[0]) || strchr(".-", part[0]))
		return egs_errf(err, "starts a name with a dot or a dash");
	memcpy(out, value, strlen(value) + 1);
	return 0;
}

static int read_ckpt_signal(const char *text, char *out, struct egs_err *err)
{
	struct egs_save_signal signal;
	char canonical[EGS_SAVE_SIGNAL_MAX + 1];

	if (egs_save_signal_parse(text, &signal, err) < 0)
		return -1;
	if (!egs_save_signal_can_catch(&signal))
		return egs_errf(err, "is a signal that no job can catch");
	egs_save_signal_format(&signal, canonical, sizeof(canonical));
	snprintf(out, EGS_HINT_VALUE_MAX + 1, "signal:%s", canonical);
	return 0;
}

int egs_hint_read_path(const struct egs_hint_key *k, const char *value,
		       const struct egs_hint_site *site, char *out,
		       struct egs_err *err)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_./+@%=~-";

	(void)k;
	(void)site;
	if (!*value || value[strspn(value, good)])
		return egs_errf(err, "is not a path of letters, digits and "
				     "'_./+@%%=~-'");
	snprintf(out, EGS_HINT_VALUE_MAX + 1, "%s", value);
	return 0;
}

int egs_hint_read_ckpt(const struct egs_hint_key *k, const char *value,
		       const struct egs_hint_site *site, char *out,
		       struct egs_err *err)
{
	if (!strncasecmp(value, "signal:", 7))
		return read_ckpt_signal(value + 7, out, err);
	if (strncasecmp(value, "cmd:", 4) != 0)
		return egs_hint_read_choice(k, value, site, out, err);
	memcpy(out, "cmd:", 4);
	return egs_hint_read_path(k, value + 4, site, out + 4, err);
}

static int read_time(const char *text, char *out, struct egs_err *err)
{
	uint32_t seconds;

	if (egs_conf_read_seconds(text, &seconds, err) < 0)
		return -1;
	if (!seconds || seconds > 86400)
		return egs_errf(err, "is not between 1s and 1d");
	egs_conf_write_seconds(seconds, out, EGS_HINT_VALUE_MAX + 1);
	return 0;
}

int egs_hint_read_duration(const struct egs_hint_key *k, const char *value,
			   const struct egs_hint_site *site, char *out,
			   struct egs_err *err)
{
	(void)k;
	(void)site;
	return read_time(value, out, err);
}

/* TIME:REASON; a time may have colons, too, a reason has none. */
int egs_hint_read_idle_ok(const struct egs_hint_key *k, const char *value,
			  const struct egs_hint_site *site, char *out,
			  struct egs_err *err)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	const char *colon = strrchr(value, ':');
	char time[EGS_HINT_VALUE_MAX + 1];
	size_t len;

	(void)k;
	(void)site;
	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, good)])
		return egs_errf(err,
				"wants a time and a reason of letters, "
				"digits and '_.-', as in 60m:data-loading");
	snprintf(time, sizeof(time), "%.*s", (int)(colon - value), value);
	if (read_time(time, out, err) < 0)
		return -1;
	len = strlen(out);
	if (snprintf(out + len, EGS_HINT_VALUE_MAX + 1 - len, "%s", colon) >
	    (int)(EGS_HINT_VALUE_MAX - len))
		return egs_errf(err, "is longer than %d bytes",
				EGS_HINT_VALUE_MAX);
	return 0;
}

int egs_hint_read_count(const struct egs_hint_key *k, const char *value,
			const struct egs_hint_site *site, char *out,
			struct egs_err *err)
{
	uint32_t count;

	(void)k;
	(void)site;
	if (egs_conf_read_number(value, &count, NULL) < 0 || !count ||
	    count > COUNT_MAX)
		return egs_errf(err, "is not a whole number from 1 to %d",
				COUNT_MAX);
	snprintf(out, EGS_HINT_VALUE_MAX + 1, "%u", count);
	return 0;
}

int egs_hint_read_count_or_choice(const struct egs_hint_key *k,
				  const char *value,
				  const struct egs_hint_site *site, char *out,
				  struct egs_err *err)
{
	if (find_choice(k, value))
		return egs_hint_read_choice(k, value, site, out, err);
	if (egs_hint_read_count(k, value, site, out, err) == 0)
		return 0;
	return egs_errf(err, "%s, nor '%s'", err ? err->msg : "",
			k->choices[0].typed);
}
