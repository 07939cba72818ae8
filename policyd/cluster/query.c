/* query.c - names behind the numbers: nodes, owners, what was set */
#include <stdlib.h>
#include <string.h>

#include "common/hint/hint.h"
#include "policyd/cluster/cluster_internal.h"

int64_t egs_world_node_number(struct egs_world *w, const char *name)
{
	uint32_t number = egs_names_add(&w->hosts, name);

	if (!number)
		return -1;
	if (number > w->nnodes) {
		uint32_t room = number + number / 2 + 16;
		struct egs_known_node *more =
			realloc(w->node, room * sizeof(*more));

		if (!more)
			return -1;
		memset(more + w->nnodes, 0, (room - w->nnodes) * sizeof(*more));
		w->node = more;
		w->nnodes = room;
	}
	w->node[number - 1].name = egs_names_get(&w->hosts, number);
	if (!w->node[number - 1].type)
		w->node[number - 1].type = "";
	return number - 1;
}

/* A node of several types counts by the one it has most of. */
static const char *main_type(const struct egs_gpus *gpus)
{
	uint32_t i, best = 0;

	for (i = 1; i < gpus->n; i++)
		if (gpus->row[i].count > gpus->row[best].count)
			best = i;
	return gpus->n ? gpus->row[best].type : "";
}

static int tell_node(struct egs_world *w, uint32_t number, egs_time_t now)
{
	const struct egs_known_node *n = &w->node[number];
	struct egs_event ev = {
		.kind = EGS_EV_NODE,
		.node = number,
		.nodes = { .gpus = n->gpus,
			   .cores = n->cpus,
			   .mem_mb = n->mem_mb > UINT32_MAX
					     ? UINT32_MAX
					     : (uint32_t)n->mem_mb,
			   .type = (uint8_t)egs_conf_type(w->conf, n->type),
			   .up = n->up },
	};

	return egs_policy_apply(w->policy, &ev, now);
}

int egs_world_node(struct egs_world *w, const struct egs_node_fact *f,
		   egs_time_t now)
{
	int64_t number = egs_world_node_number(w, f->name);
	uint32_t type = egs_names_add(&w->people, main_type(&f->gpus));

	if (number < 0)
		return -1;
	w->node[number] = (struct egs_known_node){
		.name = w->node[number].name,
		.type = egs_names_get(&w->people, type),
		.partitions = egs_names_get(
			&w->people, egs_names_add(&w->people, f->partitions)),
		.address = egs_names_get(&w->people,
					 egs_names_add(&w->people, f->address)),
		.features = egs_names_get(
			&w->people, egs_names_add(&w->people, f->features)),
		.gpus = egs_gres_total(&f->gpus),
		.used = egs_gres_total(&f->used),
		.cpus = f->cpus,
		.cpus_used = f->cpus_used,
		.mem_mb = f->mem_mb,
		.mem_used_mb = f->mem_used_mb,
		.look = w->node_look,
		.up = !(f->flags & EGS_NODE_DOWN),
		.reserved = f->flags & EGS_NODE_RESERVED,
	};
	w->nodes_shown++;
	return tell_node(w, (uint32_t)number, now);
}

void egs_world_nodes_end(struct egs_world *w, egs_time_t now)
{
	uint32_t i;

	if (!w->nodes_shown)
		return;
	for (i = 0; i < w->hosts.n; i++) {
		struct egs_known_node *n = &w->node[i];

		if (n->look == w->node_look || n->gone)
			continue;
		*n = (struct egs_known_node){ .name = n->name,
					      .type = n->type,
					      .gone = true };
		tell_node(w, i, now);
	}
	w->nodes_shown = 0;
	w->node_look++;
}

const struct egs_known_node *egs_world_nodes(const struct egs_world *w,
					     uint32_t number)
{
	return number < w->hosts.n ? &w->node[number] : NULL;
}

int64_t egs_world_find_node(const struct egs_world *w, const char *name)
{
	return (int64_t)egs_names_find(&w->hosts, name) - 1;
}

void egs_world_capacity(const struct egs_world *w,
			const struct egs_policy_conf *conf,
			uint32_t capacity[EGS_TYPE_ROWS])
{
	uint32_t i;

	memset(capacity, 0, EGS_TYPE_ROWS * sizeof(capacity[0]));
	for (i = 0; i < w->hosts.n; i++)
		capacity[egs_conf_type(conf, w->node[i].type)] +=
			w->node[i].gpus;
}

static struct egs_seen *find(const struct egs_world *w, uint32_t job_id)
{
	uint32_t slot = egs_idmap_find(&w->jobs, job_id);

	return slot == EGS_IDMAP_NONE || !w->seen[slot].known ? NULL
							      : &w->seen[slot];
}

int egs_world_known(const struct egs_world *w, uint32_t job_id,
		    struct egs_known *known)
{
	const struct egs_seen *s = find(w, job_id);

	if (!s)
		return -1;
	*known = (struct egs_known){
		.state = s->state,
		.array_job_id = s->array_job_id,
		.expected = (egs_time_t)s->expected,
		.user = egs_names_get(&w->people, s->user),
		.account = egs_names_get(&w->people, s->account),
		.tier = s->tier < 0 ? "" : w->conf->tier[s->tier].name,
		.phase = s->phase < 0 ? "" : w->conf->phase[s->phase].name,
		.program = egs_names_get(&w->people, s->program),
		.acks = s->acks,
		.by = s->by,
	};
	return 0;
}

/* 'gpus' made to fit; a job that runs keeps one at least. */
static uint32_t within(const struct egs_range *range, uint32_t gpus)
{
	if (range->max == EGS_UNSET || range->max == 0)
		return gpus;
	if (gpus < range->min)
		return range->min;
	return gpus > range->max ? range->max : gpus;
}

uint32_t egs_world_wants(const struct egs_world *w, const struct egs_job *job,
			 int phase)
{
	const struct egs_seen *s = find(w, job->ident.job_id);
	int row, said;

	if (!s)
		return job->gpus;
	said = egs_hint_gpus_of(egs_names_get(&w->people, s->phase_gpus),
				w->conf->phase[phase].name);
	if (said > 0)
		return (uint32_t)said;
	row = egs_world_workload(w, egs_names_get(&w->people, s->workload),
				 job->facts.team, phase);
	if (row >= 0 && w->conf->workload[row].gpus.max != EGS_UNSET)
		return within(&w->conf->workload[row].gpus, job->gpus);
	return within(&w->conf->phase[phase].gpus, job->gpus);
}

/* Another phase may be another row of its workload. */
static void set_phase(const struct egs_world *w, const struct egs_seen *s,
		      int phase, struct egs_facts *facts)
{
	facts->phase = (int16_t)phase;
	facts->workload = (int16_t)egs_world_workload(
		w, egs_names_get(&w->people, s->workload), facts->team, phase);
}

/* Slurm's facts are told again at the next look: the sum is dropped. */
static int set(struct egs_world *w, uint32_t job_id, int value, bool is_tier,
	       egs_time_t now)
{
	struct egs_seen *s = find(w, job_id);
	const struct egs_job *j = egs_policy_job(w->policy, job_id);
	struct egs_event ev = { .kind = EGS_EV_JOB };

	if (!s || !j)
		return -1;
	ev.job = j->ident;
	ev.facts = j->facts;
	s->sum = 0;
	if (is_tier)
		s->tier = (int16_t)value;
	else
		s->phase = (int16_t)value;
	if (value >= 0 && is_tier)
		ev.facts.tier = (int16_t)value;
	if (value >= 0 && !is_tier)
		set_phase(w, s, value, &ev.facts);
	if (w->ops && w->ops->changed)
		w->ops->changed(w->arg, &ev.job, false);
	return egs_policy_apply(w->policy, &ev, now);
}

int egs_world_set_tier(struct egs_world *w, uint32_t job_id, const char *tier,
		       egs_time_t now)
{
	int value = egs_conf_tier(w->conf, tier);

	return *tier && value < 0 ? -1 : set(w, job_id, value, true, now);
}

int egs_world_set_phase(struct egs_world *w, uint32_t job_id, const char *phase,
			egs_time_t now)
{
	int value = egs_conf_phase(w->conf, phase);

	return *phase && value < 0 ? -1 : set(w, job_id, value, false, now);
}
