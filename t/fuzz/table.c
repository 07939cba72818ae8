/* table.c - the decision table: a file of any content does not harm slurmctld
 *
 * A valid table is mapped once.  Each input writes its bytes into it: an offset
 * of three bytes, a length of one, and that many bytes, again and again.  Then
 * the plugins' functions read it, and the bytes are restored.
 */
#include <sys/mman.h>

#include "common/ipc/table.h"
#include "common/ipc/table_layout.h"
#include "t/fuzz/fuzz.h"

enum { JOBS = 20, NOW = 1000, STALE = 60, PATCHES_MAX = 64 };

static struct egs_table_file *file;
static struct egs_table_writer *writer; /* open: a closed table has no rows */
static const char *path;

static void make_table(void)
{
	static char name[] = "/tmp/egs-fuzz-table.XXXXXX";
	struct egs_table_job row[JOBS] = { { .job_id = 0 } };
	int fd = mkstemp(name);

	path = name;
	fuzz_check(fd >= 0);
	writer = egs_table_create(name, NULL);
	fuzz_check(writer);
	for (uint32_t i = 0; i < JOBS; i++)
		row[i].job_id = 10 + i;
	egs_table_publish(writer, row, JOBS, NOW);
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	fuzz_check(file != MAP_FAILED);
	close(fd);
}

static void remove_table(void)
{
	unlink(path);
}

struct patch {
	size_t at;
	uint8_t len, was[255];
};

/* Offsets of three bytes reach the head and the first rows of a slot; with the
 * highest bit they count from the second slot, or from the marks.
 */
static size_t choose_offset(const uint8_t *b)
{
	size_t at = (size_t)(b[0] & 0x3f) << 16 | (size_t)b[1] << 8 | b[2];

	if (b[0] & 0x80)
		at += offsetof(struct egs_table_file, marks_slot);
	else if (b[0] & 0x40)
		at += offsetof(struct egs_table_file, slot[1]);
	return at % (sizeof(struct egs_table_file) - 255);
}

/* Make the checksum right, so that damaged rows are believed. */
static void sign_slot(void)
{
	struct egs_table_slot *slot = &file->slot[1];

	if (slot->nrows <= EGS_TABLE_JOBS_MAX && slot->index_size &&
	    slot->index_size <= EGS_TABLE_INDEX_MAX)
		slot->checksum =
			egs_table_checksum(slot, slot->nrows, slot->index_size);
}

static void read_table(void)
{
	static struct egs_table_marks marks;
	struct egs_table *t = egs_table_open(path, NULL);
	const struct egs_quota_key key = { .team = 0 };
	struct egs_table_job row = { .job_id = 0 };
	uint32_t left;

	if (!t)
		return;
	for (uint32_t id = 9; id < 9 + JOBS; id++) {
		egs_table_find(t, id, NOW, STALE, &row);
		egs_table_find_last(t, id, &row);
	}
	egs_table_marks_seq(t, NOW, STALE);
	egs_table_read_marks(t, &marks);
	egs_table_has_victim(t, NOW, STALE);
	egs_table_has_victim_for(t, NOW, STALE, &row);
	egs_table_read_quota(t, NOW, STALE, &key, &left);
	egs_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct patch patch[PATCHES_MAX];
	bool is_signed = size && data[0] & 1;
	uint64_t checksum;
	int n = 0;

	if (!file) {
		make_table();
		atexit(remove_table);
	}
	checksum = file->slot[1].checksum;
	for (size_t i = 1; i + 5 <= size && n < PATCHES_MAX; n++) {
		struct patch *p = &patch[n];

		p->at = choose_offset(data + i);
		p->len = data[i + 3];
		i += 4;
		if (p->len > size - i)
			p->len = (uint8_t)(size - i);
		memcpy(p->was, (char *)file + p->at, p->len);
		memcpy((char *)file + p->at, data + i, p->len);
		i += p->len;
	}
	if (is_signed)
		sign_slot();
	read_table();
	file->slot[1].checksum = checksum;
	while (n--)
		memcpy((char *)file + patch[n].at, patch[n].was, patch[n].len);
	return 0;
}
