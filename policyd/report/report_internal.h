/* report_internal.h - what the reports share; for their own files only */
#ifndef EGS_REPORT_REPORT_INTERNAL_H
#define EGS_REPORT_REPORT_INTERNAL_H

#include <sqlite3.h>

#include "common/conf/conf.h"
#include "common/ipc/msg.h"
#include "policyd/store/history.h"

struct egs_report {
	sqlite3 *db;
	const struct egs_msg *request;
	struct egs_msg *answer;
	const struct egs_policy_conf *conf;
	const char *user; /* who asks; NULL: one who sees everything */
	const char *team; /* that egs.conf has him in by name; NULL: none */
	bool hide_jobs;	  /* of others from him: PrivateData=jobs */
	bool hide_usage;  /* likewise, the sums of his teams too */
	egs_time_t from, to, now;
	int bucket_s; /* EGS_HOUR_S or EGS_DAY_S: sums of each; 0: of all */
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
void egs_report_set_columns(struct egs_report *r, const char *columns,
			    const char *numbers, const char *times);

/* Run 'sql', which is taken over, and make each row one of the table.  An
 * empty text becomes "-".  Returns how many, or -1 with 'err' set.
 */
int egs_report_add_rows(struct egs_report *r, sqlite3_str *sql,
			struct egs_err *err);

/* So many rows of a list are an answer; who wants more asks for those behind.
 */
#define EGS_REPORT_PAGE_ROWS 10000

/* As egs_report_add_rows(), and of what it gives the page that was asked for.
 */
int egs_report_add_page(struct egs_report *r, sqlite3_str *sql,
			struct egs_err *err);

/* " AND k.account IN (...)": what the request and who asks leave of the rows
 * of 'kind' k.  'own': only those of who asks, else those of his teams too.
 */
void egs_report_add_filter(const struct egs_report *r, sqlite3_str *sql,
			   bool own);

/* "(SELECT ...)": the teams of who asks: in which he has used something, and
 * the one of egs.conf.
 */
void egs_report_add_own_teams(const struct egs_report *r, sqlite3_str *sql);

/* The words of a list that are known; -1 with 'err' set for one that is not. */
#define EGS_REPORT_KEYS_MAX 10
int egs_report_parse_keys(const char *list,
			  const char *keys[EGS_REPORT_KEYS_MAX],
			  struct egs_err *err);

/* Tables "part (at, kind, gpu_s, cpu_s, mem_mb_s, suspended_s)": all that was
 * used from r->from to r->to, days and hours where they are whole; 'at' is when
 * its hour or day begins, 0 where sums are of all.
 */
void egs_report_add_parts(const struct egs_report *r, sqlite3_str *sql);

/* From 'from' to 'to' in the largest pieces that sums were made for: 'size' of
 * them, 0 at the ends, where it is less than the smallest.
 */
struct egs_report_piece {
	egs_time_t from, to;
	int bucket_s;
};
#define EGS_REPORT_PIECES_MAX 7
int egs_report_split(egs_time_t from, egs_time_t to, const int *sizes,
		     int nsizes,
		     struct egs_report_piece piece[EGS_REPORT_PIECES_MAX]);

/* "SELECT at, scope, metric, amount": what was added up of the scopes that
 * match, from the hour of 'from' to the hour of 'to'; 'at' as above.
 */
void egs_report_add_tallies(const struct egs_report *r, sqlite3_str *sql,
			    const char *scopes);

/* Sizes of the sums that serve r->every, for egs_report_split(): how many. */
int egs_report_bucket_sizes(const struct egs_report *r, const int **sizes);

/* 'seconds' of SQL in the unit that was asked for, as text. */
void egs_report_add_in_unit(const struct egs_report *r, sqlite3_str *sql,
			    const char *seconds);

#endif
