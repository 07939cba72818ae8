/* table.h - the decision table: what the daemon decided, for plugins to read
 *
 * One file under RunDir, written only by egs-policyd and mapped read-only by
 * the plugins, so that an answer costs a look into memory and no system call.
 * The file is made once and never replaced or shortened: nothing is remapped.
 *
 * It holds two slots.  A publication fills the slot that is not in use and
 * then makes it the current one, so a reader always has a whole slot to read;
 * one that was overtaken twice while it read notices and reads again.  A
 * reader checks the sums of a publication once, when it first meets it.
 *
 * A table is *fresh* when it is whole, its daemon has not closed it, and its
 * heart has beaten within StaleAfter.  Where it is not fresh a plugin answers
 * as stock Slurm would.  Times are seconds since the epoch; the heart beats by
 * the clock of the host, which both sides share.
 */
#ifndef EGS_IPC_TABLE_H
#define EGS_IPC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/conf/policy_conf.h"
#include "common/rules/take_rule.h"

#define EGS_TABLE_LAYOUT 5

/* Rows a slot has room for; the file has 17 MB.  Jobs beyond are not published,
 * and so are left to stock Slurm.
 */
#define EGS_TABLE_JOBS_MAX 131072

/* What was decided about one job. */
struct egs_table_job {
	uint64_t nonce;		  /* of its stamp, 0: it has none */
	uint32_t job_id;	  /* never 0 */
	uint32_t protected_until; /* end of its MinRuntime */
	uint32_t recall_from;	  /* an owner may have its GPUs back then,
				   * 0: it waits
				   */
	uint32_t cost_gpu_s;	  /* GPU-seconds lost if it is preempted now */
	uint32_t grace_s;	  /* what it gets to save and leave */
	int32_t site_factor;
	uint8_t tier;		/* rank, 0 is the strongest */
	uint8_t phase;		/* index of the configuration, 255: none */
	uint8_t fate_and_flags; /* enum egs_fate: what becomes of it as a
				 * victim, with EGS_TABLE_PREEMPT_REQUESTED and
				 * the others there
				 */
	uint8_t flags;		/* EGS_TABLE_* */
	uint32_t submit;	/* its submit time: Slurm hands ids out again */
};

enum {
	EGS_TABLE_MANAGED = 1,
	EGS_TABLE_ON_LOAN = 2,
	EGS_TABLE_DEPENDENTS = 4,
	EGS_TABLE_NEEDS_GPUS = 8,
	EGS_TABLE_NOT_PREEMPTIBLE = 16,
	EGS_TABLE_OVER_LIMIT = 32,
	EGS_TABLE_PREEMPT_BUDGET_USED = 64,
	EGS_TABLE_OBSERVED = 128, /* Mode=observe: nothing it could notice */
};

/* In 'mode': it was asked to go; an exit before its deadline means that it has
 * saved and comes back; it need not go, Slurm is to take that back; it waits
 * and is not to start, as it would break a limit.
 */
enum {
	EGS_TABLE_FATE_MASK = 15, /* mask of the fate */
	EGS_TABLE_DEFERRED = 16,
	EGS_TABLE_WITHDRAWN = 32,
	EGS_TABLE_REQUEUE_ON_EXIT = 64,
	EGS_TABLE_PREEMPT_REQUESTED = 128,
};

/* One that is not to start is kept from Slurm's queue for so long at a time. */
#define EGS_DEFER_S 20

/* Beside the rows there are *marks*, which change seldom and are published on
 * their own: claims, which slurmctld has made and gets back after a restart,
 * and nodes about which there is something to say.  Nodes go by name; those
 * with a longer one have no marks.
 */
#define EGS_TABLE_NAME_SIZE  64
#define EGS_TABLE_CLAIMS_MAX 8192
#define EGS_TABLE_NODES_MAX  8192

struct egs_table_claim {
	char node[EGS_TABLE_NAME_SIZE];
	uint32_t job_id;
	uint32_t submit; /* of the job */
	uint32_t expires;
	uint32_t gpus, cores, mem_mb;
};

struct egs_table_node {
	char name[EGS_TABLE_NAME_SIZE];
	uint32_t tiers;	 /* bit r: jobs of tier r are to run there */
	uint32_t phases; /* bit i: and so are those of phase i */
	uint32_t flags;	 /* EGS_TABLE_FENCED */
};

enum {
	EGS_TABLE_FENCED = 1, /* nobody new is to run there */
};

/* Tiers, or phases, with nodes of their own. */
struct egs_table_own_nodes {
	uint32_t has_nodes; /* bit i: this one has; the others... */
	uint32_t
		may_spill; /* bit i: ... are for it, too, when those are full */
};

struct egs_table_marks {
	uint32_t nclaims, nnodes;
	struct egs_table_own_nodes tiers, phases;
	struct egs_table_claim claim[EGS_TABLE_CLAIMS_MAX];
	struct egs_table_node node[EGS_TABLE_NODES_MAX];
};

/* And there is what is *left* of each team's quota: how many GPUs of a type a
 * job of a tier would own that starts now.  Each number stands for itself. They
 * go by the places of names in the configuration, whose sum tells whether the
 * reader has the same: the daemon takes a new file when it is told to.
 */
struct egs_quota_key {
	uint64_t names_hash; /* egs_table_hash_names() of the configuration */
	int team, type, tier;
};
uint64_t egs_table_hash_names(const struct egs_policy_conf *conf);

/* The row the rule of core/who.h reads. */
struct egs_take_view egs_table_take_view(const struct egs_table_job *job);

/* May P take from V, which runs?  Not while its row is that of a job that
 * waits: the daemon has not seen it begin, and has not protected it yet.
 */
bool egs_table_may_take(const struct egs_table_job *p,
			const struct egs_table_job *v, egs_time_t now);

/* Could somebody take from V?  It runs, is managed and not only observed. */
bool egs_table_is_victim(const struct egs_table_job *v);

/* ---- the side of the daemon ---- */

struct egs_table_writer;

/* Make the file, or take over one of the same layout; a file of another
 * layout is refused, the admin removes it.  The table is closed until the
 * first publication.  NULL with 'err' set on failure.
 */
struct egs_table_writer *egs_table_create(const char *path,
					  struct egs_err *err);

/* Room for EGS_TABLE_JOBS_MAX rows, to be filled and published at once: it
 * saves the caller a copy of its own.
 */
struct egs_table_job *egs_table_get_buffer(struct egs_table_writer *w);

/* Publish 'n' rows, in any order, no id twice, and beat the heart.  Rows
 * beyond EGS_TABLE_JOBS_MAX are left out; returns how many are in the table.
 */
size_t egs_table_publish(struct egs_table_writer *w,
			 const struct egs_table_job *rows, size_t n,
			 egs_time_t now);

/* Publish the marks: with the next publication of rows they are in force. */
void egs_table_publish_marks(struct egs_table_writer *w,
			     const struct egs_table_marks *marks);

/* Publish what is left: 'left' GPUs at each of these places. */
void egs_table_publish_quota(struct egs_table_writer *w,
			     const struct egs_quota_key *place, uint32_t left);

/* The daemon lives and has nothing new to say. */
void egs_table_heartbeat(struct egs_table_writer *w, egs_time_t now);

/* Close the table: from now on plugins answer as stock Slurm.  Frees 'w',
 * which may be NULL.
 */
void egs_table_close(struct egs_table_writer *w);

/* ---- the side of the plugins ---- */

struct egs_table;

/* Map 'path' for reading.  NULL with 'err' set if it is not there, not a
 * table of this layout, or writable for others than its owner.
 */
struct egs_table *egs_table_open(const char *path, struct egs_err *err);

/* Are these two of the same file?  An admin may have removed it, and the
 * daemon made another since.
 */
bool egs_table_is_same_file(const struct egs_table *a,
			    const struct egs_table *b);

/* Unmap.  'table' may be NULL. */
void egs_table_free(struct egs_table *table);

/* Copy the row of 'job_id'.  The caller compares 'submit' with that of its job.
 * False if there is none, or if the table is not fresh at 'now': older than
 * 'stale_after_s', closed, torn or damaged.  Safe from any thread, never
 * blocks, never crashes on what is in the file.
 */
bool egs_table_find(struct egs_table *table, uint32_t job_id, egs_time_t now,
		    uint32_t stale_after_s, struct egs_table_job *row);

/* The same, but of the last publication, fresh or not. */
bool egs_table_find_last(struct egs_table *table, uint32_t job_id,
			 struct egs_table_job *row);

/* The number of the marks in force, 0: the table is not fresh, or has none. */
uint64_t egs_table_marks_seq(struct egs_table *table, egs_time_t now,
			     uint32_t stale_after_s);

/* Copy the marks, as far as they are in use.  False if they are just being
 * replaced or damaged: ask again later.
 */
bool egs_table_read_marks(struct egs_table *table,
			  struct egs_table_marks *marks);

/* What is left at 'place'.  False if that is not known: the table is not fresh,
 * its names are others, or there is no such place.
 */
bool egs_table_read_quota(struct egs_table *table, egs_time_t now,
			  uint32_t stale_after_s,
			  const struct egs_quota_key *place, uint32_t *left);

/* Is there anybody at all to take from for one of those who wait?  No, if the
 * table is not fresh.
 */
bool egs_table_has_victim(struct egs_table *table, egs_time_t now,
			  uint32_t stale_after_s);

/* Is there anybody from whom P could take, now or later?  Yes, if the table is
 * not fresh.
 */
bool egs_table_has_victim_for(struct egs_table *table, egs_time_t now,
			      uint32_t stale_after_s,
			      const struct egs_table_job *p);

/* The sequence of the last publication if its daemon lives, or 0 if not.  For
 * who has seen that one whole: it costs less than egs_table_fresh_seq().
 */
uint64_t egs_table_live_seq(const struct egs_table *table, egs_time_t now,
			    uint32_t stale_after_s);

/* Is the table fresh?  The sequence of its publication, or 0 if not. */
uint64_t egs_table_fresh_seq(struct egs_table *table, egs_time_t now,
			     uint32_t stale_after_s);

#endif
