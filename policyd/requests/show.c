/* show.c - show jobs, teams, nodes, intents, open preemptions */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/ipc/conf_msg.h"
#include "policyd/requests/op_shrink.h"
#include "policyd/requests/remediate.h"
#include "policyd/requests/requests.h"

static const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		[EGS_JOB_PENDING] = "PENDING",
		[EGS_JOB_RUNNING] = "RUNNING",
		[EGS_JOB_SUSPENDED] = "SUSPENDED",
		[EGS_JOB_ENDED] = "ENDED",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "-";
}

const char *egs_requests_loan_name(const struct egs_daemon *d,
				   const struct egs_job *j)
{
	struct egs_take_view row;

	if (j->facts.tier < 0 ||
	    egs_policy_take_view(d->policy, j->ident.job_id, egs_daemon_now(),
				 &row) < 0 ||
	    !row.needs_gpus)
		return "-";
	return row.on_loan ? "loan" : "owned";
}

static void add_job(const struct egs_daemon *d, const struct egs_job *j,
		    struct egs_msg *answer)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_job_info known = { .user = "?", .account = "" };
	uint32_t want = egs_job_gpus_wanted(j);
	char text[EGS_JOB_TEXT_SIZE];

	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	egs_daemon_format_job_id(d, &j->ident, text);
	egs_msg_add_row(answer);
	egs_msg_add_cell(answer, text);
	egs_msg_add_cell(answer, known.user);
	egs_msg_add_cell(answer, *known.account ? known.account : "-");
	egs_msg_add_cell(answer,
			 j->facts.team < 0 ? "-" : c->team[j->facts.team].name);
	egs_msg_add_cell(answer,
			 j->facts.tier < 0 ? "-" : c->tier[j->facts.tier].name);
	egs_msg_add_cell(answer, j->facts.phase < 0
					 ? "-"
					 : c->phase[j->facts.phase].name);
	egs_msg_add_cell(answer, state_name(known.state));
	egs_msg_add_cell_int(answer, j->running ? j->gpus : want);
	egs_msg_add_cell(answer, egs_requests_loan_name(d, j));
	egs_msg_add_cell_int(answer, j->ident.restarts);
}

/* Add a row for each job: users see their own jobs, operators see all. */
static int
add_visible_jobs(const struct egs_daemon *d, const struct egs_peer *peer,
		 void (*add)(const struct egs_daemon *d,
			     const struct egs_job *j, struct egs_msg *answer),
		 struct egs_msg *answer)
{
	bool all = egs_daemon_operator_name(d, peer->uid) != NULL;
	uint32_t slots = egs_policy_nslots(d->policy);

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && (all || j->ident.uid == peer->uid))
			add(d, j, answer);
	}
	return 0;
}

static int show_jobs(struct egs_daemon *d, const struct egs_peer *peer,
		     struct egs_msg *answer)
{
	static const char *const columns[] = { "JOBID",	  "USER", "ACCOUNT",
					       "TEAM",	  "TIER", "PHASE",
					       "STATE",	  "GPUS", "LOAN",
					       "RESTARTS" };

	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	return add_visible_jobs(d, peer, add_job, answer);
}

static bool has_nothing(const struct egs_quota_use *h)
{
	return !h->quota && !h->owned && !h->on_loan && !h->unmanaged &&
	       h->max_gpus == EGS_UNLIMITED;
}

/* 'type' is NULL for a team without GPUs of any type. */
static void add_holding(const struct egs_daemon *d, int team, const char *type,
			const struct egs_quota_use *holding, uint32_t lent,
			struct egs_msg *answer)
{
	struct egs_quota_use h = *holding;

	egs_msg_add_row(answer);
	egs_msg_add_cell(answer, egs_daemon_conf(d)->team[team].name);
	egs_msg_add_cell(answer, type ? type : "-");
	egs_msg_add_cell_int(answer, h.quota);
	egs_msg_add_cell_int(answer, h.in_force);
	egs_msg_add_cell_int(answer, h.owned);
	egs_msg_add_cell_int(answer, h.on_loan);
	egs_msg_add_cell_int(answer, lent);
	egs_msg_add_cell_int(answer, h.idle);
	egs_msg_add_cell_int(answer, h.unmanaged);
	if (h.max_gpus == EGS_UNLIMITED)
		egs_msg_add_cell(answer, "-");
	else
		egs_msg_add_cell_int(answer, h.max_gpus);
	egs_msg_add_cell_int(
		answer, (int64_t)(egs_policy_decayed_usage(d->policy, team) /
				  EGS_MILLI_ONE));
}

static void add_team(const struct egs_daemon *d, int team,
		     struct egs_msg *answer)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	const struct egs_quota_use nothing = { .max_gpus = EGS_UNLIMITED };
	bool some = false;

	for (int type = 0; type <= c->ntypes; type++) {
		struct egs_quota_use h =
			egs_policy_quota_use(d->policy, team, type);

		if (has_nothing(&h))
			continue;
		some = true;
		add_holding(d, team, egs_daemon_type_name(c, type), &h,
			    egs_daemon_count_lent(d, team, type), answer);
	}
	if (!some)
		add_holding(d, team, NULL, &nothing, 0, answer);
}

static int show_teams(struct egs_daemon *d, const struct egs_peer *peer,
		      struct egs_msg *answer)
{
	static const char *const columns[] = {
		"TEAM", "TYPE",	  "QUOTA",     "QUOTA_NOW", "OWNED", "ONLOAN",
		"LENT", "UNUSED", "UNMANAGED", "MAXGPUS",   "USAGE"
	};
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	int team;

	(void)peer;
	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	egs_msg_set_str(answer, "units", "USAGE=GPU-s");
	for (team = 0; team < c->nteams; team++)
		add_team(d, team, answer);
	return 0;
}

/* "a100", or "a100:2,h100:2" of a node with several types. */
static struct egs_text format_types(const struct egs_node_info *n)
{
	struct egs_gpu_count gpus = { .ntypes = 0 };
	struct egs_text text;

	egs_textf(&text, "%s", *n->type ? n->type : "-");
	if (!n->mixed)
		return text;
	egs_gpu_count_add(&gpus, n->mixed, 1);
	egs_textf(&text, "%s", "");
	for (uint32_t i = 0; i < gpus.ntypes; i++)
		egs_text_append(&text, "%s%s:%u", i ? "," : "",
				*gpus.by_type[i].type ? gpus.by_type[i].type
						      : "-",
				gpus.by_type[i].count);
	return text;
}

static const char *get_node_state(const struct egs_daemon *d,
				  const struct egs_node_info *n)
{
	if (egs_daemon_is_fenced(d, n->name))
		return "fenced";
	if (!n->up)
		return "down";
	return egs_daemon_is_avoided(d, n->name) ? "avoided" : "up";
}

static int show_nodes(struct egs_daemon *d, const struct egs_peer *peer,
		      struct egs_msg *answer)
{
	static const char *const columns[] = { "NODE", "TYPE",	  "GPUS",
					       "USED", "CPUS",	  "CPUSUSED",
					       "MEM",  "MEMUSED", "STATE",
					       "NOTE" };
	const struct egs_node_info *n;

	(void)peer;
	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	egs_msg_set_str(answer, "units", "MEM=MB,MEMUSED=MB");
	for (uint32_t i = 0; (n = egs_cluster_get_node(d->cluster, i)); i++) {
		struct egs_text note = { "" };

		if (n->gone)
			continue;
		egs_msg_add_row(answer);
		egs_msg_add_cell(answer, n->name);
		egs_msg_add_cell(answer, format_types(n).text);
		egs_msg_add_cell_int(answer, n->gpus);
		egs_msg_add_cell_int(answer, n->gpus_used);
		egs_msg_add_cell_int(answer, n->cpus);
		egs_msg_add_cell_int(answer, n->cpus_used);
		egs_msg_add_cell_int(answer, (int64_t)n->mem_mb);
		egs_msg_add_cell_int(answer, (int64_t)n->mem_used_mb);
		egs_msg_add_cell(answer, get_node_state(d, n));
		egs_remediate_note(d, i, EGS_REMEDIATE_ANY, &note);
		egs_msg_add_cell(answer, note.text);
	}
	return 0;
}

struct intents_view {
	const struct egs_daemon *d;
	uid_t uid; /* the client */
	bool all;  /* an operator: show intents of all users */
	struct egs_msg *answer;
};

static bool is_own_intent(const struct intents_view *in,
			  const struct egs_intent *i)
{
	const struct egs_job *j = egs_policy_job(in->d->policy, i->job_id);

	return j && j->ident.nonce == i->nonce && j->first_submitted <= i->at &&
	       j->ident.uid == in->uid;
}

static void add_intent(void *arg, const struct egs_intent *i)
{
	const struct intents_view *in = arg;
	char text[EGS_TIME_TEXT_SIZE];

	if (!in->all && !is_own_intent(in, i))
		return;
	egs_msg_add_row(in->answer);
	egs_msg_add_cell_int(in->answer, (int64_t)i->id);
	egs_msg_add_cell(in->answer, egs_daemon_format_time(i->at, text));
	egs_msg_add_cell_int(in->answer, i->job_id);
	egs_msg_add_cell(in->answer, i->action);
	egs_msg_add_cell(in->answer, i->reason);
}

static int show_intents(struct egs_daemon *d, const struct egs_peer *peer,
			struct egs_msg *answer, struct egs_err *err)
{
	static const char *const columns[] = { "ID", "TIME", "JOBID", "ACTION",
					       "REASON" };
	struct intents_view in = {
		.d = d,
		.uid = peer->uid,
		.all = egs_daemon_operator_name(d, peer->uid) != NULL,
		.answer = answer,
	};

	if (!d->store)
		return egs_daemon_begin(d, err); /* sets 'err' */
	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	return egs_daemon_check_store(
		d, egs_store_intent_each(d->store, add_intent, &in, err), err);
}

/* ---- open preemptions ---- */

/* Where the preemption of a job is. */
static const char *preemption_state(const struct egs_job *j)
{
	return j->withdrawing ? "withdrawn"
	       : j->yielded   ? "yielded"
	       : j->late      ? "late"
			      : "asked";
}

/* 'keeps': GPUs that the job keeps, 0 unless it is asked to shrink. */
static void add_preemption(const struct egs_daemon *d, const struct egs_job *j,
			   uint32_t requester, uint32_t keeps,
			   egs_time_t deadline, struct egs_msg *answer)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	const struct egs_job *by = egs_policy_job(d->policy, requester);
	struct egs_job_info known = { .user = "?" };
	int64_t left = deadline - egs_daemon_now();
	char text[EGS_JOB_TEXT_SIZE], time[EGS_TIME_TEXT_SIZE];

	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	egs_daemon_format_job_id(d, &j->ident, text);
	egs_msg_add_row(answer);
	egs_msg_add_cell(answer, text);
	egs_msg_add_cell(answer, known.user);
	egs_msg_add_cell(answer,
			 j->facts.team < 0 ? "-" : c->team[j->facts.team].name);
	egs_msg_add_cell_int(answer, j->gpus);
	egs_msg_add_cell_int(answer, keeps);
	if (by)
		egs_daemon_format_job_id(d, &by->ident, text);
	egs_msg_add_cell(answer, by ? text : "-");
	egs_msg_add_cell(answer, by && by->facts.team >= 0
					 ? c->team[by->facts.team].name
					 : "-");
	egs_msg_add_cell(answer, egs_daemon_format_time(deadline, time));
	egs_msg_add_cell_int(answer, left > 0 ? left : 0);
	egs_msg_add_cell(answer, keeps ? "asked" : preemption_state(j));
}

static void add_preempted_job(const struct egs_daemon *d,
			      const struct egs_job *j, struct egs_msg *answer)
{
	const struct egs_shrink_notice *shrink = egs_op_shrink_find(d, j);

	if (j->running && j->preempting)
		add_preemption(d, j, j->requester, 0, j->deadline, answer);
	else if (shrink)
		add_preemption(d, j, shrink->requester, shrink->gpus,
			       shrink->deadline, answer);
}

static int show_preemptions(struct egs_daemon *d, const struct egs_peer *peer,
			    struct egs_msg *answer)
{
	static const char *const columns[] = { "JOBID",	 "USER",     "TEAM",
					       "GPUS",	 "KEEPS",    "BYJOB",
					       "BYTEAM", "DEADLINE", "LEFT",
					       "STATE" };

	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	egs_msg_set_str(answer, "units", "LEFT=s");
	return add_visible_jobs(d, peer, add_preempted_job, answer);
}

static int show_conf(const struct egs_daemon *d, const char *what,
		     struct egs_msg *answer, struct egs_err *err)
{
	int rc;

	if (strcmp(what, "config") == 0)
		rc = egs_show_conf_values(d->conf, answer);
	else if (strcmp(what, "tiers") == 0)
		rc = egs_show_conf_tiers(d->conf, answer);
	else if (strcmp(what, "phases") == 0)
		rc = egs_requests_show_record(d, EGS_CONF_PHASE_RECORD, answer);
	else if (strcmp(what, "workloads") == 0)
		rc = egs_requests_show_record(d, EGS_CONF_WORKLOAD_RECORD,
					      answer);
	else
		return egs_errf(err,
				"unknown table '%s'; use jobs, teams, tiers, "
				"phases, workloads, nodes, gpus, map, waiting, "
				"preemptions, config or intents",
				egs_printable(what).text);
	return rc < 0 ? egs_errf(err, "out of memory") : 0;
}

int egs_verb_show(void *arg, const struct egs_peer *peer,
		  const struct egs_msg *request, struct egs_msg *answer,
		  struct egs_err *err)
{
	static const struct {
		const char *name;
		int (*show)(struct egs_daemon *d, const struct egs_peer *peer,
			    struct egs_msg *answer);
	} tables[] = {
		{ "jobs", show_jobs },	 { "teams", show_teams },
		{ "nodes", show_nodes }, { "preemptions", show_preemptions },
		{ "map", egs_show_map }, { "waiting", egs_show_waiting },
	};
	struct egs_daemon *d = arg;
	const char *what = egs_msg_get_str(request, "what");

	if (!what)
		what = "";
	if (strchr(what, ','))
		return egs_show_list(d, peer, what, answer, err);
	if (strcmp(what, "intents") == 0)
		return show_intents(d, peer, answer, err);
	if (strcmp(what, "gpus") == 0)
		return egs_requests_check_synced(d, err)
			       ? -1
			       : egs_show_gpus(d, peer, request, answer, err);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (strcmp(what, tables[i].name) == 0)
			return egs_requests_check_synced(d, err)
				       ? -1
				       : tables[i].show(d, peer, answer);
	return show_conf(d, what, answer, err);
}
