/* job_request.c - a job says something and waits for the answer */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/ipc/job_request.h"

enum {
	/* egs-noded takes a message within milliseconds, if it is there, */
	TAKEN_MS = 300,
	/* and has an answer soon, if egs-policyd is there. */
	SOON_MS = 2000,
	AGAIN_MS = 500,
};

/* There was no answer. */
#define NOBODY 1

static int64_t number_of(const char *variable, int64_t otherwise)
{
	const char *text = getenv(variable);
	char *end;
	long long n = text ? strtoll(text, &end, 10) : 0;

	return text && *text && !*end && n >= 0 ? n : otherwise;
}

int egs_words_begin(struct egs_words *w, const char *verb, struct egs_err *err)
{
	const char *job = getenv("SLURM_JOB_ID");

	*w = (struct egs_words){ .flat.len = 0 };
	if (!job)
		return egs_errf(err, "this is no job: SLURM_JOB_ID is not set");
	if (egs_road_id(w->id) < 0)
		return egs_errf(err, "the kernel has no random numbers");
	egs_flat_str(&w->flat, "verb", verb);
	egs_flat_str(&w->flat, "id", w->id);
	egs_flat_str(&w->flat, "job", job);
	/* Slurm sets it from the second run on. */
	egs_flat_int(&w->flat, "restarts", number_of("SLURM_RESTART_COUNT", 0));
	egs_flat_int(&w->flat, "at", time(NULL));
	return 0;
}

int64_t egs_words_rank(void)
{
	return getenv("SLURM_STEP_ID") ? number_of("SLURM_PROCID", -1) : -1;
}

uint32_t egs_words_request(const char *dir)
{
	struct egs_flag flag;

	return dir && egs_road_flag(dir, &flag) ? flag.request : 0;
}

/* ---- the answer in the run directory ---- */

struct reading {
	const struct egs_asking *how;
	bool ok, refused;
	struct egs_err error;
};

static void look_at(void *arg, const char *key, const char *value)
{
	struct reading *r = arg;

	if (value && strcmp(key, "ok") == 0)
		r->ok = strcmp(value, "true") == 0;
	if (value && strcmp(key, "error") == 0) {
		r->refused = true;
		egs_errf(&r->error, "%s", value);
	}
	if (r->how->fn)
		r->how->fn(r->how->arg, key, value);
}

static int read_answer(const struct egs_asking *how, char *text,
		       struct egs_err *err)
{
	struct reading r = { .how = how };

	if (egs_flat_each(text, look_at, &r) < 0 || (!r.ok && !r.refused))
		return egs_errf(err, "the answer is neither yes nor no");
	return r.refused ? egs_errf(err, "%s", r.error.msg) : 0;
}

/* Wait until 'end' for the answer. */
static int wait_until(const struct egs_words *w, const struct egs_asking *how,
		      int64_t end, struct egs_err *err)
{
	char *text = malloc(EGS_RUNDIR_ANSWER_MAX);
	int64_t left = end - egs_road_now();
	int rc = NOBODY;

	if (!text)
		return egs_errf(err, "out of memory");
	if (egs_road_answer(how->dir, w->id, text, left > 0 ? (int)left : 0))
		rc = read_answer(how, text, err);
	free(text);
	return rc;
}

/* ---- both roads ---- */

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* As long as egs-noded seems to be at it. */
static int by_directory(const struct egs_words *w, const struct egs_asking *how,
			int64_t end, struct egs_err *err)
{
	int64_t now = egs_road_now();
	int rc;

	if (!how->direct)
		return wait_until(w, how, end, err);
	rc = wait_until(w, how, sooner(now + TAKEN_MS, end), err);
	if (rc == NOBODY && egs_road_taken(how->dir, w->id))
		rc = wait_until(w, how, sooner(now + SOON_MS, end), err);
	return rc;
}

/* While it may be answered otherwise, and there is time. */
static int by_call(const struct egs_words *w, const struct egs_asking *how,
		   int64_t end, struct egs_err *err)
{
	int rc = EGS_WORDS_AGAIN;

	while (rc == EGS_WORDS_AGAIN) {
		int64_t left = end - egs_road_now();

		rc = how->direct(how, w->flat.text, w->flat.len,
				 left > AGAIN_MS ? (int)left : AGAIN_MS, err);
		if (rc == EGS_WORDS_AGAIN) {
			if (egs_road_now() + AGAIN_MS >= end)
				return EGS_WORDS_REFUSED;
			egs_road_sleep(AGAIN_MS);
		}
	}
	return rc;
}

/* Both roads, the second with the same id; NOBODY with 'why' set. */
static int by_either(const struct egs_words *w, const struct egs_asking *how,
		     int64_t end, struct egs_err *why, struct egs_err *err)
{
	int rc = how->dir ? by_directory(w, how, end, err) : NOBODY;

	if (rc != NOBODY || !how->direct)
		return rc;
	rc = by_call(w, how, end, why);
	if (rc == EGS_WORDS_UNHEARD)
		return how->dir ? wait_until(w, how, end, err) : NOBODY;
	if (how->dir)
		egs_road_withdraw(how->dir, w->id);
	return rc == 0 ? 0 : egs_errf(err, "%s", why->msg);
}

/* Nobody answered: what becomes of the message. */
static int unheard(const struct egs_words *w, const struct egs_asking *how,
		   const struct egs_err *why, struct egs_err *err)
{
	const char *fate = "it was not said";

	if (how->dir && how->report)
		fate = "egs-noded will pass it on";
	else if (how->dir && !egs_road_withdraw(how->dir, w->id))
		fate = "egs-noded has it and will pass it on";
	egs_errf(err, "%s; %s", why->msg, fate);
	return EGS_WORDS_UNHEARD;
}

int egs_words_ask(struct egs_words *w, const struct egs_asking *asking,
		  struct egs_err *err)
{
	int64_t end = egs_road_now() + asking->timeout_ms;
	const char *text = egs_flat_end(&w->flat);
	struct egs_asking how = *asking;
	struct egs_err why = { "no answer" };
	int rc;

	if (!text)
		return egs_errf(err, "the message is longer than %d bytes",
				EGS_RUNDIR_MESSAGE_MAX);
	if (!how.dir && !how.direct)
		egs_errf(&why,
			 "there is no EGS here: " EGS_RUNDIR_ENV " is not set");
	else if (how.dir &&
		 egs_road_put(how.dir, w->id, text, w->flat.len, &why) < 0)
		how.dir = NULL;
	rc = by_either(w, &how, end, &why, err);
	return rc == NOBODY ? unheard(w, &how, &why, err) : rc;
}
