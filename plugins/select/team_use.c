/* team_use.c - GPUs of a team that the decision table does not show yet */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/grow.h"
#include "plugins/select/claims.h"
#include "plugins/select/slurm_records.h"
#include "plugins/select/team_use.h"
#include "plugins/shared/decisions.h"

/* A job that accepts any type, or needs several, counts for each type until the
 * daemon has seen which it got.
 */
enum { ANY_TYPE = EGS_TYPE_ROWS, TYPE_COUNTS };

static struct {
	pthread_mutex_t lock;
	_Atomic uint64_t change;
	uint64_t counted_change, counted_seq;
	time_t counted_at;
	uint32_t gpus[EGS_TEAMS_MAX][TYPE_COUNTS];
	uint32_t waiting_het_job; /* no component runs; 0: not known */
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

void egs_team_use_invalidate(void)
{
	atomic_fetch_add(&self.change, 1);
}

static int get_type(const struct egs_table_job *row)
{
	if (row->type & EGS_TABLE_ANY_TYPE)
		return ANY_TYPE;
	return row->type < EGS_TYPE_ROWS ? row->type : ANY_TYPE;
}

/* GPUs of a running job beyond those that the table shows; 0 if the daemon has
 * not decided about it.  Fills in '*row'.
 */
static uint32_t count_unseen(const job_record_t *job, struct egs_table_job *row)
{
	uint32_t held, seen;

	if ((!IS_JOB_RUNNING(job) && !IS_JOB_SUSPENDED(job)) ||
	    !job->gres_list_alloc || !egs_decision_get(job, row) ||
	    row->team >= EGS_TEAMS_MAX)
		return 0;
	held = egs_slurm_records_held_gpus(job);
	seen = row->recall_from ? row->gpus : 0;
	return held > seen ? held - seen : 0;
}

static int count_job(void *item, void *arg)
{
	struct egs_table_job row;
	uint32_t unseen = count_unseen(item, &row);

	(void)arg;
	if (unseen)
		self.gpus[row.team][get_type(&row)] += unseen;
	return 0;
}

/* Call with the lock held. */
static void update_counts(void)
{
	uint64_t change = atomic_load(&self.change);
	uint64_t seq = egs_decisions_seq();
	time_t now = time(NULL);

	if (self.counted_change == change && self.counted_seq == seq &&
	    self.counted_at == now)
		return;
	self.counted_change = change;
	self.counted_seq = seq;
	self.counted_at = now;
	self.waiting_het_job = 0;
	memset(self.gpus, 0, sizeof(self.gpus));
	list_for_each(job_list, count_job, NULL);
}

/* GPUs of the team that the job may have to share a limit with. */
static uint32_t sum_for_job(const struct egs_table_job *row)
{
	const uint32_t *gpus = self.gpus[row->team];
	uint32_t sum = gpus[ANY_TYPE];

	for (int i = 0; i < EGS_TYPE_ROWS; i++)
		if (get_type(row) == ANY_TYPE || get_type(row) == i)
			sum += gpus[i];
	return sum;
}

static uint32_t count_component(const job_record_t *job,
				const struct egs_table_job *row)
{
	struct egs_table_job their;
	uint32_t unseen = count_unseen(job, &their);

	if (!unseen || their.team != row->team ||
	    !egs_table_may_share_type(&their, row))
		return 0;
	return unseen < their.gpus ? unseen : their.gpus;
}

/* GPUs that other components of a heterogeneous job have just got.  The room in
 * the row is beside all components, so these do not count again.  Each
 * component asks for each other one: a job that waits as a whole is searched
 * once.  Call with the lock held.
 */
static uint32_t count_components(const job_record_t *job,
				 const struct egs_table_job *row)
{
	const job_record_t *other;
	uint32_t sum = 0;
	bool waiting = true;

	if (!job->het_job_id || job->het_job_id == self.waiting_het_job)
		return 0;
	for (uint32_t i = 0; (other = egs_slurm_records_component(job, i));
	     i++) {
		waiting = waiting && IS_JOB_PENDING(other);
		sum += count_component(other, row);
	}
	if (waiting)
		self.waiting_het_job = job->het_job_id;
	return sum;
}

static uint32_t count_started(const job_record_t *job,
			      const struct egs_table_job *row)
{
	uint32_t sum;

	pthread_mutex_lock(&self.lock);
	update_counts();
	sum = egs_sub(sum_for_job(row), count_components(job, row));
	pthread_mutex_unlock(&self.lock);
	return sum;
}

static bool is_limited(const struct egs_table_job *row)
{
	return row->room != EGS_TABLE_NO_LIMIT && row->team < EGS_TEAMS_MAX;
}

/* What the limits leave beside the GPUs of the row. */
static uint32_t find_room(const job_record_t *job,
			  const struct egs_table_job *row, bool *over)
{
	uint32_t used = count_started(job, row) +
			egs_select_claims_of_team(job, row, false);

	*over = used > row->room;
	return *over ? 0 : row->room - used;
}

bool egs_team_use_has_room(const job_record_t *job,
			   const struct egs_table_job *row)
{
	bool over = false;

	if (is_limited(row) && row->gpus)
		find_room(job, row, &over);
	return !over;
}

bool egs_team_use_allows(const struct egs_job_test *test,
			 const struct egs_table_job *row)
{
	uint32_t gpus;
	bool over;

	if (!is_limited(row) || !egs_slurm_records_has_selected(test))
		return true;
	gpus = egs_slurm_records_selected_gpus(test);
	return gpus <= row->gpus ||
	       gpus - row->gpus <= find_room(test->job, row, &over);
}

uint32_t egs_team_use_unpublished(const job_record_t *job,
				  const struct egs_table_job *row)
{
	if (row->team >= EGS_TEAMS_MAX)
		return 0;
	return count_started(job, row) +
	       egs_select_claims_of_team(job, row, true);
}
