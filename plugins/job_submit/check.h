/* check.h - check a job's tier, workload, phase and GPUs against egs.conf
 *
 * The checks need no daemon, no file and no Slurm.  The quotas that the daemon
 * published only affect the note.
 *
 * The daemon checks rules that name groups.  The groups of a user come from
 * services that may be slow, and slurmctld holds its locks during a check.  So
 * a job that a group could allow passes here, and is unmanaged if the daemon
 * finds that no group allows it.  A job that no group could allow is refused.
 */
#ifndef EGS_JOB_SUBMIT_CHECK_H
#define EGS_JOB_SUBMIT_CHECK_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/conf/policy_conf.h"
#include "common/hint/hint.h"
#include "common/ipc/table.h"
#include "common/rules/standing.h"
#include "plugins/shared/gpu_request_text.h"

/* What a job requests; strings may be NULL. */
struct egs_check_input {
	const char *account;
	const char *user; /* needed if egs_check_needs_user() */
	const char *qos;
	const char *partitions;
	struct egs_hint hint;
	struct egs_gpu_request_text gpus;
	bool interactive;     /* salloc, srun */
	bool no_requeue;      /* --no-requeue */
	bool site_no_requeue; /* JobRequeue=0, and the job has no --requeue */
	bool exclusive;	      /* Slurm gives it all GPUs of its nodes */
	bool expedite;	      /* --requeue=expedite */
	bool can_checkpoint;  /* the job declared how */
	bool is_update;	      /* of an existing job: nothing is adjusted */
	/* What is left of a quota now; false, or NULL: unknown. */
	bool (*quota_left)(const struct egs_quota_key *place, uint32_t *left);
	/* The mode of a team (-1: none); INHERIT: unknown, because no daemon
	 * runs.  NULL: the mode is that of the file.
	 */
	enum egs_mode (*find_mode)(const struct egs_policy_conf *conf,
				   int team);
};

/* 'adjusted_gpus' of a result that does not change the request. */
#define EGS_GPUS_UNCHANGED UINT32_MAX

struct egs_check_result {
	struct egs_standing assignment;
	enum egs_mode mode;	 /* of the job's team; INHERIT: unknown */
	enum egs_mode file_mode; /* of the job's team in egs.conf */
	uint32_t adjusted_gpus;	 /* to request instead, in total */
	bool limited; /* its team or tier has a limit that counts at the start,
		       * or may have one: a group of its user decides */
	struct egs_err note; /* for the user, or "" */
};

/* Check 'input'.  '*result' is always filled in.  Returns 0, or -1 with 'err'
 * set to the reason of the refusal, which is only a warning unless the mode is
 * enforce.
 */
int egs_check_job(const struct egs_policy_conf *conf,
		  const struct egs_check_input *input,
		  struct egs_check_result *result, struct egs_err *err);

/* Does any rule name users? */
bool egs_check_needs_user(const struct egs_policy_conf *conf);

#endif
