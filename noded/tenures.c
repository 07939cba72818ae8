/* tenures.c - which job had which GPU of this node, and when */
#include <string.h>

#include "noded/tenures.h"

enum { SLACK_MS = 3000 };

void egs_tenures_begin(struct egs_tenures *tenures)
{
	for (uint32_t i = 0; i < tenures->n; i++)
		tenures->list[i].seen = false;
}

/* Is this the tenure that the job has now? */
static bool is_current(const struct egs_tenure *tenure,
		       const struct egs_tenure *job)
{
	return !tenure->to_ms && tenure->job == job->job &&
	       tenure->restarts == job->restarts && tenure->start == job->start;
}

static void drop_oldest(struct egs_tenures *tenures)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < tenures->n; i++)
		if (tenures->list[i].to_ms &&
		    (!tenures->list[oldest].to_ms ||
		     tenures->list[i].to_ms < tenures->list[oldest].to_ms))
			oldest = i;
	tenures->list[oldest] = tenures->list[--tenures->n];
}

static void add_tenure(struct egs_tenures *tenures,
		       const struct egs_tenure *job, uint64_t from_ms)
{
	if (tenures->n == EGS_TENURES_MAX)
		drop_oldest(tenures);
	tenures->list[tenures->n] = *job;
	tenures->list[tenures->n].from_ms = from_ms;
	tenures->list[tenures->n].to_ms = 0;
	tenures->list[tenures->n].seen = true;
	tenures->n++;
}

/* After a resize another tenure begins. */
void egs_tenures_see(struct egs_tenures *tenures, const struct egs_tenure *job,
		     uint64_t age_ms, uint64_t now_ms)
{
	uint64_t from_ms = now_ms > age_ms ? now_ms - age_ms : 0;

	for (uint32_t i = 0; i < tenures->n; i++) {
		if (!is_current(&tenures->list[i], job))
			continue;
		if (tenures->list[i].gpu_set == job->gpu_set) {
			tenures->list[i].seen = true;
			return;
		}
		from_ms = now_ms;
	}
	if (job->gpu_set)
		add_tenure(tenures, job, from_ms);
}

void egs_tenures_end(struct egs_tenures *tenures, uint64_t now_ms)
{
	for (uint32_t i = 0; i < tenures->n; i++)
		if (!tenures->list[i].seen && !tenures->list[i].to_ms)
			tenures->list[i].to_ms = now_ms;
}

static const struct egs_tenure *find_within(const struct egs_tenures *tenures,
					    uint32_t gpu, uint64_t at_ms,
					    uint64_t slack_ms)
{
	const struct egs_tenure *found = NULL;

	for (uint32_t i = 0; i < tenures->n; i++) {
		const struct egs_tenure *t = &tenures->list[i];

		if (t->gpu_set >> gpu & 1 && t->from_ms <= at_ms + slack_ms &&
		    (!t->to_ms || at_ms <= t->to_ms + slack_ms) &&
		    (!found || t->from_ms > found->from_ms))
			found = t;
	}
	return found;
}

const struct egs_tenure *egs_tenures_find(const struct egs_tenures *tenures,
					  uint32_t gpu, uint64_t at_ms)
{
	const struct egs_tenure *found = find_within(tenures, gpu, at_ms, 0);

	return found ? found : find_within(tenures, gpu, at_ms, SLACK_MS);
}
