/* table_write.c - the daemon's side of the decision table */
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

/* The sequence numbers are also here: the file may lose them. */
struct egs_table_writer {
	struct egs_table_file *file;
	struct egs_table_guard *guard;
	int fd;
	uint64_t seq, marks_seq;
};

/* A new file gets its full size and all its blocks at once: a write into a hole
 * of a full file system would kill the daemon.  An old file must have that
 * size.
 */
static int prepare_file(int fd, const char *path, struct egs_err *err)
{
	const size_t size = sizeof(struct egs_table_file);
	struct stat st;
	int rc = 0;

	/* The file may be of a daemon that let all users read it. */
	if (fstat(fd, &st) < 0 || fchmod(fd, 0600) < 0)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	if (st.st_size != 0 && (size_t)st.st_size != size)
		return egs_errf(err,
				"%s: %lld bytes, a decision table of layout %d "
				"has %zu: remove it and restart slurmctld",
				path, (long long)st.st_size, EGS_TABLE_LAYOUT,
				size);
	if (st.st_size == 0)
		rc = posix_fallocate(fd, 0, (off_t)size);
	if (rc == 0)
		return 0;
	if (ftruncate(fd, 0) < 0) /* an incomplete file would be refused */
		unlink(path);
	return egs_errf(err, "%s: %s", path, strerror(rc));
}

static int map_file(struct egs_table_writer *w, const char *path,
		    struct egs_err *err)
{
	void *at;

	w->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (w->fd < 0)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	if (prepare_file(w->fd, path, err) < 0)
		return -1;
	at = mmap(NULL, sizeof(struct egs_table_file), PROT_READ | PROT_WRITE,
		  MAP_SHARED, w->fd, 0);
	if (at == MAP_FAILED)
		return egs_errf(err, "%s: mmap: %s", path, strerror(errno));
	w->file = at;
	w->guard = egs_table_guard_new(at, sizeof(*w->file),
				       PROT_READ | PROT_WRITE, err);
	return w->guard ? 0 : -1;
}

static void write_head(struct egs_table_file *f)
{
	atomic_store(&f->open, 0);
	f->layout = EGS_TABLE_LAYOUT;
	f->row_size = sizeof(struct egs_table_job);
	f->magic = EGS_TABLE_MAGIC;
}

/* Continue the sequence of the last daemon: a plugin that has checked
 * publication 7 must never see another 7.
 */
static int take_over_file(struct egs_table_file *f, const char *path,
			  struct egs_err *err)
{
	if (f->magic &&
	    (f->magic != EGS_TABLE_MAGIC || f->layout != EGS_TABLE_LAYOUT ||
	     f->row_size != sizeof(struct egs_table_job)))
		return egs_errf(err,
				"%s: layout %u, this daemon writes %d: "
				"remove it and restart slurmctld",
				path, (unsigned)f->layout, EGS_TABLE_LAYOUT);
	write_head(f);
	return 0;
}

static void free_writer(struct egs_table_writer *w)
{
	egs_table_guard_free(w->guard);
	if (w->file)
		munmap(w->file, sizeof(*w->file));
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

struct egs_table_writer *egs_table_create(const char *path, struct egs_err *err)
{
	struct egs_table_writer *w = calloc(1, sizeof(*w));

	if (!w) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	w->fd = -1;
	if (map_file(w, path, err) != 0 || !w->file ||
	    take_over_file(w->file, path, err) < 0) {
		free_writer(w);
		return NULL;
	}
	w->seq = atomic_load(&w->file->seq);
	w->marks_seq = atomic_load(&w->file->marks_seq);
	return w;
}

/* Map the file again in place of what the guard has put there. */
static int map_again(struct egs_table_writer *w, struct egs_err *err)
{
	const size_t size = sizeof(*w->file);
	int rc = posix_fallocate(w->fd, 0, (off_t)size);

	if (rc)
		return egs_errf(err, "%s", strerror(rc));
	if (ftruncate(w->fd, (off_t)size) < 0 ||
	    mmap(w->file, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 w->fd, 0) == MAP_FAILED)
		return egs_errf(err, "%s", strerror(errno));
	egs_table_guard_reset(w->guard);
	return 0;
}

int egs_table_repair(struct egs_table_writer *w, struct egs_err *err)
{
	struct stat st;

	if (!egs_table_guard_is_lost(w->guard) && fstat(w->fd, &st) == 0 &&
	    st.st_size == sizeof(*w->file))
		return 0;
	if (map_again(w, err) < 0)
		return -1;
	write_head(w->file);
	atomic_store(&w->file->seq, w->seq);
	atomic_store(&w->file->marks_seq, w->marks_seq);
	return 1;
}

/* The smallest power of two that leaves half of the index empty. */
static uint32_t choose_index_size(size_t n)
{
	uint32_t size = 16;

	while (size < 2 * n)
		size *= 2;
	return size;
}

/* Could this job take GPUs from others: is it pending and needs GPUs? */
static bool can_take_gpus(const struct egs_table_job *p)
{
	return !p->recall_from &&
	       (p->flags & (EGS_TABLE_MANAGED | EGS_TABLE_OBSERVED |
			    EGS_TABLE_NEEDS_GPUS)) ==
		       (EGS_TABLE_MANAGED | EGS_TABLE_NEEDS_GPUS);
}

/* Count the possible victims and find the weakest. */
static void count_victims(struct egs_table_slot *slot,
			  const struct egs_table_job *rows, uint32_t n)
{
	uint32_t strongest = UINT32_MAX;
	bool floor = false;

	slot->nvictims = slot->weakest_order = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct egs_take_view row = egs_table_take_view(&rows[i]);
		uint32_t strength = egs_take_order(&row) + 1;

		if (can_take_gpus(&rows[i])) {
			floor |= egs_table_fills_floor(&rows[i]);
			if (strength < strongest)
				strongest = strength;
		}
		if (!egs_table_is_victim(&rows[i]))
			continue;
		slot->nvictims++;
		if (strength > slot->weakest_order)
			slot->weakest_order = strength;
	}
	if (strongest >= slot->weakest_order && !floor)
		slot->nvictims = 0;
}

static void fill_slot(struct egs_table_slot *slot,
		      const struct egs_table_job *rows, uint32_t n)
{
	uint32_t size = choose_index_size(n), i, at;

	slot->nrows = n;
	slot->index_size = size;
	count_victims(slot, rows, n);
	if (n && rows != slot->row)
		memcpy(slot->row, rows, n * sizeof(*rows));
	memset(slot->index, 0, size * sizeof(slot->index[0]));
	for (i = 0; i < n; i++) {
		at = egs_table_hash_job(rows[i].job_id, size);
		while (slot->index[at])
			at = (at + 1) & (size - 1);
		slot->index[at] = i + 1;
	}
	slot->checksum = egs_table_checksum(slot, n, size);
}

/* The slot that is not current.  Its sequence is 0 while it is written, so a
 * reader that still uses it notices.
 */
static struct egs_table_slot *open_next_slot(struct egs_table_writer *w)
{
	struct egs_table_slot *slot = &w->file->slot[(w->seq + 1) % 2];

	atomic_store(&slot->seq, 0);
	atomic_thread_fence(memory_order_seq_cst);
	return slot;
}

struct egs_table_job *egs_table_get_buffer(struct egs_table_writer *w)
{
	return open_next_slot(w)->row;
}

size_t egs_table_publish(struct egs_table_writer *w,
			 const struct egs_table_job *rows, size_t n,
			 egs_time_t now)
{
	struct egs_table_file *f = w->file;
	uint64_t seq = w->seq + 1;
	struct egs_table_slot *slot = open_next_slot(w);

	if (n > EGS_TABLE_JOBS_MAX)
		n = EGS_TABLE_JOBS_MAX;
	fill_slot(slot, rows, (uint32_t)n);
	atomic_store(&slot->seq, seq);
	atomic_store(&f->seq, seq);
	w->seq = seq;
	egs_table_heartbeat(w, now);
	atomic_store(&f->open, 1);
	return n;
}

static void copy_marks(struct egs_table_marks *to,
		       const struct egs_table_marks *from)
{
	memcpy(to, from, offsetof(struct egs_table_marks, claim));
	memcpy(to->claim, from->claim, from->nclaims * sizeof(from->claim[0]));
	memcpy(to->node, from->node, from->nnodes * sizeof(from->node[0]));
}

void egs_table_publish_marks(struct egs_table_writer *w,
			     const struct egs_table_marks *marks)
{
	struct egs_table_file *f = w->file;
	uint64_t seq = w->marks_seq + 1;
	struct egs_table_marks_slot *side = &f->marks_slot[seq % 2];

	atomic_store(&side->seq, 0);
	atomic_thread_fence(memory_order_seq_cst);
	copy_marks(&side->marks, marks);
	side->checksum = egs_table_marks_checksum(marks);
	atomic_store(&side->seq, seq);
	atomic_store(&f->marks_seq, seq);
	w->marks_seq = seq;
}

void egs_table_publish_quota(struct egs_table_writer *w,
			     const struct egs_quota_key *key, uint32_t left)
{
	if (!egs_table_is_quota_key(key))
		return;
	atomic_store_explicit(
		&w->file->quota_left[key->team][key->type][key->tier], left,
		memory_order_relaxed);
	atomic_store_explicit(&w->file->names_hash, key->names_hash,
			      memory_order_release);
}

void egs_table_publish_modes(struct egs_table_writer *w,
			     const struct egs_table_modes *modes)
{
	struct egs_table_file *f = w->file;
	bool enforces = modes->site == EGS_MODE_ENFORCE;

	for (int i = 0; i < EGS_TEAMS_MAX; i++) {
		enforces |= modes->team[i] == EGS_MODE_ENFORCE;
		atomic_store_explicit(&f->team_mode[i], (uint8_t)modes->team[i],
				      memory_order_relaxed);
	}
	atomic_store_explicit(&f->site_mode, (uint8_t)modes->site,
			      memory_order_relaxed);
	atomic_store_explicit(&f->enforces, enforces, memory_order_relaxed);
	atomic_store_explicit(&f->names_hash, modes->names_hash,
			      memory_order_release);
}

void egs_table_heartbeat(struct egs_table_writer *w, egs_time_t now)
{
	atomic_store(&w->file->heartbeat, now);
}

void egs_table_suspend(struct egs_table_writer *w)
{
	atomic_store(&w->file->open, 0);
}

void egs_table_close(struct egs_table_writer *w)
{
	if (!w)
		return;
	egs_table_suspend(w);
	free_writer(w);
}
