/* table.h - the decision table: decisions of the daemon, for plugins to read
 *
 * The table is one file under RunDir.  Only egs-policyd writes it; the plugins
 * map it read-only, so an answer needs no system call.  The file is made once
 * and never replaced or shortened, so nothing is remapped.
 *
 * The file has two slots.  A publication fills the slot that is not current and
 * then makes it the current one.  So a reader always has a complete slot.  A
 * reader whose slot is overwritten while it reads notices and reads again.  A
 * reader verifies the checksum of each publication once.
 *
 * A table is *fresh* if it is intact and not closed, and its last heartbeat is
 * not older than StaleAfter.  If the table is not fresh, a plugin answers as
 * stock Slurm would.  Times are seconds since the epoch, by the clock of the
 * host, which both sides share.
 *
 * Neither side dies if somebody cuts the file short (table_guard.h): then the
 * table is not fresh, until the daemon has repaired it.
 */
#ifndef EGS_IPC_TABLE_H
#define EGS_IPC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/conf/policy_conf.h"
#include "common/rules/take_rule.h"

#define EGS_TABLE_LAYOUT 6

/* Rows of a slot; the file has 18 MB.  Further jobs are not published; for them
 * the plugins answer as stock Slurm would.
 */
#define EGS_TABLE_JOBS_MAX 131072

/* The row of one job. */
struct egs_table_job {
	uint64_t nonce;		  /* of its stamp, 0: no stamp */
	uint32_t job_id;	  /* never 0 */
	uint32_t protected_until; /* end of its MinRuntime; pending: the last
				   * bits of 'changed_us' of its stamp, as the
				   * daemon has read it
				   */
	uint32_t recall_from;	  /* its GPUs can be recalled from then on,
				   * 0: the job is pending
				   */
	uint32_t cost_gpu_s;	  /* GPU-seconds lost if it is preempted now */
	uint32_t grace_s;	  /* grace period */
	int32_t site_factor;
	uint8_t tier;		/* rank, 0 is the strongest */
	uint8_t phase;		/* index in egs.conf, 255: none */
	uint8_t fate_and_flags; /* enum egs_fate as a victim, and
				 * EGS_TABLE_PREEMPT_REQUESTED etc.
				 */
	uint8_t flags;		/* EGS_TABLE_MANAGED etc. */
	uint32_t submit;	/* submit time: Slurm reuses ids */
	uint16_t team;		/* in egs.conf, EGS_NO_TEAM: none */
	uint16_t gpus;		/* of a running job; else the GPUs it wants */
	uint16_t room;		/* running: 'slack' of take_rule.h; pending:
				 * GPUs that other jobs of its team may get
				 * until this one has to wait for a limit,
				 * EGS_TABLE_NO_LIMIT: any number */
	uint8_t type;		/* of its GPUs, with EGS_TABLE_ANY_TYPE */
	uint8_t displaces_or_span; /* as in take_rule.h; of a running job
				    * the span */
};

/* In 'type' of a pending job: it accepts other types, or needs several. */
#define EGS_TABLE_ANY_TYPE 128
#define EGS_TABLE_NO_LIMIT UINT16_MAX

enum {
	EGS_TABLE_MANAGED = 1,
	EGS_TABLE_ON_LOAN = 2,
	EGS_TABLE_DEPENDENTS = 4,
	EGS_TABLE_NEEDS_GPUS = 8,
	EGS_TABLE_NOT_PREEMPTIBLE = 16,
	EGS_TABLE_OVER_LIMIT = 32,
	EGS_TABLE_PREEMPT_BUDGET_USED = 64,
	EGS_TABLE_OBSERVED = 128, /* Mode=observe: EGS does nothing to it */
};

/* In 'fate_and_flags'. */
enum {
	EGS_TABLE_FATE_MASK = 15,
	EGS_TABLE_DEFERRED = 16,  /* pending, must not start: over a limit */
	EGS_TABLE_FOR_OTHER = 16, /* running, with a notice: the GPUs are for
				   * another job */
	EGS_TABLE_WITHDRAWN = 32, /* Slurm must cancel the preemption */
	EGS_TABLE_REQUEUE_ON_EXIT = 64,	   /* an exit before its deadline means
					    * that it has saved: requeue it */
	EGS_TABLE_PREEMPT_REQUESTED = 128, /* the job has a notice */
};

/* A deferred job is not schedulable for this long; then it is renewed. */
#define EGS_DEFER_S 20

/* Beside the rows there are *marks*, which change seldom and are published
 * separately.  Marks are claims and properties of nodes.  slurmctld has made
 * the claims, and needs them again after a restart.  A node whose name is too
 * long has no marks.
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
	uint32_t tiers;	 /* bit r: the node is for jobs of tier r */
	uint32_t phases; /* bit i: the node is for jobs in phase i */
	uint32_t flags;	 /* EGS_TABLE_FENCED */
};

enum {
	EGS_TABLE_FENCED = 1, /* no new job may start there */
};

/* Tiers, or phases, with nodes of their own. */
struct egs_table_own_nodes {
	uint32_t has_nodes; /* bit i: tier or phase i has some */
	uint32_t may_spill; /* bit i: it may use others if those are full */
};

struct egs_table_marks {
	uint32_t nclaims, nnodes;
	struct egs_table_own_nodes tiers, phases;
	struct egs_table_claim claim[EGS_TABLE_CLAIMS_MAX];
	struct egs_table_node node[EGS_TABLE_NODES_MAX];
};

/* Also in the file: what is *left* of each team's quota.  This is the number of
 * GPUs of a type that a job of a tier would get within quota now.  Each number
 * is written atomically on its own.  Indices are positions in egs.conf; a
 * reader with the same 'names_hash' has the same names as the daemon.
 */
struct egs_quota_key {
	uint64_t names_hash; /* egs_table_hash_names() of the configuration */
	int team, type, tier;
};
uint64_t egs_table_hash_names(const struct egs_policy_conf *conf);

/* Also in the file: the *modes* that the daemon applies.  The daemon takes them
 * from egs.conf and from its operators; a plugin that read egs.conf itself
 * would not know what operators have set.
 */
struct egs_table_modes {
	uint64_t names_hash; /* egs_table_hash_names() of the configuration */
	enum egs_mode site;  /* of jobs without a team */
	enum egs_mode team[EGS_TEAMS_MAX];
};

/* The row as input of the rule in take_rule.h. */
struct egs_take_view egs_table_take_view(const struct egs_table_job *job);

/* May both jobs get GPUs of the same type? */
bool egs_table_may_share_type(const struct egs_table_job *a,
			      const struct egs_table_job *b);

/* May P take GPUs from V, which runs?  Not while the row shows V as pending:
 * then the daemon has not seen V start, and has not protected V yet.
 */
bool egs_table_may_take(const struct egs_table_job *p,
			const struct egs_table_job *v, egs_time_t now);

/* Can V be a victim: does it run, is it managed and not only observed? */
bool egs_table_is_victim(const struct egs_table_job *v);

/* Must the job not start?  The bit of a job that runs has another meaning. */
bool egs_table_is_deferred(const struct egs_table_job *p);

/* ---- for the daemon ---- */

struct egs_table_writer;

/* Create the file, which only its owner can read, or continue one of the same
 * layout.  A file of another
 * layout is refused; the admin removes it.  The table is closed until the first
 * publication.  NULL with 'err' set on failure.
 */
struct egs_table_writer *egs_table_create(const char *path,
					  struct egs_err *err);

/* Room for EGS_TABLE_JOBS_MAX rows, for the caller to fill and publish without
 * a copy of its own.
 */
struct egs_table_job *egs_table_get_buffer(struct egs_table_writer *w);

/* Publish 'n' rows, in any order, no id twice, with a heartbeat.  Rows beyond
 * EGS_TABLE_JOBS_MAX are omitted.  Returns the number of published rows.
 */
size_t egs_table_publish(struct egs_table_writer *w,
			 const struct egs_table_job *rows, size_t n,
			 egs_time_t now);

/* Publish the marks; they take effect with the next publication of rows. */
void egs_table_publish_marks(struct egs_table_writer *w,
			     const struct egs_table_marks *marks);

/* Publish the number of GPUs that are left for this key. */
void egs_table_publish_quota(struct egs_table_writer *w,
			     const struct egs_quota_key *key, uint32_t left);

/* Publish the modes.  Each is written atomically on its own. */
void egs_table_publish_modes(struct egs_table_writer *w,
			     const struct egs_table_modes *modes);

/* Write a heartbeat without a publication. */
void egs_table_heartbeat(struct egs_table_writer *w, egs_time_t now);

/* Until the next egs_table_publish() plugins answer as stock Slurm. */
void egs_table_suspend(struct egs_table_writer *w);

/* Is the file still whole?  If somebody has cut it short, make it whole again,
 * closed and empty.  Returns 0: nothing was wrong, 1: repaired, publish marks
 * and rows, -1 with 'err' set: the file cannot be repaired.
 */
int egs_table_repair(struct egs_table_writer *w, struct egs_err *err);

/* Close the table: from now on plugins answer as stock Slurm.  Frees 'w',
 * which may be NULL.
 */
void egs_table_close(struct egs_table_writer *w);

/* ---- for the plugins ---- */

struct egs_table;

/* Map 'path' for reading.  NULL with 'err' set if the file is missing, has
 * another layout, or is writable by users other than its owner.
 */
struct egs_table *egs_table_open(const char *path, struct egs_err *err);

/* Are both intact mappings of the same file?  An admin may have removed the
 * file, and the daemon created another; or the file was cut short and repaired.
 */
bool egs_table_is_same_file(const struct egs_table *a,
			    const struct egs_table *b);

/* Unmap.  'table' may be NULL. */
void egs_table_free(struct egs_table *table);

/* Copy the row of 'job_id'.  The caller compares 'submit' with the submit time
 * of its job.  False if there is no row, or if the table is not fresh at 'now':
 * older than 'stale_after_s', closed, torn or damaged.  Safe from any thread;
 * never blocks, and never crashes on the content of the file.
 */
bool egs_table_find(struct egs_table *table, uint32_t job_id, egs_time_t now,
		    uint32_t stale_after_s, struct egs_table_job *row);

/* Copy the row from the last publication, even if the table is not fresh. */
bool egs_table_find_last(struct egs_table *table, uint32_t job_id,
			 struct egs_table_job *row);

/* Number of the current marks; 0: the table is not fresh, or has none. */
uint64_t egs_table_marks_seq(struct egs_table *table, egs_time_t now,
			     uint32_t stale_after_s);

/* Copy the marks that are in use.  False if they are being replaced or damaged:
 * try again later.
 */
bool egs_table_read_marks(struct egs_table *table,
			  struct egs_table_marks *marks);

/* The GPUs left for a key.  False if that is unknown: the table is not fresh,
 * egs.conf differs, or the key is out of range.
 */
bool egs_table_read_quota(struct egs_table *table, egs_time_t now,
			  uint32_t stale_after_s,
			  const struct egs_quota_key *key, uint32_t *left);

/* The mode for jobs of 'team' (-1: none).  The site's if egs.conf of the reader
 * has other names than the daemon's.  INHERIT: unknown, the table is not fresh.
 */
enum egs_mode egs_table_read_mode(struct egs_table *table, egs_time_t now,
				  uint32_t stale_after_s, uint64_t names_hash,
				  int team);

/* Does the daemon act on any job?  No, if the table is not fresh. */
bool egs_table_enforces(struct egs_table *table, egs_time_t now,
			uint32_t stale_after_s);

/* Does any pending job have a possible victim?  No, if the table is not fresh.
 */
bool egs_table_has_victim(struct egs_table *table, egs_time_t now,
			  uint32_t stale_after_s);

/* Does P have a possible victim, now or later?  Yes, if the table is not fresh.
 */
bool egs_table_has_victim_for(struct egs_table *table, egs_time_t now,
			      uint32_t stale_after_s,
			      const struct egs_table_job *p);

/* The sequence of the last publication, or 0 if its daemon does not run.  Only
 * for a caller that has verified this publication: the call is cheaper than
 * egs_table_fresh_seq().
 */
uint64_t egs_table_live_seq(const struct egs_table *table, egs_time_t now,
			    uint32_t stale_after_s);

/* The sequence of the last publication if the table is fresh, else 0. */
uint64_t egs_table_fresh_seq(struct egs_table *table, egs_time_t now,
			     uint32_t stale_after_s);

#endif
