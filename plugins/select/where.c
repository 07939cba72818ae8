/* where.c - nodes a job may have, and those it had better have */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/decide/decide.h"
#include "plugins/select/attempt.h"
#include "plugins/select/record.h"
#include "plugins/select/where.h"

/* What was marked, by node; in force while 'seq' is that of the table. */
static struct {
	pthread_mutex_t lock;
	uint64_t seq;
	struct egs_table_sets tiers, phases;
	struct mark {
		uint32_t tiers, phases, flags;
	} * mark;
	uint32_t n;
	struct egs_table_marks *marks;
	bitstr_t *nodes, *better;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int make_room(void)
{
	uint32_t n = (uint32_t)node_record_count;
	struct mark *more;

	if (!self.marks)
		self.marks = malloc(sizeof(*self.marks));
	more = realloc(self.mark, (n + 1) * sizeof(*more));
	if (more)
		self.mark = more;
	if (!more || !self.marks)
		return -1;
	self.n = n;
	memset(self.mark, 0, n * sizeof(*self.mark));
	return 0;
}

static void read_marks(void)
{
	const struct egs_table_marks *m;

	if (make_room() < 0 || !egs_decide_marks(self.marks))
		return;
	m = self.marks;
	self.tiers = m->tiers;
	self.phases = m->phases;
	for (uint32_t i = 0; i < m->nnodes; i++) {
		const node_record_t *node =
			find_node_record((char *)m->node[i].name);

		if (node && node->index < self.n)
			self.mark[node->index] =
				(struct mark){ m->node[i].tiers,
					       m->node[i].phases,
					       m->node[i].flags };
	}
}

/* Marks change seldom: to look is to compare a number.  False: there are
 * none.
 */
static bool refresh(void)
{
	uint64_t seq = egs_decide_marked();

	if (seq == self.seq && (uint32_t)node_record_count == self.n)
		return seq && self.mark;
	self.tiers = self.phases = (struct egs_table_sets){ 0 };
	read_marks();
	self.seq = seq;
	return seq && self.mark;
}

static bool is_required(const job_record_t *job, int node)
{
	return job->details->req_node_bitmap &&
	       bit_test(job->details->req_node_bitmap, node);
}

/* The bits of a job: that of its tier, and that of its phase if it has one. */
struct bits {
	uint32_t tier, phase;
};

static struct bits bits_of(const struct egs_table_job *row)
{
	return (struct bits){
		.tier = UINT32_C(1) << row->tier % 32,
		.phase = row->phase < 32 ? UINT32_C(1) << row->phase : 0,
	};
}

static bool is_home(const struct egs_table_sets *sets, uint32_t with,
		    uint32_t bit)
{
	return !(sets->bound & bit) || (sets->spill & bit) || (with & bit);
}

static bool is_open(const struct mark *mark, struct bits job)
{
	return !(mark->flags & EGS_TABLE_FENCED) &&
	       is_home(&self.tiers, mark->tiers, job.tier) &&
	       is_home(&self.phases, mark->phases, job.phase);
}

static void narrow(const struct egs_job_test *t, struct bits job)
{
	int n = bit_size(t->nodes);

	for (int i = 0; i < n && (uint32_t)i < self.n; i++)
		if (bit_test(t->nodes, i) && !is_open(&self.mark[i], job) &&
		    !is_required(t->job, i))
			bit_clear(t->nodes, i);
}

bool egs_where_barred(const struct egs_job_test *test)
{
	struct egs_table_job row;

	return test->mode != SELECT_MODE_TEST_ONLY &&
	       egs_decided(test->job, &row) && row.mode & EGS_TABLE_BARRED;
}

void egs_where_narrow(const struct egs_job_test *test)
{
	struct egs_table_job row;

	if (test->mode == SELECT_MODE_TEST_ONLY || !test->job->details ||
	    !egs_decided(test->job, &row))
		return;
	pthread_mutex_lock(&self.lock);
	if (refresh())
		narrow(test, bits_of(&row));
	pthread_mutex_unlock(&self.lock);
}

static bool is_marked(int node, struct bits job)
{
	return (uint32_t)node < self.n &&
	       ((self.mark[node].tiers & job.tier) ||
		(self.mark[node].phases & job.phase));
}

/* Keep the nodes of a tier or a phase that spills; false if that is none or
 * all of them.
 */
static bool keep_home(const struct egs_table_sets *sets, struct bits job)
{
	int left = 0, before = bit_set_count(self.better);

	if (!(sets->bound & sets->spill & (job.tier | job.phase)))
		return false;
	for (int i = 0; i < bit_size(self.better); i++)
		left += bit_test(self.better, i) && is_marked(i, job);
	if (!left || left == before)
		return false;
	for (int i = 0; i < bit_size(self.better); i++)
		if (!is_marked(i, job))
			bit_clear(self.better, i);
	return true;
}

/* Keep the nodes with the fewest free GPUs that suffice; false if these are
 * all, or none.
 */
static bool keep_fullest(const struct egs_want *want)
{
	uint32_t least = UINT32_MAX;
	int kept = 0, all = bit_set_count(self.better);

	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < node_record_count; i++) {
			uint32_t free;

			if (!bit_test(self.better, i))
				continue;
			free = egs_record_free(node_record_table_ptr[i],
					       want->type_id);
			if (pass == 0 && free >= want->need.gpus &&
			    free < least)
				least = free;
			if (pass == 0 || least == UINT32_MAX)
				continue;
			if (free != least)
				bit_clear(self.better, i);
			else
				kept++;
		}
	}
	return kept && kept < all;
}

/* Set the nodes it had better have; false if there are none such. */
static bool find_better(const struct egs_job_test *t, struct bits job)
{
	struct egs_want want;
	bool found = false;

	egs_copy_bits(&self.nodes, t->nodes);
	egs_copy_bits(&self.better, t->nodes);
	if (refresh()) {
		found = keep_home(&self.tiers, (struct bits){ job.tier, 0 });
		found |= keep_home(&self.phases, (struct bits){ 0, job.phase });
	}
	if (egs_record_want(t->job, t->nodes, t->min_nodes, &want) &&
	    want.need.gpus && want.need.nodes == 1)
		found |= keep_fullest(&want);
	return found;
}

bool egs_where_prefer(const struct egs_job_test *test,
		      __typeof__(select_g_job_test) *cons_tres, int *rc)
{
	struct egs_table_job row;
	struct egs_attempt a;
	bool done = false;

	if (test->mode == SELECT_MODE_TEST_ONLY || EGS_JOB_TEST_LATER(test) ||
	    !test->job->details || test->job->details->req_node_bitmap ||
	    !egs_decided(test->job, &row))
		return false;
	pthread_mutex_lock(&self.lock);
	if (find_better(test, bits_of(&row))) {
		egs_attempt_begin(&a, test, cons_tres, &self.nodes);
		*rc = egs_attempt_ask(&a, self.better, NULL, true);
		done = egs_attempt_agreed(&a, *rc);
		if (!done)
			egs_attempt_undo(&a);
	}
	pthread_mutex_unlock(&self.lock);
	return done;
}
