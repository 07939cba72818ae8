/* decisions.c - read the daemon's decisions inside slurmctld */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/hint/stamp.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/layout.h"
#include "plugins/shared/settings.h"

/* If the table is missing or old, try to map it again after this time.  Each
 * plugin maps it by itself.  The time is short, because freed GPUs are not
 * claimed while preempt/egs has the table and select/egs does not.
 */
enum { RETRY_S = 1 };

static struct {
	const char *plugin_name;
	struct egs_settings settings;
	char *path; /* of the table */
	_Atomic(struct egs_table *) table;
	_Atomic time_t last_try;
	_Atomic bool missing_logged;
	_Atomic uint64_t cannot_take_key; /* of the last such job */
} self;

static void load_settings(const char *plugin_name, bool missing_is_fine)
{
	char path[4096];

	self.plugin_name = plugin_name;
	if (self.path)
		return; /* loaded again: the file is read at the next restart */
	egs_settings_load(&self.settings, plugin_name, missing_is_fine);
	if (!self.settings.run_dir)
		return;
	snprintf(path, sizeof(path), "%s/table", self.settings.run_dir);
	self.path = strdup(path);
}

void egs_decisions_init(const char *plugin_name)
{
	load_settings(plugin_name, false);
}

void egs_decisions_init_if_conf(const char *plugin_name)
{
	load_settings(plugin_name, true);
}

const char *egs_decisions_preempt_base(void)
{
	return self.settings.preempt_base;
}

const char *egs_decisions_run_dir(void)
{
	return self.settings.run_dir;
}

/* Log this once: the daemon may be down for long. */
static void log_missing_table(const struct egs_err *err)
{
	if (!atomic_exchange(&self.missing_logged, true))
		error("%s: %s; deciding as stock Slurm would until it exists",
		      self.plugin_name, err->msg);
}

/* Replace 'old' by 'new', or drop 'new': another thread may have been faster,
 * or the file may be the mapped one.  The old mapping stays, because other
 * threads may read it.
 */
static struct egs_table *replace_table(struct egs_table *old,
				       struct egs_table *new)
{
	if ((old && egs_table_is_same_file(old, new)) ||
	    !atomic_compare_exchange_strong(&self.table, &old, new)) {
		egs_table_free(new);
		return old;
	}
	atomic_store(&self.cannot_take_key, 0);
	info("%s: reading %s", self.plugin_name, self.path);
	atomic_store(&self.missing_logged, false);
	return new;
}

/* 'old' is NULL or not fresh: try to map the current file. */
static struct egs_table *map_table(struct egs_table *old, time_t now)
{
	time_t last_try = atomic_load(&self.last_try);
	struct egs_table *new;
	struct egs_err err;

	if (!self.path || (now >= last_try && now - last_try < RETRY_S) ||
	    !atomic_compare_exchange_strong(&self.last_try, &last_try, now))
		return old;
	new = egs_table_open(self.path, &err);
	if (new)
		return replace_table(old, new);
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
	       egs_table_find(t, job_id, now, self.settings.stale_after_s,
			      row) &&
	       is_row_of_job(row, job);
}

static bool is_enforced_row(const struct egs_table_job *row)
{
	return (row->flags & (EGS_TABLE_MANAGED | EGS_TABLE_OBSERVED)) ==
	       EGS_TABLE_MANAGED;
}

/* The sequence number of the current publication, 0: not fresh.  '*t' is the
 * table, NULL: none.
 */
static uint64_t get_fresh_seq(time_t now, struct egs_table **t)
{
	uint64_t seq;

	*t = atomic_load(&self.table);
	seq = *t ? egs_table_fresh_seq(*t, now, self.settings.stale_after_s)
		 : 0;
	if (seq)
		return seq;
	*t = map_table(*t, now);
	return *t ? egs_table_fresh_seq(*t, now, self.settings.stale_after_s)
		  : 0;
}

/* The table, fresh or not; NULL: none. */
static struct egs_table *get_table(time_t now)
{
	struct egs_table *t;

	get_fresh_seq(now, &t);
	return t;
}

uint64_t egs_decisions_seq(void)
{
	struct egs_table *t;

	return get_fresh_seq(time(NULL), &t);
}

bool egs_decisions_are_fresh(void)
{
	return egs_decisions_seq();
}

uint64_t egs_decisions_marks_seq(void)
{
	time_t now = time(NULL);
	struct egs_table *t = get_table(now);

	return t ? egs_table_marks_seq(t, now, self.settings.stale_after_s) : 0;
}

bool egs_decisions_has_victim(void)
{
	time_t now = time(NULL);
	struct egs_table *t = get_table(now);

	return t && egs_table_has_victim(t, now, self.settings.stale_after_s);
}

bool egs_decisions_quota_left(const struct egs_quota_key *place, uint32_t *left)
{
	time_t now = time(NULL);
	struct egs_table *t = get_table(now);

	return t && egs_table_read_quota(t, now, self.settings.stale_after_s,
					 place, left);
}

enum egs_mode egs_decisions_mode(const struct egs_policy_conf *policy, int team)
{
	time_t now = time(NULL);
	struct egs_table *t = get_table(now);

	return t ? egs_table_read_mode(t, now, self.settings.stale_after_s,
				       egs_table_hash_names(policy), team)
		 : EGS_MODE_INHERIT;
}

bool egs_decisions_get_marks(struct egs_table_marks *marks)
{
	struct egs_table *t;

	return get_fresh_seq(time(NULL), &t) && egs_table_read_marks(t, marks);
}

static bool find_job_row(struct egs_table *t, const job_record_t *job,
			 time_t now, struct egs_table_job *row)
{
	if (!egs_layout_is_ours(job))
		return false;
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

static bool has_no_row_yet(const job_record_t *job)
{
	struct egs_table_job row;
	struct egs_table *t;
	time_t now = time(NULL);

	return egs_layout_is_ours(job) && get_fresh_seq(now, &t) &&
	       egs_table_enforces(t, now, self.settings.stale_after_s) &&
	       !find_job_row(t, job, now, &row);
}

bool egs_decision_is_pending(const job_record_t *job)
{
	return has_no_row_yet(job) && egs_stamp_read(job->admin_comment).nonce;
}

static bool is_recent(time_t then)
{
	return time(NULL) - then < (time_t)self.settings.stale_after_s;
}

bool egs_decision_is_outdated(const job_record_t *job,
			      const struct egs_table_job *row)
{
	uint64_t changed_us = egs_stamp_changed_us(job->admin_comment);

	return changed_us && (uint32_t)changed_us != row->protected_until &&
	       is_recent((time_t)(changed_us / 1000000));
}

/* Was the job unmanaged when the daemon read it, and was it updated since? */
static bool has_old_unmanaged_row(const job_record_t *job)
{
	time_t now = time(NULL);
	struct egs_table_job row;
	struct egs_table *t = get_table(now);

	return t && find_job_row(t, job, now, &row) &&
	       !(row.flags & EGS_TABLE_MANAGED) &&
	       egs_decision_is_outdated(job, &row);
}

/* The daemon reads a new or updated job at once.  If it does not, or finds that
 * the job is unmanaged, the job starts as on stock Slurm after StaleAfter.
 */
bool egs_decision_must_come_first(const job_record_t *job)
{
	struct egs_stamp stamp;

	if (!egs_layout_is_ours(job) || !job->details ||
	    !(has_no_row_yet(job) || has_old_unmanaged_row(job)))
		return false;
	stamp = egs_stamp_read(job->admin_comment);
	return stamp.limited &&
	       (is_recent(job->details->submit_time) ||
		is_recent((time_t)(stamp.changed_us / 1000000)));
}

/* Look up the job's own id only: the row of the array is for pending tasks. */
bool egs_decision_while_preempted(const job_record_t *job,
				  struct egs_table_job *row)
{
	struct egs_table *t;

	if (!egs_layout_is_ours(job))
		return false;
	if (egs_decision_get(job, row))
		return true;
	t = atomic_load(&self.table);
	return t && job->preempt_time &&
	       egs_table_find_last(t, job->job_id, row) &&
	       is_row_of_job(row, job) && is_enforced_row(row) &&
	       row->fate_and_flags & EGS_TABLE_PREEMPT_REQUESTED;
}

/* The key of a job in a publication, never 0.  Ids are unique in one. */
static uint64_t make_job_seq_key(const job_record_t *job, uint64_t seq)
{
	return seq << 32 | job->job_id;
}

bool egs_decision_cannot_take(const job_record_t *job)
{
	const struct egs_table *t =
		atomic_load_explicit(&self.table, memory_order_acquire);
	uint64_t seq = t ? egs_table_live_seq(t, time(NULL),
					      self.settings.stale_after_s)
			 : 0;

	return seq && atomic_load_explicit(&self.cannot_take_key,
					   memory_order_relaxed) ==
			      make_job_seq_key(job, seq);
}

struct egs_pending_decision egs_decision_for_pending(const job_record_t *job)
{
	time_t now = time(NULL);
	struct egs_pending_decision decision = { .may_take = false };
	struct egs_table *t;
	uint64_t seq = get_fresh_seq(now, &t);

	decision.has_row = find_enforced_row(t, job, now, &decision.row);
	decision.may_take =
		decision.has_row &&
		egs_table_has_victim_for(t, now, self.settings.stale_after_s,
					 &decision.row);
	if (seq && !decision.may_take)
		atomic_store(&self.cannot_take_key, make_job_seq_key(job, seq));
	return decision;
}
