/* hint.c - hint grammar: one table row per key
 *
 * To add a key, add a field to struct egs_hint and a row to keys[], and remove
 * the key from later_keys[].  If no reader fits, add one to hint_values.c.  Add
 * a case to t/unit/hint.c and a paragraph to egs(7).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/conf/names.h"
#include "common/conf/values.h"
#include "common/hint/hint.h"
#include "common/hint/hint_values.h"

#define HINT_OFFSET(field) offsetof(struct egs_hint, field)
#define CHOICES(w)	   (w), ARRAY_SIZE(w)

static const struct egs_alias ckpt_choices[] = {
	{ "auto", "auto" }, { "none", "none" },	    { "signal", "signal" },
	{ "file", "file" }, { "signal:SIG", NULL }, { "cmd:PATH", NULL },
	{ "no", "none" },
};

static const struct egs_alias exit_choices[] = {
	{ "yield", "yield" },
	{ "finish", "finish" },
};

static const struct egs_alias quiet_choices[] = { { "yes", "yes" } };

static const struct egs_alias restart_choices[] = {
	{ "submit", "submit" },
	{ "phase", "phase" },
};

static const struct egs_alias acks_choices[] = { { "all", "all" } };

static const struct egs_hint_key keys[] = {
	{ "phase", "--phase", "phase", HINT_OFFSET(phase), egs_hint_read_phase,
	  CHOICES(egs_phase_names), NULL, false },
	{ "tier", "--tier", "tier", HINT_OFFSET(tier), egs_hint_read_tier, NULL,
	  0, NULL, false },
	{ "workload", "--workload", "workload", HINT_OFFSET(workload),
	  egs_hint_read_workload, NULL, 0, NULL, false },
	{ "ckpt", "--ckpt", "checkpoint", HINT_OFFSET(ckpt), egs_hint_read_ckpt,
	  CHOICES(ckpt_choices), NULL, false },
	{ "save-time", "--save-time", "time", HINT_OFFSET(save_time),
	  egs_hint_read_duration, NULL, 0, NULL, false },
	{ "phase-gpus", "--phase-gpus", "phase", HINT_OFFSET(phase_gpus),
	  egs_hint_read_phase_gpus, CHOICES(egs_phase_names), NULL, false },
	{ "preload", "--preload", "path", HINT_OFFSET(preload),
	  egs_hint_read_path, NULL, 0, NULL, true },
	{ "exit", "--egs=exit", "word", HINT_OFFSET(exit), egs_hint_read_choice,
	  CHOICES(exit_choices), NULL, false },
	{ "restart", "--egs=restart", "word", HINT_OFFSET(restart),
	  egs_hint_read_choice, CHOICES(restart_choices), NULL, false },
	{ "shrink-to", "--egs=shrink-to", "number", HINT_OFFSET(shrink_to),
	  egs_hint_read_count, NULL, 0, NULL, false },
	{ "idle-ok", "--egs=idle-ok", "time", HINT_OFFSET(idle_ok),
	  egs_hint_read_idle_ok, NULL, 0, NULL, false },
	{ "acks", "--egs=acks", "word", HINT_OFFSET(acks),
	  egs_hint_read_count_or_choice, CHOICES(acks_choices), NULL, false },
	{ "quiet", "--egs=quiet", "word", HINT_OFFSET(quiet),
	  egs_hint_read_choice, CHOICES(quiet_choices), "yes", false },
};

static const char *const later_keys[] = { "group", "max-gpu-hours",
					  "requeue-at-limit" };

static char *get_field(struct egs_hint *hint, const struct egs_hint_key *k)
{
	return (char *)hint + k->offset;
}

static const char *get_const_field(const struct egs_hint *hint,
				   const struct egs_hint_key *k)
{
	return (const char *)hint + k->offset;
}

/* Append 'text' to the string in 'buf'; false if it does not fit. */
static bool append_text(char *buf, size_t size, const char *text)
{
	size_t used = strlen(buf);
	size_t len = strlen(text);

	if (len >= size - used)
		return false;
	memcpy(buf + used, text, len + 1);
	return true;
}

static int refuse_key(const char *key, struct egs_err *err)
{
	const char *names[ARRAY_SIZE(keys)];
	struct egs_text list = { "" };

	for (size_t i = 0; i < ARRAY_SIZE(later_keys); i++)
		if (!strcmp(key, later_keys[i]))
			return egs_errf(err, "%s is not in this version", key);
	if (strchr(key, ':'))
		return egs_errf(err,
				"'%s' is not a key of a hint; here phases are "
				"joined by a plus: phase-gpus=train:4+infer:1",
				egs_printable(key).text);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		names[i] = keys[i].name;
		egs_hint_append_name(&list, keys[i].name);
	}
	return egs_errf(
		err, "'%s' is not a key of a hint%s (keys: %s)",
		egs_printable(key).text,
		egs_hint_did_you_mean(key, names, ARRAY_SIZE(names)).text,
		list.text);
}

static const struct egs_hint_key *find_key(const char *name,
					   struct egs_err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(name, keys[i].name))
			return &keys[i];
	refuse_key(name, err);
	return NULL;
}

static int refuse_empty(const struct egs_hint_key *k,
			const struct egs_hint_site *site, struct egs_err *err)
{
	struct egs_text list;

	egs_hint_list_choices(k, site, &list);
	if (!*list.text)
		return egs_errf(err, "%s is empty", k->shown_as);
	return egs_errf(err, "%s is empty (%ss: %s)", k->shown_as,
			k->value_kind, list.text);
}

/* 'value' is NULL for a key without a value. */
static int set_key(struct egs_hint *hint, const struct egs_hint_key *k,
		   const char *value, const struct egs_hint_site *site,
		   struct egs_err *err)
{
	char out[EGS_HINT_VALUE_MAX + 1];
	struct egs_err why;

	if (!value || !*value)
		value = k->default_value;
	if (!value)
		return refuse_empty(k, site, err);
	if (strnlen(value, EGS_HINT_VALUE_MAX + 1) > EGS_HINT_VALUE_MAX)
		return egs_errf(err, "%s=%s is longer than %d bytes",
				k->shown_as, egs_printable(value).text,
				EGS_HINT_VALUE_MAX);
	if (k->read(k, value, site, out, &why) < 0)
		return egs_errf(err, "%s=%s %s", k->shown_as,
				egs_printable(value).text, why.msg);
	snprintf(get_field(hint, k), EGS_HINT_VALUE_MAX + 1, "%s", out);
	return 0;
}

int egs_hint_set(struct egs_hint *hint, const char *key, const char *value,
		 const struct egs_hint_site *site, struct egs_err *err)
{
	const struct egs_hint_key *k = find_key(key, err);

	return k ? set_key(hint, k, value, site, err) : -1;
}

/* Split "key=value" in place and set the key.  'seen' has a bit per key. */
static int parse_pair(struct egs_hint *hint, char *pair, unsigned int *seen,
		      const struct egs_hint_site *site, struct egs_err *err)
{
	char *equals = strchr(pair, '=');
	const struct egs_hint_key *k;
	unsigned int bit;

	if (!*pair)
		return egs_errf(err, "empty key in a hint, "
				     "want key=value,key=value");
	if (equals)
		*equals = '\0';
	if (!(k = find_key(pair, err)))
		return -1;
	bit = 1U << (k - keys);
	if (*seen & bit)
		return egs_errf(err, "%s is given twice in a hint", k->name);
	*seen |= bit;
	return set_key(hint, k, equals ? equals + 1 : NULL, site, err);
}

int egs_hint_parse(struct egs_hint *hint, const char *text,
		   const struct egs_hint_site *site, struct egs_err *err)
{
	size_t len = strnlen(text, EGS_HINT_MAX + 1);
	struct egs_hint new = *hint;
	char copy[EGS_HINT_MAX + 1];
	char *next = copy;
	unsigned int seen = 0;

	if (len > EGS_HINT_MAX)
		return egs_errf(err, "a hint is longer than %d bytes: %s",
				EGS_HINT_MAX, egs_printable(text).text);
	memcpy(copy, text, len + 1);
	while (len && next)
		if (parse_pair(&new, strsep(&next, ","), &seen, site, err) < 0)
			return -1;
	*hint = new;
	return 0;
}

int egs_hint_merge(struct egs_hint *hint, const struct egs_hint *below,
		   struct egs_text *differ)
{
	int count = 0;

	differ->text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char *own = get_field(hint, &keys[i]);
		const char *other = get_const_field(below, &keys[i]);

		if (!*own) {
			memcpy(own, other, EGS_HINT_VALUE_MAX + 1);
		} else if (*other && strcmp(own, other) != 0) {
			egs_hint_append_name(differ, keys[i].name);
			count++;
		}
	}
	return count;
}

int egs_hint_format(const struct egs_hint *hint, char *buf, size_t size)
{
	bool fits = size > 0;

	if (fits)
		buf[0] = '\0';
	for (size_t i = 0; fits && i < ARRAY_SIZE(keys); i++) {
		const char *value = get_const_field(hint, &keys[i]);

		if (!*value)
			continue;
		fits = append_text(buf, size, *buf ? "," : "") &&
		       append_text(buf, size, keys[i].name) &&
		       append_text(buf, size, "=") &&
		       append_text(buf, size, value);
	}
	if (fits)
		return (int)strlen(buf);
	if (size > 0)
		buf[0] = '\0';
	return -1;
}

bool egs_hint_is_empty(const struct egs_hint *hint)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (*get_const_field(hint, &keys[i]))
			return false;
	return true;
}

bool egs_hint_get_signal(const struct egs_hint *hint,
			 struct egs_save_signal *signal)
{
	return !strncmp(hint->ckpt, "signal:", 7) &&
	       egs_save_signal_parse(hint->ckpt + 7, signal, NULL) == 0;
}

const char *egs_hint_get_program(const struct egs_hint *hint)
{
	return strncmp(hint->ckpt, "cmd:", 4) == 0 ? hint->ckpt + 4 : "";
}

bool egs_hint_can_save(const struct egs_hint *hint,
		       const struct egs_save_signal *own)
{
	if (!*hint->ckpt || !strcmp(hint->ckpt, "auto"))
		return own->number != 0;
	return strcmp(hint->ckpt, "none") != 0;
}

uint32_t egs_hint_get_idle_ok_s(const struct egs_hint *hint)
{
	const char *colon = strrchr(hint->idle_ok, ':');
	char time[EGS_HINT_VALUE_MAX + 1];
	uint32_t seconds = 0;

	if (!colon)
		return 0;
	snprintf(time, sizeof(time), "%.*s", (int)(colon - hint->idle_ok),
		 hint->idle_ok);
	egs_conf_read_seconds(time, &seconds, NULL);
	return seconds;
}

void egs_hint_list_unused(const struct egs_hint *hint, struct egs_text *list)
{
	list->text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].unused && *get_const_field(hint, &keys[i]))
			egs_hint_append_name(list, keys[i].name);
}

int egs_hint_gpus_for_phase(const char *phase_gpus, const char *phase)
{
	size_t len = strlen(phase);

	for (const char *p = phase_gpus; *p; p += strcspn(p, "+")) {
		p += *p == '+';
		if (!strncmp(p, phase, len) && p[len] == ':')
			return atoi(p + len + 1);
	}
	return -1;
}
