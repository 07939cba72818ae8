/* candidates.c - the nodes and candidates of one job_test, for core's choice
 *
 * GPUs that are free are in the records of the nodes; cores and memory are
 * counted by adding up what jobs hold, as cons_tres shows its own books to
 * nobody.
 */
#include <stdlib.h>

#include "common/conf/policy_conf.h"
#include "plugins/select/candidates.h"
#include "plugins/shared/decisions.h"

static int grow(void *array, uint32_t *room, uint32_t want, size_t size)
{
	void **at = array;
	void *more;

	if (want <= *room)
		return 0;
	want += want / 2;
	more = realloc(*at, want * size);
	if (!more)
		return -1;
	*at = more;
	*room = want;
	return 0;
}

static uint32_t less(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

static int set_places(struct egs_stage *s, const bitstr_t *nodes)
{
	uint32_t count = (uint32_t)node_record_count;

	if (grow(&s->place_of, &s->node_room, count, sizeof(*s->place_of)) <
		    0 ||
	    grow(&s->scene.place, &s->place_room, count,
		 sizeof(*s->scene.place)) < 0)
		return -1;
	s->scene.nplaces = 0;
	for (uint32_t i = 0; i < count; i++) {
		const node_record_t *node = node_record_table_ptr[i];

		s->place_of[i] = 0;
		if (!node || !bit_test((bitstr_t *)nodes, i))
			continue;
		s->scene.place[s->scene.nplaces] =
			egs_record_node(node, s->type_id);
		s->place_of[i] = ++s->scene.nplaces;
	}
	return 0;
}

typedef int (*hold_f)(struct egs_stage *s, const struct egs_hold *hold);

/* Call 'fn' with all that 'job' holds on the stage. */
static int each_hold(struct egs_stage *s, const job_record_t *job,
		     uint32_t cand, hold_f fn)
{
	const job_resources_t *res = job->job_resrcs;
	uint32_t at = 0;
	int from, to;

	if (!res || !res->node_bitmap)
		return 0;
	from = bit_ffs(res->node_bitmap);
	to = bit_fls(res->node_bitmap);
	for (int i = from; i >= 0 && i <= to; i++) {
		struct egs_hold hold;

		if (!bit_test(res->node_bitmap, i))
			continue;
		at++;
		if (i >= node_record_count || !s->place_of[i])
			continue;
		hold = egs_record_hold(job, at - 1, node_record_table_ptr[i],
				       s->type_id);
		hold.place = s->place_of[i] - 1;
		hold.cand = cand;
		if (fn(s, &hold) < 0)
			return -1;
	}
	return 0;
}

static int occupy(struct egs_stage *s, const struct egs_hold *hold)
{
	struct egs_place *p = &s->scene.place[hold->place];

	p->cores = less(p->cores, hold->cores);
	p->mem_mb = less(p->mem_mb, hold->mem_mb);
	return 0;
}

static int give(struct egs_stage *s, const struct egs_hold *hold)
{
	s->scene.place[hold->place].gpus += hold->gpus;
	return 0;
}

static int occupy_staying(void *item, void *arg)
{
	const job_record_t *job = item;

	if (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job))
		each_hold(arg, job, 0, job->preempt_time ? give : occupy);
	return 0;
}

static int occupy_all(void *item, void *arg)
{
	const job_record_t *job = item;

	if (IS_JOB_RUNNING(job) || IS_JOB_SUSPENDED(job))
		each_hold(arg, job, 0, occupy);
	return 0;
}

static int keep(struct egs_stage *s, const struct egs_hold *hold)
{
	if (grow(&s->loose, &s->loose_room, s->nloose + 1, sizeof(*s->loose)) <
	    0)
		return -1;
	s->loose[s->nloose++] = *hold;
	return 0;
}

/* Not a heterogeneous job: its components go together. */
static bool ours(const job_record_t *job, struct egs_table_job *row)
{
	uint8_t fate;

	if (job->het_job_list || !egs_decided(job, row))
		return false;
	fate = row->mode & EGS_TABLE_FATE;
	return fate == EGS_FATE_REQUEUE || fate == EGS_FATE_CANCEL;
}

static int add_cand(void *item, void *arg)
{
	job_record_t *job = item;
	struct egs_stage *s = arg;
	uint32_t cand = s->scene.ncands;
	struct egs_table_job row;
	struct egs_row r;

	if (!ours(job, &row))
		return 0;
	r = egs_table_row(&row);
	s->job[cand] = job;
	s->scene.cand[cand] = (struct egs_cand){
		.cost = row.cost,
		.job_id = job->job_id,
		.class = egs_victim_class(&r),
		.asked = job->preempt_time != 0,
	};
	s->scene.ncands++;
	return each_hold(s, job, cand, keep);
}

static int set_cands(struct egs_stage *s, egs_list candidates)
{
	uint32_t count = (uint32_t)list_count(candidates), room = s->cand_room;

	if (grow(&s->scene.cand, &room, count, sizeof(*s->scene.cand)) < 0 ||
	    grow(&s->job, &s->cand_room, count, sizeof(void *)) < 0)
		return -1;
	return list_for_each(candidates, add_cand, s) < 0 ? -1 : 0;
}

/* By place, as the scene wants them. */
static int sort_holds(struct egs_stage *s)
{
	uint32_t next = 0;

	if (grow(&s->scene.hold, &s->hold_room, s->nloose,
		 sizeof(*s->scene.hold)) < 0)
		return -1;
	for (uint32_t i = 0; i < s->scene.nplaces; i++)
		s->scene.place[i].holds = 0;
	for (uint32_t i = 0; i < s->nloose; i++)
		s->scene.place[s->loose[i].place].holds++;
	for (uint32_t i = 0; i < s->scene.nplaces; i++) {
		s->scene.place[i].first = next;
		next += s->scene.place[i].holds;
	}
	for (uint32_t i = 0; i < s->nloose; i++)
		s->scene.hold[s->scene.place[s->loose[i].place].first++] =
			s->loose[i];
	s->scene.nholds = s->nloose;
	return 0;
}

int egs_stage_set(struct egs_stage *stage, const bitstr_t *nodes,
		  egs_list candidates, uint32_t type_id)
{
	stage->type_id = type_id;
	stage->scene.ncands = stage->nloose = 0;
	if (set_places(stage, nodes) < 0 ||
	    (candidates && set_cands(stage, candidates) < 0))
		return -1;
	list_for_each(job_list, occupy_all, stage);
	return sort_holds(stage);
}

int egs_stage_set_leaving(struct egs_stage *stage, const bitstr_t *nodes)
{
	stage->type_id = 0;
	stage->scene.ncands = stage->nloose = 0;
	if (set_places(stage, nodes) < 0)
		return -1;
	list_for_each(job_list, occupy_staying, stage);
	return 0;
}
