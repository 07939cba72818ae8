/* report_impl.h - what the reports share; for their own files only */
#ifndef EGS_POLICYD_REPORT_IMPL_H
#define EGS_POLICYD_REPORT_IMPL_H

#include <sqlite3.h>

#include "policyd/history.h"
#include "policyd/wire/conf.h"
#include "policyd/wire/msg.h"

struct egs_report {
	sqlite3 *db;
	const struct egs_msg *request;
	struct egs_msg *answer;
	const struct egs_policy_conf *conf;
	const char *user; /* who asks; NULL: one who sees everything */
	egs_time_t from, to, now;
};

/* A report fills the answer and returns 0, or -1 with 'err' set. */
typedef int egs_report_fn(struct egs_report *r, struct egs_err *err);

egs_report_fn egs_report_usage;
egs_report_fn egs_report_mine;
egs_report_fn egs_report_teams;
egs_report_fn egs_report_workload;
egs_report_fn egs_report_jobs;
egs_report_fn egs_report_waits;
egs_report_fn egs_report_preemptions;
egs_report_fn egs_report_observed;
egs_report_fn egs_report_wastage;

/* The statement of 'sql', which is taken over.  NULL with 'err' set. */
sqlite3_stmt *egs_report_prepare(struct egs_report *r, sqlite3_str *sql,
				 struct egs_err *err);

/* The columns of the table; those in 'numbers' are numbers, those in 'times'
 * seconds since the epoch, both "A,B".
 */
void egs_report_columns(struct egs_report *r, const char *columns,
			const char *numbers, const char *times);

/* Run 'sql', which is taken over, and make each row one of the table.  An
 * empty text becomes "-".  Returns how many, or -1 with 'err' set.
 */
int egs_report_rows(struct egs_report *r, sqlite3_str *sql,
		    struct egs_err *err);

/* " AND k.account IN (...)": what the request and who asks leave of the rows
 * of 'kind' k.  'own': only those of who asks, else those of his teams too.
 */
void egs_report_where(const struct egs_report *r, sqlite3_str *sql, bool own);

/* The words of a list that are known; -1 with 'err' set for one that is not. */
#define EGS_REPORT_KEYS 10
int egs_report_keys(const char *list, const char *keys[EGS_REPORT_KEYS],
		    struct egs_err *err);

/* A table "part (kind, gpu_s, cpu_s, mem_mb_s, suspended_s)": all that was used
 * from r->from to r->to, days and hours where they are whole.
 */
void egs_report_parts(const struct egs_report *r, sqlite3_str *sql);

/* Where whole days and whole hours begin and end inside of from ... to. */
struct egs_report_span {
	egs_time_t hour[2], day[2];
};
struct egs_report_span egs_report_whole(const struct egs_report *r);

/* "SELECT scope, metric, amount": what was added up of the scopes that match,
 * from the hour of 'from' to the hour of 'to'.
 */
void egs_report_tallies(const struct egs_report *r, sqlite3_str *sql,
			const char *scopes);

/* 'seconds' of SQL in the unit that was asked for, as text. */
void egs_report_unit(const struct egs_report *r, sqlite3_str *sql,
		     const char *seconds);

#endif
