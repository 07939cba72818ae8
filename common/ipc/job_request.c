/* job_request.c - a job says something and waits for the answer */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ipc/job_request.h"

enum {
	/* egs-noded takes a message within milliseconds, if it is there, */
	TAKE_WAIT_MS = 300,
	/* and has an answer soon, if egs-policyd is there. */
	ANSWER_WAIT_MS = 2000,
	RETRY_MS = 500,
};

/* There was no answer. */
#define NO_ANSWER 1

static int64_t read_env_number(const char *variable, int64_t otherwise)
{
	const char *text = getenv(variable);
	char *end;
	long long n = text ? strtoll(text, &end, 10) : 0;

	return text && *text && !*end && n >= 0 ? n : otherwise;
}

int egs_job_request_begin(struct egs_job_request *w, const char *verb,
			  struct egs_err *err)
{
	const char *job = getenv("SLURM_JOB_ID");

	*w = (struct egs_job_request){ .json.len = 0 };
	if (!job)
		return egs_errf(err, "this is no job: SLURM_JOB_ID is not set");
	if (egs_rundir_new_id(w->id) < 0)
		return egs_errf(err, "the kernel has no random numbers");
	egs_flat_json_add_str(&w->json, "verb", verb);
	egs_flat_json_add_str(&w->json, "id", w->id);
	egs_flat_json_add_str(&w->json, "job", job);
	/* Slurm sets it from the second run on. */
	egs_flat_json_add_int(&w->json, "restarts",
			      read_env_number("SLURM_RESTART_COUNT", 0));
	egs_flat_json_add_int(&w->json, "at", time(NULL));
	return 0;
}

int64_t egs_job_request_rank(void)
{
	return getenv("SLURM_STEP_ID") ? read_env_number("SLURM_PROCID", -1)
				       : -1;
}

uint32_t egs_job_request_open_notice(const char *dir)
{
	struct egs_rundir_flag flag;

	return dir && egs_rundir_read_flag(dir, &flag) ? flag.notice : 0;
}

/* ---- the answer in the run directory ---- */

struct answer_reader {
	const struct egs_transport *transport;
	bool ok, refused;
	struct egs_err error;
};

static void read_answer_value(void *arg, const char *key, const char *value)
{
	struct answer_reader *r = arg;

	if (value && strcmp(key, "ok") == 0)
		r->ok = strcmp(value, "true") == 0;
	if (value && strcmp(key, "error") == 0) {
		r->refused = true;
		egs_errf(&r->error, "%s", value);
	}
	if (r->transport->on_value)
		r->transport->on_value(r->transport->arg, key, value);
}

static int parse_answer(const struct egs_transport *how, char *text,
			struct egs_err *err)
{
	struct answer_reader r = { .transport = how };

	if (egs_flat_json_each(text, read_answer_value, &r) < 0 ||
	    (!r.ok && !r.refused))
		return egs_errf(err, "the answer is neither yes nor no");
	return r.refused ? egs_errf(err, "%s", r.error.msg) : 0;
}

/* Wait until 'end' for the answer. */
static int wait_for_answer(const struct egs_job_request *w,
			   const struct egs_transport *how, int64_t end,
			   struct egs_err *err)
{
	char *text = malloc(EGS_RUNDIR_ANSWER_MAX);
	int64_t left = end - egs_rundir_now_ms();
	int rc = NO_ANSWER;

	if (!text)
		return egs_errf(err, "out of memory");
	if (egs_rundir_wait_answer(how->dir, w->id, text,
				   left > 0 ? (int)left : 0))
		rc = parse_answer(how, text, err);
	free(text);
	return rc;
}

/* ---- both roads ---- */

static int64_t min_time(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* As long as egs-noded seems to be at it. */
static int wait_by_rundir(const struct egs_job_request *w,
			  const struct egs_transport *how, int64_t end,
			  struct egs_err *err)
{
	int64_t now = egs_rundir_now_ms();
	int rc;

	if (!how->call_direct)
		return wait_for_answer(w, how, end, err);
	rc = wait_for_answer(w, how, min_time(now + TAKE_WAIT_MS, end), err);
	if (rc == NO_ANSWER && egs_rundir_is_taken(how->dir, w->id))
		rc = wait_for_answer(w, how,
				     min_time(now + ANSWER_WAIT_MS, end), err);
	return rc;
}

/* While it may be answered otherwise, and there is time. */
static int call_with_retry(const struct egs_job_request *w,
			   const struct egs_transport *how, int64_t end,
			   struct egs_err *err)
{
	int rc = EGS_REQUEST_RETRY;

	while (rc == EGS_REQUEST_RETRY) {
		int64_t left = end - egs_rundir_now_ms();

		rc = how->call_direct(how, w->json.text, w->json.len,
				      left > RETRY_MS ? (int)left : RETRY_MS,
				      err);
		if (rc == EGS_REQUEST_RETRY) {
			if (egs_rundir_now_ms() + RETRY_MS >= end)
				return EGS_REQUEST_REFUSED;
			egs_rundir_sleep_ms(RETRY_MS);
		}
	}
	return rc;
}

/* Both roads, the second with the same id; NOBODY with 'why' set. */
static int try_both_ways(const struct egs_job_request *w,
			 const struct egs_transport *how, int64_t end,
			 struct egs_err *why, struct egs_err *err)
{
	int rc = how->dir ? wait_by_rundir(w, how, end, err) : NO_ANSWER;

	if (rc != NO_ANSWER || !how->call_direct)
		return rc;
	rc = call_with_retry(w, how, end, why);
	if (rc == EGS_REQUEST_NO_ANSWER)
		return how->dir ? wait_for_answer(w, how, end, err) : NO_ANSWER;
	if (how->dir)
		egs_rundir_cancel(how->dir, w->id);
	return rc == 0 ? 0 : egs_errf(err, "%s", why->msg);
}

/* Nobody answered: what becomes of the message. */
static int fail_no_answer(const struct egs_job_request *w,
			  const struct egs_transport *how,
			  const struct egs_err *why, struct egs_err *err)
{
	const char *fate = "it was not said";

	if (how->dir && how->is_report)
		fate = "egs-noded will pass it on";
	else if (how->dir && !egs_rundir_cancel(how->dir, w->id))
		fate = "egs-noded has it and will pass it on";
	egs_errf(err, "%s; %s", why->msg, fate);
	return EGS_REQUEST_NO_ANSWER;
}

int egs_job_request_send(struct egs_job_request *w,
			 const struct egs_transport *asking,
			 struct egs_err *err)
{
	int64_t end = egs_rundir_now_ms() + asking->timeout_ms;
	const char *text = egs_flat_json_end(&w->json);
	struct egs_transport how = *asking;
	struct egs_err why = { "no answer" };
	int rc;

	if (!text)
		return egs_errf(err, "the message is longer than %d bytes",
				EGS_RUNDIR_MESSAGE_MAX);
	if (!how.dir && !how.call_direct)
		egs_errf(&why,
			 "there is no EGS here: " EGS_RUNDIR_ENV " is not set");
	else if (how.dir &&
		 egs_rundir_send(how.dir, w->id, text, w->json.len, &why) < 0)
		how.dir = NULL;
	rc = try_both_ways(w, &how, end, &why, err);
	return rc == NO_ANSWER ? fail_no_answer(w, &how, &why, err) : rc;
}
