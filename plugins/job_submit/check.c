/* check.c - check a job's tier, workload, phase and GPUs against egs.conf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "common/base/suggest.h"
#include "common/conf/values.h"
#include "plugins/job_submit/check.h"

/* One check in progress. */
struct job_check {
	const struct egs_policy_conf *conf;
	const struct egs_check_input *input;
	const struct egs_team *team;   /* NULL: none */
	const struct egs_tier *tier;   /* NULL: unmanaged */
	const struct egs_phase *phase; /* NULL: the hint has none */
	struct egs_check_result *result;
	struct egs_gpu_count gpus;
	bool gpus_exact; /* false: the job may get more than 'gpus' */
};

bool egs_check_needs_user(const struct egs_policy_conf *conf)
{
	for (int i = 0; i < conf->nteams; i++)
		if (conf->team[i].users)
			return true;
	for (int i = 0; i < conf->ntiers; i++)
		if (conf->tier[i].allow_users)
			return true;
	return false;
}

/* Could the user's groups, which are unknown here, move the job to another
 * team?  A job belongs to the first team that matches (standing.c).
 */
static bool may_be_other_team(const struct job_check *l)
{
	const struct egs_team *end =
		l->team ? l->team : l->conf->team + l->conf->nteams;

	for (const struct egs_team *t = l->conf->team; t < end; t++)
		if (t->groups)
			return true;
	return false;
}

/* Could the user's groups give access to the requested tier? */
static bool may_groups_open_tier(const struct job_check *l)
{
	int tier = egs_conf_find_tier(l->conf, l->input->hint.tier);

	return (tier >= 0 && l->conf->tier[tier].allow_groups) ||
	       may_be_other_team(l);
}

/* List tiers as "silver, bronze". */
static struct egs_text format_tiers(const struct egs_policy_conf *conf,
				    uint32_t tiers)
{
	struct egs_text list = { "" };

	for (int i = 0; i < conf->ntiers; i++)
		if (tiers & UINT32_C(1) << i)
			egs_text_append(&list, "%s%s", *list.text ? ", " : "",
					conf->tier[i].name);
	if (!*list.text)
		egs_textf(&list, "none");
	return list;
}

static struct egs_standing_input make_claimant(const struct egs_check_input *r)
{
	return (struct egs_standing_input){
		.account = r->account,
		.user = r->user,
		.qos = r->qos,
		.partitions = r->partitions,
		.tier = r->hint.tier,
	};
}

/* The tiers that the job could request. */
static uint32_t find_open_tiers(const struct job_check *l)
{
	struct egs_standing_input who = make_claimant(l->input);
	uint32_t tiers = 0;

	for (int i = 0; i < l->conf->ntiers; i++) {
		who.tier = l->conf->tier[i].name;
		if (egs_standing_get(l->conf, &who).tier == i)
			tiers |= UINT32_C(1) << i;
	}
	return tiers;
}

static int refuse_unknown_tier(const struct job_check *l, struct egs_err *err)
{
	const char *names[EGS_TIERS_MAX];
	const char *tier = l->input->hint.tier;
	struct egs_err why;

	for (int i = 0; i < l->conf->ntiers; i++)
		names[i] = l->conf->tier[i].name;
	egs_err_unknown_name(tier, "tier", names, (size_t)l->conf->ntiers,
			     &why);
	return egs_errf(err, "--tier=%s %s", tier, why.msg);
}

/* Refuse a job that requested a tier and does not get it.  A tier from a rule
 * is not a request: without it the job is unmanaged, for the daemon, too.
 */
static int check_tier(const struct job_check *l, struct egs_err *err)
{
	const char *tier = l->input->hint.tier;
	const char *account = l->input->account;

	if (!*tier || l->tier)
		return 0;
	switch (l->result->assignment.rule) {
	case EGS_STANDING_UNKNOWN_TIER:
		return refuse_unknown_tier(l, err);
	case EGS_STANDING_TEAM_FORBIDS:
		if (may_be_other_team(l))
			return 0;
		return egs_errf(err,
				"--tier=%s refused: team %s may use %s (see "
				"'egsctl show tiers')",
				tier, l->team->name,
				format_tiers(l->conf, l->team->tiers).text);
	case EGS_STANDING_TIER_FORBIDS:
		if (may_groups_open_tier(l))
			return 0;
		return egs_errf(err,
				"--tier=%s refused: account %s may use %s (see "
				"'egsctl show tiers')",
				tier, account ? account : "(none)",
				format_tiers(l->conf, find_open_tiers(l)).text);
	default:
		return 0;
	}
}

static void note_no_effect(const struct job_check *l)
{
	const struct egs_check_input *r = l->input;
	struct egs_err *note = &l->result->note;

	if (!*r->hint.tier)
		return;
	if (l->result->assignment.rule == EGS_STANDING_OUTSIDE)
		egs_errf(note,
			 "--tier=%s has no effect in partition %s, where EGS "
			 "does not act",
			 r->hint.tier, r->partitions ? r->partitions : "?");
	else if (l->result->assignment.rule == EGS_STANDING_NO_TEAM &&
		 !may_be_other_team(l))
		egs_errf(note,
			 "--tier=%s has no effect: account %s is in no "
			 "team",
			 r->hint.tier, r->account ? r->account : "(none)");
}

/* Refuse a workload that belongs to other teams only.  The name before the '/'
 * counts.
 */
static int check_workload(const struct job_check *l, struct egs_err *err)
{
	const char *workload = l->input->hint.workload;
	size_t len = strcspn(workload, "/");
	const struct egs_workload *other = NULL;

	if (!len || !l->team)
		return 0;
	for (int i = 0; i < l->conf->nworkloads; i++) {
		const struct egs_workload *w = &l->conf->workload[i];

		if (strlen(w->name) != len ||
		    memcmp(w->name, workload, len) != 0)
			continue;
		if (&l->conf->team[w->team] == l->team)
			return 0;
		other = w;
	}
	if (!other || may_be_other_team(l))
		return 0;
	return egs_errf(err,
			"--workload=%s refused: it is a workload of team %s, "
			"and account %s is in team %s",
			workload, l->conf->team[other->team].name,
			l->input->account ? l->input->account : "(none)",
			l->team->name);
}

static void find_limits(const struct job_check *l, int *least, int *most)
{
	const uint32_t *max = l->team->max_gpus;

	*least = *most = 0;
	for (int i = 1; i < l->conf->ntypes; i++) {
		*least = max[i] < max[*least] ? i : *least;
		*most = max[i] > max[*most] ? i : *most;
	}
}

/* Slurm may give a job without a type any type, so it would wait for ever if
 * the limit of one of them is too small.
 */
static int check_max_any_type(const struct job_check *l, uint32_t gpus,
			      struct egs_err *err)
{
	int least, most;

	find_limits(l, &least, &most);
	if (gpus <= l->team->max_gpus[least])
		return 0;
	if (gpus > l->team->max_gpus[most])
		return egs_errf(err,
				"%u GPUs refused: team %s may use at most %u",
				gpus, l->team->name, l->team->max_gpus[most]);
	return egs_errf(err,
			"%u GPUs of any type refused: team %s may use at most "
			"%u %s; name the type that the job needs",
			gpus, l->team->name, l->team->max_gpus[least],
			l->conf->type[least].name);
}

static int check_max_of_type(const struct job_check *l, const char *type,
			     uint32_t gpus, struct egs_err *err)
{
	int row = egs_conf_match_type(l->conf, type);

	if (!*type && row >= l->conf->ntypes && l->conf->ntypes)
		return check_max_any_type(l, gpus, err);
	if (gpus <= l->team->max_gpus[row])
		return 0;
	return egs_errf(err, "%u GPUs refused: team %s may use at most %u%s%s",
			gpus, l->team->name, l->team->max_gpus[row],
			*type ? " " : "", type);
}

static int check_max_gpus(const struct job_check *l, struct egs_err *err)
{
	for (uint32_t i = 0; l->team && i < l->gpus.ntypes; i++)
		if (check_max_of_type(l, l->gpus.by_type[i].type,
				      l->gpus.by_type[i].count, err) < 0)
			return -1;
	return 0;
}

static int check_partitions(const struct job_check *l, struct egs_err *err)
{
	const char *rest = l->input->partitions;
	char one[EGS_NAME_SIZE];
	const char *name;
	size_t len;

	if (!l->phase || !l->phase->partitions)
		return 0;
	while ((name = egs_list_next(&rest, &len))) {
		snprintf(one, sizeof(one), "%.*s", (int)len, name);
		if (!egs_conf_list_has(l->phase->partitions, one))
			return egs_errf(err,
					"--phase=%s refused in partition %s: "
					"this phase is for %s",
					l->phase->name, egs_printable(one).text,
					l->phase->partitions);
	}
	return 0;
}

/* The allowed number of GPUs: by the workload, else by the phase. */
static struct egs_range find_gpu_range(const struct job_check *l)
{
	char name[EGS_NAME_SIZE];
	int row = -1;

	snprintf(name, sizeof(name), "%.*s",
		 (int)strcspn(l->input->hint.workload, "/"),
		 l->input->hint.workload);
	if (*name && l->team)
		row = egs_conf_find_workload(l->conf, name,
					     (int)(l->team - l->conf->team),
					     (int)(l->phase - l->conf->phase));
	if (row >= 0 && l->conf->workload[row].gpus.min != EGS_UNSET)
		return l->conf->workload[row].gpus;
	return l->phase->gpus;
}

static int refuse_gpu_range(const struct job_check *l,
			    const struct egs_range *range, uint32_t asked,
			    struct egs_err *err)
{
	char text[EGS_CONF_VALUE_MAX];

	egs_conf_write_range(range, text, sizeof(text));
	if (!range->max)
		return egs_errf(err,
				"--phase=%s refused: this phase uses no GPUs; "
				"the job requests %u",
				l->phase->name, asked);
	return egs_errf(err,
			"--phase=%s refused: this phase uses %s GPUs; the job "
			"requests %u",
			l->phase->name, text, asked);
}

static int check_gpu_range(const struct job_check *l, struct egs_err *err)
{
	uint32_t asked = egs_gpu_count_total(&l->gpus);
	struct egs_range range;

	if (!l->phase)
		return 0;
	range = find_gpu_range(l);
	if (range.min == EGS_UNSET ||
	    (asked <= range.max && (asked >= range.min || !l->gpus_exact)))
		return 0;
	if (l->phase->out_of_range == EGS_RANGE_REFUSE || !asked ||
	    l->input->is_update)
		return refuse_gpu_range(l, &range, asked, err);
	l->result->adjusted_gpus = asked < range.min ? range.min : range.max;
	egs_errf(&l->result->note,
		 "--phase=%s: the job gets %u GPUs instead of %u",
		 l->phase->name, l->result->adjusted_gpus, asked);
	return 0;
}

/* Would 'count' GPUs of a type be within quota if the job started now?  Without
 * a name, of any type.
 */
static bool is_within_quota(const struct job_check *l, const char *name,
			    uint32_t count, bool *known)
{
	struct egs_quota_key at = {
		.names_hash = egs_table_hash_names(l->conf),
		.team = (int)(l->team - l->conf->team),
		.tier = (int)(l->tier - l->conf->tier),
	};
	int type = egs_conf_match_type(l->conf, name);
	int last = *name ? type : l->conf->ntypes;
	uint32_t left;

	for (at.type = *name ? type : 0; at.type <= last; at.type++) {
		if (!l->input->quota_left(&at, &left))
			return *known = false;
		if (count <= left)
			return true;
	}
	return false;
}

/* Add to the note whether the GPUs would be within quota or on loan. */
static void note_ownership(const struct job_check *l)
{
	struct egs_err *note = &l->result->note;
	bool known = l->team && l->input->quota_left, all = true;

	for (uint32_t i = 0; known && i < l->gpus.ntypes; i++)
		all &= is_within_quota(l, l->gpus.by_type[i].type,
				       l->gpus.by_type[i].count, &known);
	if (!known)
		return;
	if (all)
		egs_errf(note,
			 "%s; now the GPUs are within the quota of team %s",
			 note->msg, l->team->name);
	else
		egs_errf(note, "%s; now the GPUs are on loan", note->msg);
}

/* job_submit/egs makes a job with a checkpoint requeueable. */
static bool can_requeue(const struct job_check *l)
{
	const struct egs_check_input *r = l->input;

	return !r->interactive && !r->no_requeue &&
	       (!r->site_no_requeue || r->can_checkpoint);
}

/* Refuse a job that cannot be requeued, or note what preemption does to it. */
static int check_requeue(const struct job_check *l, struct egs_err *err)
{
	const char *why = l->input->interactive	 ? "an interactive job"
			  : l->input->no_requeue ? "a job with --no-requeue"
						 : "a job without --requeue";

	if (can_requeue(l) || !l->tier->yields ||
	    !egs_gpu_count_total(&l->gpus))
		return 0;
	if (l->tier->no_requeue == EGS_FATE_REFUSE)
		return egs_errf(err,
				"%s refused: tier %s requires jobs that can be "
				"requeued",
				why, l->tier->name);
	if (*l->result->note.msg || l->result->mode != EGS_MODE_ENFORCE)
		return 0;
	if (l->tier->no_requeue == EGS_FATE_CANCEL ||
	    l->tier->loan == EGS_LOAN_ALWAYS)
		egs_errf(&l->result->note,
			 "%s of tier %s is cancelled when it is preempted", why,
			 l->tier->name);
	else
		egs_errf(&l->result->note,
			 "%s of tier %s is cancelled when it is preempted on "
			 "loan; within quota it is not preempted",
			 why, l->tier->name);
	note_ownership(l);
	return 0;
}

/* A job that Slurm requeues this way starts before all others, whatever its
 * tier and priority.
 */
static int check_expedite(const struct job_check *l, struct egs_err *err)
{
	if (!l->input->expedite || l->tier->expedite)
		return 0;
	return egs_errf(err,
			"--requeue=expedite refused: tier %s does not allow "
			"it; use --requeue",
			l->tier->name);
}

/* Within quota, no job preempts one of the first tier. */
static bool may_lose_work(const struct job_check *l)
{
	if (l->result->assignment.tier == 0 && l->tier->loan != EGS_LOAN_ALWAYS)
		return false;
	return !l->input->can_checkpoint && can_requeue(l) && l->tier->yields &&
	       l->tier->no_checkpoint != EGS_FATE_NONE &&
	       egs_gpu_count_total(&l->gpus);
}

/* Note what preemption does to a job that cannot save, in one line. */
static void note_no_checkpoint(const struct job_check *l)
{
	const struct egs_tier *t = l->tier;

	if (!may_lose_work(l) || *l->result->note.msg ||
	    l->result->mode != EGS_MODE_ENFORCE)
		return;
	egs_errf(&l->result->note,
		 "this job of tier %s cannot save (see --ckpt): if it is "
		 "preempted, %s and it %s",
		 t->name,
		 strcmp(l->input->hint.ckpt, "none") == 0
			 ? "it ends at once"
			 : "its steps get SIGTERM",
		 t->no_checkpoint == EGS_FATE_CANCEL
			 ? "is cancelled"
			 : "starts again from the beginning");
}

/* A job cannot shrink to the GPUs that it has, or to more. */
static int check_shrink_to(const struct job_check *l, struct egs_err *err)
{
	const char *text = l->input->hint.shrink_to;
	uint32_t asked = egs_gpu_count_total(&l->gpus);

	if (!*text || !l->gpus_exact || strtoul(text, NULL, 10) < asked)
		return 0;
	return egs_errf(
		err,
		"--egs=shrink-to=%s refused: the job requests %u GPU%s; "
		"give fewer, or leave it out",
		text, asked, asked == 1 ? "" : "s");
}

static int check_managed_job(const struct job_check *l, struct egs_err *err)
{
	if (check_workload(l, err) < 0 || check_max_gpus(l, err) < 0 ||
	    check_partitions(l, err) < 0 || check_gpu_range(l, err) < 0 ||
	    check_shrink_to(l, err) < 0)
		return -1;
	if (check_expedite(l, err) < 0 || check_requeue(l, err) < 0)
		return -1;
	note_no_checkpoint(l);
	return 0;
}

static void assign_team_and_tier(struct job_check *l)
{
	const struct egs_check_input *r = l->input;
	struct egs_standing_input who = make_claimant(r);
	struct egs_standing s = egs_standing_get(l->conf, &who);
	int phase = egs_conf_find_phase(l->conf, r->hint.phase);

	l->team = s.team < 0 ? NULL : &l->conf->team[s.team];
	l->tier = s.tier < 0 ? NULL : &l->conf->tier[s.tier];
	l->phase = phase < 0 ? NULL : &l->conf->phase[phase];
	l->result->assignment = s;
	l->result->file_mode = l->conf->mode;
	if (l->team && l->team->mode != EGS_MODE_INHERIT)
		l->result->file_mode = l->team->mode;
	l->result->mode = r->find_mode ? r->find_mode(l->conf, s.team)
				       : l->result->file_mode;
}

/* Does the team have a limit that keeps jobs from starting? */
static bool is_team_limited(const struct egs_team *team)
{
	if (team->borrow_pct < 100 ||
	    (team->max_gpu_hours.count != EGS_UNLIMITED &&
	     team->limit_action == EGS_LIMIT_HOLD))
		return true;
	for (int i = 0; i < EGS_TYPE_ROWS; i++)
		if (team->max_gpus[i] != EGS_UNLIMITED)
			return true;
	return false;
}

/* While no daemon runs, the mode of egs.conf is the best guess. */
static bool is_team_enforced(const struct job_check *l,
			     const struct egs_team *team)
{
	enum egs_mode mode = EGS_MODE_INHERIT;

	if (l->input->find_mode)
		mode = l->input->find_mode(l->conf,
					   (int)(team - l->conf->team));
	if (mode == EGS_MODE_INHERIT)
		mode = team->mode;
	if (mode == EGS_MODE_INHERIT)
		mode = l->conf->mode;
	return mode == EGS_MODE_ENFORCE;
}

/* Could the user's groups move the job to a team with a limit? */
static bool may_groups_limit(const struct job_check *l)
{
	const struct egs_team *end =
		l->team ? l->team : l->conf->team + l->conf->nteams;

	if (l->result->assignment.rule == EGS_STANDING_OUTSIDE)
		return false;
	for (const struct egs_team *t = l->conf->team; t < end; t++)
		if (t->groups && is_team_limited(t) && is_team_enforced(l, t))
			return true;
	return false;
}

/* Does the job have a tier, or may it have one by the groups of its user? */
static bool may_have_tier(const struct job_check *l)
{
	return l->tier ||
	       l->result->assignment.rule == EGS_STANDING_TIER_FORBIDS;
}

/* Groups are unknown here: the job waits until the daemon has read them. */
static bool is_limited(const struct job_check *l)
{
	if (!egs_gpu_count_total(&l->gpus) && !l->input->exclusive)
		return false;
	if (may_groups_limit(l) ||
	    (l->team && is_team_limited(l->team) && may_have_tier(l)))
		return true;
	return l->tier && l->tier->loan == EGS_LOAN_NEVER;
}

int egs_check_job(const struct egs_policy_conf *conf,
		  const struct egs_check_input *input,
		  struct egs_check_result *result, struct egs_err *err)
{
	struct job_check l = { .conf = conf, .input = input, .result = result };

	*result = (struct egs_check_result){ .adjusted_gpus =
						     EGS_GPUS_UNCHANGED };
	assign_team_and_tier(&l);
	l.gpus_exact = egs_gpu_text_count(&input->gpus, &l.gpus);
	if (check_tier(&l, err) < 0)
		return -1;
	result->limited = is_limited(&l);
	note_no_effect(&l);
	return l.tier ? check_managed_job(&l, err) : 0;
}
