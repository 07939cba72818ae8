/* op_abort.c - the verbs abort, hold and release
 *
 * The wish is saved with each job, beside a line of the log, before the user
 * gets the answer.  The policy then fulfils it (policyd/policy/wish.c).
 */
#include <inttypes.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "policyd/requests/abort_targets.h"
#include "policyd/server/rate_limit.h"

struct abort_request {
	struct egs_abort_targets targets;
	const char *verb;
	const char *reason;
	bool dry_run;
	bool cancel_dependents;
};

/* ---- the request ---- */

static const struct verb_wish {
	const char *verb;
	uint32_t wish;
} verb_wishes[] = {
	{ "abort", EGS_WISH_CANCEL },
	{ "hold", EGS_WISH_HOLD },
	{ "release", EGS_WISH_RELEASE },
};

/* The options of abort; the first value is the default. */
static const struct abort_option {
	const char *key, *value[2];
} abort_options[] = {
	{ "checkpoint", { "try", "skip" } },
	{ "requeue", { "no", "hold" } },
	{ "dependents", { "cancel", "keep" } },
};

static const char *const other_keys[] = { "verb",     "reason",	 "job",
					  "workload", "dry_run", "as_of" };

static const struct abort_option *find_option(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(abort_options); i++)
		if (strcmp(key, abort_options[i].key) == 0)
			return &abort_options[i];
	return NULL;
}

struct abort_key_check {
	bool abort;
	const char *verb;
	struct egs_err *err;
};

static int check_key(void *arg, const char *key, const char *value)
{
	const struct abort_key_check *c = arg;
	const struct abort_option *o = find_option(key);

	for (size_t i = 0; i < ARRAY_SIZE(other_keys); i++)
		if (strcmp(key, other_keys[i]) == 0)
			return 0;
	if (!o || !c->abort)
		return egs_errf(c->err, "%s has no option '%s'", c->verb,
				egs_printable(key).text);
	if (value && (strcmp(value, o->value[0]) == 0 ||
		      strcmp(value, o->value[1]) == 0))
		return 0;
	return egs_errf(c->err, "%s='%s' is unknown; use %s or %s", key,
			egs_printable(value).text, o->value[0], o->value[1]);
}

/* Is the second value of the option given? */
static bool has_second(const struct egs_msg *request, const char *key)
{
	const char *value = egs_msg_get_str(request, key);

	return value && strcmp(value, find_option(key)->value[1]) == 0;
}

/* Jobs that wait for a job that is only held can still start. */
static void read_options(const struct egs_msg *request, struct abort_request *r)
{
	const char *dependents = egs_msg_get_str(request, "dependents");

	if (has_second(request, "requeue"))
		r->targets.wish = EGS_WISH_REQUEUE;
	r->cancel_dependents = dependents ? !has_second(request, "dependents")
					  : r->targets.wish == EGS_WISH_CANCEL;
	if (has_second(request, "checkpoint"))
		r->targets.wish |= EGS_WISH_SKIP;
}

static int read_request(const struct egs_msg *request, struct abort_request *r,
			struct egs_err *clean, struct egs_err *err)
{
	struct abort_key_check keys = { .err = err };

	r->verb = egs_msg_get_str(request, "verb");
	for (size_t i = 0; i < ARRAY_SIZE(verb_wishes); i++)
		if (strcmp(r->verb, verb_wishes[i].verb) == 0)
			r->targets.wish = verb_wishes[i].wish;
	keys.verb = r->verb;
	keys.abort = r->targets.wish == EGS_WISH_CANCEL;
	if (egs_msg_each(request, check_key, &keys) < 0)
		return -1;
	if (keys.abort)
		read_options(request, r);
	r->dry_run = egs_msg_is_true(request, "dry_run");
	egs_msg_get_int(request, "as_of", &r->targets.as_of);
	r->reason =
		r->dry_run ? "" : egs_requests_read_reason(request, clean, err);
	return r->reason ? 0 : -1;
}

static int choose_targets(struct abort_request *r,
			  const struct egs_msg *request, struct egs_err *err)
{
	if (egs_abort_choose(&r->targets, request, err) < 0)
		return -1;
	return r->cancel_dependents ? egs_abort_add_dependents(&r->targets, err)
				    : 0;
}

/* ---- the answer ---- */

static uint32_t find_wish(const struct abort_request *r,
			  const struct egs_abort_target *target)
{
	if (target->depends_on)
		return EGS_WISH_CANCEL;
	return r->targets.wish |
	       (egs_daemon_operator_name(r->targets.d, r->targets.uid)
			? EGS_WISH_BY_ADMIN
			: 0);
}

static bool is_asked(const struct egs_job *j, uint32_t wish)
{
	return j->running && j->facts.tier >= 0 && !j->facts.no_save &&
	       !j->facts.suspended && !(wish & EGS_WISH_SKIP);
}

static const char *describe_end(const struct egs_job *j, uint32_t wish)
{
	switch (wish & EGS_WISH_MASK) {
	case EGS_WISH_CANCEL:
		return "cancelled";
	case EGS_WISH_REQUEUE:
		return j->running ? "requeued and held" : "held";
	case EGS_WISH_HOLD:
		return "held";
	default:
		return "released";
	}
}

/* "asked to checkpoint within 300 s, then cancelled" */
static struct egs_text describe_target(const struct abort_request *r,
				       const struct egs_abort_target *target,
				       const struct egs_job *j)
{
	uint32_t wish = find_wish(r, target);
	struct egs_text text = { "" };

	if (is_asked(j, wish))
		egs_textf(&text,
			  "asked to checkpoint within %" PRIu32 " s, then ",
			  egs_policy_grace(r->targets.d->policy,
					   j->ident.job_id));
	egs_text_append(&text, "%s", describe_end(j, wish));
	if (target->depends_on)
		egs_text_append(&text, ": it depends on job %" PRIu32,
				target->depends_on);
	return text;
}

static void add_row(const struct abort_request *r,
		    const struct egs_abort_target *target,
		    struct egs_msg *answer)
{
	const struct egs_daemon *d = r->targets.d;
	const struct egs_job *j = egs_policy_job(d->policy, target->job_id);
	struct egs_job_info known = { .user = "?" };
	char text[EGS_JOB_TEXT_SIZE];

	if (!j)
		return;
	egs_cluster_lookup(d->cluster, target->job_id, &known);
	egs_daemon_format_job_id(d, &j->ident, text);
	egs_msg_add_row(answer);
	egs_msg_add_cell(answer, text);
	egs_msg_add_cell(answer, known.user);
	egs_msg_add_cell(
		answer, j->facts.team < 0
				? "-"
				: egs_daemon_conf(d)->team[j->facts.team].name);
	egs_msg_add_cell(answer, j->running ? "running" : "pending");
	egs_msg_add_cell_int(answer, j->running ? j->gpus
						: j->facts.need.nodes *
							  j->facts.need.gpus);
	egs_msg_add_cell(answer, describe_target(r, target, j).text);
}

static void fill_answer(const struct abort_request *r, struct egs_msg *answer)
{
	static const char *const columns[] = { "JOBID", "USER", "TEAM",
					       "STATE", "GPUS", "DOES" };

	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < r->targets.n; i++)
		add_row(r, &r->targets.list[i], answer);
	egs_msg_set_int(answer, "as_of", egs_daemon_now());
}

/* ---- the wishes ---- */

/* The owner can do all of it with scancel and scontrol, as on stock Slurm. */
static int check_acting(const struct abort_request *r, struct egs_err *err)
{
	const struct egs_daemon *d = r->targets.d;

	if (d->slurmctld_down)
		return egs_errf(err, "slurmctld does not answer; try again "
				     "later");
	if (d->paused)
		return egs_errf(err,
				"EGS is paused (%s); use scancel or scontrol, "
				"or run 'egsctl unpause' first",
				d->pause_reason);
	for (size_t i = 0; i < r->targets.n; i++) {
		const struct egs_job *j =
			egs_policy_job(d->policy, r->targets.list[i].job_id);

		if (j && !egs_daemon_is_acting(d, j->facts.team))
			return egs_errf(
				err,
				"job %" PRIu32 ": %s; use scancel or "
				"scontrol",
				j->ident.job_id,
				egs_requests_explain_observing(d, j->facts.team)
					.text);
	}
	return 0;
}

static int apply_wish(struct egs_daemon *d, const struct egs_job *j,
		      uint32_t wish, const char *who, const char *reason)
{
	struct egs_event ev = { .kind = EGS_EV_WISH,
				.job = j->ident,
				.wish = wish,
				.reason = reason,
				.operator_name = who };

	return egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

/* A wish that a job has already is not recorded again. */
static int save_wish(struct abort_request *r, struct egs_abort_target *target,
		     struct egs_err *err)
{
	struct egs_daemon *d = r->targets.d;
	const struct egs_job *j = egs_policy_job(d->policy, target->job_id);
	uint32_t wish = find_wish(r, target);
	const char *who = j ? egs_abort_allowed_as(d, r->targets.uid, j) : NULL;
	struct egs_identity job;

	if (!who || j->wish == wish)
		return 0;
	job = j->ident;
	target->wish_before = j->wish;
	if (apply_wish(d, j, wish, who, r->reason) < 0)
		return egs_errf(err, "out of memory");
	target->changed = true;
	egs_log_info("job %" PRIu32 ": %s by %s: %s", job.job_id, r->verb, who,
		     r->reason);
	return egs_daemon_log_event(d, &job, r->verb, who, r->reason, err);
}

static void undo_wishes(struct abort_request *r)
{
	struct egs_daemon *d = r->targets.d;

	for (size_t i = 0; i < r->targets.n; i++) {
		const struct egs_abort_target *target = &r->targets.list[i];
		const struct egs_job *j =
			egs_policy_job(d->policy, target->job_id);

		if (j && target->changed)
			apply_wish(d, j, target->wish_before, NULL, NULL);
	}
}

static int save_wishes(struct abort_request *r, struct egs_err *err)
{
	struct egs_daemon *d = r->targets.d;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->targets.n; i++)
		rc = save_wish(r, &r->targets.list[i], err);
	if (rc == 0)
		rc = egs_daemon_commit(d, err);
	if (rc < 0) {
		undo_wishes(r);
		return -1;
	}
	egs_daemon_changed(d, EGS_CHANGED_JOBS);
	egs_daemon_update(d);
	egs_daemon_poll_in(d, 0);
	return 0;
}

static int take_token(const struct egs_daemon *d, uid_t uid,
		      struct egs_err *err)
{
	if (egs_daemon_operator_name(d, uid) ||
	    egs_rate_limit_take(d->requests->rate_limit, uid, EGS_RATE_MESSAGE,
				1, egs_daemon_now()))
		return 0;
	return egs_errf(err, "too many requests; try again in a minute");
}

int egs_verb_abort(void *arg, const struct egs_peer *peer,
		   const struct egs_msg *request, struct egs_msg *answer,
		   struct egs_err *err)
{
	struct egs_daemon *d = arg;
	struct abort_request r = { .targets = { .d = d, .uid = peer->uid } };
	struct egs_err clean;
	int rc = -1;

	if (take_token(d, peer->uid, err) == 0 &&
	    read_request(request, &r, &clean, err) == 0 &&
	    choose_targets(&r, request, err) == 0 &&
	    (r.dry_run || check_acting(&r, err) == 0)) {
		fill_answer(&r, answer);
		rc = r.dry_run ? 0 : save_wishes(&r, err);
	}
	egs_abort_free_targets(&r.targets);
	return rc;
}
