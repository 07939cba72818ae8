/* kinds.c - how each kind of value is read into its field and written
 *
 * To add a kind, add a name to enum egs_conf_kind, and a row with its reader
 * and writer to kinds[].  A reader changes the field only if it returns 0.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/hostlist.h"
#include "common/base/suggest.h"
#include "common/conf/internal.h"
#include "common/conf/names.h"
#include "common/conf/remedies.h"
#include "common/conf/values.h"

#define CHOICES_MAX 8

/* More GPUs than any cluster has. */
#define GPUS_MAX 10000000

/* A field, and what its reader and writer need to know. */
struct field {
	struct egs_policy_conf *conf;
	const struct egs_conf_key *key;
	void *value;
	bool types_declared; /* the file has GpuType= records */
};

static bool is_default(const struct egs_conf_key *key, const char *text)
{
	return key->def && strcasecmp(text, key->def) == 0;
}

/* ---- numbers ---- */

static void format_number(const struct egs_conf_key *key, uint32_t value,
			  char buf[EGS_CONF_VALUE_MAX])
{
	switch (key->kind) {
	case EGS_CONF_SECONDS:
		egs_conf_write_seconds(value, buf, EGS_CONF_VALUE_MAX);
		break;
	case EGS_CONF_SIZE:
		egs_conf_write_size(value, buf, EGS_CONF_VALUE_MAX);
		break;
	case EGS_CONF_PERCENT:
		egs_conf_write_percent(value, buf, EGS_CONF_VALUE_MAX);
		break;
	case EGS_CONF_MILLI:
		egs_conf_write_fixed(value, EGS_MILLI_ONE, buf,
				     EGS_CONF_VALUE_MAX);
		break;
	default:
		snprintf(buf, EGS_CONF_VALUE_MAX, "%u", value);
	}
}

static int parse_number(const struct egs_conf_key *key, const char *text,
			uint32_t *value, struct egs_err *err)
{
	uint64_t milli = 0;
	int rc;

	switch (key->kind) {
	case EGS_CONF_SECONDS:
		return egs_conf_read_seconds(text, value, err);
	case EGS_CONF_SIZE:
		return egs_conf_read_size(text, value, err);
	case EGS_CONF_PERCENT:
		return egs_conf_read_percent(text, value, err);
	case EGS_CONF_MILLI:
		rc = egs_conf_read_fixed(text, EGS_MILLI_ONE, &milli, err);
		*value = (uint32_t)milli;
		return rc;
	default:
		return egs_conf_read_number(text, value, err);
	}
}

/* A number within the key's bounds, or a word such as "none" in its place. */
static int read_number(const struct field *f, const char *text,
		       struct egs_err *err)
{
	const struct egs_conf_key *key = f->key;
	char limit[EGS_CONF_VALUE_MAX];
	uint32_t value = key->def_value;

	if (!(key->def_value && is_default(key, text))) {
		if (parse_number(key, text, &value, err) < 0)
			return -1;
		if (value < key->min) {
			format_number(key, key->min, limit);
			return egs_errf(err, "is too small, smallest is %s",
					limit);
		}
		if (value > key->max) {
			format_number(key, key->max, limit);
			return egs_errf(err, "is too big, biggest is %s",
					limit);
		}
	}
	*(uint32_t *)f->value = value;
	return 0;
}

static void write_number(const struct field *f, FILE *out)
{
	uint32_t value = *(const uint32_t *)f->value;
	char buf[EGS_CONF_VALUE_MAX];

	format_number(f->key, value, buf);
	if (f->key->def_value && value == f->key->def_value)
		fputs(f->key->def, out);
	else
		fputs(buf, out);
}

/* A value with a syntax and limits of its own. */
static int read_quantity(const struct field *f, const char *text,
			 struct egs_err *err)
{
	switch (f->key->kind) {
	case EGS_CONF_PRICE:
		return egs_conf_read_fixed(text, EGS_PRICE_ONE, f->value, err);
	case EGS_CONF_RATE:
		return egs_conf_read_rate(text, f->value, err);
	case EGS_CONF_LIMIT:
		return egs_conf_read_limit(text, f->value, err);
	default:
		return egs_conf_read_range(text, f->value, err);
	}
}

static void write_quantity(const struct field *f, FILE *out)
{
	char buf[EGS_CONF_VALUE_MAX];

	switch (f->key->kind) {
	case EGS_CONF_PRICE:
		egs_conf_write_fixed(*(const uint64_t *)f->value, EGS_PRICE_ONE,
				     buf, sizeof(buf));
		break;
	case EGS_CONF_RATE:
	case EGS_CONF_LIMIT:
		egs_conf_write_rate(f->value, buf, sizeof(buf));
		break;
	default:
		egs_conf_write_range(f->value, buf, sizeof(buf));
	}
	fputs(buf, out);
}

/* ---- one of several words ---- */

static const struct egs_conf_choice yes_no[] = {
	{ "yes", true },
	{ "no", false },
	{ 0 },
};

static const struct egs_conf_choice *
find_choice(const struct egs_conf_choice *choices, const char *text)
{
	for (; choices->word; choices++)
		if (strcasecmp(choices->word, text) == 0)
			return choices;
	return NULL;
}

static int refuse_choice(const struct egs_conf_choice *choices,
			 const char *text, struct egs_err *err)
{
	const char *names[CHOICES_MAX];
	size_t count = 0;

	while (count < CHOICES_MAX && choices[count].word) {
		names[count] = choices[count].word;
		count++;
	}
	return egs_err_unknown_name(text, "value", names, count, err);
}

static int read_choice(const struct field *f, const char *text,
		       struct egs_err *err)
{
	const struct egs_conf_choice *choice =
		find_choice(f->key->choices, text);

	if (!choice)
		return refuse_choice(f->key->choices, text, err);
	memcpy(f->value, &choice->value, sizeof(choice->value));
	return 0;
}

static void write_choice(const struct field *f, FILE *out)
{
	const struct egs_conf_choice *choice = f->key->choices;
	int value;

	memcpy(&value, f->value, sizeof(value));
	while (choice->word && choice->value != value)
		choice++;
	fputs(choice->word ? choice->word : "?", out);
}

static int read_yesno(const struct field *f, const char *text,
		      struct egs_err *err)
{
	const struct egs_conf_choice *choice = find_choice(yes_no, text);

	if (!choice)
		return refuse_choice(yes_no, text, err);
	*(bool *)f->value = choice->value;
	return 0;
}

static void write_yesno(const struct field *f, FILE *out)
{
	fputs(*(const bool *)f->value ? "yes" : "no", out);
}

/* ---- text ---- */

/* Store a copy of 'text', or NULL if it is the default. */
static int store_text(const struct field *f, const char *text,
		      struct egs_err *err)
{
	char **value = f->value;
	char *copy = NULL;

	if (!is_default(f->key, text) && !(copy = strdup(text)))
		return egs_errf(err, "is not stored: out of memory");
	free(*value);
	*value = copy;
	return 0;
}

static void write_text(const struct field *f, FILE *out)
{
	const char *text = *(char *const *)f->value;

	fputs(text ? text : f->key->def, out);
}

static int read_list(const struct field *f, const char *text,
		     struct egs_err *err)
{
	if (egs_conf_check_list(text, f->key->kind == EGS_CONF_GLOBS, err) < 0)
		return -1;
	return store_text(f, text, err);
}

static bool is_graphic(const char *text)
{
	while (isgraph((unsigned char)*text))
		text++;
	return !*text;
}

static int read_text(const struct field *f, const char *text,
		     struct egs_err *err)
{
	const struct egs_conf_choice *choices = f->key->choices;

	if (choices && !find_choice(choices, text))
		return refuse_choice(choices, text, err);
	if (!*text || !is_graphic(text))
		return egs_errf(err, "is not a single word");
	return store_text(f, choices ? find_choice(choices, text)->word : text,
			  err);
}

static int read_path(const struct field *f, const char *text,
		     struct egs_err *err)
{
	if (is_default(f->key, text))
		return store_text(f, text, err);
	if (*text != '/' || !is_graphic(text))
		return egs_errf(err, "is not a path that begins with / and has "
				     "no blanks");
	if (strlen(text) > f->key->max)
		return egs_errf(err, "is too long, longest is %u bytes",
				f->key->max);
	return store_text(f, text, err);
}

static int read_hosts(const struct field *f, const char *text,
		      struct egs_err *err)
{
	if (!is_default(f->key, text) && egs_hostlist_check(text, err) < 0)
		return -1;
	return read_text(f, text, err);
}

/* ---- names of tiers, teams and phases ---- */

static int add_tier(void *arg, const char *entry, struct egs_err *err)
{
	struct egs_policy_conf *conf = arg;
	char name[EGS_NAME_SIZE];
	struct egs_err why;

	if (egs_conf_read_name(EGS_CONF_TIER_RECORD, entry, name, &why) < 0)
		return egs_conf_refuse_entry(entry, &why, err);
	if (egs_conf_find_tier(conf, name) >= 0)
		return egs_errf(err, "has '%s' twice", name);
	if (!egs_conf_add_tier(conf, name))
		return egs_errf(err, "has more than %d tiers", EGS_TIERS_MAX);
	return 0;
}

static int read_order(const struct field *f, const char *text,
		      struct egs_err *err)
{
	if (is_default(f->key, text))
		return 0;
	return egs_conf_for_each_entry(text, add_tier, f->conf, err);
}

static void write_tier_names(const struct egs_policy_conf *conf, uint32_t tiers,
			     FILE *out)
{
	const char *comma = "";

	for (int i = 0; i < conf->ntiers; i++) {
		if (!(tiers & 1u << i))
			continue;
		fprintf(out, "%s%s", comma, conf->tier[i].name);
		comma = ",";
	}
}

static void write_order(const struct field *f, FILE *out)
{
	write_tier_names(f->conf, UINT32_MAX, out);
	if (!f->conf->ntiers)
		fputs(f->key->def, out);
}

/* Tiers being collected, a bit each. */
struct tier_set {
	const struct egs_policy_conf *conf;
	uint32_t bits;
};

static int add_tier_bit(void *arg, const char *entry, struct egs_err *err)
{
	struct tier_set *tiers = arg;
	struct egs_err why;
	int row = 0;

	if (egs_conf_read_ref(tiers->conf, EGS_CONF_TIER_RECORD, entry, &row,
			      &why) < 0)
		return egs_conf_refuse_entry(entry, &why, err);
	tiers->bits |= 1u << row;
	return 0;
}

static int read_tiers(const struct field *f, const char *text,
		      struct egs_err *err)
{
	struct tier_set tiers = { f->conf, 0 };

	if (is_default(f->key, text))
		tiers.bits = UINT32_MAX;
	else if (egs_conf_for_each_entry(text, add_tier_bit, &tiers, err) < 0)
		return -1;
	*(uint32_t *)f->value = tiers.bits;
	return 0;
}

static void write_tiers(const struct field *f, FILE *out)
{
	uint32_t tiers = *(const uint32_t *)f->value;

	if (tiers == UINT32_MAX)
		fputs(f->key->def, out);
	else
		write_tier_names(f->conf, tiers, out);
}

/* The record whose rows a key of this kind names. */
static enum egs_conf_record_id get_ref_record(const struct egs_conf_key *key)
{
	switch (key->kind) {
	case EGS_CONF_TIER:
		return EGS_CONF_TIER_RECORD;
	case EGS_CONF_TEAM:
		return EGS_CONF_TEAM_RECORD;
	default:
		return EGS_CONF_PHASE_RECORD;
	}
}

static int read_ref(const struct field *f, const char *text,
		    struct egs_err *err)
{
	if (!is_default(f->key, text))
		return egs_conf_read_ref(f->conf, get_ref_record(f->key), text,
					 f->value, err);
	*(int *)f->value = -1;
	return 0;
}

static void write_ref(const struct field *f, FILE *out)
{
	int row = *(const int *)f->value;
	const struct egs_conf_record *record =
		&egs_conf_records[get_ref_record(f->key)];

	if (row >= 0)
		fputs(egs_conf_get_row(f->conf, record, row), out);
	else
		fputs(f->key->def ? f->key->def : "none", out);
}

/* ---- GPUs by type: type:N[,type:N], or N if there is one type ---- */

/* A value being read. */
struct gpu_counts {
	const struct field *field;
	uint32_t seen_types; /* a bit each */
	uint32_t count[EGS_TYPE_ROWS];
};

static int add_type(struct egs_policy_conf *conf, const char *name, int *row,
		    struct egs_err *err)
{
	const struct egs_gpu_type *type = egs_conf_add_type(conf, name);

	if (!type)
		return egs_errf(err,
				"has '%s', but at most %d types are "
				"accepted",
				name, EGS_TYPES_MAX);
	*row = (int)(type - conf->type);
	return 0;
}

/* The row of the type in "type:N".  If the file declares types, it must be one
 * of them.
 */
static int find_named_type(const struct field *f, const char *typed, int *row,
			   struct egs_err *err)
{
	char name[EGS_NAME_SIZE];
	struct egs_err why;
	int rc;

	if (f->types_declared)
		rc = egs_conf_read_ref(f->conf, EGS_CONF_GPUTYPE_RECORD, typed,
				       row, &why);
	else
		rc = egs_conf_read_name(EGS_CONF_GPUTYPE_RECORD, typed, name,
					&why);
	if (rc < 0)
		return egs_conf_refuse_entry(typed, &why, err);
	return f->types_declared ? 0 : add_type(f->conf, name, row, err);
}

/* The row of a plain "N". */
static int find_only_type(const struct field *f, int *row, struct egs_err *err)
{
	if (!f->types_declared)
		return add_type(f->conf, "", row, err);
	if (f->conf->ntypes > 1)
		return egs_errf(err, "has no GPU type; use %s:N",
				f->conf->type[0].name);
	*row = 0;
	return 0;
}

static int add_count(void *arg, const char *entry, struct egs_err *err)
{
	struct gpu_counts *gpus = arg;
	const char *colon = strchr(entry, ':');
	char name[EGS_NAME_SIZE] = "";
	uint32_t n;
	int row = 0;

	if (egs_conf_read_number(colon ? colon + 1 : entry, &n, NULL) < 0 ||
	    n > GPUS_MAX)
		return egs_errf(err, "is not accepted; use type:N, "
				     "type:N,type:N or none");
	if (colon)
		snprintf(name, sizeof(name), "%.*s", (int)(colon - entry),
			 entry);
	if ((colon ? find_named_type(gpus->field, name, &row, err)
		   : find_only_type(gpus->field, &row, err)) < 0)
		return -1;
	if (gpus->seen_types & 1u << row)
		return egs_errf(err, "has the same type twice");
	gpus->seen_types |= 1u << row;
	gpus->count[row] = n;
	return 0;
}

/* Types that are not in 'text' get the key's 'def_value'. */
static int read_gpus(const struct field *f, const char *text,
		     struct egs_err *err)
{
	struct gpu_counts gpus = { .field = f };

	for (int i = 0; i < EGS_TYPE_ROWS; i++)
		gpus.count[i] = f->key->def_value;
	if (!is_default(f->key, text) &&
	    egs_conf_for_each_entry(text, add_count, &gpus, err) < 0)
		return -1;
	memcpy(f->value, gpus.count, sizeof(gpus.count));
	return 0;
}

static void write_gpus(const struct field *f, FILE *out)
{
	const uint32_t *count = f->value;
	const char *comma = "";

	for (int i = 0; i < f->conf->ntypes; i++) {
		const char *name = f->conf->type[i].name;

		if (count[i] == f->key->def_value)
			continue;
		fprintf(out, "%s%s%s%u", comma, name, *name ? ":" : "",
			count[i]);
		comma = ",";
	}
	if (!*comma)
		fputs(f->key->def, out);
}

/* ---- what a rule does ---- */

static int read_remedies(const struct field *f, const char *text,
			 struct egs_err *err)
{
	return egs_remedies_read(text, f->value, err);
}

static void write_remedies(const struct field *f, FILE *out)
{
	egs_remedies_write(f->value, out);
}

/* ---- the table ---- */

static const struct {
	int (*read)(const struct field *f, const char *text,
		    struct egs_err *err);
	void (*write)(const struct field *f, FILE *out);
} kinds[EGS_CONF_KINDS] = {
	[EGS_CONF_CHOICE] = { read_choice, write_choice },
	[EGS_CONF_YESNO] = { read_yesno, write_yesno },
	[EGS_CONF_SECONDS] = { read_number, write_number },
	[EGS_CONF_SIZE] = { read_number, write_number },
	[EGS_CONF_NUMBER] = { read_number, write_number },
	[EGS_CONF_PERCENT] = { read_number, write_number },
	[EGS_CONF_MILLI] = { read_number, write_number },
	[EGS_CONF_PRICE] = { read_quantity, write_quantity },
	[EGS_CONF_RATE] = { read_quantity, write_quantity },
	[EGS_CONF_LIMIT] = { read_quantity, write_quantity },
	[EGS_CONF_RANGE] = { read_quantity, write_quantity },
	[EGS_CONF_GPUS] = { read_gpus, write_gpus },
	[EGS_CONF_LIST] = { read_list, write_text },
	[EGS_CONF_GLOBS] = { read_list, write_text },
	[EGS_CONF_TEXT] = { read_text, write_text },
	[EGS_CONF_HOSTS] = { read_hosts, write_text },
	[EGS_CONF_PATH] = { read_path, write_text },
	[EGS_CONF_PROGRAM] = { read_path, write_text },
	[EGS_CONF_ORDER] = { read_order, write_order },
	[EGS_CONF_TIERS] = { read_tiers, write_tiers },
	[EGS_CONF_TIER] = { read_ref, write_ref },
	[EGS_CONF_TEAM] = { read_ref, write_ref },
	[EGS_CONF_PHASE] = { read_ref, write_ref },
	[EGS_CONF_REMEDY] = { read_remedies, write_remedies },
};

int egs_conf_read_field(struct egs_policy_conf *conf, void *row,
			const struct egs_conf_key *key, const char *text,
			bool types_declared, struct egs_err *err)
{
	const struct field f = { conf, key, (char *)row + key->offset,
				 types_declared };

	return kinds[key->kind].read(&f, text, err);
}

void egs_conf_write_field(struct egs_policy_conf *conf, void *row,
			  const struct egs_conf_key *key, FILE *out)
{
	const struct field f = { conf, key, (char *)row + key->offset, false };

	kinds[key->kind].write(&f, out);
}
