/* node_choice.c - nodes on which a job may run, and nodes it prefers */
#include <pthread.h>
#include <stdlib.h>

#include "plugins/select/free_gpus.h"
#include "plugins/select/node_choice.h"
#include "plugins/select/slurm_records.h"
#include "plugins/select/trial.h"
#include "plugins/shared/decisions.h"

enum {
	REGISTER_S = 120, /* Slurm's own delay of a requeued job */
};

/* Nodes of each tier, or of each phase. */
struct node_sets {
	struct egs_table_own_nodes sets;
	bitstr_t *nodes[32]; /* NULL: none */
};

/* What the daemon published about nodes, as bitmaps. */
struct node_marks {
	struct node_sets tiers, phases;
	bitstr_t *fenced; /* NULL: none */
};

/* 'marks' is valid while 'seq' is the number in the table and the nodes are the
 * same.  Marks rarely change, so a test usually compares three numbers.
 */
static struct {
	pthread_mutex_t lock;
	bitstr_t *nodes, *preferred, *required;
	struct node_marks marks;
	bool has_marks;
	uint64_t seq;
	time_t configured_at;
	int node_count;
	struct egs_table_marks *copy;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- marks of nodes ---- */

static void clear_node_sets(struct node_sets *sets)
{
	for (size_t i = 0; i < 32; i++)
		FREE_NULL_BITMAP(sets->nodes[i]);
	sets->sets = (struct egs_table_own_nodes){ 0 };
}

static void set_node_bit(bitstr_t **nodes, uint32_t index)
{
	if (!*nodes)
		*nodes = bit_alloc(node_record_count);
	bit_set(*nodes, (bitoff_t)index);
}

static void mark_node_sets(struct node_sets *sets, uint32_t which,
			   uint32_t index)
{
	for (uint32_t i = 0; i < 32; i++)
		if (which & UINT32_C(1) << i)
			set_node_bit(&sets->nodes[i], index);
}

static void mark_node(const struct egs_table_node *from)
{
	const node_record_t *node = find_node_record((char *)from->name);

	if (!node || node->index >= (uint32_t)node_record_count)
		return;
	mark_node_sets(&self.marks.tiers, from->tiers, node->index);
	mark_node_sets(&self.marks.phases, from->phases, node->index);
	if (from->flags & EGS_TABLE_FENCED)
		set_node_bit(&self.marks.fenced, node->index);
}

/* False: the table has no consistent marks now. */
static bool read_marks(void)
{
	if (!self.copy)
		self.copy = malloc(sizeof(*self.copy));
	if (!self.copy || !egs_decisions_get_marks(self.copy))
		return false;
	self.marks.tiers.sets = self.copy->tiers;
	self.marks.phases.sets = self.copy->phases;
	for (uint32_t i = 0; i < self.copy->nnodes; i++)
		mark_node(&self.copy->node[i]);
	return true;
}

static void refresh_marks(uint64_t seq)
{
	clear_node_sets(&self.marks.tiers);
	clear_node_sets(&self.marks.phases);
	FREE_NULL_BITMAP(self.marks.fenced);
	self.node_count = node_record_count;
	self.configured_at = slurm_conf.last_update;
	self.seq = !seq || read_marks() ? seq : 0;
	self.has_marks = self.marks.fenced || self.marks.tiers.sets.has_nodes ||
			 self.marks.phases.sets.has_nodes;
}

/* The current marks, NULL: none.  Call with the lock held. */
static const struct node_marks *get_marks(void)
{
	uint64_t seq = egs_decisions_marks_seq();

	if (seq != self.seq || node_record_count != self.node_count ||
	    slurm_conf.last_update != self.configured_at)
		refresh_marks(seq);
	return self.has_marks ? &self.marks : NULL;
}

/* ---- nodes on which a job may run ---- */

static bool has_bit(uint32_t set, uint32_t which)
{
	return which < 32 && set & UINT32_C(1) << which;
}

/* If the tier or phase has nodes and may not spill, remove all other nodes. */
static void restrict_to_set(bitstr_t *nodes, const struct node_sets *sets,
			    uint32_t which)
{
	if (!has_bit(sets->sets.has_nodes & ~sets->sets.may_spill, which))
		return;
	if (sets->nodes[which])
		bit_and(nodes, sets->nodes[which]);
	else
		bit_clear_all(nodes);
}

/* Without a row, remove only fenced nodes.  A job that requires a node by name
 * (-w) gets it whatever its tier, but no fenced one.
 */
static void filter_nodes(const struct egs_job_test *t,
			 const struct node_marks *marks,
			 const struct egs_table_job *row)
{
	bitstr_t *required = t->job->details->req_node_bitmap;

	if (marks->fenced)
		bit_and_not(t->nodes, marks->fenced);
	if (required) {
		egs_trial_copy_bits(&self.required, t->nodes);
		bit_and(self.required, required);
	}
	if (row) {
		restrict_to_set(t->nodes, &marks->tiers, row->tier);
		restrict_to_set(t->nodes, &marks->phases, row->phase);
	}
	if (required)
		bit_or(t->nodes, self.required);
}

static bool has_answered(const node_record_t *node)
{
	return IS_NODE_DOWN(node) || IS_NODE_FUTURE(node) ||
	       IS_NODE_POWERED_DOWN(node) ||
	       node->last_response >= slurmctld_config.boot_time;
}

/* EGS shortens Slurm's delay of a requeued job.  After a restart of slurmctld a
 * node may still have the job's last run, and Slurm drains a node that gets a
 * job twice.  Slurm asks all nodes three seconds after its start.
 */
static void remove_silent_nodes(const struct egs_job_test *t)
{
	if (!t->job->restart_cnt ||
	    time(NULL) >= slurmctld_config.boot_time + REGISTER_S)
		return;
	for (int i = 0; i < node_record_count; i++)
		if (node_record_table_ptr[i] && bit_test(t->nodes, i) &&
		    !has_answered(node_record_table_ptr[i]))
			bit_clear(t->nodes, i);
}

void egs_node_choice_filter(const struct egs_job_test *test,
			    const struct egs_table_job *row)
{
	const struct node_marks *marks;

	remove_silent_nodes(test);
	pthread_mutex_lock(&self.lock);
	marks = get_marks();
	if (marks)
		filter_nodes(test, marks, row);
	pthread_mutex_unlock(&self.lock);
}

void egs_node_choice_filter_new(const struct egs_job_test *test)
{
	const struct node_marks *marks;

	pthread_mutex_lock(&self.lock);
	marks = get_marks();
	if (marks && marks->fenced && egs_decision_is_pending(test->job))
		filter_nodes(test, marks, NULL);
	pthread_mutex_unlock(&self.lock);
}

/* ---- nodes that a job prefers ---- */

/* Prefer the nodes of a tier or a phase that may spill.  False if none or all
 * of the nodes belong to it.
 */
static bool prefer_set(const struct node_sets *sets, uint32_t which)
{
	int left, before;

	if (!has_bit(sets->sets.has_nodes & sets->sets.may_spill, which) ||
	    !sets->nodes[which])
		return false;
	before = bit_set_count(self.preferred);
	left = bit_overlap(self.preferred, sets->nodes[which]);
	if (!left || left == before)
		return false;
	bit_and(self.preferred, sets->nodes[which]);
	return true;
}

/* The site spreads jobs over nodes; EGS packs them elsewhere. */
static bool wants_least_loaded(const job_record_t *job)
{
	return slurm_conf.select_type_param & EGS_SELECT_LLN ||
	       (job->part_ptr && job->part_ptr->flags & PART_FLAG_LLN);
}

/* Slurm starts all components of a heterogeneous job or none, and chooses the
 * nodes of one after the other: a component that is packed could take the only
 * node that another fits on, again and again.
 */
static bool may_be_packed(const job_record_t *job)
{
	return !wants_least_loaded(job) && !job->het_job_id;
}

/* Set the preferred nodes; false if the job has no preference. */
static bool find_preferred(const struct egs_job_test *t,
			   const struct egs_table_job *row)
{
	const struct node_marks *marks = get_marks();
	struct egs_job_need want;
	bool found = false;

	egs_trial_copy_bits(&self.preferred, t->nodes);
	if (marks) {
		found = prefer_set(&marks->tiers, row->tier);
		found |= prefer_set(&marks->phases, row->phase);
	}
	if (may_be_packed(t->job) &&
	    egs_slurm_records_gpu_need(t->job, t->min_nodes, &want) &&
	    want.need.gpus && want.need.nodes == 1)
		found |= egs_free_gpus_best_fit(self.preferred, want.type_id,
						want.need.gpus);
	return found;
}

bool egs_node_choice_prefer(const struct egs_job_test *test,
			    const struct egs_table_job *row,
			    __typeof__(select_g_job_test) *cons_tres, int *rc)
{
	struct egs_trial a;
	bool done = false;

	if (EGS_JOB_TEST_IS_FUTURE(test) || test->job->details->req_node_bitmap)
		return false;
	pthread_mutex_lock(&self.lock);
	if (find_preferred(test, row)) {
		egs_trial_begin(&a, test, cons_tres, &self.nodes);
		*rc = egs_trial_run(&a, self.preferred, NULL, true);
		done = egs_trial_can_start(&a, *rc);
		if (!done)
			egs_trial_undo(&a);
	}
	pthread_mutex_unlock(&self.lock);
	return done;
}
