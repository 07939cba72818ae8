/* claim_owners.c - claims in slurmctld, and the jobs that have them */
#include <stdlib.h>

#include "common/base/grow.h"
#include "common/base/hash.h"
#include "plugins/select/claim_owners.h"
#include "plugins/shared/decisions.h"

bool egs_claim_owner_position(const job_record_t *job,
			      struct egs_queue_position *position)
{
	struct egs_table_job row;

	if (!egs_decision_get(job, &row))
		return false;
	*position = (struct egs_queue_position){ .priority = job->priority,
						 .job_id = job->job_id,
						 .tier = row.tier,
						 .on_loan = row.flags &
							    EGS_TABLE_ON_LOAN };
	return true;
}

/* Hash the fields of the request that an update could change. */
static uint64_t hash_request(const job_record_t *job)
{
	uint64_t sum = EGS_HASH_START;

	sum = egs_hash_text(sum, job->tres_per_job);
	sum = egs_hash_text(sum, job->tres_per_node);
	sum = egs_hash_text(sum, job->tres_per_socket);
	sum = egs_hash_text(sum, job->tres_per_task);
	sum = egs_hash_text(sum, job->partition);
	sum = egs_hash_text(sum, job->details->features);
	sum = egs_hash_text(sum, job->details->req_nodes);
	sum = egs_hash_text(sum, job->details->exc_nodes);
	sum = egs_hash_u64(sum, job->details->min_nodes);
	sum = egs_hash_u64(sum, job->details->orig_min_cpus);
	return egs_hash_u64(sum, job->details->orig_pn_min_memory);
}

static struct egs_claim_owner *find_owner(const struct egs_claim_owners *o,
					  uint32_t job_id)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->owner[i].job_id == job_id)
			return &o->owner[i];
	return NULL;
}

bool egs_claim_owner_has_preempted(const struct egs_claim_owners *o,
				   uint32_t job_id)
{
	const struct egs_claim_owner *owner = find_owner(o, job_id);
	const job_record_t *job = owner ? find_job_record(job_id) : NULL;

	return job && (owner->restored || owner->for_itself ||
		       job->details->preempt_start_time);
}

static struct egs_claim_owner *add_owner(struct egs_claim_owners *o,
					 const job_record_t *job)
{
	struct egs_claim_owner *owner = find_owner(o, job->job_id);

	if (!owner) {
		if (egs_grow(&o->owner, &o->room, o->n + 1) < 0)
			return NULL;
		owner = &o->owner[o->n++];
	}
	*owner = (struct egs_claim_owner){ .job_id = job->job_id,
					   .submit_time =
						   job->details->submit_time,
					   .request_hash = hash_request(job) };
	return owner;
}

/* Does the job have exactly these claims already? */
static bool has_same_claims(const struct egs_claim_owners *o,
			    const struct egs_claim *like, const bitstr_t *nodes)
{
	const struct egs_claim_list *cs = &o->claims;
	int same = 0;

	for (uint32_t i = 0; i < cs->n; i++) {
		const struct egs_claim *c = &cs->claim[i];

		if (c->position.job_id != like->position.job_id)
			continue;
		if (!bit_test((bitstr_t *)nodes, c->node) ||
		    c->gpus != like->gpus || c->expires != like->expires)
			return false;
		same++;
	}
	return same == bit_set_count((bitstr_t *)nodes);
}

bool egs_claim_owners_put(struct egs_claim_owners *o, const job_record_t *job,
			  const struct egs_claim *like, const bitstr_t *nodes)
{
	struct egs_claim claim = *like;
	const struct egs_claim_owner *had = find_owner(o, job->job_id);
	bool same = had && !had->unsent && has_same_claims(o, like, nodes);

	if (!add_owner(o, job) ||
	    egs_claim_reserve(&o->claims,
			      (uint32_t)bit_set_count((bitstr_t *)nodes)) < 0)
		return false;
	egs_claim_end_job(&o->claims, job->job_id);
	for (int i = 0; i < bit_size((bitstr_t *)nodes); i++) {
		if (!bit_test((bitstr_t *)nodes, i))
			continue;
		claim.node = (uint32_t)i;
		egs_claim_put(&o->claims, &claim);
	}
	return !same;
}

void egs_claim_owners_set_unsent(struct egs_claim_owners *o, uint32_t job_id)
{
	struct egs_claim_owner *owner = find_owner(o, job_id);

	if (owner)
		owner->unsent = true;
}

void egs_claim_owners_set_for_itself(struct egs_claim_owners *o,
				     uint32_t job_id)
{
	struct egs_claim_owner *owner = find_owner(o, job_id);

	if (owner)
		owner->for_itself = true;
}

void egs_claim_owners_drop(struct egs_claim_owners *o, uint32_t job_id)
{
	struct egs_claim_owner *owner = find_owner(o, job_id);

	if (!owner)
		return;
	*owner = o->owner[--o->n];
	egs_claim_end_job(&o->claims, job_id);
}

static bool is_ineligible(const job_record_t *job, time_t now)
{
	return !job->priority || job->details->begin_time > now ||
	       (job->details->depend_list &&
		list_count(job->details->depend_list));
}

/* Slurm gives a requeued job a new submit time and a begin time, which the
 * daemon clears.
 */
static bool is_being_requeued(const struct egs_claim_owner *owner,
			      const job_record_t *job)
{
	return job && job->details && job->priority &&
	       (IS_JOB_PENDING(job) || job->job_state & JOB_REQUEUE) &&
	       hash_request(job) == owner->request_hash;
}

static bool is_still_waiting(const struct egs_claim_owner *owner,
			     const job_record_t *job, time_t now)
{
	if (owner->for_itself)
		return is_being_requeued(owner, job);
	return job && job->details && IS_JOB_PENDING(job) &&
	       job->details->submit_time == owner->submit_time &&
	       !is_ineligible(job, now) &&
	       hash_request(job) == owner->request_hash;
}

static void update_position(struct egs_claim_list *cs,
			    const struct egs_queue_position *position)
{
	for (uint32_t i = 0; i < cs->n; i++)
		if (cs->claim[i].position.job_id == position->job_id)
			cs->claim[i].position = *position;
}

static bool is_node_lost(uint32_t number)
{
	const node_record_t *node = number < (uint32_t)node_record_count
					    ? node_record_table_ptr[number]
					    : NULL;

	return !node || IS_NODE_DOWN(node) || IS_NODE_DRAIN(node) ||
	       IS_NODE_FAIL(node);
}

/* End the claims on lost nodes: their jobs will claim other nodes.  A node that
 * just does not respond, as after a restart, is not lost.
 */
static void drop_lost_nodes(struct egs_claim_list *cs)
{
	uint32_t i = 0;

	while (i < cs->n)
		if (!is_node_lost(cs->claim[i].node))
			i++;
		else
			egs_claim_end_node(cs, cs->claim[i].node);
}

void egs_claim_owners_sweep(struct egs_claim_owners *o)
{
	time_t now = time(NULL);

	egs_claim_expire(&o->claims, now);
	drop_lost_nodes(&o->claims);
	for (uint32_t i = o->n; i-- > 0;) {
		uint32_t id = o->owner[i].job_id;
		const job_record_t *job = find_job_record(id);
		struct egs_queue_position position;

		if (!is_still_waiting(&o->owner[i], job, now) ||
		    !egs_claim_has_job(&o->claims, id))
			egs_claim_owners_drop(o, id);
		else if (egs_claim_owner_position(job, &position))
			update_position(&o->claims, &position);
	}
}

static void restore_claim(struct egs_claim_owners *o,
			  const struct egs_table_claim *from)
{
	const job_record_t *job = find_job_record(from->job_id);
	const node_record_t *node = find_node_record((char *)from->node);
	struct egs_claim claim = { .expires = from->expires,
				   .gpus = from->gpus,
				   .cores = from->cores,
				   .mem_mb = from->mem_mb };
	struct egs_claim_owner *owner;

	if (!job || !node || !job->details || !IS_JOB_PENDING(job) ||
	    (uint32_t)job->details->submit_time != from->submit ||
	    !egs_claim_owner_position(job, &claim.position))
		return;
	owner = add_owner(o, job);
	if (!owner)
		return;
	owner->restored = true;
	claim.node = node->index;
	egs_claim_put(&o->claims, &claim);
}

void egs_claim_owners_restore(struct egs_claim_owners *o)
{
	struct egs_table_marks *marks;

	if (o->restore_done || !egs_decisions_are_fresh())
		return;
	o->restore_done = true;
	marks = malloc(sizeof(*marks));
	if (marks && egs_decisions_get_marks(marks))
		for (uint32_t i = 0; i < marks->nclaims; i++)
			restore_claim(o, &marks->claim[i]);
	if (o->claims.n)
		info("select/egs: restored %u claims of %u jobs after a "
		     "restart",
		     o->claims.n, o->n);
	free(marks);
}
