/* job_phase.c - a job enters another phase, and may change its GPUs */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/conf/names.h"
#include "policyd/requests/job_message.h"
#include "policyd/requests/resize.h"
#include "policyd/requests/resize_refusal.h"
#include "policyd/requests/resize_unlock.h"

/* A job that does not wait sends no second message.  FOREVER_S keeps its resize
 * open until the job ends.
 */
enum { GPUS_MAX = 100000, FOREVER_S = 366 * 86400 };

/* Returns the value of the key "wait"; -1: missing, the job does not wait. */
static int64_t wait_seconds(const struct egs_job_message *s)
{
	int64_t wait_s;

	if (!egs_msg_get_int(s->request, "wait", &wait_s) || wait_s < 0)
		return -1;
	return wait_s;
}

static const char *phase_name(const struct egs_daemon *d, int phase)
{
	return phase < 0 ? "" : egs_daemon_conf(d)->phase[phase].name;
}

/* Returns the row of the phase, whose spelling may differ; -1 with 'err' set.
 */
static int read_phase(const struct egs_daemon *d, const char *typed,
		      struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	const char *names[EGS_PHASES_MAX];
	struct egs_err why;
	int i, phase = egs_conf_find_typed_phase(c, typed);

	if (phase >= 0)
		return phase;
	for (i = 0; i < c->nphases; i++)
		names[i] = c->phase[i].name;
	egs_err_unknown_name(typed, "phase", names, (size_t)c->nphases, &why);
	return egs_errf(err, "'%s' %s", egs_printable(typed).text, why.msg);
}

/* The same rule as for sbatch --phase=. */
static int check_partition(const struct egs_job_message *s, struct egs_err *err)
{
	const struct egs_phase *phase = &egs_daemon_conf(s->d)->phase[s->phase];
	struct egs_job_info known;

	if (!phase->partitions || s->job->facts.tier < 0 ||
	    !egs_daemon_is_enforcing(s->d, s->job->facts.team) ||
	    egs_cluster_lookup(s->d->cluster, s->job->ident.job_id, &known) <
		    0 ||
	    egs_conf_list_has(phase->partitions, known.partition))
		return 0;
	return egs_errf(err,
			"phase %s refused in partition %s: this phase is for "
			"%s",
			phase->name, egs_printable(known.partition).text,
			phase->partitions);
}

static void answer_phase(struct egs_job_message *s, int phase)
{
	egs_msg_set_str(s->answer, "phase", phase_name(s->d, phase));
	egs_msg_set_int(s->answer, "gpus", s->job->gpus);
	if (phase >= 0)
		egs_msg_set_str(s->answer, "export:EGS_PHASE",
				phase_name(s->d, phase));
}

static int set_phase(struct egs_job_message *s)
{
	return egs_cluster_set_phase(s->d->cluster, s->job->ident.job_id,
				     phase_name(s->d, s->phase),
				     egs_daemon_now());
}

static void undo_phase(struct egs_job_message *s)
{
	egs_cluster_set_phase(s->d->cluster, s->job->ident.job_id,
			      phase_name(s->d, s->phase_before),
			      egs_daemon_now());
}

/* ---- GPUs ---- */

/* 'lines' has "NAME=VALUE\n" for each variable.  A line with '?' in front is
 * for a variable that the job sets only if it is already set.
 */
static void answer_variables(struct egs_job_message *s, char *lines)
{
	char *line, *value;
	char key[64];

	while (lines && (line = strsep(&lines, "\n"))) {
		bool known_only = *line == '?';

		value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = '\0';
		snprintf(key, sizeof(key), "%s:%s",
			 known_only ? "reexport" : "export", line + known_only);
		egs_msg_set_str(s->answer, key, value);
	}
}

static int read_gpus(const struct egs_job_message *s, uint32_t *gpus,
		     struct egs_err *err)
{
	int64_t asked_gpus;

	*gpus = egs_cluster_gpus_for_phase(s->d->cluster, s->job, s->phase);
	if (!egs_msg_get_int(s->request, "gpus", &asked_gpus))
		return 0;
	if (asked_gpus < 1 || asked_gpus > GPUS_MAX)
		return egs_errf(err,
				"gpus=%" PRId64 ": use a number from 1 to %d",
				asked_gpus, GPUS_MAX);
	*gpus = (uint32_t)asked_gpus;
	return 0;
}

/* A job that grows is judged by MaxGpus as at its submission.  Slurm takes an
 * update by egs-policyd unchecked.
 */
static int check_max_gpus(const struct egs_job_message *s, uint32_t gpus,
			  struct egs_err *err)
{
	const struct egs_job *j = s->job;
	const struct egs_team *team;

	if (j->facts.team < 0 || j->facts.tier < 0 || gpus <= j->gpus)
		return 0;
	team = &egs_daemon_conf(s->d)->team[j->facts.team];
	if (gpus <= team->max_gpus[j->type])
		return 0;
	return egs_errf(err,
			"job %" PRIu32 ": %" PRIu32 " GPUs refused: team %s "
			"may use at most %" PRIu32,
			j->ident.job_id, gpus, team->name,
			team->max_gpus[j->type]);
}

/* Only jobs with a stamp can be resized, because job_submit/egs does that. */
static int check_live_resize(const struct egs_job_message *s, uint32_t gpus,
			     struct egs_err *err)
{
	struct egs_text observing =
		egs_requests_explain_observing(s->d, s->job->facts.team);
	const char *why = !egs_daemon_conf(s->d)->live_resize ? "LiveResize=no"
			  : !s->job->ident.nonce ? "the job has no stamp of EGS"
			  : s->job->facts.tier < 0 ? "the job is not managed"
			  : !egs_daemon_is_acting(s->d, s->job->facts.team)
				  ? observing.text
				  : NULL;

	if (!why)
		return 0;
	return egs_errf(err,
			"job %" PRIu32 ": cannot change from %" PRIu32
			" to %" PRIu32 " GPUs while it runs: %s",
			s->job->ident.job_id, s->job->gpus, gpus, why);
}

/* ---- resize by a requeue ---- */

/* Returns 0 if the job may be requeued with another number of GPUs; else -1
 * with the reason appended to 'why'.
 */
static int check_requeue(const struct egs_job_message *s, uint32_t gpus,
			 struct egs_err *why)
{
	const struct egs_job *j = s->job;
	struct egs_text observing =
		egs_requests_explain_observing(s->d, j->facts.team);
	const char *problem =
		j->facts.tier < 0	? "the job is not managed"
		: !j->facts.can_requeue ? "the job cannot be requeued"
		: !j->facts.ckpt	? "the job has declared no checkpoint"
		: !egs_daemon_is_acting(s->d, j->facts.team) ? observing.text
		: j->saved_at < j->started
			? "the job has not reported 'egs saved' in this run"
			: NULL;

	if (!problem)
		return 0;
	return egs_errf(why,
			"%s; not requeued with %" PRIu32 " GPUs either: %s",
			why->msg, gpus, problem);
}

/* The job continues from its last checkpoint, with another number of GPUs. */
static int requeue_resized(struct egs_job_message *s)
{
	struct egs_daemon *d = s->d;
	struct egs_event ev = { .kind = EGS_EV_PREEMPTING,
				.job = s->job->ident,
				.notify_job = true };

	if ((s->phase >= 0 && set_phase(s) < 0) ||
	    egs_policy_apply(d->policy, &ev, egs_daemon_now()) < 0)
		return -1;
	egs_resize_set_next_run(d, &s->job->ident, s->next_gpus);
	ev.kind = EGS_EV_YIELDED;
	ev.request_no = s->job->request_no;
	return egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

/* Requeue a job that cannot be resized while it runs, if it has a checkpoint of
 * this run.  Returns 0: the job waits for the requeue.  Returns -1: 'err' has
 * both reasons.
 */
static int plan_requeue(struct egs_job_message *s, uint32_t gpus,
			struct egs_err *err)
{
	if (check_requeue(s, gpus, err) < 0)
		return -1;
	egs_errf(err,
		 "%s; the job is requeued and continues from its checkpoint "
		 "with %" PRIu32 " GPUs",
		 err->msg, gpus);
	egs_msg_set_str(s->answer, "phase",
			phase_name(s->d, s->job->facts.phase));
	egs_msg_set_bool(s->answer, "waits", true);
	egs_msg_set_str(s->answer, "message", err->msg);
	s->next_gpus = gpus;
	s->effect = requeue_resized;
	s->is_query = false;
	egs_errf(&s->log_text, "requeue with %" PRIu32 " GPUs", gpus);
	return 0;
}

/* ---- resize by giving back whole nodes ---- */

/* Returns whether 'gpus' is a smaller number of nodes with the same GPUs on
 * each.  Slurm allows any job to give back nodes.  In observe mode the daemon
 * changes nothing.
 */
static bool can_release_nodes(const struct egs_job_message *s, uint32_t gpus)
{
	const struct egs_job *j = s->job;
	uint32_t each = j->nallocs ? j->alloc[0].gpus : 0;

	for (uint32_t i = 0; i < j->nallocs; i++)
		if (j->alloc[i].gpus != each)
			return false;
	return j->nallocs > 1 && each && gpus && gpus < j->gpus &&
	       gpus % each == 0 && egs_daemon_is_acting(s->d, j->facts.team);
}

/* 'err' has the reason why the job cannot give back single GPUs.  Returns 0 if
 * the job gives back whole nodes, else the result of plan_requeue().
 */
static int try_release_nodes(struct egs_job_message *s,
			     const struct egs_resize_params *params,
			     struct egs_err *err)
{
	struct egs_resize_params nodes = *params;
	struct egs_resize *r;
	struct egs_err why;

	nodes.way = EGS_RESIZE_NODES;
	if (params->way == EGS_RESIZE_NODES ||
	    !can_release_nodes(s, params->gpus))
		return plan_requeue(s, params->gpus, err);
	if (egs_resize_begin(s->d, &nodes, &why) < 0)
		return egs_errf(err, "%s", why.msg);
	r = egs_resize_find(s->d, params->job_id);
	r->live_refusal = *err;
	s->is_query = true;
	egs_errf(err, "%s; the job gives back whole nodes", err->msg);
	egs_msg_set_str(s->answer, "phase",
			phase_name(s->d, s->job->facts.phase));
	egs_msg_set_bool(s->answer, "waits", true);
	egs_msg_set_str(s->answer, "message", err->msg);
	return 0;
}

/* ---- resize while the job runs ---- */

/* The job must wait.  The server may hold the answer, unless it is the first
 * answer or has a new message.  With wait=0 the job stops waiting, so cancel
 * the resize.
 */
static void answer_waits(struct egs_job_message *s, struct egs_resize *r)
{
	int64_t wait_s = wait_seconds(s);

	s->is_query = true;
	egs_msg_set_str(s->answer, "phase",
			phase_name(s->d, s->job->facts.phase));
	egs_msg_set_bool(s->answer, "waits", true);
	if (wait_s == 0) {
		egs_resize_cancel(s->d, r);
		return;
	}
	s->may_hold = wait_s > 0 && r->announced;
	r->announced = true;
	if (!r->text || r->text_sent || r->state != EGS_RESIZE_WAITING)
		return;
	egs_msg_set_str(s->answer, "message", r->text);
	r->text_sent = true;
	s->may_hold = false;
}

static int handle_refusal(struct egs_job_message *s, struct egs_resize *r,
			  struct egs_err *err)
{
	struct egs_resize_params params = r->request;
	bool not_live = r->state == EGS_RESIZE_NOT_LIVE;

	*err = egs_resize_refusal_format(r);
	egs_resize_forget(r);
	if (params.way == EGS_RESIZE_NODES || not_live)
		return try_release_nodes(s, &params, err);
	return -1;
}

/* Is the resize one that the job does not ask for, or of an earlier run? */
static bool is_obsolete(const struct egs_resize *r,
			const struct egs_identity *job, uint32_t gpus)
{
	return !r->worker_busy &&
	       (r->request.gpus != gpus || r->restarts != job->restarts);
}

int egs_job_message_resize(struct egs_job_message *s, uint32_t gpus,
			   struct egs_err *err)
{
	const struct egs_identity *job = &s->job->ident;
	int64_t keep;
	struct egs_resize *r = egs_resize_find(s->d, job->job_id);
	const struct egs_resize_params params = {
		.job_id = job->job_id,
		.uid = job->uid,
		.gpus = gpus,
		.keep_cores = egs_msg_get_int(s->request, "keep-cores", &keep),
	};

	if (r && is_obsolete(r, job, gpus)) {
		egs_resize_forget(r);
		r = NULL;
	}
	if (!r && s->job->gpus == gpus)
		return 1;
	if (!r && check_max_gpus(s, gpus, err) < 0)
		return -1;
	if (!r && check_live_resize(s, gpus, err) < 0)
		return try_release_nodes(s, &params, err);
	if (!r && egs_resize_begin(s->d, &params, err) < 0)
		return -1;
	r = egs_resize_find(s->d, job->job_id);
	r->received_at =
		egs_daemon_now() + (wait_seconds(s) < 0 ? FOREVER_S : 0);
	if (egs_resize_is_refused(r) &&
	    !egs_resize_unlock_is_due(s->d, job->job_id))
		return handle_refusal(s, r, err);
	if (r->state != EGS_RESIZE_DONE || s->job->gpus != gpus ||
	    egs_resize_unlock_is_due(s->d, job->job_id)) {
		answer_waits(s, r);
		return 0;
	}
	answer_variables(s, r->text);
	egs_resize_forget(r);
	return 1;
}

/* While a resize is not done, the job sends the same message again. */
static int limit_changes(const struct egs_job_message *s, struct egs_err *err)
{
	if (s->phase == s->job->facts.phase ||
	    egs_resize_find(s->d, s->job->ident.job_id))
		return 0;
	return egs_job_message_take(s, EGS_RATE_PHASE, err);
}

int egs_job_message_phase(struct egs_job_message *s, struct egs_err *err)
{
	const char *typed = egs_msg_get_str(s->request, "phase");
	struct egs_job_info known = { .phase_override = "" };
	uint32_t gpus;
	int rc;

	if (!typed) {
		s->is_query = true;
		answer_phase(s, s->job->facts.phase);
		return 0;
	}

	s->phase = read_phase(s->d, typed, err);
	if (s->phase < 0 || check_partition(s, err) < 0 ||
	    read_gpus(s, &gpus, err) < 0)
		return -1;
	rc = limit_changes(s, err);
	if (rc < 0)
		return rc;
	rc = egs_job_message_resize(s, gpus, err);
	if (rc < 0 || s->effect || (rc == 0 && wait_seconds(s) >= 0))
		return rc;
	s->is_query = false;
	egs_cluster_lookup(s->d->cluster, s->job->ident.job_id, &known);
	s->phase_before = egs_conf_find_phase(egs_daemon_conf(s->d),
					      known.phase_override);
	if (s->phase != s->job->facts.phase)
		egs_errf(&s->log_text, "phase %s", phase_name(s->d, s->phase));
	s->effect = set_phase;
	s->undo = undo_phase;
	s->poll_job = true;
	answer_phase(s, s->phase);
	return 0;
}
