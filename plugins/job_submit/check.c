/* check.c - may this user's job be what it asks to be? */
#include <stdio.h>
#include <string.h>

#include "common/base/suggest.h"
#include "common/conf/values.h"
#include "plugins/job_submit/check.h"

/* A request on its way through the checks. */
struct look {
	const struct egs_policy_conf *conf;
	const struct egs_request *request;
	const struct egs_team *team;   /* NULL: none */
	const struct egs_tier *tier;   /* NULL: unmanaged */
	const struct egs_phase *phase; /* NULL: it says none */
	struct egs_verdict *verdict;
	struct egs_gpus gpus;
	bool counted; /* 'gpus' is what it will have, and not only the least */
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

/* Could the groups of the user, which are not known here, make it another
 * team's job?  The first team that fits has it (standing.c).
 */
static bool may_be_elsewhere(const struct look *l)
{
	const struct egs_team *end =
		l->team ? l->team : l->conf->team + l->conf->nteams;

	for (const struct egs_team *t = l->conf->team; t < end; t++)
		if (t->groups)
			return true;
	return false;
}

/* Could they open the tier it asks for? */
static bool may_be_allowed(const struct look *l)
{
	int tier = egs_conf_tier(l->conf, l->request->hint.tier);

	return (tier >= 0 && l->conf->tier[tier].allow_groups) ||
	       may_be_elsewhere(l);
}

/* "silver, bronze": the tiers of a team. */
static struct egs_err list_tiers(const struct egs_policy_conf *conf,
				 uint32_t tiers)
{
	struct egs_err list = { "" };

	for (int i = 0; i < conf->ntiers; i++)
		if (tiers & UINT32_C(1) << i)
			egs_errf(&list, "%s%s%s", list.msg,
				 *list.msg ? ", " : "", conf->tier[i].name);
	if (!*list.msg)
		egs_errf(&list, "none");
	return list;
}

static struct egs_claimant claimant_of(const struct egs_request *r)
{
	return (struct egs_claimant){
		.account = r->account,
		.user = r->user,
		.qos = r->qos,
		.partitions = r->partitions,
		.tier = r->hint.tier,
	};
}

/* The tiers it would get if it asked for them. */
static uint32_t open_tiers(const struct look *l)
{
	struct egs_claimant who = claimant_of(l->request);
	uint32_t tiers = 0;

	for (int i = 0; i < l->conf->ntiers; i++) {
		who.tier = l->conf->tier[i].name;
		if (egs_managed(l->conf, &who).tier == i)
			tiers |= UINT32_C(1) << i;
	}
	return tiers;
}

static int refuse_unknown_tier(const struct look *l, struct egs_err *err)
{
	const char *names[EGS_TIERS_MAX];
	const char *tier = l->request->hint.tier;
	struct egs_err why;

	for (int i = 0; i < l->conf->ntiers; i++)
		names[i] = l->conf->tier[i].name;
	egs_not_among(tier, "tier", names, (size_t)l->conf->ntiers, &why);
	return egs_errf(err, "--tier=%s %s", tier, why.msg);
}

/* A tier it asked for and does not get.  One that a rule would have given is
 * no demand: the job is unmanaged, as the daemon will find too.
 */
static int check_tier(const struct look *l, struct egs_err *err)
{
	const char *tier = l->request->hint.tier;
	const char *account = l->request->account;

	if (!*tier || l->tier)
		return 0;
	switch (l->verdict->standing.by) {
	case EGS_BY_NO_TIER:
		return refuse_unknown_tier(l, err);
	case EGS_BY_TEAM_FORBIDS:
		if (may_be_elsewhere(l))
			return 0;
		return egs_errf(err,
				"--tier=%s refused: team %s may use %s (see "
				"'egsctl show tiers')",
				tier, l->team->name,
				list_tiers(l->conf, l->team->tiers).msg);
	case EGS_BY_TIER_FORBIDS:
		if (may_be_allowed(l))
			return 0;
		return egs_errf(err,
				"--tier=%s refused: account %s may use %s (see "
				"'egsctl show tiers')",
				tier, account ? account : "(none)",
				list_tiers(l->conf, open_tiers(l)).msg);
	default:
		return 0;
	}
}

static void note_no_effect(const struct look *l)
{
	const struct egs_request *r = l->request;
	struct egs_err *note = &l->verdict->note;

	if (!*r->hint.tier)
		return;
	if (l->verdict->standing.by == EGS_BY_OUTSIDE)
		egs_errf(note,
			 "--tier=%s has no effect in partition %s, where EGS "
			 "does not act",
			 r->hint.tier, r->partitions ? r->partitions : "?");
	else if (l->verdict->standing.by == EGS_BY_NO_TEAM &&
		 !may_be_elsewhere(l))
		egs_errf(note,
			 "--tier=%s has no effect: account %s is in no "
			 "team",
			 r->hint.tier, r->account ? r->account : "(none)");
}

/* The rows of the name before the '/' that belong to its team, or to others.
 */
static int check_workload(const struct look *l, struct egs_err *err)
{
	const char *workload = l->request->hint.workload;
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
	if (!other || may_be_elsewhere(l))
		return 0;
	return egs_errf(err,
			"--workload=%s refused: it is a workload of team %s, "
			"and account %s is in team %s",
			workload, l->conf->team[other->team].name,
			l->request->account ? l->request->account : "(none)",
			l->team->name);
}

/* Without a type it may get any: the one of which the team may have most. */
static uint32_t most_gpus(const struct look *l, const char *type)
{
	int row = egs_conf_type(l->conf, type);
	uint32_t most = 0;

	if (*type || row < l->conf->ntypes || !l->conf->ntypes)
		return l->team->max_gpus[row];
	for (int i = 0; i < l->conf->ntypes; i++)
		if (l->team->max_gpus[i] > most)
			most = l->team->max_gpus[i];
	return most;
}

static int check_max_gpus(const struct look *l, struct egs_err *err)
{
	for (uint32_t i = 0; l->team && i < l->gpus.n; i++) {
		uint32_t most = most_gpus(l, l->gpus.row[i].type);

		if (l->gpus.row[i].count > most)
			return egs_errf(err,
					"%u GPUs refused: team %s may use no "
					"more than %u%s%s",
					l->gpus.row[i].count, l->team->name,
					most, *l->gpus.row[i].type ? " " : "",
					l->gpus.row[i].type);
	}
	return 0;
}

static int check_partitions(const struct look *l, struct egs_err *err)
{
	const char *rest = l->request->partitions;
	char one[EGS_NAME_SIZE];

	if (!l->phase || !l->phase->partitions || !rest)
		return 0;
	while (*rest) {
		size_t len = strcspn(rest, ",");

		snprintf(one, sizeof(one), "%.*s", (int)len, rest);
		if (!egs_list_has(l->phase->partitions, one))
			return egs_errf(err,
					"--phase=%s refused in partition %s: "
					"this phase is for %s",
					l->phase->name, egs_show(one).text,
					l->phase->partitions);
		rest += len + (rest[len] == ',');
	}
	return 0;
}

/* How many GPUs the phase wants: its workload speaks first. */
static struct egs_range find_range(const struct look *l)
{
	char name[EGS_NAME_SIZE];
	int row = -1;

	snprintf(name, sizeof(name), "%.*s",
		 (int)strcspn(l->request->hint.workload, "/"),
		 l->request->hint.workload);
	if (*name && l->team)
		row = egs_conf_workload(l->conf, name,
					(int)(l->team - l->conf->team),
					(int)(l->phase - l->conf->phase));
	if (row >= 0 && l->conf->workload[row].gpus.min != EGS_UNSET)
		return l->conf->workload[row].gpus;
	return l->phase->gpus;
}

static int refuse_range(const struct look *l, const struct egs_range *range,
			uint32_t asked, struct egs_err *err)
{
	char text[EGS_CONF_VALUE_MAX];

	egs_conf_write_range(range, text, sizeof(text));
	if (!range->max)
		return egs_errf(err,
				"--phase=%s refused: this phase holds no GPUs, "
				"and the job asks for %u",
				l->phase->name, asked);
	return egs_errf(err,
			"--phase=%s refused: this phase has %s GPUs, and the "
			"job asks for %u",
			l->phase->name, text, asked);
}

static int check_range(const struct look *l, struct egs_err *err)
{
	uint32_t asked = egs_gres_total(&l->gpus);
	struct egs_range range;

	if (!l->phase)
		return 0;
	range = find_range(l);
	if (range.min == EGS_UNSET ||
	    (asked <= range.max && (asked >= range.min || !l->counted)))
		return 0;
	if (l->phase->out_of_range == EGS_RANGE_REFUSE || !asked ||
	    l->request->is_update)
		return refuse_range(l, &range, asked, err);
	l->verdict->gpus = asked < range.min ? range.min : range.max;
	egs_errf(&l->verdict->note,
		 "--phase=%s: the job gets %u GPUs instead of %u",
		 l->phase->name, l->verdict->gpus, asked);
	return 0;
}

/* Would it own so many GPUs of a type that started now?  Of any, if it names
 * none.
 */
static bool owns(const struct look *l, const char *name, uint32_t count,
		 bool *known)
{
	struct egs_table_place at = {
		.names = egs_table_names(l->conf),
		.team = (int)(l->team - l->conf->team),
		.tier = (int)(l->tier - l->conf->tier),
	};
	int type = egs_conf_type(l->conf, name);
	int last = *name ? type : l->conf->ntypes;
	uint32_t left;

	for (at.type = *name ? type : 0; at.type <= last; at.type++) {
		if (!l->request->left(&at, &left))
			return *known = false;
		if (count <= left)
			return true;
	}
	return false;
}

/* Behind what may become of its GPUs: whose are they? */
static void note_owner(const struct look *l)
{
	struct egs_err *note = &l->verdict->note;
	bool known = l->team && l->request->left, all = true;

	for (uint32_t i = 0; known && i < l->gpus.n; i++)
		all &= owns(l, l->gpus.row[i].type, l->gpus.row[i].count,
			    &known);
	if (!known)
		return;
	if (all)
		egs_errf(note, "%s; as of now team %s owns them", note->msg,
			 l->team->name);
	else
		egs_errf(note, "%s; as of now they are on loan", note->msg);
}

/* A job that cannot run a second time hears what that means. */
static int check_requeue(const struct look *l, struct egs_err *err)
{
	const char *why = l->request->interactive ? "an interactive job"
						  : "a job with --no-requeue";

	if ((!l->request->interactive && !l->request->no_requeue) ||
	    !l->tier->yields || !egs_gres_total(&l->gpus))
		return 0;
	if (l->tier->no_requeue == EGS_FATE_REFUSE)
		return egs_errf(err,
				"%s refused: tier %s wants jobs that can be "
				"requeued",
				why, l->tier->name);
	if (*l->verdict->note.msg || l->verdict->mode != EGS_MODE_ENFORCE)
		return 0;
	if (l->tier->no_requeue == EGS_FATE_CANCEL ||
	    l->tier->loan == EGS_LOAN_ALWAYS)
		egs_errf(&l->verdict->note,
			 "%s of tier %s is cancelled when its GPUs are taken",
			 why, l->tier->name);
	else
		egs_errf(&l->verdict->note,
			 "%s of tier %s keeps its GPUs while its team owns "
			 "them, and is cancelled when they are on loan and "
			 "called back",
			 why, l->tier->name);
	note_owner(l);
	return 0;
}

/* So does one that loses its work.  Where that may never happen it is no news.
 */
static void note_no_checkpoint(const struct look *l)
{
	const struct egs_tier *t = l->tier;
	const char *fate = NULL;

	if (l->request->saves || l->request->interactive ||
	    l->request->no_requeue || !t->yields || !egs_gres_total(&l->gpus) ||
	    *l->verdict->note.msg || l->verdict->mode != EGS_MODE_ENFORCE)
		return;
	if (t->no_checkpoint == EGS_FATE_CANCEL)
		fate = "is cancelled";
	else if (t->no_checkpoint == EGS_FATE_REQUEUE &&
		 t->loan == EGS_LOAN_ALWAYS)
		fate = "starts from the beginning";
	if (fate)
		egs_errf(&l->verdict->note,
			 "a job of tier %s that cannot save (see --ckpt) %s "
			 "when its GPUs are taken",
			 t->name, fate);
}

static int check_managed(const struct look *l, struct egs_err *err)
{
	if (check_workload(l, err) < 0 || check_max_gpus(l, err) < 0 ||
	    check_partitions(l, err) < 0 || check_range(l, err) < 0)
		return -1;
	if (check_requeue(l, err) < 0)
		return -1;
	note_no_checkpoint(l);
	return 0;
}

static void stand(struct look *l)
{
	const struct egs_request *r = l->request;
	struct egs_claimant who = claimant_of(r);
	struct egs_standing s = egs_managed(l->conf, &who);
	int phase = egs_conf_phase(l->conf, r->hint.phase);

	l->team = s.team < 0 ? NULL : &l->conf->team[s.team];
	l->tier = s.tier < 0 ? NULL : &l->conf->tier[s.tier];
	l->phase = phase < 0 ? NULL : &l->conf->phase[phase];
	l->verdict->standing = s;
	l->verdict->mode = l->conf->mode;
	if (l->team && l->team->mode != EGS_MODE_INHERIT)
		l->verdict->mode = l->team->mode;
}

int egs_check(const struct egs_policy_conf *conf,
	      const struct egs_request *request, struct egs_verdict *verdict,
	      struct egs_err *err)
{
	struct look l = { .conf = conf,
			  .request = request,
			  .verdict = verdict };

	*verdict = (struct egs_verdict){ .gpus = EGS_AS_ASKED };
	stand(&l);
	l.counted = egs_gpus_count(&request->gpus, &l.gpus);
	if (check_tier(&l, err) < 0)
		return -1;
	note_no_effect(&l);
	return l.tier ? check_managed(&l, err) : 0;
}
