/* predict_start.c - when the jobs that a pending job depends on have ended
 *
 * A pending job on the way counts with its run time, as if it started at once.
 * So the result is exact for a chain whose GPUs are free, else it is early.
 */
#include <string.h>

#include "policyd/requests/predictor.h"

/* Jobs on the way, at most. */
enum { JOBS_MAX = 64 };

struct start_search {
	struct egs_daemon *d;
	uint32_t uid;  /* jobs of other users are not told about */
	uint32_t left; /* jobs to look at */
	struct egs_err *err;
};

static bool predict_start(struct start_search *s, const struct egs_job *j,
			  struct egs_estimate *start);

static void add_times(struct egs_estimate *sum, const struct egs_estimate *e)
{
	sum->low_s += e->low_s;
	sum->likely_s += e->likely_s;
	sum->high_s += e->high_s;
}

static void keep_latest(struct egs_estimate *latest,
			const struct egs_estimate *e)
{
	if (latest->low_s < e->low_s)
		latest->low_s = e->low_s;
	if (latest->likely_s < e->likely_s)
		latest->likely_s = e->likely_s;
	if (latest->high_s < e->high_s)
		latest->high_s = e->high_s;
}

/* A time limit is no prediction of an end. */
static bool is_prediction(const struct egs_estimate *e)
{
	return e->source != EGS_PREDICT_NOTHING &&
	       e->source != EGS_PREDICT_LIMIT;
}

/* Predict when 'job_id' ends; false: unknown. */
static bool predict_end(struct start_search *s, uint32_t job_id,
			struct egs_estimate *end)
{
	const struct egs_job *j = egs_policy_job(s->d->policy, job_id);
	struct egs_estimate run;

	if (!j || j->ident.uid != s->uid || !s->left)
		return false;
	s->left--;
	if (j->running)
		return egs_predictor_predict_end(s->d, j, end, s->err) == 0 &&
		       is_prediction(end);
	if (egs_predictor_predict_run(s->d, j,
				      j->facts.need.nodes * j->facts.need.gpus,
				      &run, s->err) < 0 ||
	    !is_prediction(&run) || !predict_start(s, j, end))
		return false;
	add_times(end, &run);
	return true;
}

/* An element of an array, an alternative and a dependency on the start of a job
 * are not predicted.
 */
static bool predict_start(struct start_search *s, const struct egs_job *j,
			  struct egs_estimate *start)
{
	struct egs_job_info known = { .depends_on = "" };
	struct egs_dependency on;
	const char *text;

	*start = (struct egs_estimate){ .source = EGS_PREDICT_NOTHING };
	egs_cluster_lookup(s->d->cluster, j->ident.job_id, &known);
	if (known.array_job_id || strstr(known.depends_on, "after:"))
		return false;
	for (text = known.depends_on; egs_dependency_next(&text, &on);) {
		struct egs_estimate end;

		if (on.is_alternative || on.task != EGS_NO_TASK ||
		    !predict_end(s, on.job_id, &end))
			return false;
		keep_latest(start, &end);
	}
	return true;
}

bool egs_predictor_predict_start(struct egs_daemon *d, const struct egs_job *j,
				 struct egs_estimate *e)
{
	struct egs_err err;
	struct start_search s = {
		.d = d, .uid = j->ident.uid, .left = JOBS_MAX, .err = &err
	};

	return predict_start(&s, j, e) && e->high_s > 0;
}
