/* table_layout.h - the bytes of the decision table, for table*.c only
 *
 * The file has a head, two slots of rows, two of marks, and what is left of
 * quotas.  The table has the byte order and alignment of the host, because only
 * processes of this host read it.
 */
#ifndef EGS_IPC_TABLE_LAYOUT_H
#define EGS_IPC_TABLE_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/ipc/table.h"

#define EGS_TABLE_MAGIC UINT64_C(0x31656c6261547345)

/* Twice the rows, and a power of two: half of the index stays empty. */
#define EGS_TABLE_INDEX_MAX (2 * EGS_TABLE_JOBS_MAX)

/* 'checksum' covers nrows, the rows and the index in use.  'seq' is 0 while the
 * slot is written.  The index is a hash table of row numbers plus one.  Its
 * 'index_size' entries (a power of two) are few in a small table, so that the
 * checksum is fast.
 */
struct egs_table_slot {
	_Atomic uint64_t seq;
	uint64_t checksum;
	uint32_t nrows;
	uint32_t index_size;
	uint32_t
		nvictims; /* egs_table_is_victim(); 0 without a pending taker */
	uint32_t weakest_order; /* egs_take_order() of the weakest, plus 1 */
	struct egs_table_job row[EGS_TABLE_JOBS_MAX];
	uint32_t index[EGS_TABLE_INDEX_MAX];
};

/* 'checksum' is egs_table_marks_checksum() of the marks in use. */
struct egs_table_marks_slot {
	_Atomic uint64_t seq;
	uint64_t checksum;
	struct egs_table_marks marks;
};

struct egs_table_file {
	uint64_t magic;
	uint32_t layout;
	uint32_t row_size;
	_Atomic uint64_t seq; /* current slot is seq % 2; 0: none */
	_Atomic int64_t heartbeat;
	_Atomic uint64_t marks_seq; /* likewise of the marks */
	_Atomic uint32_t open;
	_Atomic uint32_t enforces; /* for any job */
	uint32_t reserved[4];
	struct egs_table_slot slot[2];
	struct egs_table_marks_slot marks_slot[2];
	_Atomic uint64_t names_hash; /* of 'quota_left' and 'team_mode' */
	_Atomic uint8_t site_mode;   /* enum egs_mode */
	_Atomic uint8_t team_mode[EGS_TEAMS_MAX];
	_Atomic uint32_t
		quota_left[EGS_TEAMS_MAX][EGS_TYPE_ROWS][EGS_TIERS_MAX];
};

static inline bool egs_table_is_quota_key(const struct egs_quota_key *p)
{
	return p->team >= 0 && p->team < EGS_TEAMS_MAX && p->type >= 0 &&
	       p->type < EGS_TYPE_ROWS && p->tier >= 0 &&
	       p->tier < EGS_TIERS_MAX;
}

/* Does the pending job P fill a floor?  Then it may displace stronger tiers
 * from the quota, and the order of rows does not tell its victims.
 */
bool egs_table_fills_floor(const struct egs_table_job *p);

/* Where the search for 'job_id' begins in an index of 'size' entries.  Sixteen
 * consecutive ids are in one cache line: Slurm calls the plugins for jobs in
 * the order of their ids.
 */
static inline uint32_t egs_table_hash_job(uint32_t job_id, uint32_t size)
{
	uint32_t line = (job_id >> 4) * UINT32_C(2654435761);

	return (line << 4 | (job_id & 15)) & (size - 1);
}

/* The checksum of a slot whose 'n' and 'size' are within bounds. */
uint64_t egs_table_checksum(const struct egs_table_slot *slot, uint32_t n,
			    uint32_t size);

/* The checksum of marks whose counts are within bounds. */
uint64_t egs_table_marks_checksum(const struct egs_table_marks *marks);

#endif
