/* why.c - explain the state of a job to its owner */
#include <inttypes.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/requests.h"
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

/* Set the expected start: Slurm's estimate, else the earliest time by the rules
 * of EGS.
 */
static void set_estimate(const struct egs_daemon *d, const struct egs_job *j,
			 const struct egs_why *why, struct egs_msg *answer)
{
	egs_time_t now = egs_daemon_now();
	struct egs_job_info known = { .expected_start = 0 };
	char when[EGS_TIME_TEXT_SIZE];
	struct egs_err text;

	if (j->running)
		return;
	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	if (known.expected_start > now)
		egs_errf(&text, "%s by Slurm's estimate",
			 egs_daemon_format_time(known.expected_start, when));
	else if (why->until > now)
		egs_errf(&text, "in %" PRId64 " s at the earliest",
			 (int64_t)(why->until - now));
	else
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
	egs_msg_set_str(answer, "why", sentence.msg);
	set_numbers(d, &why, answer);
	set_estimate(d, j, &why, answer);
	if (set_job_report(d, j, answer, err) < 0)
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

int egs_verb_why(void *arg, const struct egs_peer *peer,
		 const struct egs_msg *request, struct egs_msg *answer,
		 struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j = egs_requests_find_job(d, request, err);

	if (!j)
		return -1;
	if (j->ident.uid != peer->uid &&
	    !egs_daemon_operator_name(d, peer->uid))
		return egs_errf(err, "job %" PRIu32 " is not yours",
				j->ident.job_id);
	return answer_why(d, j, answer, err);
}
