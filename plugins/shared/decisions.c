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
#include "common/conf/keys.h"
#include "common/hint/stamp.h"
#include "plugins/shared/decisions.h"

/* A daemon that has never run has made no table, and one that is away may come
 * back with another: look again, soon, because each plugin does it for itself.
 * While preempt/egs has the table and select/egs not yet, nobody keeps what is
 * freed for the job it is freed for.
 */
enum { AGAIN_S = 1 };

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
	_Atomic uint64_t harmless; /* harmless() of the last such job */
} self;

static bool enforces(const struct egs_policy_conf *policy)
{
	for (int i = 0; i < policy->nteams; i++)
		if (policy->team[i].mode == EGS_MODE_ENFORCE)
			return true;
	return policy->mode == EGS_MODE_ENFORCE;
}

static void take(const struct egs_policy_conf *policy)
{
	char path[4096];

	self.run_dir = strdup(policy->run_dir ? policy->run_dir : EGS_RUN_DIR);
	snprintf(path, sizeof(path), "%s/table",
		 self.run_dir ? self.run_dir : EGS_RUN_DIR);
	self.path = strdup(path);
	self.base = policy->preempt_base ? strdup(policy->preempt_base) : NULL;
	self.stale_after_s = policy->stale_after_s;
	self.enforces = enforces(policy);
}

void egs_decide_init(const char *me)
{
	struct egs_conf_problems problems = { .count = 0 };
	struct egs_conf *file = NULL;

	self.me = me;
	if (self.path)
		return; /* loaded again: the file is read at the next restart */
	if (egs_conf_load(&file, EGS_SYSCONFDIR "/egs.conf", &problems) == 0)
		take(egs_conf_policy(file));
	else
		error("%s: %s; deciding as stock Slurm would", me,
		      problems.kept ? problems.list[0].err.msg : "egs.conf");
	egs_conf_free(file);
}

void egs_decide_init_if_any(const char *me)
{
	self.me = me;
	if (access(EGS_SYSCONFDIR "/egs.conf", F_OK) == 0)
		egs_decide_init(me);
}

const char *egs_decide_base(void)
{
	return self.base;
}

const char *egs_decide_run_dir(void)
{
	return self.run_dir;
}

/* Said once: the daemon may be away for long. */
static void say_missing(const struct egs_err *err)
{
	if (!atomic_exchange(&self.said, true))
		error("%s: %s; deciding as stock Slurm would until it is there",
		      self.me, err->msg);
}

/* Put 'mine' in the place of 'old', or drop it: another thread may have been
 * quicker, or the file may be the one that is mapped.  An old mapping stays, as
 * somebody may be looking into it.
 */
static struct egs_table *replace(struct egs_table *old, struct egs_table *mine)
{
	if ((old && egs_table_same(old, mine)) ||
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

	if (!self.path || (now >= tried && now - tried < AGAIN_S) ||
	    !atomic_compare_exchange_strong(&self.tried, &tried, now))
		return old;
	mine = egs_table_open(self.path, &err);
	if (mine)
		return replace(old, mine);
	say_missing(&err);
	return old;
}

static bool is_of(const struct egs_table_job *row, const job_record_t *job)
{
	return job->details &&
	       row->submit == (uint32_t)job->details->submit_time;
}

static bool find(struct egs_table *t, uint32_t job_id, const job_record_t *job,
		 time_t now, struct egs_table_job *row)
{
	return job_id &&
	       egs_table_find(t, job_id, now, self.stale_after_s, row) &&
	       is_of(row, job);
}

static bool is_decided(const struct egs_table_job *row)
{
	return (row->flags & (EGS_TABLE_MANAGED | EGS_TABLE_OBSERVED)) ==
	       EGS_TABLE_MANAGED;
}

/* The publication in force, 0: none is fresh.  '*t' is the table, NULL: there
 * is none.
 */
static uint64_t fresh_at(time_t now, struct egs_table **t)
{
	uint64_t seq;

	*t = atomic_load(&self.table);
	seq = *t ? egs_table_fresh(*t, now, self.stale_after_s) : 0;
	if (seq)
		return seq;
	*t = map_table(*t, now);
	return *t ? egs_table_fresh(*t, now, self.stale_after_s) : 0;
}

/* The table, fresh or not; NULL: there is none. */
static struct egs_table *table_at(time_t now)
{
	struct egs_table *t;

	fresh_at(now, &t);
	return t;
}

bool egs_decide_fresh(void)
{
	struct egs_table *t;

	return fresh_at(time(NULL), &t);
}

uint64_t egs_decide_marked(void)
{
	time_t now = time(NULL);
	struct egs_table *t = table_at(now);

	return t ? egs_table_marked(t, now, self.stale_after_s) : 0;
}

bool egs_decide_any_victim(void)
{
	time_t now = time(NULL);
	struct egs_table *t = table_at(now);

	return t && egs_table_any_victim(t, now, self.stale_after_s);
}

bool egs_decide_left(const struct egs_table_place *place, uint32_t *left)
{
	time_t now = time(NULL);
	struct egs_table *t = table_at(now);

	return t && egs_table_left(t, now, self.stale_after_s, place, left);
}

bool egs_decide_marks(struct egs_table_marks *marks)
{
	struct egs_table *t;

	return fresh_at(time(NULL), &t) && egs_table_marks(t, marks);
}

static bool has_row(struct egs_table *t, const job_record_t *job, time_t now,
		    struct egs_table_job *row)
{
	return find(t, job->job_id, job, now, row) ||
	       find(t, job->array_job_id, job, now, row);
}

static bool find_row(struct egs_table *t, const job_record_t *job, time_t now,
		     struct egs_table_job *row)
{
	return t && has_row(t, job, now, row) && is_decided(row);
}

bool egs_decided(const job_record_t *job, struct egs_table_job *row)
{
	time_t now = time(NULL);

	return find_row(table_at(now), job, now, row);
}

bool egs_decide_is_due(const job_record_t *job)
{
	struct egs_stamp stamp;
	struct egs_table_job row;
	struct egs_table *t;
	time_t now = time(NULL);

	return self.enforces && fresh_at(now, &t) &&
	       !has_row(t, job, now, &row) &&
	       egs_stamp_find(job->admin_comment, &stamp) == 0;
}

/* A job that runs has an id of its own, its array's is of those who wait. */
bool egs_decided_asked(const job_record_t *job, struct egs_table_job *row)
{
	struct egs_table *t;

	if (egs_decided(job, row))
		return true;
	t = atomic_load(&self.table);
	return t && job->preempt_time &&
	       egs_table_find_last(t, job->job_id, row) && is_of(row, job) &&
	       is_decided(row) && row->mode & EGS_TABLE_ASKED;
}

/* A job in a publication; never 0.  No id is handed out again in one. */
static uint64_t harmless(const job_record_t *job, uint64_t seq)
{
	return seq << 32 | job->job_id;
}

bool egs_decided_harmless(const job_record_t *job)
{
	const struct egs_table *t =
		atomic_load_explicit(&self.table, memory_order_acquire);
	uint64_t seq = t ? egs_table_seq(t, time(NULL), self.stale_after_s) : 0;

	return seq &&
	       atomic_load_explicit(&self.harmless, memory_order_relaxed) ==
		       harmless(job, seq);
}

struct egs_taker egs_decided_taker(const job_record_t *job)
{
	time_t now = time(NULL);
	struct egs_taker taker = { .any = false };
	struct egs_table *t;
	uint64_t seq = fresh_at(now, &t);

	taker.decided = find_row(t, job, now, &taker.row);
	taker.any =
		taker.decided &&
		egs_table_any_weaker(t, now, self.stale_after_s, &taker.row);
	if (seq && !taker.any)
		atomic_store(&self.harmless, harmless(job, seq));
	return taker;
}
