/* conf_keys.c - every key of the tables: default, printing, refusal */
#include <strings.h>

#include "common/conf/internal.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

/* One of each record. */
static const char bare[] = "TierOrder=x,prod,y\n"
			   "GpuType=h100\nTier=prod\nTeam=a Accounts=a\n"
			   "Phase=train\nWorkload=w Team=a\n"
			   "Rule=r On=xid\n";

/* The text of a value, malloc'ed. */
static char *format_value(struct egs_policy_conf *conf, void *row,
			  const struct egs_conf_key *key)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		err(1, "open_memstream");
	egs_conf_write_field(conf, row, key, out);
	fclose(out);
	return text;
}

/* The default of the manual is the default of policy_conf.c and is accepted in
 * a file.  A value that is printed can be read again.
 */
static void try_key(struct egs_policy_conf *conf, void *row,
		    const struct egs_conf_record *record,
		    const struct egs_conf_key *key)
{
	struct egs_err why = { "" };
	char *before = format_value(conf, row, key);
	char *after;

	if (key->kind == EGS_CONF_ORDER || !key->def) {
		free(before);
		return;
	}
	ok(egs_conf_read_field(conf, row, key, key->def, true, &why) == 0,
	   "%s=: default %s=%s is read%s", record->name, key->name, key->def,
	   why.msg);
	after = format_value(conf, row, key);
	is_str(after, before, "%s=: %s=%s leaves a new row as it was",
	       record->name, key->name, key->def);
	ok(egs_conf_read_field(conf, row, key, before, true, &why) == 0,
	   "%s=: %s=%s, as it is printed, is read", record->name, key->name,
	   before);
	ok(egs_conf_read_field(conf, row, key, "\001", true, &why) < 0,
	   "%s=: nonsense in %s= is refused: %s", record->name, key->name,
	   why.msg);
	free(after);
	after = format_value(conf, row, key);
	is_str(after, before, "%s=: refused %s= leaves the value as it was",
	       record->name, key->name);
	free(after);
	free(before);
}

/* A configuration like 'bare' before anything was set. */
static struct egs_policy_conf *fresh(void)
{
	struct egs_policy_conf *conf = egs_policy_conf_new();

	if (!conf)
		err(1, "egs_policy_conf_new");
	egs_conf_add_type(conf, "h100");
	egs_conf_add_tier(conf, "prod");
	egs_conf_add_team(conf, "a");
	egs_conf_add_workload(conf, "w");
	egs_conf_add_rule(conf, "r");
	return conf;
}

static void every_key(void)
{
	struct egs_policy_conf *conf = fresh();

	for (size_t i = 0; i < EGS_CONF_RECORDS; i++) {
		const struct egs_conf_record *record = &egs_conf_records[i];

		for (size_t k = 0; k < record->nkeys; k++)
			try_key(conf, egs_conf_edit_row(conf, record, 0),
				record, &record->keys[k]);
	}
	egs_policy_conf_free(conf);
}

static void names_are_unique(void)
{
	int same = 0;

	for (size_t i = 0; i < EGS_CONF_RECORDS; i++) {
		const struct egs_conf_record *record = &egs_conf_records[i];

		for (size_t k = 0; k < record->nkeys; k++)
			same += egs_conf_find_key(record,
						  record->keys[k].name) !=
				&record->keys[k];
	}
	is_int(same, 0, "no record has a key twice");
}

/* Values that egs_conf_for_each_value() has visited. */
struct seen {
	FILE *out;
	int count;
	int defaults;
};

static void show(void *arg, const struct egs_conf_value *value)
{
	struct seen *seen = arg;

	seen->count++;
	seen->defaults += !value->file;
	if (!*value->record->name)
		fprintf(seen->out, "%s=%s\n", value->key->name, value->text);
}

/* Print all global values and read them as a file. */
static void printed_is_read(void)
{
	struct egs_conf *conf = conf_load(bare);
	struct seen seen = { 0 };
	char *text = NULL;
	size_t size;

	if (!ok(conf, "a file with one of each record is accepted"))
		return;
	seen.out = open_memstream(&text, &size);
	is_int(egs_conf_for_each_value(conf, show, &seen), 0,
	       "all values of a file are printed");
	fclose(seen.out);
	is_int(seen.count - seen.defaults, 4, "four values are not defaults");
	egs_conf_free(conf);
	conf = conf_load(text);
	ok(conf, "the printed global values are a valid file");
	egs_conf_free(conf);
	free(text);
}

int main(void)
{
	plan_none();
	conf_enter();
	names_are_unique();
	every_key();
	printed_is_read();
	conf_leave();
	return done_testing();
}
