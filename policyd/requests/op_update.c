/* op_update.c - operators change settings and give a reason
 *
 * A setting is on disk before the client gets its answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/conf/names.h"
#include "policyd/requests/requests.h"

/* Rows have a flag for jobs that are only observed, so publish them again. */
static void publish_changes(struct egs_daemon *d)
{
	egs_daemon_changed(d, EGS_CHANGED_TABLE);
	egs_daemon_publish_jobs(d);
}

static void answer_and_log(struct egs_msg *answer, const struct egs_err *text)
{
	egs_log_info("%s", text->msg);
	egs_msg_set_str(answer, "message", text->msg);
}

int egs_verb_mode(void *arg, const struct egs_peer *peer,
		  const struct egs_msg *request, struct egs_msg *answer,
		  struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const char *mode = egs_msg_get_str(request, "mode"), *reason;
	struct egs_err clean, what;
	enum egs_mode new = EGS_MODE_INHERIT;

	if (mode && strcmp(mode, "enforce") == 0)
		new = EGS_MODE_ENFORCE;
	else if (mode && strcmp(mode, "observe") == 0)
		new = EGS_MODE_OBSERVE;
	else if (!mode || strcmp(mode, "file") != 0)
		return egs_errf(err,
				"unknown mode '%s'; use observe, enforce or "
				"file (the mode of egs.conf)",
				egs_printable(mode).text);
	reason = egs_requests_read_reason(request, &clean, err);
	if (!reason)
		return -1;
	egs_errf(&what, "mode %s", mode);
	if (egs_daemon_save_value(d, "mode", new ? mode : NULL, err) < 0 ||
	    egs_daemon_log_event(d, NULL, what.msg,
				 egs_requests_caller_name(d, peer), reason,
				 err) < 0 ||
	    egs_daemon_commit(d, err) < 0)
		return -1;
	d->mode = new;
	egs_errf(&what, "mode: %s, set by %s: %s", egs_requests_mode_name(d),
		 egs_requests_caller_name(d, peer), reason);
	answer_and_log(answer, &what);
	publish_changes(d);
	return 0;
}

int egs_verb_pause(void *arg, const struct egs_peer *peer,
		   const struct egs_msg *request, struct egs_msg *answer,
		   struct egs_err *err)
{
	struct egs_daemon *d = arg;
	struct egs_err clean, text;
	const char *reason = egs_requests_read_reason(request, &clean, err);

	if (!reason || egs_daemon_save_value(d, "pause", reason, err) < 0 ||
	    egs_daemon_log_event(d, NULL, "pause",
				 egs_requests_caller_name(d, peer), reason,
				 err) < 0 ||
	    egs_daemon_commit(d, err) < 0)
		return -1;
	d->paused = true;
	snprintf(d->pause_reason, sizeof(d->pause_reason), "%s", reason);
	egs_errf(&text, "paused: by %s: %s", egs_requests_caller_name(d, peer),
		 reason);
	answer_and_log(answer, &text);
	publish_changes(d);
	return 0;
}

int egs_verb_unpause(void *arg, const struct egs_peer *peer,
		     const struct egs_msg *request, struct egs_msg *answer,
		     struct egs_err *err)
{
	struct egs_daemon *d = arg;
	struct egs_err text;

	(void)request;
	if (!d->paused)
		return egs_errf(err, "egs-policyd is not paused");
	if (egs_daemon_save_value(d, "pause", NULL, err) < 0 ||
	    egs_daemon_log_event(d, NULL, "unpause",
				 egs_requests_caller_name(d, peer), NULL,
				 err) < 0 ||
	    egs_daemon_commit(d, err) < 0)
		return -1;
	d->paused = false;
	d->pause_reason[0] = '\0';
	egs_errf(&text, "unpaused: by %s", egs_requests_caller_name(d, peer));
	answer_and_log(answer, &text);
	publish_changes(d);
	return 0;
}

/* Settings of a job that an operator may change. */
static const struct setting {
	const char *key;
	int (*set)(struct egs_cluster *w, uint32_t job_id, const char *value,
		   egs_time_t now);
	int (*find)(const struct egs_policy_conf *conf, const char *name);
	bool until_requeue; /* a requeued job has its submitted value */
} settings[] = {
	{ "tier", egs_cluster_set_tier, egs_conf_find_tier, false },
	{ "phase", egs_cluster_set_phase, egs_conf_find_typed_phase, true },
};

/* Allowed keys of an update of a job, and of an update of a node. */
static const char *const job_keys[] = { "verb", "reason", "job",
					"tier", "phase",  NULL };
static const char *const node_keys[] = { "verb", "reason", "node", "fenced",
					 NULL };

struct key_check {
	const char *const *keys;
	const char *what;
	struct egs_err *err;
};

static int check_key(void *arg, const char *key, const char *value)
{
	const struct key_check *s = arg;

	(void)value;
	for (const char *const *k = s->keys; *k; k++)
		if (strcmp(key, *k) == 0)
			return 0;
	return egs_errf(s->err, "unknown %s attribute '%s'; use %s", s->what,
			egs_printable(key).text,
			s->keys == job_keys ? "tier= or phase="
					    : "fenced=yes or fenced=no");
}

/* Refuse unknown keys instead of ignoring them. */
static int check_keys(const struct egs_msg *request, struct egs_err *err)
{
	bool node = egs_msg_get_str(request, "node") != NULL;
	struct key_check s = { node ? node_keys : job_keys,
			       node ? "node" : "job", err };

	return egs_msg_each(request, check_key, &s);
}

static const struct setting *read_setting(const struct egs_daemon *d,
					  const struct egs_msg *request,
					  const char **value,
					  struct egs_err *err)
{
	const struct setting *s = &settings[0];

	if (egs_msg_get_str(request, "tier") &&
	    egs_msg_get_str(request, "phase")) {
		egs_errf(err, "use either tier= or phase=, not both");
		return NULL;
	}
	if (!egs_msg_get_str(request, s->key))
		s++;
	*value = egs_msg_get_str(request, s->key);
	if (!*value) {
		egs_errf(err, "nothing to change; use tier= or phase=");
		return NULL;
	}
	if (**value && s->find(egs_daemon_conf(d), *value) < 0) {
		egs_errf(err, "%s=%s: egs.conf has no such %s", s->key,
			 egs_printable(*value).text, s->key);
		return NULL;
	}
	return s;
}

/* Returns the present value, to restore if the disk fails. */
static const char *current_value(const struct egs_daemon *d, uint32_t job_id,
				 const struct setting *s)
{
	struct egs_job_info known = { .tier_override = "",
				      .phase_override = "" };

	egs_cluster_lookup(d->cluster, job_id, &known);
	return s == &settings[0] ? known.tier_override : known.phase_override;
}

/* A lead changes a job only to a tier that its owner could have chosen.  Groups
 * of the owner are not known here, so a tier with AllowGroups= is not.
 */
static int check_open_tier(const struct egs_daemon *d, uid_t uid,
			   const struct egs_job *j, const struct setting *s,
			   const char *value, struct egs_err *err)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_standing_input who = { .tier = value };
	struct egs_job_info known;

	if (s != &settings[0] || !*value || egs_daemon_operator_name(d, uid))
		return 0;
	if (egs_cluster_lookup(d->cluster, j->ident.job_id, &known) == 0) {
		who.account = known.account;
		who.user = known.user;
		who.partitions = known.partition;
		if (egs_standing_get(c, &who).tier ==
		    egs_conf_find_tier(c, value))
			return 0;
	}
	return egs_errf(err,
			"job %" PRIu32 ": tier %s is not open to its owner; "
			"ask an operator",
			j->ident.job_id, egs_printable(value).text);
}

static int refuse_node(struct egs_err *err)
{
	return egs_errf(err, "'update node=' is for operators");
}

int egs_verb_update(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j;
	const struct setting *s;
	const char *value, *reason, *before, *who;
	struct egs_err clean, what;
	struct egs_identity job;

	if (check_keys(request, err) < 0)
		return -1;
	if (egs_msg_get_str(request, "node"))
		return egs_daemon_operator_name(d, peer->uid)
			       ? egs_requests_fence_node(d, peer, request,
							 answer, err)
			       : refuse_node(err);
	j = egs_requests_find_job(d, request, err);
	if (!j || !(who = egs_requests_require_lead(d, peer->uid, j, err)) ||
	    !(s = read_setting(d, request, &value, err)) ||
	    check_open_tier(d, peer->uid, j, s, value, err) < 0 ||
	    !(reason = egs_requests_read_reason(request, &clean, err)))
		return -1;
	job = j->ident;
	before = current_value(d, job.job_id, s);
	egs_errf(&what, "%s=%s", s->key, value);
	if (s->set(d->cluster, job.job_id, value, egs_daemon_now()) < 0)
		return egs_errf(err, "out of memory");
	if (egs_daemon_log_event(d, &job, what.msg, who, reason, err) < 0 ||
	    egs_daemon_commit(d, err) < 0) {
		s->set(d->cluster, job.job_id, before, egs_daemon_now());
		return -1;
	}
	egs_errf(&what, "job %" PRIu32 ": %s=%s, set by %s: %s%s", job.job_id,
		 s->key, value, who, reason,
		 s->until_requeue ? " (until it is requeued, unless it has "
				    "restart=phase)"
				  : "");
	answer_and_log(answer, &what);
	egs_daemon_changed(d, EGS_CHANGED_CLUSTER);
	egs_daemon_poll_in(d, 0);
	egs_daemon_update(d);
	return 0;
}
