/* store_sql.c - statements of the store: preparing, binding, reading */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/store/store_sql.h"

int egs_sql_fail(struct egs_store *store, const char *what, struct egs_err *err)
{
	const char *why = sqlite3_errmsg(store->db);

	/* SQLite's error when the disk has no room for the WAL's index. */
	if (sqlite3_extended_errcode(store->db) == SQLITE_IOERR_SHMSIZE)
		why = sqlite3_errstr(SQLITE_FULL);
	egs_errf(err, "store: %s: %s", what, why);
	if (store->in_transaction)
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	store->in_transaction = false;
	return -1;
}

/* "job.column, ..." */
static void add_columns(sqlite3_str *sql, const struct egs_sql_table *t)
{
	for (int i = 0; i < t->ncolumns; i++)
		sqlite3_str_appendf(sql, "%s%s.%s", i ? ", " : "", t->name,
				    t->column[i].param + 1);
}

/* "job (column, ...) VALUES (?,...)" */
static void add_values(sqlite3_str *sql, const struct egs_sql_table *t)
{
	for (int i = 0; i < t->ncolumns; i++)
		sqlite3_str_appendf(sql, "%s%s%s", i ? "" : t->name,
				    i ? "," : " (", t->column[i].param + 1);
	for (int i = 0; i < t->ncolumns; i++)
		sqlite3_str_appendall(sql, i ? ",?" : ") VALUES (?");
	sqlite3_str_appendall(sql, ")");
}

static const struct egs_sql_table *find_table(const char *name, size_t len)
{
	const struct egs_sql_table *t = egs_tables;

	while (strncmp(t->name, name, len) != 0 || t->name[len])
		t++;
	return t;
}

/* Replace #table and $table. */
static char *expand_text(struct egs_store *store, const char *text)
{
	sqlite3_str *sql = sqlite3_str_new(store->db);

	while (*text) {
		size_t len = strcspn(text, "#$");

		sqlite3_str_append(sql, text, (int)len);
		text += len;
		len = *text ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_")
			    : 0;
		if (*text == '#')
			add_values(sql, find_table(text + 1, len));
		else if (*text == '$')
			add_columns(sql, find_table(text + 1, len));
		text += len + (*text != '\0');
	}
	return sqlite3_str_finish(sql);
}

static sqlite3_stmt *prepare_statement(struct egs_store *store,
				       const char *text, struct egs_err *err)
{
	char *sql = expand_text(store, text);
	sqlite3_stmt *stmt = NULL;
	int rc = SQLITE_NOMEM;

	if (sql && egs_grow(&store->statement, &store->room,
			    store->nstatements + 1) == 0)
		rc = sqlite3_prepare_v3(store->db, sql, -1,
					SQLITE_PREPARE_PERSISTENT, &stmt, NULL);
	sqlite3_free(sql);
	if (rc != SQLITE_OK) {
		egs_sql_fail(store, "preparing", err);
		return NULL;
	}
	store->statement[store->nstatements].text = text;
	store->statement[store->nstatements++].stmt = stmt;
	return stmt;
}

static sqlite3_stmt *get_statement(struct egs_store *store, const char *text,
				   struct egs_err *err)
{
	for (size_t i = 0; i < store->nstatements; i++)
		if (store->statement[i].text == text)
			return store->statement[i].stmt;
	return prepare_statement(store, text, err);
}

sqlite3_stmt *egs_sql_bind(struct egs_store *store, const char *text,
			   struct egs_err *err, const char *types, ...)
{
	sqlite3_stmt *stmt = get_statement(store, text, err);
	int rc = SQLITE_OK;
	va_list ap;

	va_start(ap, types);
	for (int i = 1; stmt && types[i - 1] && rc == SQLITE_OK; i++)
		rc = types[i - 1] == 'i'
			     ? sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t))
			     : sqlite3_bind_text(stmt, i,
						 va_arg(ap, const char *), -1,
						 SQLITE_STATIC);
	va_end(ap);
	if (rc == SQLITE_OK)
		return stmt;
	egs_sql_fail(store, "binding", err);
	return NULL;
}

static int64_t get_number(const struct egs_column *c, const char *member)
{
	uint32_t u32;
	int64_t i64;
	bool flag;

	switch (c->type) {
	case EGS_COLUMN_UINT32:
		memcpy(&u32, member, sizeof(u32));
		return u32;
	case EGS_COLUMN_BOOL:
		memcpy(&flag, member, sizeof(flag));
		return flag;
	default:
		memcpy(&i64, member, sizeof(i64));
		return i64;
	}
}

static const char *get_text(const struct egs_column *c, const char *member)
{
	const char *text = member;

	if (c->type == EGS_COLUMN_TEXT)
		memcpy(&text, member, sizeof(text));
	return text ? text : "";
}

sqlite3_stmt *egs_sql_bind_row(struct egs_store *store, const char *text,
			       enum egs_table_id table, const void *row,
			       struct egs_err *err)
{
	const struct egs_sql_table *t = &egs_tables[table];
	sqlite3_stmt *stmt = get_statement(store, text, err);
	const bool named = stmt && sqlite3_bind_parameter_name(stmt, 1);
	int rc = SQLITE_OK;

	for (int i = 0; stmt && i < t->ncolumns && rc == SQLITE_OK; i++) {
		const struct egs_column *c = &t->column[i];
		const char *member = (const char *)row + c->offset;
		int at = named ? sqlite3_bind_parameter_index(stmt, c->param)
			       : i + 1;

		if (!at)
			continue;
		rc = c->type < EGS_COLUMN_TEXT
			     ? sqlite3_bind_int64(stmt, at,
						  get_number(c, member))
			     : sqlite3_bind_text(stmt, at, get_text(c, member),
						 -1, SQLITE_STATIC);
	}
	if (rc == SQLITE_OK)
		return stmt;
	egs_sql_fail(store, "binding", err);
	return NULL;
}

static void set_number(const struct egs_column *c, char *member, int64_t i64)
{
	const uint32_t u32 = (uint32_t)i64;
	const bool flag = i64 != 0;

	if (c->type == EGS_COLUMN_UINT32)
		memcpy(member, &u32, sizeof(u32));
	else if (c->type == EGS_COLUMN_BOOL)
		memcpy(member, &flag, sizeof(flag));
	else
		memcpy(member, &i64, sizeof(i64));
}

static void set_text(const struct egs_column *c, char *member,
		     const unsigned char *value)
{
	const char *text = value ? (const char *)value : "";

	if (c->type == EGS_COLUMN_TEXT)
		memcpy(member, &text, sizeof(text));
	else
		snprintf(member, c->size, "%s", text);
}

int egs_sql_read_row(sqlite3_stmt *stmt, int column, enum egs_table_id table,
		     void *row)
{
	const struct egs_sql_table *t = &egs_tables[table];

	for (int i = 0; i < t->ncolumns; i++, column++) {
		const struct egs_column *c = &t->column[i];
		char *member = (char *)row + c->offset;

		if (c->type < EGS_COLUMN_TEXT)
			set_number(c, member,
				   sqlite3_column_int64(stmt, column));
		else
			set_text(c, member, sqlite3_column_text(stmt, column));
	}
	return column;
}

int egs_sql_step(struct egs_store *store, sqlite3_stmt *stmt,
		 struct egs_err *err)
{
	int rc;

	if (!stmt)
		return -1;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		return 1;
	if (rc != SQLITE_DONE)
		egs_sql_fail(store, "running", err);
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return rc == SQLITE_DONE ? 0 : -1;
}

int egs_sql_next_row(struct egs_store *store, sqlite3_stmt *stmt,
		     enum egs_table_id table, void *row, struct egs_err *err)
{
	int rc = egs_sql_step(store, stmt, err);

	if (rc > 0)
		egs_sql_read_row(stmt, 0, table, row);
	return rc;
}

int egs_sql_read_int(struct egs_store *store, sqlite3_stmt *stmt,
		     int64_t *value, struct egs_err *err)
{
	int rc;

	*value = 0;
	while ((rc = egs_sql_step(store, stmt, err)) > 0)
		*value = sqlite3_column_int64(stmt, 0);
	return rc;
}

int egs_sql_run_row(struct egs_store *store, const char *text,
		    enum egs_table_id table, const void *row,
		    struct egs_err *err)
{
	return egs_sql_step(
		store, egs_sql_bind_row(store, text, table, row, err), err);
}
