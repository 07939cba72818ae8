/* estimates.c - how good predictions of run times were
 *
 * The history is played again with the code of the daemon: each job is
 * predicted when it starts, from the jobs that had ended by then, and compared
 * with its end.  So history that was imported counts, too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/grow.h"
#include "common/base/idmap.h"
#include "policyd/predict/predict.h"
#include "policyd/report/report_internal.h"
#include "policyd/store/ended_jobs.h"

/* Jobs that predictions learn from: the newest before the end of the period. */
#define JOBS_MAX 100000

struct score {
	enum egs_predict_source source;
	int side;	       /* -1: ended before the interval, 1: after it */
	uint32_t error_permil; /* of the likely time, in parts of the real one
				*/
	bool failed;	       /* in its first minute: not compared */
};

struct replay {
	struct egs_report *r;
	struct egs_predict *predict;
	struct egs_idmap ids;	       /* of attempts */
	struct egs_estimate *estimate; /* by slot of 'ids' */
	uint32_t estimate_room;
	struct score *score;
	uint32_t nscores, score_room;
};

static int predict_job(struct replay *p, const struct egs_ended_job *job,
		       struct egs_err *err)
{
	const struct egs_predict_state start = { .ran_s = 0 };
	uint32_t slot = egs_idmap_add(&p->ids, (uint32_t)job->id);

	if (slot == EGS_IDMAP_NONE ||
	    egs_grow(&p->estimate, &p->estimate_room, slot + 1) < 0)
		return egs_errf(err, "out of memory");
	p->estimate[slot] = egs_predict_rest(p->predict, &job->like, &start);
	return 0;
}

static uint32_t compute_error(egs_time_t likely, egs_time_t real)
{
	egs_time_t off = likely > real ? likely - real : real - likely;

	off = off * 1000 / (real > 0 ? real : 1);
	return off < UINT32_MAX ? (uint32_t)off : UINT32_MAX;
}

/* Compare a job that has ended with what was predicted. */
static int score_job(struct replay *p, const struct egs_ended_job *job,
		     struct egs_err *err)
{
	uint32_t slot = egs_idmap_find(&p->ids, (uint32_t)job->id);
	const struct egs_estimate *e;

	if (slot == EGS_IDMAP_NONE || !p->estimate)
		return 0;
	e = &p->estimate[slot];
	egs_idmap_drop(&p->ids, (uint32_t)job->id);
	if (!egs_predict_is_end(job->end_state))
		return 0;
	if (egs_grow(&p->score, &p->score_room, p->nscores + 1) < 0)
		return egs_errf(err, "out of memory");
	p->score[p->nscores++] = (struct score){
		.source = e->source,
		.side = job->run_s < e->low_s	 ? -1
			: job->run_s > e->high_s ? 1
						 : 0,
		.error_permil = compute_error(e->likely_s, job->run_s),
		.failed = egs_predict_is_early_failure(job->end_state,
						       job->run_s),
	};
	return 0;
}

/* ---- walk through the history ---- */

/* Jobs in the order of their start or end.  The last column: is the job one
 * that the report counts?
 */
static sqlite3_stmt *prepare_jobs(struct egs_report *r, const char *order,
				  struct egs_err *err)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	sqlite3_str_appendf(sql, EGS_ENDED_JOBS_SELECT ", r.end>=%lld",
			    (long long)r->from);
	egs_report_add_filter(r, sql, false);
	sqlite3_str_appendf(sql,
			    EGS_ENDED_JOBS_FROM
			    " AND r.end<=%lld AND r.end>=coalesce((SELECT end"
			    " FROM run WHERE end>0 AND end<=%lld ORDER BY end"
			    " DESC LIMIT 1 OFFSET %d), 0) ORDER BY r.%s, r.id",
			    (long long)r->to, (long long)r->to, JOBS_MAX,
			    order);
	return egs_report_prepare(r, sql, err);
}

/* Predict the jobs that start before 'end'.  'rc' is SQLite's for the next. */
static int predict_until(struct replay *p, sqlite3_stmt *starts, egs_time_t end,
			 int *rc, struct egs_err *err)
{
	struct egs_ended_job job;

	for (; *rc == SQLITE_ROW; *rc = sqlite3_step(starts)) {
		egs_ended_jobs_read(starts, &job);
		if (job.start >= end)
			return 0;
		if (sqlite3_column_int(starts, EGS_ENDED_JOBS_COLUMNS) &&
		    predict_job(p, &job, err) < 0)
			return -1;
	}
	return *rc == SQLITE_DONE ? 0 : egs_report_fail(p->r, err);
}

static int walk_history(struct replay *p, sqlite3_stmt *starts,
			sqlite3_stmt *ends, struct egs_err *err)
{
	int next = sqlite3_step(starts), rc;
	struct egs_ended_job job;

	while ((rc = sqlite3_step(ends)) == SQLITE_ROW) {
		egs_ended_jobs_read(ends, &job);
		if (predict_until(p, starts, job.end, &next, err) < 0 ||
		    score_job(p, &job, err) < 0)
			return -1;
		egs_predict_learn(p->predict, &job.like, job.run_s,
				  job.end_state);
	}
	return rc == SQLITE_DONE ? 0 : egs_report_fail(p->r, err);
}

static int replay_history(struct replay *p, struct egs_err *err)
{
	sqlite3_stmt *starts = prepare_jobs(p->r, "start", err);
	sqlite3_stmt *ends = starts ? prepare_jobs(p->r, "end", err) : NULL;
	int rc = ends ? walk_history(p, starts, ends, err) : -1;

	sqlite3_finalize(starts);
	sqlite3_finalize(ends);
	return rc;
}

/* ---- table ---- */

static int compare_errors(const void *a, const void *b)
{
	const struct score *x = a, *y = b;

	return (x->error_permil > y->error_permil) -
	       (x->error_permil < y->error_permil);
}

/* Sums of one source, or of all that predict. */
struct sums {
	uint32_t runs, failed;
	uint32_t side[3]; /* before, inside and after the interval */
	uint32_t error_permil;
};

static bool is_counted(const struct score *score, int source)
{
	return source == EGS_PREDICT_SOURCES
		       ? score->source != EGS_PREDICT_NOTHING
		       : (int)score->source == source;
}

/* The scores are in the order of errors. */
static struct sums sum_scores(const struct replay *p, int source)
{
	struct sums s = { .runs = 0 };
	uint32_t half = 0;

	for (uint32_t i = 0; i < p->nscores; i++) {
		const struct score *score = &p->score[i];

		if (!is_counted(score, source))
			continue;
		s.failed += score->failed;
		s.runs += !score->failed;
		s.side[score->side + 1] += !score->failed;
	}
	for (uint32_t i = 0; i < p->nscores && half <= s.runs / 2; i++)
		if (is_counted(&p->score[i], source) && !p->score[i].failed) {
			s.error_permil = p->score[i].error_permil;
			half++;
		}
	return s;
}

static void add_percent(struct egs_msg *answer, uint64_t part, uint64_t whole)
{
	uint64_t permil = whole ? (part * 1000 + whole / 2) / whole : 0;
	char text[32];

	snprintf(text, sizeof(text), "%llu.%llu",
		 (unsigned long long)permil / 10,
		 (unsigned long long)permil % 10);
	egs_msg_add_cell(answer, whole ? text : "-");
}

/* Without a prediction, there is nothing to compare. */
static void add_sums_row(struct egs_report *r, const char *name,
			 const struct sums *s, bool predicts)
{
	const uint32_t runs = predicts ? s->runs : 0;

	egs_msg_add_row(r->answer);
	egs_msg_add_cell(r->answer, name);
	egs_msg_add_cell_int(r->answer, s->runs);
	add_percent(r->answer, s->side[1], runs);
	add_percent(r->answer, s->side[0], runs);
	add_percent(r->answer, s->side[2], runs);
	add_percent(r->answer, s->error_permil, runs ? 1000 : 0);
	egs_msg_add_cell_int(r->answer, s->failed);
}

static void add_table(struct replay *p)
{
	struct egs_report *r = p->r;

	egs_report_set_columns(r, "BY,RUNS,INSIDE,EARLIER,LATER,ERROR,FAILED",
			       "RUNS,INSIDE,EARLIER,LATER,ERROR,FAILED", "");
	egs_report_set_view(r, NULL, "INSIDE=%,EARLIER=%,LATER=%,ERROR=%");
	if (p->score)
		qsort(p->score, p->nscores, sizeof(*p->score), compare_errors);
	for (int i = 0; i <= EGS_PREDICT_SOURCES; i++) {
		const bool all = i == EGS_PREDICT_SOURCES;
		const struct sums s = sum_scores(p, i);

		if (s.runs || s.failed || all)
			add_sums_row(r,
				     all ? "all" : egs_predict_source_name(i),
				     &s, i != EGS_PREDICT_NOTHING);
	}
}

int egs_report_estimates(struct egs_report *r, struct egs_err *err)
{
	struct replay p = { .r = r, .predict = egs_predict_new() };
	int rc = p.predict ? replay_history(&p, err)
			   : egs_errf(err, "out of memory");

	if (rc == 0)
		add_table(&p);
	egs_predict_free(p.predict);
	egs_idmap_clear(&p.ids);
	free(p.estimate);
	free(p.score);
	return rc;
}
