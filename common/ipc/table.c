/* table.c - the plugins' side of the decision table
 *
 * The daemon may write the file while a plugin reads it, or crash while it
 * writes.  The file may also be forged.  So each value is compared with a bound
 * before it is used.  A row counts only if its slot did not change meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ipc/table.h"
#include "common/ipc/table_guard.h"
#include "common/ipc/table_layout.h"

/* The last publication whose checksum is right, and the last one whose checksum
 * is wrong: each is checked once.
 */
struct egs_table {
	const struct egs_table_file *file;
	struct egs_table_guard *guard;
	dev_t dev;
	ino_t ino;
	_Atomic uint64_t checked_seq;
	_Atomic uint64_t damaged_seq;
};

/* FNV-1a over whole words.  The checksum must detect only a torn slot, because
 * only the daemon can write.
 */
static uint64_t add_checksum(uint64_t sum, const void *at, size_t bytes)
{
	const unsigned char *p = at;
	uint64_t word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum = (sum ^ word) * UINT64_C(1099511628211);
		sum ^= sum >> 29;
		p += sizeof(word);
	}
	return sum;
}

uint64_t egs_table_checksum(const struct egs_table_slot *slot, uint32_t n,
			    uint32_t size)
{
	uint64_t sum = UINT64_C(14695981039346656037) ^ n;

	sum = add_checksum(sum, slot->row, n * sizeof(slot->row[0]));
	return add_checksum(sum, slot->index, size * sizeof(slot->index[0]));
}

uint64_t egs_table_marks_checksum(const struct egs_table_marks *marks)
{
	uint64_t sum = UINT64_C(14695981039346656037);

	sum = add_checksum(sum, marks, offsetof(struct egs_table_marks, claim));
	sum = add_checksum(sum, marks->claim,
			   marks->nclaims * sizeof(marks->claim[0]));
	return add_checksum(sum, marks->node,
			    marks->nnodes * sizeof(marks->node[0]));
}

struct egs_take_view egs_table_take_view(const struct egs_table_job *job)
{
	return (struct egs_take_view){
		.protected_until = job->protected_until,
		.recall_from = job->recall_from,
		.tier = job->tier,
		.managed = job->flags & EGS_TABLE_MANAGED,
		.on_loan = job->flags & EGS_TABLE_ON_LOAN,
		.dependents = job->flags & EGS_TABLE_DEPENDENTS,
		.needs_gpus = job->flags & EGS_TABLE_NEEDS_GPUS,
		.not_preemptible = job->flags & EGS_TABLE_NOT_PREEMPTIBLE,
		.over_limit = job->flags & EGS_TABLE_OVER_LIMIT,
		.preempt_budget_used =
			job->flags & EGS_TABLE_PREEMPT_BUDGET_USED,
		.team = job->team,
		.type = job->type & (uint8_t)~EGS_TABLE_ANY_TYPE,
		.displaces = job->recall_from ? 0 : job->displaces_or_span,
		.span = job->displaces_or_span,
		.gpus = job->gpus,
		.slack = job->room,
	};
}

bool egs_table_may_share_type(const struct egs_table_job *a,
			      const struct egs_table_job *b)
{
	return (a->type | b->type) & EGS_TABLE_ANY_TYPE || a->type == b->type;
}

bool egs_table_may_take(const struct egs_table_job *p,
			const struct egs_table_job *v, egs_time_t now)
{
	struct egs_take_view rp = egs_table_take_view(p),
			     rv = egs_table_take_view(v);

	return v->recall_from && egs_may_take(&rp, &rv, now) == EGS_TAKE_YES;
}

bool egs_table_is_victim(const struct egs_table_job *v)
{
	return v->recall_from &&
	       (v->flags & (EGS_TABLE_MANAGED | EGS_TABLE_OBSERVED)) ==
		       EGS_TABLE_MANAGED;
}

bool egs_table_is_deferred(const struct egs_table_job *p)
{
	return !p->recall_from && p->fate_and_flags & EGS_TABLE_DEFERRED;
}

bool egs_table_fills_floor(const struct egs_table_job *p)
{
	return !p->recall_from && p->displaces_or_span == 1;
}

static int check_file(struct egs_table *t, int fd, const char *path,
		      struct egs_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	t->dev = st.st_dev;
	t->ino = st.st_ino;
	if (!S_ISREG(st.st_mode) || st.st_size != sizeof(struct egs_table_file))
		return egs_errf(err, "%s: not a decision table of layout %d",
				path, EGS_TABLE_LAYOUT);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return egs_errf(err,
				"%s: writable by other users (mode %03o); "
				"expected at most 644",
				path, (unsigned)st.st_mode & 0777);
	return 0;
}

static int check_head(const struct egs_table_file *f, const char *path,
		      struct egs_err *err)
{
	if (f->magic == EGS_TABLE_MAGIC && f->layout == EGS_TABLE_LAYOUT &&
	    f->row_size == sizeof(struct egs_table_job))
		return 0;
	return egs_errf(err, "%s: layout %u, this plugin reads %d", path,
			(unsigned)f->layout, EGS_TABLE_LAYOUT);
}

static void *map_file(struct egs_table *t, const char *path,
		      struct egs_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	void *at = NULL;

	if (fd < 0) {
		egs_errf(err, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (check_file(t, fd, path, err) == 0) {
		at = mmap(NULL, sizeof(struct egs_table_file), PROT_READ,
			  MAP_SHARED, fd, 0);
		if (at == MAP_FAILED) {
			egs_errf(err, "%s: mmap: %s", path, strerror(errno));
			at = NULL;
		}
	}
	close(fd);
	if (at)
		t->guard = egs_table_guard_new(at, sizeof(*t->file), PROT_READ,
					       err);
	return at;
}

struct egs_table *egs_table_open(const char *path, struct egs_err *err)
{
	struct egs_table *t = calloc(1, sizeof(*t));

	if (!t) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	t->file = map_file(t, path, err);
	if (!t->file || !t->guard || check_head(t->file, path, err) < 0) {
		egs_table_free(t);
		return NULL;
	}
	return t;
}

bool egs_table_is_same_file(const struct egs_table *a,
			    const struct egs_table *b)
{
	return a->dev == b->dev && a->ino == b->ino &&
	       !egs_table_guard_is_lost(a->guard) &&
	       !egs_table_guard_is_lost(b->guard);
}

void egs_table_free(struct egs_table *table)
{
	if (!table)
		return;
	egs_table_guard_free(table->guard);
	if (table->file)
		munmap((void *)table->file, sizeof(*table->file));
	free(table);
}

/* Is the slot of 'seq' intact?  Its checksum is computed once. */
static bool is_slot_intact(struct egs_table *t,
			   const struct egs_table_slot *slot, uint64_t seq)
{
	uint32_t n = slot->nrows, size = slot->index_size;
	bool good;

	if (atomic_load_explicit(&t->checked_seq, memory_order_relaxed) == seq)
		return true;
	if (atomic_load_explicit(&t->damaged_seq, memory_order_relaxed) == seq)
		return false;
	good = n <= EGS_TABLE_JOBS_MAX && size && size <= EGS_TABLE_INDEX_MAX &&
	       !(size & (size - 1)) &&
	       slot->checksum == egs_table_checksum(slot, n, size);
	/* A slot that was replaced meanwhile is not damaged. */
	if (atomic_load_explicit(&slot->seq, memory_order_acquire) != seq)
		return false;
	atomic_store_explicit(good ? &t->checked_seq : &t->damaged_seq, seq,
			      memory_order_relaxed);
	return good;
}

/* The last publication if it is intact, else 0. */
static uint64_t get_newest_seq(struct egs_table *table)
{
	const struct egs_table_file *f = table->file;
	uint64_t seq = atomic_load_explicit(&f->seq, memory_order_acquire);
	const struct egs_table_slot *slot = &f->slot[seq % 2];

	if (!seq ||
	    atomic_load_explicit(&slot->seq, memory_order_acquire) != seq)
		return 0;
	return is_slot_intact(table, slot, seq) ? seq : 0;
}

uint64_t egs_table_live_seq(const struct egs_table *table, egs_time_t now,
			    uint32_t stale_after_s)
{
	const struct egs_table_file *f = table->file;
	int64_t beat =
		atomic_load_explicit(&f->heartbeat, memory_order_relaxed);

	if (!atomic_load_explicit(&f->open, memory_order_relaxed))
		return 0;
	/* A heartbeat from the future means that the clock was set back.  The
	 * table is not fresh then: a dead daemon would look alive for long.
	 */
	if (beat > now + stale_after_s || beat < now - stale_after_s)
		return 0;
	return atomic_load_explicit(&f->seq, memory_order_acquire);
}

uint64_t egs_table_fresh_seq(struct egs_table *table, egs_time_t now,
			     uint32_t stale_after_s)
{
	return egs_table_live_seq(table, now, stale_after_s)
		       ? get_newest_seq(table)
		       : 0;
}

bool egs_table_has_victim(struct egs_table *table, egs_time_t now,
			  uint32_t stale_after_s)
{
	uint64_t seq = egs_table_fresh_seq(table, now, stale_after_s);

	return seq && table->file->slot[seq % 2].nvictims;
}

bool egs_table_has_victim_for(struct egs_table *table, egs_time_t now,
			      uint32_t stale_after_s,
			      const struct egs_table_job *p)
{
	uint64_t seq = egs_table_fresh_seq(table, now, stale_after_s);
	const struct egs_table_slot *slot = &table->file->slot[seq % 2];
	struct egs_take_view row = egs_table_take_view(p);
	uint32_t weakest = slot->weakest_order;

	atomic_thread_fence(memory_order_acquire);
	if (!seq ||
	    atomic_load_explicit(&slot->seq, memory_order_relaxed) != seq)
		return true;
	return row.needs_gpus &&
	       (egs_take_order(&row) + 1 < weakest || egs_table_fills_floor(p));
}

/* Search the index from the hash of 'job_id' to the first empty entry.  The
 * mapping sets the bounds, not the content of the file.
 */
static bool find_row(const struct egs_table_slot *slot, uint32_t job_id,
		     struct egs_table_job *row)
{
	uint32_t size = slot->index_size, n = slot->nrows;
	uint32_t mask, at, tries, entry;

	if (!size || size > EGS_TABLE_INDEX_MAX || n > EGS_TABLE_JOBS_MAX)
		return false;
	mask = size - 1;
	at = egs_table_hash_job(job_id, size) & (EGS_TABLE_INDEX_MAX - 1);
	for (tries = 0; tries <= n; tries++, at = (at + 1) & mask) {
		entry = slot->index[at & (EGS_TABLE_INDEX_MAX - 1)];
		if (!entry || entry > n)
			return false;
		if (slot->row[entry - 1].job_id == job_id) {
			*row = slot->row[entry - 1];
			return true;
		}
	}
	return false;
}

/* Copy the row of publication 'seq'; false if it was overwritten meanwhile. */
static bool copy_row(const struct egs_table *table, uint64_t seq,
		     uint32_t job_id, struct egs_table_job *row, bool *there)
{
	const struct egs_table_slot *slot = &table->file->slot[seq % 2];
	struct egs_table_job found = { .job_id = 0 };

	*there = find_row(slot, job_id, &found);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&slot->seq, memory_order_relaxed) != seq)
		return false;
	if (*there)
		*row = found;
	return true;
}

bool egs_table_find_last(struct egs_table *table, uint32_t job_id,
			 struct egs_table_job *row)
{
	uint64_t seq = get_newest_seq(table);
	bool there;

	return seq && copy_row(table, seq, job_id, row, &there) && there;
}

bool egs_table_find(struct egs_table *table, uint32_t job_id, egs_time_t now,
		    uint32_t stale_after_s, struct egs_table_job *row)
{
	const struct egs_table_file *f = table->file;
	int tries;

	/* Each try fails only if the daemon published twice in that time.  Give
	 * up after a few: then the plugin answers as stock Slurm.
	 */
	for (tries = 0; tries < 4; tries++) {
		uint64_t seq = egs_table_fresh_seq(table, now, stale_after_s);
		bool there;

		if (!seq && atomic_load(&f->open))
			continue;
		if (!seq)
			return false;
		if (copy_row(table, seq, job_id, row, &there))
			return there;
	}
	return false;
}

uint64_t egs_table_marks_seq(struct egs_table *table, egs_time_t now,
			     uint32_t stale_after_s)
{
	if (!egs_table_fresh_seq(table, now, stale_after_s))
		return 0;
	return atomic_load_explicit(&table->file->marks_seq,
				    memory_order_acquire);
}

static void terminate_names(struct egs_table_marks *marks)
{
	for (uint32_t i = 0; i < marks->nclaims; i++)
		marks->claim[i].node[EGS_TABLE_NAME_SIZE - 1] = '\0';
	for (uint32_t i = 0; i < marks->nnodes; i++)
		marks->node[i].name[EGS_TABLE_NAME_SIZE - 1] = '\0';
}

bool egs_table_read_marks(struct egs_table *table,
			  struct egs_table_marks *marks)
{
	const struct egs_table_file *f = table->file;
	uint64_t seq =
		atomic_load_explicit(&f->marks_seq, memory_order_acquire);
	const struct egs_table_marks_slot *side = &f->marks_slot[seq % 2];
	uint32_t nclaims = side->marks.nclaims, nnodes = side->marks.nnodes;
	uint64_t sum = side->checksum;

	if (!seq ||
	    atomic_load_explicit(&side->seq, memory_order_acquire) != seq ||
	    nclaims > EGS_TABLE_CLAIMS_MAX || nnodes > EGS_TABLE_NODES_MAX)
		return false;
	marks->tiers = side->marks.tiers;
	marks->phases = side->marks.phases;
	marks->nclaims = nclaims;
	marks->nnodes = nnodes;
	memcpy(marks->claim, side->marks.claim,
	       nclaims * sizeof(marks->claim[0]));
	memcpy(marks->node, side->marks.node, nnodes * sizeof(marks->node[0]));
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&side->seq, memory_order_relaxed) != seq ||
	    sum != egs_table_marks_checksum(marks))
		return false;
	terminate_names(marks);
	return true;
}

static uint64_t hash_name(uint64_t sum, const char *name)
{
	do
		sum = (sum ^ (unsigned char)*name) * UINT64_C(1099511628211);
	while (*name++);
	return sum;
}

uint64_t egs_table_hash_names(const struct egs_policy_conf *conf)
{
	uint64_t sum = UINT64_C(14695981039346656037);
	int i;

	for (i = 0; i < conf->nteams; i++)
		sum = hash_name(sum, conf->team[i].name);
	sum = hash_name(sum, "/");
	for (i = 0; i < conf->ntypes; i++)
		sum = hash_name(sum, conf->type[i].name);
	sum = hash_name(sum, "/");
	for (i = 0; i < conf->ntiers; i++)
		sum = hash_name(sum, conf->tier[i].name);
	return sum;
}

bool egs_table_read_quota(struct egs_table *table, egs_time_t now,
			  uint32_t stale_after_s,
			  const struct egs_quota_key *place, uint32_t *left)
{
	const struct egs_table_file *f = table->file;

	if (!egs_table_is_quota_key(place) ||
	    !egs_table_fresh_seq(table, now, stale_after_s) ||
	    atomic_load_explicit(&f->names_hash, memory_order_acquire) !=
		    place->names_hash)
		return false;
	*left = atomic_load_explicit(
		&f->quota_left[place->team][place->type][place->tier],
		memory_order_relaxed);
	return true;
}

enum egs_mode egs_table_read_mode(struct egs_table *table, egs_time_t now,
				  uint32_t stale_after_s, uint64_t names_hash,
				  int team)
{
	const struct egs_table_file *f = table->file;
	uint8_t mode;

	if (!egs_table_fresh_seq(table, now, stale_after_s))
		return EGS_MODE_INHERIT;
	if (team < 0 || team >= EGS_TEAMS_MAX ||
	    atomic_load_explicit(&f->names_hash, memory_order_acquire) !=
		    names_hash)
		mode = atomic_load_explicit(&f->site_mode,
					    memory_order_relaxed);
	else
		mode = atomic_load_explicit(&f->team_mode[team],
					    memory_order_relaxed);
	return mode == EGS_MODE_ENFORCE ? EGS_MODE_ENFORCE : EGS_MODE_OBSERVE;
}

bool egs_table_enforces(struct egs_table *table, egs_time_t now,
			uint32_t stale_after_s)
{
	return egs_table_fresh_seq(table, now, stale_after_s) &&
	       atomic_load_explicit(&table->file->enforces,
				    memory_order_relaxed);
}
