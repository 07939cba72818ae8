/* query.c - nodes, and what is known of a job; overrides of tier and phase */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hostlist.h"
#include "common/base/list.h"
#include "common/base/text.h"
#include "common/conf/names.h"
#include "common/hint/hint.h"
#include "policyd/cluster/cluster_internal.h"

int64_t egs_cluster_add_node(struct egs_cluster *c, const char *name)
{
	uint32_t number = egs_intern_add(&c->node_names, name);

	if (!number || egs_grow(&c->nodes, &c->nodes_cap, number) < 0)
		return -1;
	c->nodes[number - 1].name = egs_intern_get(&c->node_names, number);
	if (!c->nodes[number - 1].type)
		c->nodes[number - 1].type = "";
	return number - 1;
}

/* Jobs without a type on a node with several count by its most frequent type.
 */
static const char *find_main_type(const struct egs_gpu_count *gpus)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < gpus->ntypes; i++)
		if (gpus->by_type[i].count > gpus->by_type[best].count)
			best = i;
	return gpus->ntypes ? gpus->by_type[best].type : "";
}

/* Intern all types of a node with several; NULL: it has one. */
static const char *intern_types(struct egs_cluster *c,
				const struct egs_gpu_count *gpus)
{
	struct egs_text text = { "" };

	if (gpus->ntypes < 2)
		return NULL;
	for (uint32_t i = 0; i < gpus->ntypes; i++)
		egs_text_append(&text, "%sgpu:%s%s%u", i ? "," : "",
				gpus->by_type[i].type,
				*gpus->by_type[i].type ? ":" : "",
				gpus->by_type[i].count);
	return egs_intern_get(&c->node_strings,
			      egs_intern_add(&c->node_strings, text.text));
}

static void add_gpus_by_type(const struct egs_policy_conf *conf,
			     const struct egs_node_info *n,
			     uint32_t count[EGS_TYPE_ROWS])
{
	struct egs_gpu_count gpus = { .ntypes = 0 };

	if (!n->mixed) {
		count[egs_conf_match_type(conf, n->type)] += n->gpus;
		return;
	}
	egs_gpu_count_add(&gpus, n->mixed, 1);
	for (uint32_t i = 0; i < gpus.ntypes; i++)
		count[egs_conf_match_type(conf, gpus.by_type[i].type)] +=
			gpus.by_type[i].count;
}

/* Do two lists such as "gpu,serve" have a name in common? */
static bool have_common_name(const char *a, const char *b)
{
	char one[EGS_NAME_SIZE];
	const char *name;
	size_t len;

	while (a && b && (name = egs_list_next(&a, &len))) {
		snprintf(one, sizeof(one), "%.*s", (int)len, name);
		if (egs_conf_list_has(b, one))
			return true;
	}
	return false;
}

static void find_gpus_of_nodes(const struct egs_cluster *c,
			       const char *partitions,
			       struct egs_gpus_of_nodes *of)
{
	bool any = false;

	memset(of->fewest, 0, sizeof(of->fewest));
	memset(of->most, 0, sizeof(of->most));
	for (uint32_t i = 0; i < c->node_names.count; i++) {
		const struct egs_node_info *n = &c->nodes[i];
		uint32_t gpus[EGS_TYPE_ROWS] = { 0 };

		if (n->gone || !have_common_name(partitions, n->partitions))
			continue;
		add_gpus_by_type(c->conf, n, gpus);
		for (int t = 0; t < EGS_TYPE_ROWS; t++) {
			if (!any || gpus[t] < of->fewest[t])
				of->fewest[t] = gpus[t];
			if (gpus[t] > of->most[t])
				of->most[t] = gpus[t];
		}
		any = true;
	}
}

/* Most exclusive jobs of a site are in one partition. */
const struct egs_gpus_of_nodes *
egs_cluster_gpus_of_nodes(struct egs_cluster *c, const char *partitions)
{
	struct egs_gpus_of_nodes *of = &c->gpus_of_nodes;
	uint32_t name = egs_intern_add(&c->strings, partitions);

	if (!name || of->partitions != name || of->node_poll != c->node_poll ||
	    of->conf != c->conf)
		find_gpus_of_nodes(c, partitions, of);
	of->partitions = name;
	of->node_poll = c->node_poll;
	of->conf = c->conf;
	return of;
}

/* The tiers and phases that have the node in their Nodes=, as bits. */
static void set_own_bits(const struct egs_policy_conf *conf, const char *name,
			 struct egs_node *to)
{
	for (int i = 0; i < conf->ntiers; i++)
		if (conf->tier[i].nodes &&
		    egs_hostlist_has(conf->tier[i].nodes, name))
			to->tiers |= UINT32_C(1) << i;
	for (int i = 0; i < conf->nphases; i++)
		if (conf->phase[i].nodes &&
		    egs_hostlist_has(conf->phase[i].nodes, name))
			to->phases |= UINT32_C(1) << i;
}

static int apply_node(struct egs_cluster *c, uint32_t number, egs_time_t now)
{
	const struct egs_node_info *n = &c->nodes[number];
	struct egs_event ev = {
		.kind = EGS_EV_NODE,
		.node = number,
		.node_state = { .gpus = n->gpus,
				.cores = n->cpus,
				.mem_mb = n->mem_mb > UINT32_MAX
						  ? UINT32_MAX
						  : (uint32_t)n->mem_mb,
				.type = (uint8_t)egs_conf_match_type(c->conf,
								     n->type),
				.mixed = n->mixed,
				.up = n->up },
	};

	add_gpus_by_type(c->conf, n, ev.node_state.by_type);
	if (!n->gone)
		set_own_bits(c->conf, n->name, &ev.node_state);
	return egs_policy_apply(c->policy, &ev, now);
}

int egs_cluster_update_node(struct egs_cluster *c,
			    const struct egs_node_fact *f, egs_time_t now)
{
	int64_t number = egs_cluster_add_node(c, f->name);
	uint32_t type =
		egs_intern_add(&c->node_strings, find_main_type(&f->gpus));

	if (number < 0)
		return -1;
	c->nodes[number] = (struct egs_node_info){
		.name = c->nodes[number].name,
		.type = egs_intern_get(&c->node_strings, type),
		.mixed = intern_types(c, &f->gpus),
		.partitions = egs_intern_get(
			&c->node_strings,
			egs_intern_add(&c->node_strings, f->partitions)),
		.address = egs_intern_get(
			&c->node_strings,
			egs_intern_add(&c->node_strings, f->address)),
		.features = egs_intern_get(
			&c->node_strings,
			egs_intern_add(&c->node_strings, f->features)),
		.gpus = egs_gpu_count_total(&f->gpus),
		.gpus_used = egs_gpu_count_total(&f->gpus_used),
		.cpus = f->cpus,
		.cpus_used = f->cpus_used,
		.mem_mb = f->mem_mb,
		.mem_used_mb = f->mem_used_mb,
		.last_poll = c->node_poll,
		.up = !(f->flags & EGS_NODE_DOWN),
		.reserved = f->flags & EGS_NODE_RESERVED,
	};
	c->nodes_reported++;
	return apply_node(c, (uint32_t)number, now);
}

void egs_cluster_end_nodes(struct egs_cluster *c, egs_time_t now)
{
	if (!c->nodes_reported)
		return;
	for (uint32_t i = 0; i < c->node_names.count; i++) {
		struct egs_node_info *n = &c->nodes[i];

		if (n->last_poll == c->node_poll || n->gone)
			continue;
		*n = (struct egs_node_info){ .name = n->name,
					     .type = n->type,
					     .gone = true };
		apply_node(c, i, now);
	}
	c->nodes_reported = 0;
	c->node_poll++;
}

const struct egs_node_info *egs_cluster_get_node(const struct egs_cluster *c,
						 uint32_t number)
{
	return number < c->node_names.count ? &c->nodes[number] : NULL;
}

int64_t egs_cluster_find_node(const struct egs_cluster *c, const char *name)
{
	return (int64_t)egs_intern_find(&c->node_names, name) - 1;
}

void egs_cluster_count_gpus(const struct egs_cluster *c,
			    const struct egs_policy_conf *conf,
			    uint32_t capacity[EGS_TYPE_ROWS])
{
	memset(capacity, 0, EGS_TYPE_ROWS * sizeof(capacity[0]));
	for (uint32_t i = 0; i < c->node_names.count; i++)
		add_gpus_by_type(conf, &c->nodes[i], capacity);
}

/* A node that only jobs have named is not known. */
void egs_cluster_describe(const struct egs_cluster *c,
			  struct egs_judge_cluster *to)
{
	for (uint32_t i = 0; i < c->node_names.count; i++) {
		const struct egs_node_info *n = &c->nodes[i];
		struct egs_gpu_count gpus = { .ntypes = 0 };

		if (n->gone || !n->last_poll)
			continue;
		egs_intern_add(&to->nodes, n->name);
		egs_gpu_count_add(&gpus, n->mixed, 1);
		for (uint32_t t = 0; t < gpus.ntypes; t++)
			egs_judge_add_gpus(to, gpus.by_type[t].type,
					   gpus.by_type[t].count);
		if (!n->mixed && n->gpus)
			egs_judge_add_gpus(to, n->type, n->gpus);
	}
}

static struct egs_last_fact *find_job(const struct egs_cluster *c,
				      uint32_t job_id)
{
	uint32_t slot = egs_idmap_find(&c->jobs, job_id);

	return slot == EGS_IDMAP_NONE || !c->last_facts[slot].in_policy
		       ? NULL
		       : &c->last_facts[slot];
}

int egs_cluster_lookup(const struct egs_cluster *c, uint32_t job_id,
		       struct egs_job_info *info)
{
	const struct egs_last_fact *s = find_job(c, job_id);

	if (!s)
		return -1;
	*info = (struct egs_job_info){
		.state = s->state,
		.array_job_id = s->array_job_id,
		.expected_start = (egs_time_t)s->expected_start,
		.user = egs_intern_get(&c->strings, s->user),
		.account = egs_intern_get(&c->strings, s->account),
		.partition = egs_intern_get(&c->strings, s->partition),
		.name = egs_intern_get(&c->strings, s->name),
		.time_limit_s = s->time_limit_s,
		.reason = egs_intern_get(&c->strings, s->reason),
		.dependency = egs_intern_get(&c->strings, s->dependency),
		.depends_on = egs_intern_get(&c->strings, s->depends_on),
		.workload = egs_intern_get(&c->strings, s->workload),
		.tier_override = s->tier_override < 0
					 ? ""
					 : c->conf->tier[s->tier_override].name,
		.phase_override =
			s->phase_override < 0
				? ""
				: c->conf->phase[s->phase_override].name,
		.save_program = egs_intern_get(&c->strings, s->save_program),
		.acks = s->acks,
		.managed_by = s->managed_by,
	};
	return 0;
}

/* 'gpus' within the range.  A running job keeps at least one GPU, so a range to
 * 0 does not apply.
 */
static uint32_t clamp_gpus(const struct egs_range *range, uint32_t gpus)
{
	if (range->max == EGS_UNSET || range->max == 0)
		return gpus;
	if (gpus < range->min)
		return range->min;
	return gpus > range->max ? range->max : gpus;
}

uint32_t egs_cluster_gpus_for_phase(const struct egs_cluster *c,
				    const struct egs_job *job, int phase)
{
	const struct egs_last_fact *s = find_job(c, job->ident.job_id);
	int row, hint;

	if (!s)
		return job->gpus;
	hint = egs_hint_gpus_for_phase(
		egs_intern_get(&c->strings, s->phase_gpus),
		c->conf->phase[phase].name);
	if (hint > 0)
		return (uint32_t)hint;
	row = egs_cluster_find_workload(
		c, egs_intern_get(&c->strings, s->workload), job->facts.team,
		phase);
	if (row >= 0 && c->conf->workload[row].gpus.max != EGS_UNSET)
		return clamp_gpus(&c->conf->workload[row].gpus, job->gpus);
	return clamp_gpus(&c->conf->phase[phase].gpus, job->gpus);
}

/* The phase selects the row of the workload. */
static void set_facts_phase(const struct egs_cluster *c,
			    const struct egs_last_fact *s, int phase,
			    struct egs_facts *facts)
{
	facts->phase = (int16_t)phase;
	facts->workload = (int16_t)egs_cluster_find_workload(
		c, egs_intern_get(&c->strings, s->workload), facts->team,
		phase);
}

/* Without a checksum the next poll applies the fact again. */
static int set_override(struct egs_cluster *c, uint32_t job_id, int value,
			bool is_tier, egs_time_t now)
{
	struct egs_last_fact *s = find_job(c, job_id);
	const struct egs_job *j = egs_policy_job(c->policy, job_id);
	struct egs_event ev = { .kind = EGS_EV_UPDATED };

	if (!s || !j)
		return -1;
	ev.job = j->ident;
	ev.facts = j->facts;
	s->checksum = 0;
	if (is_tier)
		s->tier_override = (int16_t)value;
	else
		s->phase_override = (int16_t)value;
	if (value >= 0 && is_tier)
		ev.facts.tier = (int16_t)value;
	if (value >= 0 && !is_tier)
		set_facts_phase(c, s, value, &ev.facts);
	if (c->ops && c->ops->job_changed)
		c->ops->job_changed(c->arg, &ev.job, false);
	return egs_policy_apply(c->policy, &ev, now);
}

int egs_cluster_set_tier(struct egs_cluster *c, uint32_t job_id,
			 const char *tier, egs_time_t now)
{
	int value = egs_conf_find_tier(c->conf, tier);

	return *tier && value < 0 ? -1
				  : set_override(c, job_id, value, true, now);
}

int egs_cluster_set_phase(struct egs_cluster *c, uint32_t job_id,
			  const char *phase, egs_time_t now)
{
	int value = egs_conf_find_typed_phase(c->conf, phase);

	return *phase && value < 0 ? -1
				   : set_override(c, job_id, value, false, now);
}
