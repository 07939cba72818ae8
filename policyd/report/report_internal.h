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
	const char *user; /* sender of the request; NULL: may see all */
	const char *team; /* of 'user' by egs.conf; NULL: none */
	bool hide_jobs;	  /* hide jobs of others: PrivateData=jobs */
	bool hide_usage;  /* hide usage of others: PrivateData=usage */
	egs_time_t from, to, now;
	int bucket_s;	 /* EGS_HOUR_S, EGS_DAY_S: sums of each; 0: one sum */
	int64_t limit_s; /* the report may take this long; 0: any time */
	uint64_t deadline_ms; /* of egs_now_ms(), if 'limit_s' is set */
};

/* A longer series of hours or days is refused, and so are more rows. */
#define EGS_REPORT_BUCKETS_MAX 10000
#define EGS_REPORT_ROWS_MAX    200000

/* A report fills the answer and returns 0, or -1 with 'err' set. */
typedef int egs_report_fn(struct egs_report *r, struct egs_err *err);

egs_report_fn egs_report_usage;
egs_report_fn egs_report_mine;
egs_report_fn egs_report_teams;
egs_report_fn egs_report_workload;
egs_report_fn egs_report_life;
egs_report_fn egs_report_jobs;
egs_report_fn egs_report_waits;
egs_report_fn egs_report_preemptions;
egs_report_fn egs_report_observed;
egs_report_fn egs_report_remediation;
egs_report_fn egs_report_wastage;
egs_report_fn egs_report_efficiency;
egs_report_fn egs_report_idle;
egs_report_fn egs_report_samples;
egs_report_fn egs_report_estimates;

/* Prepare 'sql' and free it.  NULL with 'err' set on failure. */
sqlite3_stmt *egs_report_prepare(struct egs_report *r, sqlite3_str *sql,
				 struct egs_err *err);

/* SQLite has failed, or 'limit_s' is over: set 'err'.  Returns -1. */
int egs_report_fail(const struct egs_report *r, struct egs_err *err);

/* Set the columns of the table.  Columns in the list 'numbers' are numbers,
 * those in 'times' are seconds since the epoch.  All three are "A,B".
 */
void egs_report_set_columns(struct egs_report *r, const char *columns,
			    const char *numbers, const char *times);

/* How a person sees the table (listing.h).  'shown' are the columns that a
 * person sees without --long; NULL: all.  'units' is "A=s,B=t,C=c": 't' stands
 * for the unit of the request, 'c' for the currency, other words for
 * themselves.  The units are limited to a line.
 */
void egs_report_set_view(struct egs_report *r, const char *shown,
			 const char *units);

/* Run 'sql', free it, and add its rows to the table.  An empty text becomes
 * "-".  Returns the number of rows, or -1 with 'err' set.
 */
int egs_report_add_rows(struct egs_report *r, sqlite3_str *sql,
			struct egs_err *err);

/* Rows of one answer; a client gets the next page with "after". */
#define EGS_REPORT_PAGE_ROWS 10000

/* Same, for the page of rows that the request names. */
int egs_report_add_page(struct egs_report *r, sqlite3_str *sql,
			struct egs_err *err);

/* Add " AND k.account IN (...)", for the rows of 'kind' k that the request
 * selects and the user may see.  'own': only the user's rows, else also those
 * of his teams.
 */
void egs_report_add_filter(const struct egs_report *r, sqlite3_str *sql,
			   bool own);

/* Add "(SELECT ...)", the teams of the user: teams with usage of the user, and
 * the user's team by egs.conf.
 */
void egs_report_add_own_teams(const struct egs_report *r, sqlite3_str *sql);

/* Write "job_id=12", or of a task "array_job_id=12 AND task=3", for the job
 * 'name'.  Returns 0, or -1 with 'err' set if it is not a job.
 */
int egs_report_format_job(const char *name, char *text, size_t size,
			  struct egs_err *err);

/* Parse a list of keys.  Returns their number, or -1 with 'err' set for an
 * unknown key.
 */
#define EGS_REPORT_KEYS_MAX 10
int egs_report_parse_keys(const char *list,
			  const char *keys[EGS_REPORT_KEYS_MAX],
			  struct egs_err *err);

/* Add 'words' and the keys: " GROUP BY k.tier,k.phase". */
void egs_report_add_keys(sqlite3_str *sql, const char *words,
			 const char *const *keys, int n);

/* "TIER,PHASE," of the keys "tier" and "phase". */
void egs_report_format_headings(char *text, size_t size,
				const char *const *keys, int n);

/* Add "WITH ... part (at, kind, gpu_s, cpu_s, mem_mb_s, suspended_s)": all use
 * from r->from to r->to, from sums of whole days and hours where possible.
 * 'at' is the begin of the hour or day, or 0 for one sum.
 */
void egs_report_add_parts(const struct egs_report *r, sqlite3_str *sql);

/* Split the time from 'from' to 'to' into the largest pieces that have sums.
 * 'bucket_s' of a piece at the ends, shorter than the smallest size, is 0.
 * 'sizes' are the sizes of sums, the largest first.
 */
struct egs_report_piece {
	egs_time_t from, to;
	int bucket_s;
};
#define EGS_REPORT_PIECES_MAX 7
int egs_report_split(egs_time_t from, egs_time_t to, const int *sizes,
		     int nsizes,
		     struct egs_report_piece piece[EGS_REPORT_PIECES_MAX]);

/* Add "SELECT at, scope, metric, amount" of the scopes that match, from the
 * hour of r->from to the hour of r->to, both included; 'at' as above.
 */
void egs_report_add_tallies(const struct egs_report *r, sqlite3_str *sql,
			    const char *scopes);

/* Add " (0 OR bucket_s=... AND at>=... AND at<... OR ...)": rows of sums of
 * days and hours, from the hour of r->from to the hour of r->to, both included.
 */
void egs_report_add_hours(const struct egs_report *r, sqlite3_str *sql);

/* Is a user's own usage all that he may see by these keys? */
bool egs_report_is_personal(const char *const *keys, int n);

/* SQL function advice(words, sums): what to do next, "-" for nothing.  'words'
 * is "JOBID GPUS UNUSED NODES" of an attempt with GPUs that it never used, or
 * NULL.  The sums are those of egs_report_add_advice(), which adds
 * "advice(...)" of the rows of 'table' that are added up.
 */
#define EGS_REPORT_ADVICE_ARGS 10
void egs_report_sql_advice(sqlite3_context *c, int n, sqlite3_value **arg);
void egs_report_add_advice(sqlite3_str *sql, const char *words,
			   const char *table);

/* SQL: the job of attempt r as text, "81234" or of a task "81230_7". */
#define EGS_REPORT_JOB_TEXT                                \
	"CASE WHEN r.array_job_id>0 AND r.task<4294967295" \
	" THEN r.array_job_id||'_'||r.task ELSE ''||r.job_id END"

/* SQL: the attempt never used this GPU, row g of gpu_use.  A GPU that was
 * measured for less than five minutes is not called unused.
 */
#define EGS_REPORT_IS_UNUSED "(g.sm_s>=300 AND g.idle_s>=g.sm_s)"

/* Set '*sizes' for egs_report_split() by r->bucket_s; returns their number. */
int egs_report_bucket_sizes(const struct egs_report *r, const int **sizes);

/* Add the SQL expression 'seconds' in the unit of the request, as text. */
void egs_report_add_in_unit(const struct egs_report *r, sqlite3_str *sql,
			    const char *seconds);

#endif
