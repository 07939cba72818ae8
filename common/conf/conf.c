/* conf.c - egs.conf: read it, query it, print it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/program.h"
#include "common/conf/internal.h"
#include "common/conf/remedies.h"

static struct egs_conf *new_conf(const char *path)
{
	struct egs_conf *conf = calloc(1, sizeof(*conf));

	if (!conf)
		return NULL;
	conf->policy = egs_policy_conf_new();
	if (conf->policy && egs_conf_doc_read(&conf->doc, path) == 0)
		return conf;
	egs_conf_free(conf);
	return NULL;
}

void egs_conf_free(struct egs_conf *conf)
{
	if (!conf)
		return;
	egs_policy_conf_free(conf->policy);
	egs_conf_doc_clear(&conf->doc);
	free(conf);
}

int egs_conf_load(struct egs_conf **conf, const char *path,
		  struct egs_conf_problems *problems)
{
	struct egs_conf *new = new_conf(path);

	problems->count = problems->stored = 0;
	if (!new) {
		egs_conf_add_file_problem(problems, path, "out of memory");
		return -1;
	}
	egs_conf_apply(new->policy, &new->doc, problems);
	if (problems->count == 0)
		egs_conf_check(new->policy, &new->doc, problems);
	if (problems->count > 0) {
		egs_conf_free(new);
		return -1;
	}
	egs_conf_free(*conf);
	*conf = new;
	return 0;
}

static bool is_of_kind(const struct egs_conf_item *item,
		       enum egs_conf_kind kind)
{
	return item->sets_key && item->sets_key->kind == kind;
}

/* Notify=PROGRAM, or Do=run=PROGRAM among other remedies. */
static int check_program(const struct egs_conf_item *item,
			 struct egs_conf_problems *problems)
{
	bool is_list = is_of_kind(item, EGS_CONF_REMEDY);
	struct egs_remedies does = { .set = 0 };
	const char *path = NULL;
	struct egs_err why;

	if (is_list && egs_remedies_read(item->value, &does, NULL) == 0 &&
	    does.set & EGS_REMEDY_RUN)
		path = does.run;
	if (is_of_kind(item, EGS_CONF_PROGRAM) &&
	    strcasecmp(item->value, item->sets_key->def) != 0)
		path = item->value;
	if (!path || egs_program_check(path, &why) == 0)
		return 0;
	egs_conf_add_problem(problems, item, "%s%s",
			     is_list ? "has a program that " : "", why.msg);
	return -1;
}

int egs_conf_check_programs(const struct egs_conf *conf,
			    struct egs_conf_problems *problems)
{
	int rc = 0;

	for (size_t i = 0; i < conf->doc.count; i++)
		if (check_program(&conf->doc.items[i], problems) < 0)
			rc = -1;
	return rc;
}

struct egs_conf *egs_conf_open(const char *path, struct egs_err *err)
{
	struct egs_conf_problems *problems = calloc(1, sizeof(*problems));
	struct egs_conf *conf = NULL;

	if (!problems)
		egs_errf(err, "%s: out of memory", path);
	else if (egs_conf_load(&conf, path, problems) < 0)
		egs_errf(err, "%s", problems->list[0].err.msg);
	free(problems);
	return conf;
}

const struct egs_policy_conf *egs_conf_policy(const struct egs_conf *conf)
{
	return conf ? conf->policy : NULL;
}

const char *egs_conf_dir(const struct egs_policy_conf *policy,
			 enum egs_conf_dir dir)
{
	static const char *const keys[] = {
		[EGS_STATE_DIR] = "StateDir",
		[EGS_RUN_DIR] = "RunDir",
		[EGS_NODE_DIR] = "NodeDir",
		[EGS_NODE_SPOOL] = "NodeSpool",
	};
	const struct egs_conf_record *record =
		&egs_conf_records[EGS_CONF_GLOBAL];
	const struct egs_conf_key *key = egs_conf_find_key(record, keys[dir]);
	const char *path = NULL;

	if (policy)
		memcpy(&path, (const char *)policy + key->offset, sizeof(path));
	return path ? path : key->def;
}

/* The text of a value, malloc'ed; NULL when out of memory. */
static char *format_value(struct egs_policy_conf *policy, void *row,
			  const struct egs_conf_key *key)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	egs_conf_write_field(policy, row, key, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static int visit_keys(const struct egs_conf *conf,
		      const struct egs_conf_record *record, int row,
		      egs_conf_value_fn *each, void *arg)
{
	void *fields = egs_conf_edit_row(conf->policy, record, row);
	struct egs_conf_value value = { .record = record };

	value.name = record->count_offset ? fields : "";
	for (size_t i = 0; i < record->nkeys; i++) {
		const struct egs_conf_key *key = &record->keys[i];
		const struct egs_conf_item *item =
			egs_conf_doc_find_item(&conf->doc, record, row, key);
		char *text = format_value(conf->policy, fields, key);

		if (!text)
			return -1;
		value.key = key;
		value.text = text;
		value.file = item ? item->file : NULL;
		value.line = item ? item->line : 0;
		each(arg, &value);
		free(text);
	}
	return 0;
}

int egs_conf_for_each_value(const struct egs_conf *conf,
			    egs_conf_value_fn *each, void *arg)
{
	for (size_t i = 0; i < EGS_CONF_RECORDS; i++) {
		const struct egs_conf_record *record = &egs_conf_records[i];
		int rows = egs_conf_count_rows(conf->policy, record);

		for (int row = 0; row < rows; row++)
			if (visit_keys(conf, record, row, each, arg) < 0)
				return -1;
	}
	return 0;
}

size_t egs_conf_list_phases(const struct egs_policy_conf *policy,
			    const char *names[EGS_PHASES_MAX])
{
	for (int i = 0; i < policy->nphases; i++)
		names[i] = policy->phase[i].name;
	return (size_t)policy->nphases;
}
