/* policy_conf.c - defaults, tables and names of the policy's configuration
 *
 * To add a key, see keys.h.  This file sets the default, and frees a string.
 * The comment of the field in policy_conf.h shows the default.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/list.h"
#include "common/conf/policy_conf.h"

#define MINUTE 60
#define DAY    86400

static const struct egs_rate no_rate = { EGS_UNLIMITED, DAY };
static const struct egs_range any_gpus = { EGS_UNSET, EGS_UNSET };

static void set_name(char *to, const char *name)
{
	size_t len = strnlen(name, EGS_NAME_SIZE - 1);

	memcpy(to, name, len);
	to[len] = '\0';
}

static void fill_row(uint32_t *row, uint32_t value)
{
	for (int i = 0; i < EGS_TYPE_ROWS; i++)
		row[i] = value;
}

struct egs_policy_conf *egs_policy_conf_new(void)
{
	static const char builtin[][8] = { "prep", "train", "eval", "infer",
					   "retrain" };
	struct egs_policy_conf *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->mode = EGS_MODE_OBSERVE;
	c->port = EGS_PORT;
	c->rundir_size_kib = EGS_RUNDIR_SIZE_KIB;
	c->rundir_inodes = EGS_RUNDIR_INODES;
	c->stale_after_s = 60;
	c->poll_interval_s = 2;
	c->loan_time_s = EGS_UNLIMITED;
	c->half_life_s = 7 * DAY;
	c->retention_s = 400 * DAY;
	c->sample_interval_s = EGS_SAMPLE_INTERVAL_S;
	c->cell_retention_s = 14 * DAY;
	c->metrics_every_s = 15;
	c->site_factor_max = 10000;
	c->dependents_first = EGS_DEPENDENTS_ORDER;
	c->remediate_max_pct = 5;
	for (size_t i = 0; i < ARRAY_SIZE(builtin); i++)
		egs_conf_add_phase(c, builtin[i]);
	return c;
}

static void free_tier(struct egs_tier *t)
{
	free(t->allow_accounts);
	free(t->allow_users);
	free(t->allow_groups);
	free(t->qos);
	free(t->partitions);
	free(t->nodes);
}

static void free_team(struct egs_team *t)
{
	free(t->accounts);
	free(t->users);
	free(t->groups);
}

void egs_policy_conf_free(struct egs_policy_conf *c)
{
	if (!c)
		return;
	for (int i = 0; i < c->ntiers; i++)
		free_tier(&c->tier[i]);
	for (int i = 0; i < c->nteams; i++)
		free_team(&c->team[i]);
	for (int i = 0; i < c->nphases; i++) {
		free(c->phase[i].partitions);
		free(c->phase[i].nodes);
	}
	free(c->partitions);
	free(c->preempt_base);
	free(c->operators);
	free(c->web_user);
	free(c->state_dir);
	free(c->run_dir);
	free(c->node_dir);
	free(c->node_spool);
	free(c->dcgm_map_dir);
	free(c->notify);
	free(c->currency);
	free(c);
}

struct egs_gpu_type *egs_conf_add_type(struct egs_policy_conf *c,
				       const char *name)
{
	struct egs_gpu_type *t;

	for (int i = 0; i < c->ntypes; i++)
		if (strcmp(c->type[i].name, name) == 0)
			return &c->type[i];
	if (c->ntypes == EGS_TYPES_MAX)
		return NULL;
	t = &c->type[c->ntypes++];
	set_name(t->name, name);
	t->rating = EGS_MILLI_ONE;
	return t;
}

struct egs_tier *egs_conf_add_tier(struct egs_policy_conf *c, const char *name)
{
	struct egs_tier *t;

	if (c->ntiers == EGS_TIERS_MAX)
		return NULL;
	t = &c->tier[c->ntiers++];
	set_name(t->name, name);
	t->yields = true;
	t->spill = true;
	t->expedite = true;
	t->revenue = true;
	t->min_runtime_s = 15 * MINUTE;
	t->max_preemptions = (struct egs_rate){ 3, DAY };
	t->grace_min_s = 30;
	t->grace_max_s = 10 * MINUTE;
	t->grace_noack_s = 2 * MINUTE;
	t->at_deadline = EGS_FATE_REQUEUE;
	t->no_checkpoint = EGS_FATE_REQUEUE;
	t->no_requeue = EGS_FATE_NONE;
	return t;
}

struct egs_team *egs_conf_add_team(struct egs_policy_conf *c, const char *name)
{
	struct egs_team *t;

	if (c->nteams == EGS_TEAMS_MAX)
		return NULL;
	t = &c->team[c->nteams++];
	set_name(t->name, name);
	fill_row(t->max_gpus, EGS_UNLIMITED);
	t->borrow_pct = 100;
	t->lend_pct = 100;
	t->max_gpu_hours = no_rate;
	t->share = EGS_UNSET;
	t->tiers = UINT32_MAX;
	t->default_tier = -1;
	return t;
}

struct egs_phase *egs_conf_add_phase(struct egs_policy_conf *c,
				     const char *name)
{
	int i = egs_conf_find_phase(c, name);
	struct egs_phase *p;

	if (i >= 0)
		return &c->phase[i];
	if (c->nphases == EGS_PHASES_MAX)
		return NULL;
	p = &c->phase[c->nphases++];
	set_name(p->name, name);
	p->spill = true;
	p->gpus = any_gpus;
	p->weight = EGS_MILLI_ONE;
	p->idle_warn_s = p->idle_yield_s = p->stall_after_s = EGS_UNLIMITED;
	return p;
}

struct egs_workload *egs_conf_add_workload(struct egs_policy_conf *c,
					   const char *name)
{
	struct egs_workload *w;

	if (c->nworkloads == EGS_WORKLOADS_MAX)
		return NULL;
	w = &c->workload[c->nworkloads++];
	set_name(w->name, name);
	w->team = -1;
	w->phase = -1;
	w->gpus = any_gpus;
	w->max_gpu_hours = no_rate;
	return w;
}

struct egs_rule *egs_conf_add_rule(struct egs_policy_conf *c, const char *name)
{
	struct egs_rule *r;

	if (c->nrules == EGS_RULES_MAX)
		return NULL;
	r = &c->rule[c->nrules++];
	set_name(r->name, name);
	r->above = EGS_UNSET;
	r->does.set = EGS_REMEDY_NOTE;
	r->limit = no_rate;
	return r;
}

int egs_conf_find_tier(const struct egs_policy_conf *c, const char *name)
{
	for (int i = 0; i < c->ntiers; i++)
		if (strcmp(c->tier[i].name, name) == 0)
			return i;
	return -1;
}

int egs_conf_find_team(const struct egs_policy_conf *c, const char *name)
{
	for (int i = 0; i < c->nteams; i++)
		if (strcmp(c->team[i].name, name) == 0)
			return i;
	return -1;
}

int egs_conf_find_phase(const struct egs_policy_conf *c, const char *name)
{
	for (int i = 0; i < c->nphases; i++)
		if (strcmp(c->phase[i].name, name) == 0)
			return i;
	return -1;
}

int egs_conf_find_rule(const struct egs_policy_conf *c, const char *name)
{
	for (int i = 0; i < c->nrules; i++)
		if (strcmp(c->rule[i].name, name) == 0)
			return i;
	return -1;
}

int egs_conf_match_type(const struct egs_policy_conf *c, const char *name)
{
	for (int i = 0; i < c->ntypes; i++)
		if (!c->type[i].name[0] || strcmp(c->type[i].name, name) == 0)
			return i;
	return c->ntypes;
}

int egs_conf_find_workload(const struct egs_policy_conf *c, const char *name,
			   int team, int phase)
{
	int found = -1;

	for (int i = 0; i < c->nworkloads; i++) {
		const struct egs_workload *w = &c->workload[i];

		if (w->team != team || strcmp(w->name, name) != 0)
			continue;
		if (w->phase == phase)
			return i;
		if (w->phase < 0)
			found = i;
	}
	return found;
}

static bool entry_matches(const char *entry, size_t len, const char *name)
{
	if (len > 0 && entry[len - 1] == '*')
		return strncmp(entry, name, len - 1) == 0;
	return strlen(name) == len && memcmp(entry, name, len) == 0;
}

bool egs_conf_list_has(const char *list, const char *name)
{
	const char *entry;
	size_t len;

	while (name && (entry = egs_list_next(&list, &len)))
		if (entry_matches(entry, len, name))
			return true;
	return false;
}
