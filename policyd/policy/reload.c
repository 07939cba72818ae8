/* reload.c - a new configuration: teams, tiers and types by name
 *
 * Indices are those of one configuration, so everything that keeps one is
 * translated.  Who has lost its tier is unmanaged, and a type that is gone is
 * one of "all others".
 */
#include <stdlib.h>
#include <string.h>

#include "policyd/policy/policy_internal.h"

/* Old index to new one, -1: gone. */
struct map {
	int tier[EGS_TIERS_MAX];
	int team[EGS_TEAMS_MAX];
	int phase[EGS_PHASES_MAX];
	int workload[EGS_WORKLOADS_MAX];
	int type[EGS_TYPE_ROWS];
};

static int same_workload(const struct egs_policy_conf *to,
			 const struct egs_workload *w, const struct map *m)
{
	int team = w->team < 0 ? -1 : m->team[w->team];
	int phase = w->phase < 0 ? -1 : m->phase[w->phase];

	return egs_conf_workload(to, w->name, team, phase);
}

static void make_map(struct map *m, const struct egs_policy_conf *from,
		     const struct egs_policy_conf *to)
{
	for (int i = 0; i < from->ntiers; i++)
		m->tier[i] = egs_conf_tier(to, from->tier[i].name);
	for (int i = 0; i < from->nteams; i++)
		m->team[i] = egs_conf_team(to, from->team[i].name);
	for (int i = 0; i < from->nphases; i++)
		m->phase[i] = egs_conf_phase(to, from->phase[i].name);
	for (int i = 0; i < from->ntypes; i++)
		m->type[i] = egs_conf_type(to, from->type[i].name);
	m->type[from->ntypes] = to->ntypes;
	for (int i = 0; i < from->nworkloads; i++)
		m->workload[i] = same_workload(to, &from->workload[i], m);
}

static int mapped(const int *map, int i)
{
	return i < 0 ? -1 : map[i];
}

static void move_job(struct egs_job *j, const struct map *m)
{
	struct egs_facts *f = &j->facts;

	f->team = (int16_t)mapped(m->team, f->team);
	f->tier = (int16_t)mapped(m->tier, f->tier);
	f->phase = (int16_t)mapped(m->phase, f->phase);
	f->workload = (int16_t)mapped(m->workload, f->workload);
	if (f->need.type != EGS_TYPE_ANY)
		f->need.type = (uint8_t)m->type[f->need.type];
	j->type = (uint8_t)m->type[j->type];
	j->claim_type = (uint8_t)m->type[j->claim_type];
}

/* Actions nobody has taken yet. */
static void move_actions(struct egs_policy *p, const struct map *m)
{
	for (size_t i = 0; i < p->nactions; i++) {
		struct egs_action *a = &p->action[i];

		a->team = mapped(m->team, a->team);
		if (a->type != EGS_TYPE_ANY)
			a->type = m->type[a->type];
	}
}

/* Usage and hours go with the name. */
static void move_usage(struct egs_policy *p, const struct egs_policy *old,
		       const struct map *m)
{
	memset(p->usage, 0, sizeof(p->usage));
	memset(p->team_meter, 0, sizeof(p->team_meter));
	memset(p->workload_meter, 0, sizeof(p->workload_meter));
	memset(p->workload_over, 0, sizeof(p->workload_over));
	for (int i = 0; i < old->conf->nteams; i++) {
		if (m->team[i] < 0)
			continue;
		p->usage[m->team[i]] = old->usage[i];
		p->team_meter[m->team[i]] = old->team_meter[i];
	}
	for (int i = 0; i < old->conf->nworkloads; i++)
		if (m->workload[i] >= 0)
			p->workload_meter[m->workload[i]] =
				old->workload_meter[i];
}

/* Leave every book, under the configuration that filled it, and stop. */
static void leave_all(struct egs_policy *p)
{
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (p->jobs.job[i].used && p->jobs.job[i].running)
			egs_job_leave(p, i);
}

static void enter_all(struct egs_policy *p)
{
	for (uint32_t i = 0; i < p->jobs.nslots; i++) {
		struct egs_job *j = &p->jobs.job[i];

		if (!j->used)
			continue;
		if (j->running)
			egs_job_enter(p, i, !j->on_loan);
		egs_policy_act(p, EGS_ACT_ROW, j);
	}
}

/* Room for every running job in the book it will be in. */
static int reserve_all(struct egs_policy *p, const struct map *m)
{
	int n = p->conf->nteams * egs_policy_types(p);
	uint32_t *jobs = calloc((size_t)n + 1, sizeof(*jobs));
	int rc = jobs ? 0 : -1;

	for (uint32_t i = 0; jobs && i < p->jobs.nslots; i++) {
		const struct egs_job *j = &p->jobs.job[i];
		int team = mapped(m->team, j->facts.team);

		if (j->used && j->running && team >= 0)
			jobs[team * egs_policy_types(p) + m->type[j->type]]++;
	}
	for (int i = 0; rc == 0 && i < n; i++)
		rc = egs_ledger_reserve(&p->ledger[i], jobs[i]);
	free(jobs);
	return rc;
}

static void commit(struct egs_policy *p, struct egs_policy *old,
		   const struct map *m)
{
	leave_all(old);
	move_actions(p, m);
	move_usage(p, old, m);
	for (uint32_t i = 0; i < p->jobs.nslots; i++)
		if (p->jobs.job[i].used)
			move_job(&p->jobs.job[i], m);
	for (uint32_t i = 0; i < p->nnodes; i++)
		p->node[i].type = (uint8_t)m->type[p->node[i].type];
	egs_loan_quotas(p);
	enter_all(p);
	egs_claim_recount(p);
}

/* All that can fail comes first, on books of its own. */
static int prepare(struct egs_policy *p, const struct egs_policy_conf *conf,
		   const struct map *m)
{
	p->conf = conf;
	p->ledger = NULL;
	if (egs_loan_new(p) == 0 && reserve_all(p, m) == 0)
		return 0;
	egs_loan_free(p->ledger, conf->nteams, egs_policy_types(p));
	return -1;
}

int egs_policy_reload(struct egs_policy *p, const struct egs_policy_conf *conf)
{
	struct egs_policy *old = malloc(sizeof(*old));
	struct map m = { 0 };
	int rc;

	if (!old)
		return -1;
	*old = *p;
	make_map(&m, p->conf, conf);
	rc = prepare(p, conf, &m);
	if (rc < 0) {
		*p = *old;
	} else {
		commit(p, old, &m);
		egs_loan_free(old->ledger, old->conf->nteams,
			      egs_policy_types(old));
	}
	free(old);
	return rc;
}
