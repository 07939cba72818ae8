/* requests.c - the table of verbs, and functions that verbs share */
#include <ctype.h>
#include <egs_config.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "common/ipc/cred.h"
#include "policyd/requests/job_message.h"
#include "policyd/requests/requests.h"

const char *egs_requests_mode_name(const struct egs_daemon *d)
{
	return egs_daemon_mode(d) == EGS_MODE_ENFORCE ? "enforce" : "observe";
}

struct egs_text egs_requests_explain_observing(const struct egs_daemon *d,
					       int team)
{
	struct egs_text text;

	if (team >= 0 && egs_daemon_mode(d) == EGS_MODE_ENFORCE && !d->paused)
		egs_textf(&text, "EGS only observes team %s",
			  egs_daemon_conf(d)->team[team].name);
	else
		egs_textf(&text, "EGS only observes");
	return text;
}

static const char *slurmctld_state(const struct egs_daemon *d)
{
	return d->slurmctld_down ? "no answer"
	       : d->synced	 ? "up"
				 : "not asked yet";
}

static void set_ping_message(const struct egs_daemon *d, struct egs_msg *answer)
{
	struct egs_text text;

	egs_textf(&text,
		  "egs-policyd " PACKAGE_VERSION " is up: mode %s%s%s%s, "
		  "slurmctld %s, disk %s, %" PRIu32 " jobs",
		  egs_requests_mode_name(d), d->paused ? ", paused (" : "",
		  d->pause_reason, d->paused ? ")" : "", slurmctld_state(d),
		  d->store_failed ? "fails" : "ok",
		  egs_policy_njobs(d->policy));
	if (d->polled_at)
		egs_text_append(&text,
				", last poll of slurmctld %" PRId64 " s ago",
				egs_daemon_now() - d->polled_at);
	egs_msg_set_str(answer, "message", text.text);
}

static void set_notify_counts(const struct egs_daemon *d,
			      struct egs_msg *answer)
{
	const struct egs_notify *n = &d->notify;

	if (!egs_daemon_conf(d)->notify)
		return;
	egs_msg_set_int(answer, "notified", (int64_t)n->sent);
	egs_msg_set_int(answer, "notify_failed", (int64_t)n->failed);
	egs_msg_set_int(answer, "notify_dropped", (int64_t)n->all_dropped);
}

int egs_verb_ping(void *arg, const struct egs_peer *peer,
		  const struct egs_msg *request, struct egs_msg *answer,
		  struct egs_err *err)
{
	const struct egs_daemon *d = arg;

	(void)peer;
	(void)request;
	(void)err;
	set_ping_message(d, answer);
	egs_msg_set_str(answer, "version", PACKAGE_VERSION);
	egs_msg_set_int(answer, "epoch", (int64_t)egs_store_epoch(d->store));
	egs_msg_set_str(answer, "mode", egs_requests_mode_name(d));
	egs_msg_set_bool(answer, "paused", d->paused);
	if (d->paused)
		egs_msg_set_str(answer, "reason", d->pause_reason);
	egs_msg_set_int(answer, "jobs", egs_policy_njobs(d->policy));
	egs_msg_set_str(answer, "slurmctld", slurmctld_state(d));
	if (d->polled_at)
		egs_msg_set_int(answer, "poll_age_s",
				egs_daemon_now() - d->polled_at);
	egs_msg_set_str(answer, "store", d->store_failed ? "fails" : "up");
	egs_msg_set_int(answer, "published", (int64_t)d->publish_count);
	egs_msg_set_int(answer, "rows", (int64_t)d->nrows);
	egs_msg_set_int(answer, "under_way", d->intents.pending);
	egs_msg_set_int(answer, "port",
			egs_server_get_port(d->requests->server));
	egs_msg_set_int(answer, "uptime_s", egs_daemon_now() - d->started_at);
	egs_msg_set_str(answer, "quotas",
			*d->quota_warning.msg ? "exceeded" : "fit");
	set_notify_counts(d, answer);
	return 0;
}

/* ---- reconfigure: the answer waits until the file is judged ---- */

/* Other keys are small, or have the highest bit. */
#define RELOAD_KEY (UINT64_C(1) << 62)

enum { RELOAD_MS = 9000 };

static void set_warnings(const struct egs_judgement *j, struct egs_msg *answer)
{
	struct egs_text text;
	char key[32];

	for (size_t i = 0; i < j->warnings.stored; i++) {
		snprintf(key, sizeof(key), "warning_%zu", i + 1);
		egs_msg_set_str(answer, key, j->warnings.list[i].err.msg);
	}
	if (!*j->not_asked.text)
		return;
	egs_textf(&text, "%s: Slurm has not told them", j->not_asked.text);
	egs_msg_set_str(answer, "not_checked", text.text);
}

static int answer_reconfigure(const struct egs_daemon *d,
			      struct egs_msg *answer, struct egs_err *err)
{
	if (*d->reload.refusal.msg)
		return egs_errf(err, "%s", d->reload.refusal.msg);
	egs_msg_set_str(answer, "message", "egs.conf is in force");
	set_warnings(d->reload.judgement, answer);
	return 0;
}

static int handle_reconfigure(void *arg, const struct egs_peer *peer,
			      const struct egs_msg *request,
			      struct egs_msg *answer, struct egs_err *err)
{
	struct egs_daemon *d = arg;

	(void)peer;
	(void)request;
	if (d->requests->reloaded)
		return answer_reconfigure(d, answer, err);
	if (egs_server_is_timed_out(d->requests->server))
		return egs_errf(err, "egs.conf is still being checked");
	if (egs_daemon_begin_reload(d, err) < 0)
		return -1;
	egs_server_defer(d->requests->server, RELOAD_KEY, RELOAD_MS);
	return EGS_REPLY_DEFERRED;
}

static void answer_reloads(struct egs_daemon *d)
{
	d->requests->reloaded = true;
	egs_server_wake(d->requests->server, RELOAD_KEY);
	d->requests->reloaded = false;
}

static const struct egs_verb verbs[] = {
	{ "ping", EGS_ROLE_VIEWER, egs_verb_ping },
	{ "show", EGS_ROLE_VIEWER, egs_verb_show },
	{ "why", EGS_ROLE_VIEWER, egs_verb_why },
	{ "resume", EGS_ROLE_ANYONE, egs_verb_resume },
	{ "phase", EGS_ROLE_ANYONE, egs_verb_job_message },
	{ "saved", EGS_ROLE_ANYONE, egs_verb_job_message },
	{ "yield", EGS_ROLE_ANYONE, egs_verb_job_message },
	{ "finished", EGS_ROLE_ANYONE, egs_verb_job_message },
	{ "progress", EGS_ROLE_ANYONE, egs_verb_job_message },
	{ "request", EGS_ROLE_ANYONE, egs_verb_job_message },
	{ "report", EGS_ROLE_VIEWER, egs_verb_report },
	{ "metrics", EGS_ROLE_ANYONE, egs_verb_metrics },
	{ "abort", EGS_ROLE_ANYONE, egs_verb_abort },
	{ "hold", EGS_ROLE_ANYONE, egs_verb_abort },
	{ "release", EGS_ROLE_ANYONE, egs_verb_abort },
	{ "update", EGS_ROLE_ANYONE, egs_verb_update },
	{ "preempt", EGS_ROLE_ANYONE, egs_verb_preempt },
	{ "shrink", EGS_ROLE_OPERATOR, egs_verb_shrink },
	{ "mode", EGS_ROLE_OPERATOR, egs_verb_mode },
	{ "pause", EGS_ROLE_OPERATOR, egs_verb_pause },
	{ "unpause", EGS_ROLE_OPERATOR, egs_verb_unpause },
	{ "reconfigure", EGS_ROLE_OPERATOR, handle_reconfigure },
	{ "node-wait", EGS_ROLE_ANYONE, egs_verb_node_wait },
	{ "node-open", EGS_ROLE_ANYONE, egs_verb_node_open },
	{ "node-unclean", EGS_ROLE_ANYONE, egs_verb_node_unclean },
	{ "node-no-rundir", EGS_ROLE_ANYONE, egs_verb_node_no_rundir },
	{ "node-gpus", EGS_ROLE_ANYONE, egs_verb_node_gpus },
	{ "relay", EGS_ROLE_ANYONE, egs_verb_relay },
};

static bool is_operator(void *arg, uid_t uid)
{
	return egs_daemon_operator_name(arg, uid) != NULL;
}

static bool asks_for(void *arg, uid_t uid)
{
	return egs_daemon_is_web_user(arg, uid);
}

static void log_warning(void *arg, const char *what)
{
	(void)arg;
	egs_log_warn("%s", what);
}

/* If the server cannot listen on the port, serve this host only. */
static int start_server(struct egs_daemon *d, struct egs_err *err)
{
	const struct egs_server_conf conf = {
		.socket_path = d->requests->socket,
		.port = (int)egs_daemon_conf(d)->port,
		.audience = d->audience,
		.verbs = verbs,
		.nverbs = ARRAY_SIZE(verbs),
		.arg = d,
		.is_operator = is_operator,
		.answered = egs_requests_count_verb,
		.asks_for = asks_for,
		.warn = log_warning,
	};

	snprintf(d->requests->socket, sizeof(d->requests->socket),
		 "%s/policyd.sock", d->run_dir);
	d->requests->server = egs_server_new(d->loop, &conf, err);
	return d->requests->server ? 0 : -1;
}

static void stop_server(struct egs_daemon *d)
{
	if (d->requests && d->requests->server)
		egs_server_free(d->requests->server);
}

const struct egs_part egs_server_part = {
	.name = "server",
	.start = start_server,
	.stop = stop_server,
	.reloaded = answer_reloads,
};

const char *egs_requests_caller_name(const struct egs_daemon *d,
				     const struct egs_peer *peer)
{
	const char *name = egs_daemon_operator_name(d, peer->uid);

	return name ? name : "?";
}

const char *egs_requests_read_reason(const struct egs_msg *request,
				     struct egs_err *clean, struct egs_err *err)
{
	const char *reason = egs_msg_get_str(request, "reason");

	if (!reason || !*reason) {
		egs_errf(err, "a reason is required: --reason=\"...\"");
		return NULL;
	}
	if (strlen(reason) >= EGS_REASON_MAX) {
		egs_errf(err, "the reason has %zu bytes; the limit is %d",
			 strlen(reason), EGS_REASON_MAX - 1);
		return NULL;
	}
	egs_errf(clean, "%s", reason);
	return clean->msg;
}

int egs_requests_check_synced(const struct egs_daemon *d, struct egs_err *err)
{
	return d->synced ? 0
			 : egs_errf(err, "egs-policyd has not polled Slurm "
					 "yet; try again in some seconds");
}

/* Parse "12" or "12_3"; false: 'text' has another form. */
static bool parse_job_id(const char *text, uint32_t *id, uint32_t *task)
{
	unsigned long long n;
	char *end;

	*task = EGS_NO_TASK;
	if (!isdigit((unsigned char)*text))
		return false;
	n = strtoull(text, &end, 10);
	*id = (uint32_t)n;
	if (n == 0 || n > UINT32_MAX)
		return false;
	if (*end != '_')
		return !*end;
	if (!isdigit((unsigned char)*++end))
		return false;
	n = strtoull(end, &end, 10);
	*task = (uint32_t)n;
	return !*end && n < EGS_NO_TASK;
}

/* Returns the task itself, or the record of all tasks that have not started. */
static const struct egs_job *find_task(const struct egs_daemon *d, uint32_t id,
				       uint32_t task)
{
	uint32_t slots = egs_policy_nslots(d->policy), i;
	const struct egs_job *rest = egs_policy_job(d->policy, id);
	struct egs_job_info known;

	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && j->ident.array_task == task &&
		    egs_cluster_lookup(d->cluster, j->ident.job_id, &known) ==
			    0 &&
		    known.array_job_id == id)
			return j;
	}
	return rest && rest->ident.array_task == EGS_NO_TASK &&
			       egs_cluster_lookup(d->cluster, id, &known) ==
				       0 &&
			       known.array_job_id == id
		       ? rest
		       : NULL;
}

int egs_requests_check_owner(const struct egs_daemon *d,
			     const struct egs_peer *peer, uint32_t job_id,
			     uid_t uid, struct egs_err *err)
{
	if (uid == peer->uid || egs_daemon_operator_name(d, peer->uid))
		return 0;
	return egs_errf(err, "job %" PRIu32 " is not yours", job_id);
}

const char *egs_requests_lead_name(const struct egs_daemon *d, uid_t uid,
				   const struct egs_job *j)
{
	const char *name = egs_daemon_operator_name(d, uid);
	struct egs_job_info known;

	if (name || j->facts.team < 0 ||
	    egs_cluster_lookup(d->cluster, j->ident.job_id, &known) < 0)
		return name;
	return egs_daemon_coordinator_name(d, uid, known.account);
}

const char *egs_requests_require_lead(const struct egs_daemon *d, uid_t uid,
				      const struct egs_job *j,
				      struct egs_err *err)
{
	const char *name = egs_requests_lead_name(d, uid, j);

	if (!name)
		egs_errf(err,
			 "job %" PRIu32 ": that is for operators, and for "
			 "coordinators of its account in a team",
			 j->ident.job_id);
	return name;
}

int egs_requests_read_job_id(const struct egs_msg *request, uint32_t *id,
			     uint32_t *task, struct egs_err *err)
{
	const char *text = egs_msg_get_str(request, "job");

	if (text && parse_job_id(text, id, task))
		return 0;
	return egs_errf(err, "job='%s' is not a job id; use 81234 or 81234_7",
			egs_printable(text).text);
}

const struct egs_job *egs_requests_find_job(const struct egs_daemon *d,
					    const struct egs_msg *request,
					    struct egs_err *err)
{
	const struct egs_job *j;
	uint32_t id = 0, task = EGS_NO_TASK;

	if (egs_requests_check_synced(d, err) < 0 ||
	    egs_requests_read_job_id(request, &id, &task, err) < 0)
		return NULL;
	j = task == EGS_NO_TASK ? egs_policy_job(d->policy, id)
				: find_task(d, id, task);
	if (!j)
		egs_errf(err,
			 "job %s is not known: it has ended, or Slurm has not "
			 "shown it yet",
			 egs_printable(egs_msg_get_str(request, "job")).text);
	return j;
}
