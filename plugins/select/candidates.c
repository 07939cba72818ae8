/* candidates.c - nodes and possible victims of one job_test
 *
 * Slurm's node records have the free GPUs.  Free cores and memory are computed
 * from what jobs hold, because the tables of cons_tres are private.
 */
#include <stdlib.h>

#include "common/base/grow.h"
#include "common/conf/policy_conf.h"
#include "plugins/select/candidates.h"
#include "plugins/shared/decisions.h"

static int fill_nodes(struct egs_candidates *s, const bitstr_t *nodes)
{
	uint32_t count = (uint32_t)node_record_count;

	if (egs_grow(&s->slot_of_node, &s->node_room, count) < 0 ||
	    egs_grow(&s->search.node, &s->slot_room, count) < 0)
		return -1;
	s->search.nnodes = 0;
	for (uint32_t i = 0; i < count; i++) {
		const node_record_t *node = node_record_table_ptr[i];

		s->slot_of_node[i] = 0;
		if (!node || !bit_test((bitstr_t *)nodes, i))
			continue;
		s->search.node[s->search.nnodes] =
			egs_slurm_records_node(node, s->type_id);
		s->slot_of_node[i] = ++s->search.nnodes;
	}
	return 0;
}

typedef int (*allocation_fn)(struct egs_candidates *s,
			     const struct egs_allocation *hold);

/* Call 'fn' with each allocation of 'job' on the nodes of the search. */
static int for_each_allocation(struct egs_candidates *s,
			       const job_record_t *job, uint32_t cand,
			       allocation_fn fn)
{
	const job_resources_t *res = job->job_resrcs;
	uint32_t at = 0;
	int from, to;

	if (!res || !res->node_bitmap)
		return 0;
	from = bit_ffs(res->node_bitmap);
	to = bit_fls(res->node_bitmap);
	for (int i = from; i >= 0 && i <= to; i++) {
		struct egs_allocation hold;

		if (!bit_test(res->node_bitmap, i))
			continue;
		at++;
		if (i >= node_record_count || !s->slot_of_node[i])
			continue;
		hold = egs_slurm_records_allocation(
			job, at - 1, node_record_table_ptr[i], s->type_id);
		hold.node = s->slot_of_node[i] - 1;
		hold.candidate = cand;
		if (fn(s, &hold) < 0)
			return -1;
	}
	return 0;
}

static int subtract_allocation(struct egs_candidates *s,
			       const struct egs_allocation *hold)
{
	struct egs_search_node *p = &s->search.node[hold->node];

	p->cores = egs_sub(p->cores, hold->cores);
	p->mem_mb = egs_sub(p->mem_mb, hold->mem_mb);
	return 0;
}

static int add_freed_gpus(struct egs_candidates *s,
			  const struct egs_allocation *hold)
{
	s->search.node[hold->node].gpus += hold->gpus;
	return 0;
}

static int subtract_or_free_job(void *item, void *arg)
{
	const job_record_t *job = item;

	if (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job))
		for_each_allocation(arg, job, 0,
				    job->preempt_time ? add_freed_gpus
						      : subtract_allocation);
	return 0;
}

static int subtract_job(void *item, void *arg)
{
	const job_record_t *job = item;

	if (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job))
		for_each_allocation(arg, job, 0, subtract_allocation);
	return 0;
}

static int append_allocation(struct egs_candidates *s,
			     const struct egs_allocation *hold)
{
	if (egs_grow(&s->unsorted, &s->unsorted_room, s->nunsorted + 1) < 0)
		return -1;
	s->unsorted[s->nunsorted++] = *hold;
	return 0;
}

/* Heterogeneous jobs are left out: all components would be preempted. */
static bool is_preemptible(const job_record_t *job, struct egs_table_job *row)
{
	uint8_t fate;

	if (job->het_job_list || !egs_decision_get(job, row))
		return false;
	fate = row->fate_and_flags & EGS_TABLE_FATE_MASK;
	return fate == EGS_FATE_REQUEUE || fate == EGS_FATE_CANCEL;
}

static int add_candidate(void *item, void *arg)
{
	job_record_t *job = item;
	struct egs_candidates *s = arg;
	uint32_t cand = s->search.ncandidates;
	struct egs_table_job row;
	struct egs_take_view r;

	if (!is_preemptible(job, &row))
		return 0;
	r = egs_table_take_view(&row);
	s->job[cand] = job;
	s->search.candidate[cand] = (struct egs_candidate){
		.cost = row.cost_gpu_s,
		.job_id = job->job_id,
		.class = egs_victim_class_for(s->requester, &r,
					      job->preempt_time != 0),
		.preempting = job->preempt_time != 0,
	};
	s->search.ncandidates++;
	return for_each_allocation(s, job, cand, append_allocation);
}

static int fill_candidates(struct egs_candidates *s, egs_list candidates)
{
	uint32_t count = (uint32_t)list_count(candidates),
		 room = s->candidate_room;

	if (egs_grow(&s->search.candidate, &room, count) < 0)
		return -1;
	/* An array of pointers.  NOLINTNEXTLINE(bugprone-sizeof-expression) */
	if (egs_grow(&s->job, &s->candidate_room, count) < 0)
		return -1;
	return list_for_each(candidates, add_candidate, s) < 0 ? -1 : 0;
}

/* Sort allocations by node, as egs_victim_search needs them. */
static int sort_allocations(struct egs_candidates *s)
{
	uint32_t next = 0;

	if (egs_grow(&s->search.alloc, &s->allocation_room, s->nunsorted) < 0)
		return -1;
	for (uint32_t i = 0; i < s->search.nnodes; i++)
		s->search.node[i].nallocs = 0;
	for (uint32_t i = 0; i < s->nunsorted; i++)
		s->search.node[s->unsorted[i].node].nallocs++;
	for (uint32_t i = 0; i < s->search.nnodes; i++) {
		s->search.node[i].first_alloc = next;
		next += s->search.node[i].nallocs;
	}
	for (uint32_t i = 0; i < s->nunsorted; i++)
		s->search.alloc[s->search.node[s->unsorted[i].node]
					.first_alloc++] = s->unsorted[i];
	s->search.nallocs = s->nunsorted;
	return 0;
}

int egs_candidates_fill(struct egs_candidates *s, const bitstr_t *nodes,
			egs_list candidates,
			const struct egs_take_view *requester, uint32_t type_id)
{
	s->type_id = type_id;
	s->requester = requester;
	s->search.ncandidates = s->nunsorted = 0;
	if (fill_nodes(s, nodes) < 0 || fill_candidates(s, candidates) < 0)
		return -1;
	list_for_each(job_list, subtract_job, s);
	return sort_allocations(s);
}

int egs_candidates_fill_yielding(struct egs_candidates *s,
				 const bitstr_t *nodes)
{
	s->type_id = 0;
	s->search.ncandidates = s->nunsorted = 0;
	if (fill_nodes(s, nodes) < 0)
		return -1;
	list_for_each(job_list, subtract_or_free_job, s);
	return 0;
}
