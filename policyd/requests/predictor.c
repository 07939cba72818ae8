/* predictor.c - how long jobs run, learned from the history */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/requests/gpu_advice.h"
#include "policyd/requests/predictor.h"
#include "policyd/store/ended_jobs.h"
#include "policyd/store/store_messages.h"

enum {
	STEP_JOBS = 1000,   /* read in a second, about 10 ms */
	JOBS_MAX = 100000,  /* read at all: the newest */
	IMPORT_CHECK_S = 5, /* has egs-report imported runs? */
};

struct egs_predictor {
	struct egs_predict *predict;
	/* The job of the history that was read last, in the order of ends. */
	egs_time_t end;
	int64_t id;
	bool reading; /* the history, after a start or an import */
	bool found;   /* where reading begins */
	char imported[EGS_STORE_IMPORTED_SIZE];
	uint32_t ticks;
};

static int init_predictor(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_predictor *p = calloc(1, sizeof(*p));

	d->requests->predictor = p;
	if (p)
		p->predict = egs_predict_new();
	return p && p->predict ? 0 : egs_errf(err, "out of memory");
}

static void free_predictor(struct egs_daemon *d)
{
	struct egs_predictor *p = d->requests ? d->requests->predictor : NULL;

	if (p)
		egs_predict_free(p->predict);
	free(p);
}

static void begin_reading(struct egs_predictor *p)
{
	egs_predict_clear(p->predict);
	p->end = p->id = 0;
	p->reading = true;
	p->found = false;
}

static int restore_predictor(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_predictor *p = d->requests->predictor;

	begin_reading(p);
	return egs_store_get(d->store, EGS_STORE_IMPORTED, p->imported,
			     sizeof(p->imported), err);
}

/* ---- learn ---- */

static void learn_job(void *arg, const struct egs_ended_job *job)
{
	struct egs_predictor *p = arg;

	if (p->reading) {
		p->end = job->end;
		p->id = job->id;
	}
	egs_predict_learn(p->predict, &job->like, job->run_s, job->end_state);
}

/* The newest jobs decide, so the others are not read. */
static int find_begin(struct egs_daemon *d, struct egs_predictor *p,
		      struct egs_err *err)
{
	if (p->found)
		return 0;
	p->found = true;
	return egs_ended_jobs_find_oldest(d->store, JOBS_MAX, &p->end, err);
}

static void read_history(struct egs_daemon *d, struct egs_predictor *p)
{
	struct egs_err err;
	int n = find_begin(d, p, &err);

	if (n == 0)
		n = egs_ended_jobs_each(d->store, p->end, p->id, STEP_JOBS,
					learn_job, p, &err);
	if (egs_daemon_check_store(d, n < 0 ? n : 0, &err) == 0 &&
	    n < STEP_JOBS)
		p->reading = false;
}

static void check_import(struct egs_daemon *d, struct egs_predictor *p)
{
	char imported[sizeof(p->imported)];
	struct egs_err err;

	if (++p->ticks % IMPORT_CHECK_S)
		return;
	if (egs_daemon_check_store(d,
				   egs_store_get(d->store, EGS_STORE_IMPORTED,
						 imported, sizeof(imported),
						 &err),
				   &err) < 0 ||
	    strcmp(imported, p->imported) == 0)
		return;
	memcpy(p->imported, imported, sizeof(imported));
	begin_reading(p);
}

static void tick_predictor(struct egs_daemon *d)
{
	struct egs_predictor *p = d->requests->predictor;

	if (!d->store || d->store_failed || d->in_transaction)
		return;
	check_import(d, p);
	if (p->reading)
		read_history(d, p);
}

/* While the history is being read, this job comes in its turn. */
static void learn_run(struct egs_daemon *d, const struct egs_job_run *run)
{
	struct egs_predictor *p = d->requests->predictor;
	struct egs_err err;

	if (!p->reading)
		egs_daemon_check_store(
			d,
			egs_ended_jobs_get(d->store, run, learn_job, p, &err),
			&err);
}

const struct egs_part egs_predictor_part = {
	.name = "predictor",
	.init = init_predictor,
	.restore = restore_predictor,
	.stop = free_predictor,
	.tick = tick_predictor,
	.run_ended = learn_run,
};

/* ---- predict ---- */

/* The reports of progress, in seconds of the attempt. */
static int get_progress(struct egs_daemon *d, const struct egs_job *j,
			struct egs_predict_progress *progress,
			struct egs_err *err)
{
	struct egs_job_report report;

	if (egs_daemon_check_store(
		    d,
		    egs_store_job_report_get(d->store, &j->ident, &report, err),
		    err) < 0)
		return -1;
	if (report.progress_ppm == EGS_NO_PROGRESS)
		return 0;
	*progress = (struct egs_predict_progress){
		.first_ppm = report.first_ppm,
		.ppm = report.progress_ppm,
		.first_s = report.first_at - j->started,
		.at_s = report.progress_at - j->started,
	};
	return 0;
}

/* The time that the attempts of a job before 'start' ran. */
static int sum_earlier(struct egs_daemon *d, const struct egs_job *j,
		       egs_time_t start, egs_time_t *run_s, struct egs_err *err)
{
	const struct egs_job_run run = { .job_id = j->ident.job_id,
					 .nonce = j->ident.nonce,
					 .uid = j->ident.uid,
					 .start = start };

	*run_s = 0;
	if (!j->ident.restarts)
		return 0;
	return egs_daemon_check_store(
		d, egs_ended_jobs_sum_earlier(d->store, &run, run_s, err), err);
}

static int get_state(struct egs_daemon *d, const struct egs_job *j,
		     const struct egs_account_running *running,
		     struct egs_predict_state *state, struct egs_err *err)
{
	egs_time_t earlier_s;

	if (sum_earlier(d, j, running->run.start, &earlier_s, err) < 0)
		return -1;
	*state = (struct egs_predict_state){
		.ran_s = earlier_s + running->run_s,
		.attempt_s = running->run_s,
		.limit_s = running->limit_s,
	};
	return get_progress(d, j, &state->progress, err);
}

int egs_predictor_predict_end(struct egs_daemon *d, const struct egs_job *j,
			      struct egs_estimate *e, struct egs_err *err)
{
	struct egs_account_running running;
	struct egs_predict_state state;
	struct egs_predict_job job;

	*e = (struct egs_estimate){ .source = EGS_PREDICT_NOTHING };
	if (!d->account ||
	    egs_account_get_running(d->account, j->ident.job_id,
				    egs_daemon_now(), &running) < 0)
		return 0;
	if (get_state(d, j, &running, &state, err) < 0)
		return -1;
	job = (struct egs_predict_job){
		.user = running.kind.user,
		.account = running.kind.account,
		.workload = running.kind.workload,
		.phase = running.kind.phase,
		.partition = running.kind.partition,
		.name = running.run.name,
		.gpus = running.run.gpus,
	};
	*e = egs_predict_rest(d->requests->predictor->predict, &job, &state);
	return 0;
}

int egs_predictor_predict_run(struct egs_daemon *d, const struct egs_job *j,
			      uint32_t gpus, struct egs_estimate *e,
			      struct egs_err *err)
{
	struct egs_predict_state state = { .ran_s = 0 };
	struct egs_predict_job job = { .gpus = gpus };
	struct egs_job_info known;

	*e = (struct egs_estimate){ .source = EGS_PREDICT_NOTHING };
	if (egs_cluster_lookup(d->cluster, j->ident.job_id, &known) < 0)
		return 0;
	if (sum_earlier(d, j, egs_daemon_now(), &state.ran_s, err) < 0)
		return -1;
	state.limit_s = known.time_limit_s;
	job.user = known.user;
	job.account = known.account;
	job.workload = known.workload;
	job.partition = known.partition;
	job.name = known.name;
	job.phase = j->facts.phase < 0
			    ? ""
			    : egs_daemon_conf(d)->phase[j->facts.phase].name;
	*e = egs_predict_rest(d->requests->predictor->predict, &job, &state);
	return 0;
}

/* What the runs of a class have in common with the job. */
static const char *describe_class(enum egs_predict_source level)
{
	static const char *const words[EGS_PREDICT_LEVELS] = {
		[EGS_PREDICT_STAGE] = "this workload of the user",
		[EGS_PREDICT_NAME] = "the user with this name and as many GPUs",
		[EGS_PREDICT_USER] = "the user with as many GPUs",
		[EGS_PREDICT_PHASE] =
			"the account in this phase with as many GPUs",
		[EGS_PREDICT_PARTITION] = "the partition with as many GPUs",
	};

	return words[level];
}

static void append_source(const struct egs_estimate *e, struct egs_text *text)
{
	if (e->source == EGS_PREDICT_PROGRESS) {
		egs_text_append(text, "; by the progress that it reports");
		return;
	}
	egs_text_append(text, "; by %" PRIu32 " runs of %s", e->runs,
			describe_class(e->source));
	if (e->failures)
		egs_text_append(text,
				", of which %" PRIu32
				" failed in their first minute",
				e->failures);
}

void egs_predictor_format_run(const struct egs_estimate *e,
			      struct egs_text *text)
{
	struct egs_text low, likely, high;

	egs_gpu_advice_format_time(e->high_s, &high);
	if (e->source == EGS_PREDICT_LIMIT) {
		egs_textf(text,
			  "at most %s, its time limit; no %d runs like it have "
			  "ended yet",
			  high.text, EGS_PREDICT_RUNS_MIN);
		return;
	}
	egs_gpu_advice_format_time(e->low_s, &low);
	egs_gpu_advice_format_time(e->likely_s, &likely);
	egs_textf(text, "from %s to %s in 8 of 10 cases, likely %s", low.text,
		  high.text, likely.text);
	append_source(e, text);
}

void egs_predictor_format_end(const struct egs_estimate *e, egs_time_t now,
			      struct egs_text *text)
{
	char low[EGS_TIME_TEXT_SIZE], likely[EGS_TIME_TEXT_SIZE],
		high[EGS_TIME_TEXT_SIZE];

	egs_daemon_format_time(now + e->low_s, low);
	egs_daemon_format_time(now + e->likely_s, likely);
	egs_daemon_format_time(now + e->high_s, high);
	if (e->source == EGS_PREDICT_LIMIT) {
		egs_textf(text,
			  "by %s, its time limit; no %d runs like it have "
			  "ended yet",
			  high, EGS_PREDICT_RUNS_MIN);
		return;
	}
	egs_textf(text, "between %s and %s in 8 of 10 cases, likely %s", low,
		  high, likely);
	append_source(e, text);
}
