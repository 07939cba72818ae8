/* reload.c - a new configuration: teams, tiers and types by name
 *
 * An index is valid for one configuration, so every stored index is translated
 * by name.  A job whose tier is gone becomes unmanaged.  A GPU type that is
 * gone becomes one of "all others".
 */
#include <stdlib.h>
#include <string.h>

#include "policyd/policy/policy_internal.h"

/* Old index to new index, -1: gone. */
struct index_map {
	int tier[EGS_TIERS_MAX];
	int team[EGS_TEAMS_MAX];
	int phase[EGS_PHASES_MAX];
	int workload[EGS_WORKLOADS_MAX];
	int type[EGS_TYPE_ROWS];
};

static int find_same_workload(const struct egs_policy_conf *to,
			      const struct egs_workload *w,
			      const struct index_map *m)
{
	int team = w->team < 0 ? -1 : m->team[w->team];
	int phase = w->phase < 0 ? -1 : m->phase[w->phase];

	return egs_conf_find_workload(to, w->name, team, phase);
}

static void make_map(struct index_map *m, const struct egs_policy_conf *from,
		     const struct egs_policy_conf *to)
{
	for (int i = 0; i < from->ntiers; i++)
		m->tier[i] = egs_conf_find_tier(to, from->tier[i].name);
	for (int i = 0; i < from->nteams; i++)
		m->team[i] = egs_conf_find_team(to, from->team[i].name);
	for (int i = 0; i < from->nphases; i++)
		m->phase[i] = egs_conf_find_phase(to, from->phase[i].name);
	for (int i = 0; i < from->ntypes; i++)
		m->type[i] = egs_conf_match_type(to, from->type[i].name);
	m->type[from->ntypes] = to->ntypes;
	for (int i = 0; i < from->nworkloads; i++)
		m->workload[i] = find_same_workload(to, &from->workload[i], m);
}

static int map_index(const int *map, int i)
{
	return i < 0 ? -1 : map[i];
}

static void remap_types(uint16_t by_type[EGS_TYPE_ROWS],
			const struct index_map *m)
{
	uint16_t old[EGS_TYPE_ROWS];

	memcpy(old, by_type, sizeof(old));
	memset(by_type, 0, sizeof(old));
	for (int t = 0; t < EGS_TYPE_ROWS; t++)
		if (old[t])
			by_type[m->type[t]] =
				(uint16_t)(by_type[m->type[t]] + old[t]);
}

static void remap_job(struct egs_job *j, const struct index_map *m)
{
	struct egs_facts *f = &j->facts;

	f->team = (int16_t)map_index(m->team, f->team);
	f->tier = (int16_t)map_index(m->tier, f->tier);
	f->phase = (int16_t)map_index(m->phase, f->phase);
	f->workload = (int16_t)map_index(m->workload, f->workload);
	remap_types(f->by_type, m);
	if (f->need.type != EGS_TYPE_ANY)
		f->need.type = (uint8_t)m->type[f->need.type];
	j->type = (uint8_t)m->type[j->type];
	j->claim_type = (uint8_t)m->type[j->claim_type];
}

/* Actions that the daemon has not read yet. */
static void remap_actions(struct egs_policy *p, const struct index_map *m)
{
	for (size_t i = 0; i < p->nactions; i++)
		p->action[i].team = map_index(m->team, p->action[i].team);
}

static void remap_usage(struct egs_policy *p, const struct egs_policy *old,
			const struct index_map *m)
{
	memset(p->usage, 0, sizeof(p->usage));
	memset(p->team_meter, 0, sizeof(p->team_meter));
	memset(p->workload_meter, 0, sizeof(p->workload_meter));
	memset(p->workload_over_limit, 0, sizeof(p->workload_over_limit));
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

/* Jobs leave the books while the old configuration is still in force. */
static void leave_books(struct egs_policy *p)
{
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));)
		if (j->running)
			egs_job_leave_books(p, j);
}

static void enter_books(struct egs_policy *p)
{
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));)
		if (j->running)
			egs_job_enter_books(p, j, !j->on_loan);
	p->rows_changed = true;
}

/* Reserve room for every running job in its new book. */
static int reserve_books(struct egs_policy *p, const struct index_map *m)
{
	int n = p->conf->nteams * egs_policy_ntypes(p);
	uint32_t *jobs = calloc((size_t)n + 1, sizeof(*jobs));
	int rc = jobs ? 0 : -1;

	for (struct egs_job *j = NULL;
	     jobs && (j = egs_jobs_next(&p->jobs, j));) {
		int team = map_index(m->team, j->facts.team);

		if (j->running && team >= 0)
			jobs[team * egs_policy_ntypes(p) + m->type[j->type]]++;
	}
	for (int i = 0; rc == 0 && i < n; i++)
		rc = egs_loan_book_reserve(&p->loan_book[i], jobs[i]);
	free(jobs);
	return rc;
}

static void remap_node(struct egs_node *n, const struct index_map *m,
		       int ntypes)
{
	struct egs_node old = *n;

	n->type = (uint8_t)m->type[old.type];
	memset(n->by_type, 0, sizeof(n->by_type));
	for (int t = 0; t < ntypes; t++)
		n->by_type[m->type[t]] += old.by_type[t];
	/* Until the next poll, every tier and phase may use the node. */
	n->tiers = n->phases = UINT32_MAX;
}

static void apply_conf(struct egs_policy *p, struct egs_policy *old,
		       const struct index_map *m)
{
	leave_books(old);
	memset(p->team_observed, 0, sizeof(p->team_observed));
	remap_actions(p, m);
	remap_usage(p, old, m);
	for (struct egs_job *j = NULL; (j = egs_jobs_next(&p->jobs, j));)
		remap_job(j, m);
	for (uint32_t i = 0; i < p->nnodes; i++)
		remap_node(&p->node[i], m, egs_policy_ntypes(old));
	egs_loans_set_quotas(p);
	enter_books(p);
	egs_policy_claim_recount(p);
}

/* Allocate new books first: only this can fail. */
static int prepare_books(struct egs_policy *p,
			 const struct egs_policy_conf *conf,
			 const struct index_map *m)
{
	p->conf = conf;
	p->loan_book = NULL;
	if (egs_loans_new(p) == 0 && reserve_books(p, m) == 0)
		return 0;
	egs_loans_free(p->loan_book, conf->nteams, egs_policy_ntypes(p));
	return -1;
}

int egs_policy_reload(struct egs_policy *p, const struct egs_policy_conf *conf)
{
	struct egs_policy *old = malloc(sizeof(*old));
	struct index_map m = { 0 };
	int rc;

	if (!old)
		return -1;
	*old = *p;
	make_map(&m, p->conf, conf);
	rc = prepare_books(p, conf, &m);
	if (rc < 0) {
		*p = *old;
	} else {
		apply_conf(p, old, &m);
		egs_loans_free(old->loan_book, old->conf->nteams,
			       egs_policy_ntypes(old));
	}
	free(old);
	return rc;
}
