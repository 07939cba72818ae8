/* wait_classes.c - how long jobs waited, added up
 *
 * Of each kind and day there is one row, with a text "CLASS:N CLASS:N ..." in
 * the order of classes, and so for eight and for 64 days: a year of any number
 * of starts is some thousand rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/store/history.h"
#include "policyd/store/store_sql.h"

/* Long enough for all classes there are. */
enum { CLASSES_TEXT_MAX = 16384 };

const char *egs_wait_class_parse(const char *text, uint32_t *class, uint64_t *n)
{
	char *end;

	*class = (uint32_t)strtoul(text, &end, 10);
	if (end == text || *end != ':')
		return NULL;
	*n = strtoull(end + 1, &end, 10);
	return end + (*end == ' ');
}

/* 'from' with one more of 'class', at 'to'. */
static void increment_class(const char *from, uint32_t class,
			    char to[CLASSES_TEXT_MAX])
{
	uint32_t each = 0;
	uint64_t n = 0;
	size_t at = 0;
	bool counted = false;

	while (at < CLASSES_TEXT_MAX - 64 &&
	       (from = egs_wait_class_parse(from, &each, &n))) {
		if (!counted && each > class)
			at += (size_t)snprintf(to + at, 64, "%u:1 ", class);
		counted |= each >= class;
		at += (size_t)snprintf(to + at, 64, "%u:%llu ", each,
				       (unsigned long long)n + (each == class));
	}
	if (!counted)
		at += (size_t)snprintf(to + at, 64, "%u:1 ", class);
	to[at] = '\0';
}

static int count_wait(struct egs_store *store, int64_t size, egs_time_t start,
		      int64_t kind, uint32_t class, struct egs_err *err)
{
	const int64_t at = start - start % size;
	char text[CLASSES_TEXT_MAX] = "";
	sqlite3_stmt *stmt =
		egs_sql_bind(store, SQL_WAIT, err, "iii", size, at, kind);
	int rc = -1;

	increment_class("", class, text);
	while (stmt && (rc = egs_sql_next_row(store, stmt, err)) > 0)
		increment_class((const char *)sqlite3_column_text(stmt, 0),
				class, text);
	return rc < 0 ? -1
		      : egs_sql_run(store,
				    egs_sql_bind(store, SQL_WAIT_PUT, err,
						 "iiis", size, at, kind, text),
				    err);
}

int egs_history_wait_add(struct egs_store *store, const struct egs_job_run *run,
			 const struct egs_usage_kind *kind, struct egs_err *err)
{
	static const int64_t sizes[] = { EGS_DAY_S, EGS_DAYS8_S, EGS_DAYS64_S };
	egs_time_t from =
		run->eligible > run->submit ? run->eligible : run->submit;
	int64_t wait = run->start > from ? run->start - from : 0, id;
	uint32_t class = egs_wait_class_of((uint64_t)wait);
	size_t i;

	if (egs_history_kind_id(store, kind, &id, err) < 0)
		return -1;
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (count_wait(store, sizes[i], run->start, id, class, err) <
			    0 ||
		    egs_sql_run(store,
				egs_sql_bind(store, SQL_CAUSE_ADD, err, "iiisi",
					     sizes[i],
					     run->start - run->start % sizes[i],
					     id, run->wait_reason, wait),
				err) < 0)
			return -1;
	return 0;
}

uint32_t egs_wait_class_of(uint64_t wait_s)
{
	uint32_t power = 0;

	if (wait_s < EGS_WAIT_EXACT_S)
		return (uint32_t)wait_s;
	while (wait_s >> (power + 1))
		power++;
	return EGS_WAIT_EXACT_S + (power - 7) * 16 +
	       (uint32_t)((wait_s >> (power - 4)) & 15);
}

uint64_t egs_wait_class_max_s(uint32_t class)
{
	uint32_t power, part;

	if (class < EGS_WAIT_EXACT_S)
		return class;
	power = (class - EGS_WAIT_EXACT_S) / 16 + 7;
	part = (class - EGS_WAIT_EXACT_S) % 16;
	return ((UINT64_C(17) + part) << (power - 4)) - 1;
}
