/* why.c - explain the state of a job to its owner */
#include <inttypes.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/gpu_advice.h"
#include "policyd/requests/predictor.h"
#include "policyd/store/store_messages.h"

/* Number of entries of the job's log in the answer. */
#define LOG_ENTRIES_MAX 10

static void add_log_entry(void *arg, const struct egs_log_entry *entry)
{
	char text[EGS_TIME_TEXT_SIZE];

	egs_msg_add_row(arg);
	egs_msg_add_cell(arg, egs_daemon_format_time(entry->at, text));
	egs_msg_add_cell(arg, entry->event);
	egs_msg_add_cell(arg, entry->actor);
	egs_msg_add_cell(arg, entry->reason);
}

static void set_numbers(const struct egs_daemon *d, const struct egs_why *why,
			struct egs_msg *answer)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);

	egs_msg_set_int(answer, "job", why->job_id);
	if (why->team >= 0)
		egs_msg_set_str(answer, "team", c->team[why->team].name);
	if (why->tier >= 0)
		egs_msg_set_str(answer, "tier", c->tier[why->tier].name);
	egs_msg_set_int(answer, "gpus", why->gpus);
	egs_msg_set_int(answer, "quota", why->quota);
	egs_msg_set_int(answer, "owned", why->owned);
	egs_msg_set_int(answer, "on_loan", why->team_on_loan);
	egs_msg_set_int(answer, "holder", why->other_job);
	if (why->up_gpus) {
		egs_msg_set_int(answer, "free", why->free_gpus);
		egs_msg_set_int(answer, "up", why->up_gpus);
	}
}

/* Does a rule of EGS keep the job from starting?  Then Slurm's estimate is a
 * begin time that EGS has set, or the end of jobs that it may preempt.
 */
static bool is_held_by_egs(const struct egs_why *why)
{
	return why->rule == EGS_RULE_PROTECTED ||
	       why->rule == EGS_RULE_NEEDS_VICTIMS ||
	       why->rule == EGS_RULE_NO_OWN_NODES ||
	       why->rule >= EGS_RULE_QUOTA;
}

/* When the jobs have ended that this job depends on; false: unknown. */
static bool describe_start(struct egs_daemon *d, const struct egs_job *j,
			   egs_time_t now, struct egs_msg *answer,
			   struct egs_err *text)
{
	char low[EGS_TIME_TEXT_SIZE], high[EGS_TIME_TEXT_SIZE];
	struct egs_estimate e;

	if (!egs_predictor_predict_start(d, j, &e))
		return false;
	egs_errf(text,
		 "between %s and %s in 8 of 10 cases, when the jobs that it "
		 "depends on have ended, if GPUs are free then",
		 egs_daemon_format_time(now + e.low_s, low),
		 egs_daemon_format_time(now + e.high_s, high));
	egs_msg_set_int(answer, "start_low", now + e.low_s);
	egs_msg_set_int(answer, "start_high", now + e.high_s);
	return true;
}

/* Set the expected start: Slurm's estimate, else the earliest time by the rules
 * of EGS.
 */
static void set_estimate(struct egs_daemon *d, const struct egs_job *j,
			 const struct egs_why *why, struct egs_msg *answer)
{
	egs_time_t now = egs_daemon_now();
	struct egs_job_info known = { .reason = "" };
	char when[EGS_TIME_TEXT_SIZE];
	struct egs_err text;

	if (j->running)
		return;
	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	if (why->rule == EGS_RULE_NOT_SCHEDULABLE)
		egs_msg_set_str(answer, "reason", known.reason);
	if (is_held_by_egs(why))
		known.expected_start = 0;
	if (known.expected_start > now)
		egs_errf(&text, "%s by Slurm's estimate",
			 egs_daemon_format_time(known.expected_start, when));
	else if (why->until > now)
		egs_errf(&text, "in %" PRId64 " s at the earliest",
			 (int64_t)(why->until - now));
	else if (!describe_start(d, j, now, answer, &text))
		egs_errf(&text, "no estimate");
	egs_msg_set_str(answer, "estimate", text.msg);
	if (known.expected_start > now)
		egs_msg_set_int(answer, "expected", known.expected_start);
}

/* Set the last report of the job: its checkpoint and its progress. */
static int set_job_report(struct egs_daemon *d, const struct egs_job *j,
			  struct egs_msg *answer, struct egs_err *err)
{
	char text[EGS_TIME_TEXT_SIZE];
	struct egs_job_report report;
	struct egs_err line;

	if (egs_daemon_check_store(
		    d,
		    egs_store_job_report_get(d->store, &j->ident, &report, err),
		    err) < 0)
		return -1;
	if (report.saved_at) {
		egs_errf(&line, "at %s",
			 egs_daemon_format_time(report.saved_at, text));
		if (report.step >= 0)
			egs_errf(&line, "%s, step %" PRId64, line.msg,
				 report.step);
		if (*report.path)
			egs_errf(&line, "%s: %s", line.msg, report.path);
		egs_msg_set_str(answer, "saved", line.msg);
		egs_msg_set_int(answer, "saved_at", report.saved_at);
	}
	if (report.progress_ppm >= 0 || report.finished) {
		egs_errf(&line, "%" PRId64 " %%%s",
			 report.progress_ppm < 0 ? 0
						 : report.progress_ppm / 10000,
			 report.finished ? ", finished" : "");
		egs_msg_set_str(answer, "progress", line.msg);
	}
	return 0;
}

/* Set when a running job is expected to end. */
static int set_end(struct egs_daemon *d, const struct egs_job *j,
		   struct egs_msg *answer, struct egs_err *err)
{
	egs_time_t now = egs_daemon_now();
	struct egs_estimate e;
	struct egs_text text;

	if (!j->running)
		return 0;
	if (egs_predictor_predict_end(d, j, &e, err) < 0)
		return -1;
	if (e.source == EGS_PREDICT_NOTHING)
		return 0;
	egs_predictor_format_end(&e, now, &text);
	egs_msg_set_str(answer, "end", text.text);
	egs_msg_set_str(answer, "end_by", egs_predict_source_name(e.source));
	egs_msg_set_int(answer, "end_low", now + e.low_s);
	egs_msg_set_int(answer, "end_likely", now + e.likely_s);
	egs_msg_set_int(answer, "end_high", now + e.high_s);
	return 0;
}

/* Set how long a pending job is expected to run. */
static int set_run_time(struct egs_daemon *d, const struct egs_job *j,
			uint32_t gpus, struct egs_msg *answer,
			struct egs_err *err)
{
	struct egs_estimate e;
	struct egs_text text;

	if (j->running)
		return 0;
	if (egs_predictor_predict_run(d, j, gpus, &e, err) < 0)
		return -1;
	if (e.source == EGS_PREDICT_NOTHING)
		return 0;
	egs_predictor_format_run(&e, &text);
	egs_msg_set_str(answer, "run", text.text);
	egs_msg_set_str(answer, "run_by", egs_predict_source_name(e.source));
	egs_msg_set_int(answer, "run_low_s", e.low_s);
	egs_msg_set_int(answer, "run_likely_s", e.likely_s);
	egs_msg_set_int(answer, "run_high_s", e.high_s);
	return 0;
}

/* Say which GPUs a running job does not use. */
static void set_idle_gpus(const struct egs_daemon *d, const struct egs_job *j,
			  struct egs_msg *answer)
{
	struct egs_text text;

	if (j->running && egs_gpu_advice_format(d, j, &text))
		egs_msg_set_str(answer, "idle_gpus", text.text);
}

/* The list of fenced nodes is ",n1,n2,". */
static void set_fenced(const struct egs_daemon *d, const struct egs_why *why,
		       struct egs_msg *answer)
{
	struct egs_err text;

	if (why->rule != EGS_RULE_TOO_FEW_UP || !*d->fenced)
		return;
	egs_errf(&text,
		 "no new job starts on these nodes, which are fenced: "
		 "%.*s",
		 (int)strlen(d->fenced) - 2, d->fenced + 1);
	egs_msg_set_str(answer, "fenced", text.msg);
}

/* Set a warning about a running job that stalls, or whose GPUs another job
 * could use.
 */
static void set_idle_warning(const struct egs_daemon *d,
			     const struct egs_job *j, struct egs_msg *answer)
{
	struct egs_text text, time;
	uint32_t yield_s;

	if (!j->running || j->facts.phase < 0 ||
	    !(j->stalled || j->idle_wanted_by))
		return;
	yield_s = egs_daemon_conf(d)->phase[j->facts.phase].idle_yield_s;
	if (j->stalled)
		egs_textf(&text, "the job is stalled: its GPUs are idle, and "
				 "it reports no progress");
	else
		egs_textf(&text,
			  "job %" PRIu32 " waits for GPUs, and %" PRIu32
			  " of this job are idle",
			  j->idle_wanted_by, j->idle_gpus);
	if (!j->stalled && yield_s != EGS_UNLIMITED)
		egs_text_append(&text,
				"; after %s the job is asked to give them back",
				egs_gpu_advice_format_time(yield_s, &time));
	egs_msg_set_str(answer, "warning", text.text);
}

/* The list of avoided nodes has the same form. */
static void set_avoided(const struct egs_daemon *d, const struct egs_job *j,
			struct egs_msg *answer)
{
	struct egs_err text;

	if (j->running || j->facts.tier < 0 || !*d->avoided)
		return;
	egs_errf(&text,
		 "no new job starts on these nodes, whose GPUs are not well: "
		 "%.*s",
		 (int)strlen(d->avoided) - 2, d->avoided + 1);
	egs_msg_set_str(answer, "avoided", text.msg);
}

/* Does the sentence speak of an action of EGS, which only observes? */
static bool is_only_observed(const struct egs_daemon *d,
			     const struct egs_why *why)
{
	if (egs_daemon_is_enforcing(d, why->team))
		return false;
	switch (why->rule) {
	case EGS_RULE_OVER_LIMIT:
	case EGS_RULE_NEEDS_VICTIMS:
	case EGS_RULE_WAITS_FOR_SHRINK:
	case EGS_RULE_PROTECTED:
	case EGS_RULE_OWN_NODES:
	case EGS_RULE_NO_OWN_NODES:
		return true;
	default:
		return why->rule >= EGS_RULE_QUOTA; /* deferred */
	}
}

/* The policy knows that the job is not schedulable; the cluster knows why. */
static void describe_dependency(const struct egs_daemon *d,
				const struct egs_why *why,
				struct egs_err *sentence)
{
	struct egs_job_info known = { .dependency = "" };

	egs_cluster_lookup(d->cluster, why->job_id, &known);
	if (why->rule == EGS_RULE_NOT_SCHEDULABLE && *known.dependency)
		egs_errf(sentence,
			 "job %" PRIu32 ": waiting for %s, not for "
			 "GPUs",
			 why->job_id, known.dependency);
}

static int answer_why(struct egs_daemon *d, const struct egs_job *j,
		      struct egs_msg *answer, struct egs_err *err)
{
	static const char *const columns[] = { "TIME", "WHAT", "WHO",
					       "REASON" };
	struct egs_err sentence;
	struct egs_why why;

	if (egs_policy_why(d->policy, j->ident.job_id, egs_daemon_now(), &why) <
	    0)
		return egs_errf(err, "out of memory");
	egs_why_format(&why, egs_daemon_conf(d), egs_daemon_now(), sentence.msg,
		       sizeof(sentence.msg));
	describe_dependency(d, &why, &sentence);
	if (is_only_observed(d, &why))
		egs_errf(&sentence, "%s; %s, so nothing is done", sentence.msg,
			 egs_requests_explain_observing(d, why.team).text);
	egs_msg_set_str(answer, "why", sentence.msg);
	set_numbers(d, &why, answer);
	set_estimate(d, j, &why, answer);
	set_idle_gpus(d, j, answer);
	set_fenced(d, &why, answer);
	set_idle_warning(d, j, answer);
	set_avoided(d, j, answer);
	if (set_end(d, j, answer, err) < 0 ||
	    set_run_time(d, j, why.gpus, answer, err) < 0 ||
	    set_job_report(d, j, answer, err) < 0)
		return -1;
	if (d->paused)
		egs_msg_set_str(answer, "paused", d->pause_reason);
	if (d->slurmctld_down)
		egs_msg_set_str(answer, "frozen",
				"slurmctld does not answer; this is the last "
				"known state");
	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	return egs_daemon_check_store(
		d,
		egs_store_log_each(d->store, &j->ident, j->first_submitted,
				   LOG_ENTRIES_MAX, add_log_entry, answer, err),
		err);
}

/* ---- a job that has ended ---- */

struct ended_job {
	struct egs_msg *answer;
	uint32_t uid;
	bool running; /* the history has no end of its last run */
};

static void describe_last_run(void *arg, const struct egs_job_run *run,
			      int64_t gpu_s)
{
	struct ended_job *ended = arg;
	char text[EGS_TIME_TEXT_SIZE];
	struct egs_text line;

	ended->uid = run->uid;
	ended->running = !run->end;
	egs_textf(&line,
		  "job %" PRIu32 ": ended at %s: %s; its last run took %" PRId64
		  " s and used %" PRId64 " GPU-seconds",
		  run->job_id, egs_daemon_format_time(run->end, text),
		  run->end_state, run->end - run->start, gpu_s);
	egs_msg_set_str(ended->answer, "why", line.text);
	egs_msg_set_int(ended->answer, "job", run->job_id);
}

/* Returns 1; 0 if the history does not know the job; -1 with 'err' set. */
static int answer_ended(struct egs_daemon *d, const struct egs_peer *peer,
			const struct egs_msg *request, struct egs_msg *answer,
			struct egs_err *err)
{
	struct ended_job ended = { .answer = answer };
	uint32_t id, task;
	int rc;

	if (!d->store || egs_requests_read_job_id(request, &id, &task, err) < 0)
		return 0;
	rc = egs_history_run_last(d->store, id, task, describe_last_run, &ended,
				  err);
	if (egs_daemon_check_store(d, rc < 0 ? rc : 0, err) < 0)
		return -1;
	if (rc == 0 || ended.running)
		return 0;
	return egs_requests_check_owner(d, peer, id, ended.uid, err) < 0 ? -1
									 : 1;
}

int egs_verb_why(void *arg, const struct egs_peer *peer,
		 const struct egs_msg *request, struct egs_msg *answer,
		 struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j = egs_requests_find_job(d, request, err);
	struct egs_err unknown;
	int rc;

	if (j)
		return egs_requests_check_owner(d, peer, j->ident.job_id,
						j->ident.uid, err) < 0
			       ? -1
			       : answer_why(d, j, answer, err);
	if (egs_requests_check_synced(d, err) < 0)
		return -1;
	unknown = *err;
	rc = answer_ended(d, peer, request, answer, err);
	if (rc == 0)
		*err = unknown;
	return rc > 0 ? 0 : -1;
}
