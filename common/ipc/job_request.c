/* job_request.c - send a message of a job and wait for the answer */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/ipc/job_request.h"

enum {
	/* egs-noded reads a message within milliseconds, if it runs. */
	TAKE_WAIT_MS = 300,
	/* The answer comes soon after that, if egs-policyd runs. */
	ANSWER_WAIT_MS = 2000,
	RETRY_MS = 500,
};

static int64_t now_ms(void)
{
	return (int64_t)egs_now_ms();
}

static int64_t read_env_number(const char *variable, int64_t otherwise)
{
	const char *text = getenv(variable);
	char *end;
	long long n = text ? strtoll(text, &end, 10) : 0;

	return text && *text && !*end && n >= 0 ? n : otherwise;
}

int egs_job_request_begin(struct egs_job_request *request, const char *verb,
			  struct egs_err *err)
{
	*request = (struct egs_job_request){ .json.len = 0 };
	if (!getenv("SLURM_JOB_ID"))
		return egs_errf(err, "not in a job: SLURM_JOB_ID is not set");
	if (egs_rundir_new_id(request->id) < 0)
		return egs_errf(err, "the kernel has no random numbers");
	egs_job_request_repeat(request, verb);
	return 0;
}

void egs_job_request_repeat(struct egs_job_request *request, const char *verb)
{
	request->json = (struct egs_flat_json){ .len = 0 };
	egs_flat_json_add_str(&request->json, "verb", verb);
	egs_flat_json_add_str(&request->json, "id", request->id);
	egs_flat_json_add_str(&request->json, "job", getenv("SLURM_JOB_ID"));
	/* Slurm sets the variable from the second run on. */
	egs_flat_json_add_int(&request->json, "restarts",
			      read_env_number("SLURM_RESTART_COUNT", 0));
	egs_flat_json_add_int(&request->json, "at", time(NULL));
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
	struct answer_reader *reader = arg;

	if (value && strcmp(key, "ok") == 0)
		reader->ok = strcmp(value, "true") == 0;
	if (value && strcmp(key, "error") == 0) {
		reader->refused = true;
		egs_errf(&reader->error, "%s", value);
	}
	if (reader->transport->on_value)
		reader->transport->on_value(reader->transport->arg, key, value);
}

static int parse_answer(const struct egs_transport *how, char *text,
			struct egs_err *err)
{
	struct answer_reader reader = { .transport = how };

	if (egs_flat_json_each(text, read_answer_value, &reader) < 0 ||
	    (!reader.ok && !reader.refused))
		return egs_errf(err, "invalid answer from egs-noded");
	return reader.refused ? egs_errf(err, "%s", reader.error.msg) : 0;
}

/* Wait for the answer until the time 'end'. */
static int wait_for_answer(const struct egs_job_request *request,
			   const struct egs_transport *how, int64_t end,
			   struct egs_err *err)
{
	char *text = malloc(EGS_RUNDIR_ANSWER_MAX);
	int64_t left = end - now_ms();
	int rc = EGS_REQUEST_NONE_YET;

	if (!text)
		return egs_errf(err, "out of memory");
	if (egs_rundir_wait_answer(how->dir, request->id, text,
				   left > 0 ? (int)left : 0))
		rc = parse_answer(how, text, err);
	free(text);
	return rc;
}

int egs_job_request_receive(const struct egs_job_request *request,
			    const struct egs_transport *how, int timeout_ms,
			    struct egs_err *err)
{
	if (!request->by_rundir || !how->dir)
		return EGS_REQUEST_NONE_YET;
	return wait_for_answer(request, how, now_ms() + timeout_ms, err);
}

/* ---- both ways ---- */

static int64_t min_time(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Wait for an answer only while egs-noded seems to work on the message. */
static int wait_by_rundir(const struct egs_job_request *request,
			  const struct egs_transport *how, int64_t end,
			  struct egs_err *err)
{
	int64_t now = now_ms();
	int rc;

	if (!how->call_direct)
		return wait_for_answer(request, how, end, err);
	rc = wait_for_answer(request, how, min_time(now + TAKE_WAIT_MS, end),
			     err);
	if (rc == EGS_REQUEST_NONE_YET &&
	    egs_rundir_is_taken(how->dir, request->id))
		rc = wait_for_answer(request, how,
				     min_time(now + ANSWER_WAIT_MS, end), err);
	return rc;
}

/* Repeat the call while egs-policyd asks for that and there is time. */
static int call_with_retry(const struct egs_job_request *request,
			   const struct egs_transport *how, int64_t end,
			   struct egs_err *err)
{
	int rc = EGS_REQUEST_RETRY;

	while (rc == EGS_REQUEST_RETRY) {
		int64_t left = end - now_ms();

		rc = how->call_direct(
			how, request->json.text, request->json.len,
			left > RETRY_MS ? (int)left : RETRY_MS, err);
		if (rc == EGS_REQUEST_RETRY) {
			if (now_ms() + RETRY_MS >= end)
				return EGS_REQUEST_REFUSED;
			egs_rundir_sleep_ms(RETRY_MS);
		}
	}
	return rc;
}

/* Try both ways, with the same id.  EGS_REQUEST_NONE_YET with 'why' set: no
 * answer came in either way.
 */
static int try_both_ways(struct egs_job_request *request,
			 const struct egs_transport *how, int64_t end,
			 struct egs_err *why, struct egs_err *err)
{
	int rc = how->dir ? wait_by_rundir(request, how, end, err)
			  : EGS_REQUEST_NONE_YET;

	request->by_rundir = how->dir != NULL;
	if (rc != EGS_REQUEST_NONE_YET || !how->call_direct)
		return rc;
	rc = call_with_retry(request, how, end, why);
	if (rc == EGS_REQUEST_NO_ANSWER)
		return how->dir ? wait_for_answer(request, how, end, err)
				: EGS_REQUEST_NONE_YET;
	request->by_rundir = false;
	if (how->dir)
		egs_rundir_cancel(how->dir, request->id);
	return rc == 0 ? 0 : egs_errf(err, "%s", why->msg);
}

/* No answer came: 'err' says what happens to the message. */
static int fail_no_answer(const struct egs_job_request *request,
			  const struct egs_transport *how,
			  const struct egs_err *why, struct egs_err *err)
{
	const char *fate = "the message was not delivered";

	if (how->dir && how->is_report)
		fate = "egs-noded will deliver the message";
	else if (how->dir && !egs_rundir_cancel(how->dir, request->id))
		fate = "egs-noded has the message and will deliver it";
	egs_errf(err, "%s; %s", why->msg, fate);
	return EGS_REQUEST_NO_ANSWER;
}

int egs_job_request_send(struct egs_job_request *request,
			 const struct egs_transport *transport,
			 struct egs_err *err)
{
	int64_t end = now_ms() + transport->timeout_ms;
	const char *text = egs_flat_json_end(&request->json);
	struct egs_transport how = *transport;
	struct egs_err why = { "no answer" };
	int rc;

	if (!text)
		return egs_errf(err, "the message is longer than %d bytes",
				EGS_RUNDIR_MESSAGE_MAX);
	if (!how.dir && !how.call_direct)
		egs_errf(&why, "no EGS here: " EGS_RUNDIR_ENV " is not set");
	else if (how.dir && egs_rundir_send(how.dir, request->id, text,
					    request->json.len, &why) < 0)
		how.dir = NULL;
	rc = try_both_ways(request, &how, end, &why, err);
	return rc == EGS_REQUEST_NONE_YET
		       ? fail_no_answer(request, &how, &why, err)
		       : rc;
}
