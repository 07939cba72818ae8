/* claims.c - reserve freed GPUs for the job they are freed for */
#include <pthread.h>
#include <stdlib.h>

#include "plugins/select/candidates.h"
#include "plugins/select/claim_owners.h"
#include "plugins/select/claims.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/ring.h"

static struct {
	pthread_mutex_t lock;
	struct egs_claim_owners owners;
	struct egs_claim_list ahead; /* claims ahead of the tested job */
	struct egs_candidates candidates;
	bitstr_t *nodes; /* nodes with such claims */
	struct egs_doorbell_claim message;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A position behind all claims, because every claim in self.ahead counts. */
static const struct egs_queue_position end_of_queue = { .priority = INT64_MIN,
							.job_id = UINT32_MAX,
							.tier = UINT8_MAX,
							.on_loan = true };

static bool is_ahead(const struct egs_claim *claim, const job_record_t *job,
		     const struct egs_queue_position *position)
{
	if (claim->position.job_id == job->job_id)
		return false;
	return position ? egs_queue_is_ahead(&claim->position, position)
			: claim->position.priority > (int64_t)job->priority;
}

/* Find claims on nodes of the test that are ahead of its job. */
static bool find_claims_ahead(const struct egs_job_test *t)
{
	const struct egs_claim_list *all = &self.owners.claims;
	struct egs_queue_position position;
	bool managed = egs_claim_owner_position(t->job, &position);

	self.ahead.n = 0;
	if (egs_claim_reserve(&self.ahead, all->n) < 0)
		return false;
	for (uint32_t i = 0; i < all->n; i++)
		if ((int)all->claim[i].node < bit_size(t->nodes) &&
		    bit_test(t->nodes, all->claim[i].node) &&
		    egs_claim_owner_has_preempted(
			    &self.owners, all->claim[i].position.job_id) &&
		    is_ahead(&all->claim[i], t->job,
			     managed ? &position : NULL))
			self.ahead.claim[self.ahead.n++] = all->claim[i];
	return self.ahead.n > 0;
}

static void mark_claimed_nodes(const struct egs_job_test *t)
{
	if (self.nodes && bit_size(self.nodes) != bit_size(t->nodes))
		FREE_NULL_BITMAP(self.nodes);
	if (self.nodes)
		bit_clear_all(self.nodes);
	else
		self.nodes = bit_alloc(bit_size(t->nodes));
	for (uint32_t i = 0; i < self.ahead.n; i++)
		bit_set(self.nodes, self.ahead.claim[i].node);
}

/* A job whose need per node is unknown needs the whole node. */
static struct egs_amount get_wanted_amount(const struct egs_job_test *t)
{
	struct egs_amount all = { UINT32_MAX, UINT32_MAX, UINT32_MAX };
	struct egs_job_need want;

	if (!egs_slurm_records_need(t->job, t->nodes, t->min_nodes, &want))
		return all;
	return (struct egs_amount){ .gpus = want.need.gpus,
				    .cores = want.need.cores,
				    .mem_mb = want.need.mem_mb };
}

static void remove_claimed_nodes(const struct egs_job_test *t)
{
	struct egs_amount want = get_wanted_amount(t);

	mark_claimed_nodes(t);
	if (egs_candidates_fill_yielding(&self.candidates, self.nodes) < 0)
		return;
	for (int i = 0; i < node_record_count; i++) {
		const struct egs_search_node *p;
		struct egs_amount left;

		if (!bit_test(self.nodes, i))
			continue;
		p = &self.candidates.search
			     .node[self.candidates.slot_of_node[i] - 1];
		left = (struct egs_amount){ .gpus = p->gpus,
					    .cores = p->cores,
					    .mem_mb = p->mem_mb };
		if (!egs_claim_may_use(&self.ahead, &end_of_queue, (uint32_t)i,
				       &left, &want))
			bit_clear(t->nodes, i);
	}
}

void egs_select_claims_filter(const struct egs_job_test *test)
{
	pthread_mutex_lock(&self.lock);
	egs_claim_owners_restore(&self.owners);
	if (self.owners.claims.n) {
		egs_claim_owners_sweep(&self.owners);
		if (find_claims_ahead(test))
			remove_claimed_nodes(test);
	}
	pthread_mutex_unlock(&self.lock);
}

/* Compute when the last victim should have exited. */
static int update_last_exit(void *item, void *arg)
{
	const job_record_t *job = item;
	time_t *leaves = arg, then;
	struct egs_table_job row;

	if (job->preempt_time)
		then = job->end_time;
	else
		then = time(NULL) +
		       (egs_decision_get(job, &row) ? row.grace_s : 0);
	if (then > *leaves)
		*leaves = then;
	return 0;
}

static int append_victim(void *item, void *arg)
{
	const job_record_t *job = item;
	struct egs_doorbell_msg *bell = &self.message.msg;

	(void)arg;
	if (bell->nparts < EGS_DOORBELL_PARTS_MAX)
		self.message.part[bell->nparts++] =
			(struct egs_doorbell_part){ .victim = job->job_id };
	return 0;
}

static void send_claim(const struct egs_claim *claim,
		       const struct egs_job_test *t)
{
	const job_record_t *job = t->job;
	struct egs_doorbell_msg *bell = &self.message.msg;

	*bell = (struct egs_doorbell_msg){
		.event = EGS_DOORBELL_CLAIM,
		.job_id = job->job_id,
		.submit = (uint32_t)job->details->submit_time,
		.expires = (uint32_t)claim->expires,
		.priority = claim->position.priority,
	};
	for (int i = 0; i < node_record_count; i++) {
		struct egs_doorbell_part *part =
			&self.message.part[bell->nparts];

		if (!bit_test(t->nodes, i) ||
		    bell->nparts == EGS_DOORBELL_PARTS_MAX)
			continue;
		*part = (struct egs_doorbell_part){ .gpus = claim->gpus,
						    .cores = claim->cores,
						    .mem_mb = claim->mem_mb };
		snprintf(part->node, sizeof(part->node), "%s",
			 node_record_table_ptr[i]->name);
		bell->nparts++;
	}
	list_for_each(*t->victims, append_victim, NULL);
	if (!egs_ring_send(egs_decisions_run_dir(), bell))
		egs_claim_owners_set_unsent(&self.owners, job->job_id);
}

static void make_claim(const struct egs_job_test *t,
		       const struct egs_job_need *want)
{
	struct egs_claim claim = { .gpus = want->need.gpus,
				   .cores = want->need.cores,
				   .mem_mb = want->need.mem_mb };
	time_t leaves = 0;

	if (!egs_claim_owner_position(t->job, &claim.position))
		return;
	list_for_each(*t->victims, update_last_exit, &leaves);
	claim.expires = egs_claim_expiry(leaves, 0, slurm_conf.kill_wait);
	if (egs_claim_owners_put(&self.owners, t->job, &claim, t->nodes))
		send_claim(&claim, t);
}

void egs_select_claims_make(const struct egs_job_test *test)
{
	struct egs_job_need want;

	if (!test->victims || !*test->victims || !list_count(*test->victims) ||
	    !egs_slurm_records_need(test->job, test->nodes, test->min_nodes,
				    &want))
		return;
	pthread_mutex_lock(&self.lock);
	make_claim(test, &want);
	pthread_mutex_unlock(&self.lock);
}

/* The claim is not sent to the daemon: it lasts for seconds. */
static void keep_claim(const job_record_t *job, const struct egs_job_need *want)
{
	struct egs_claim claim = {
		.gpus = want->need.gpus,
		.cores = want->need.cores,
		.mem_mb = want->need.mem_mb,
		.expires = egs_claim_expiry(time(NULL), 0, slurm_conf.kill_wait)
	};

	if (!egs_claim_owner_position(job, &claim.position))
		return;
	egs_claim_owners_put(&self.owners, job, &claim, job->node_bitmap);
	egs_claim_owners_set_for_itself(&self.owners, job->job_id);
}

void egs_select_claims_keep(const job_record_t *job)
{
	struct egs_job_need want;

	if (!job->node_bitmap || !job->details ||
	    !egs_slurm_records_need(job, job->node_bitmap,
				    (uint32_t)bit_set_count(job->node_bitmap),
				    &want))
		return;
	pthread_mutex_lock(&self.lock);
	keep_claim(job, &want);
	pthread_mutex_unlock(&self.lock);
}

static bool is_claim_of_team(const struct egs_claim *claim,
			     const struct egs_table_job *row, bool unpublished)
{
	const job_record_t *owner = find_job_record(claim->position.job_id);
	struct egs_table_job other;

	return owner && IS_JOB_PENDING(owner) &&
	       egs_decision_get(owner, &other) && other.team == row->team &&
	       egs_table_may_share_type(&other, row) &&
	       (!unpublished || other.displaces_or_span);
}

uint32_t egs_select_claims_of_team(const job_record_t *job,
				   const struct egs_table_job *row,
				   bool unpublished)
{
	const struct egs_claim_list *all = &self.owners.claims;
	struct egs_queue_position position;
	uint32_t sum = 0;

	pthread_mutex_lock(&self.lock);
	if (all->n && egs_claim_owner_position(job, &position))
		for (uint32_t i = 0; i < all->n; i++)
			if (is_ahead(&all->claim[i], job, &position) &&
			    is_claim_of_team(&all->claim[i], row, unpublished))
				sum += all->claim[i].gpus;
	pthread_mutex_unlock(&self.lock);
	return sum;
}

void egs_select_claims_end(const job_record_t *job)
{
	pthread_mutex_lock(&self.lock);
	egs_claim_owners_drop(&self.owners, job->job_id);
	if (job->array_job_id)
		egs_claim_owners_drop(&self.owners, job->array_job_id);
	pthread_mutex_unlock(&self.lock);
}
