/* decisions.c - what the daemon decided, as the plugins inside slurmctld see it
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/hint/stamp.h"
#include "plugins/shared/decisions.h"

/* A daemon that has never run has made no table, and one that is away may come
 * back with another: look again, soon, because each plugin does it for itself.
 * While preempt/egs has the table and select/egs not yet, nobody keeps what is
 * freed for the job it is freed for.
 */
enum { RETRY_S = 1 };

static struct {
	const char *me;
	char *path;
	char *run_dir;
	char *base;
	uint32_t stale_after_s;
	bool enforces; /* for one team at least */
	_Atomic(struct egs_table *) table;
	_Atomic time_t tried;
	_Atomic bool said;	   /* that there is none */
	_Atomic uint64_t harmless; /* make_job_seq_key() of the last such job */
} self;

static bool has_enforced_team(const struct egs_policy_conf *policy)
{
	for (int i = 0; i < policy->nteams; i++)
		if (policy->team[i].mode == EGS_MODE_ENFORCE)
			return true;
	return policy->mode == EGS_MODE_ENFORCE;
}

static void copy_settings(const struct egs_policy_conf *policy)
{
	const char *run_dir = egs_conf_dir(policy, EGS_RUN_DIR);
	char path[4096];

	self.run_dir = strdup(run_dir);
	snprintf(path, sizeof(path), "%s/table", run_dir);
	self.path = strdup(path);
	self.base = policy->preempt_base ? strdup(policy->preempt_base) : NULL;
	self.stale_after_s = policy->stale_after_s;
	self.enforces = has_enforced_team(policy);
}

void egs_decisions_init(const char *me)
{
	struct egs_conf *file;
	struct egs_err err;

	self.me = me;
	if (self.path)
		return; /* loaded again: the file is read at the next restart */
	file = egs_conf_open(EGS_SYSCONFDIR "/egs.conf", &err);
	if (file)
		copy_settings(egs_conf_policy(file));
	else
		error("%s: %s; deciding as stock Slurm would", me, err.msg);
	egs_conf_free(file);
}

void egs_decisions_init_if_conf(const char *me)
{
	self.me = me;
	if (access(EGS_SYSCONFDIR "/egs.conf", F_OK) == 0)
		egs_decisions_init(me);
}

const char *egs_decisions_preempt_base(void)
{
	return self.base;
}

const char *egs_decisions_run_dir(void)
{
	return self.run_dir;
}

/* Said once: the daemon may be away for long. */
static void log_missing_table(const struct egs_err *err)
{
	if (!atomic_exchange(&self.said, true))
		error("%s: %s; deciding as stock Slurm would until it exists",
		      self.me, err->msg);
}

/* Put 'mine' in the place of 'old', or drop it: another thread may have been
 * quicker, or the file may be the one that is mapped.  An old mapping stays, as
 * somebody may be looking into it.
 */
static struct egs_table *replace_table(struct egs_table *old,
				       struct egs_table *mine)
{
	if ((old && egs_table_is_same_file(old, mine)) ||
	    !atomic_compare_exchange_strong(&self.table, &old, mine)) {
		egs_table_free(mine);
		return old;
	}
	atomic_store(&self.harmless, 0);
	info("%s: reading %s", self.me, self.path);
	atomic_store(&self.said, false);
	return mine;
}

/* 'old' is not there or not fresh: see whether there is a new one. */
static struct egs_table *map_table(struct egs_table *old, time_t now)
{
	time_t tried = atomic_load(&self.tried);
	struct egs_table *mine;
	struct egs_err err;

	if (!self.path || (now >= tried && now - tried < RETRY_S) ||
	    !atomic_compare_exchange_strong(&self.tried, &tried, now))
		return old;
	mine = egs_table_open(self.path, &err);
	if (mine)
		return replace_table(old, mine);
	log_missing_table(&err);
	return old;
}

static bool is_row_of_job(const struct egs_table_job *row,
			  const job_record_t *job)
{
	return job->details &&
	       row->submit == (uint32_t)job->details->submit_time;
}

static bool find_fresh_row(struct egs_table *t, uint32_t job_id,
			   const job_record_t *job, time_t now,
			   struct egs_table_job *row)
{
	return job_id &&
	       egs_table_find(t, job_id, now, self.stale_after_s, row) &&
	       is_row_of_job(row, job);
}

static bool is_enforced_row(const struct egs_table_job *row)
{
	return (row->flags & (EGS_TABLE_MANAGED | EGS_TABLE_OBSERVED)) ==
	       EGS_TABLE_MANAGED;
}

/* The publication in force, 0: none is fresh.  '*t' is the table, NULL: there
 * is none.
 */
static uint64_t get_fresh_seq(time_t now, struct egs_table **t)
{
	uint64_t seq;

	*t = atomic_load(&self.table);
	seq = *t ? egs_table_fresh_seq(*t, now, self.stale_after_s) : 0;
	if (seq)
		return seq;
	*t = map_table(*t, now);
	return *t ? egs_table_fresh_seq(*t, now, self.stale_after_s) : 0;
}

/* The table, fresh or not; NULL: there is none. */
static struct egs_table *get_table(time_t now)
{
	struct egs_table *t;

	get_fresh_seq(now, &t);
	return t;
}

bool egs_decisions_are_fresh(void)
{
	struct egs_table *t;

	return get_fresh_seq(time(NULL), &t);
}

uint64_t egs_decisions_marks_seq(void)
{
	time_t now = time(NULL);
	struct egs_table *t = get_table(now);

	return t ? egs_table_marks_seq(t, now, self.stale_after_s) : 0;
}

bool egs_decisions_has_victim(void)
{
	time_t now = time(NULL);
	struct egs_table *t = get_table(now);

	return t && egs_table_has_victim(t, now, self.stale_after_s);
}

bool egs_decisions_quota_left(const struct egs_quota_key *place, uint32_t *left)
{
	time_t now = time(NULL);
	struct egs_table *t = get_table(now);

	return t &&
	       egs_table_read_quota(t, now, self.stale_after_s, place, left);
}

bool egs_decisions_get_marks(struct egs_table_marks *marks)
{
	struct egs_table *t;

	return get_fresh_seq(time(NULL), &t) && egs_table_read_marks(t, marks);
}

static bool find_job_row(struct egs_table *t, const job_record_t *job,
			 time_t now, struct egs_table_job *row)
{
	return find_fresh_row(t, job->job_id, job, now, row) ||
	       find_fresh_row(t, job->array_job_id, job, now, row);
}

static bool find_enforced_row(struct egs_table *t, const job_record_t *job,
			      time_t now, struct egs_table_job *row)
{
	return t && find_job_row(t, job, now, row) && is_enforced_row(row);
}

bool egs_decision_get(const job_record_t *job, struct egs_table_job *row)
{
	time_t now = time(NULL);

	return find_enforced_row(get_table(now), job, now, row);
}

bool egs_decision_is_pending(const job_record_t *job)
{
	struct egs_table_job row;
	struct egs_table *t;
	time_t now = time(NULL);

	return self.enforces && get_fresh_seq(now, &t) &&
	       !find_job_row(t, job, now, &row) &&
	       egs_stamp_read(job->admin_comment).nonce;
}

/* A job that runs has an id of its own, its array's is of those who wait. */
bool egs_decision_while_preempted(const job_record_t *job,
				  struct egs_table_job *row)
{
	struct egs_table *t;

	if (egs_decision_get(job, row))
		return true;
	t = atomic_load(&self.table);
	return t && job->preempt_time &&
	       egs_table_find_last(t, job->job_id, row) &&
	       is_row_of_job(row, job) && is_enforced_row(row) &&
	       row->fate_and_flags & EGS_TABLE_PREEMPT_REQUESTED;
}

/* A job in a publication; never 0.  No id is handed out again in one. */
static uint64_t make_job_seq_key(const job_record_t *job, uint64_t seq)
{
	return seq << 32 | job->job_id;
}

bool egs_decision_cannot_take(const job_record_t *job)
{
	const struct egs_table *t =
		atomic_load_explicit(&self.table, memory_order_acquire);
	uint64_t seq =
		t ? egs_table_live_seq(t, time(NULL), self.stale_after_s) : 0;

	return seq &&
	       atomic_load_explicit(&self.harmless, memory_order_relaxed) ==
		       make_job_seq_key(job, seq);
}

struct egs_pending_decision egs_decision_for_pending(const job_record_t *job)
{
	time_t now = time(NULL);
	struct egs_pending_decision taker = { .may_take = false };
	struct egs_table *t;
	uint64_t seq = get_fresh_seq(now, &t);

	taker.has_row = find_enforced_row(t, job, now, &taker.row);
	taker.may_take = taker.has_row &&
			 egs_table_has_victim_for(t, now, self.stale_after_s,
						  &taker.row);
	if (seq && !taker.may_take)
		atomic_store(&self.harmless, make_job_seq_key(job, seq));
	return taker;
}
