/* check.h - may this user's job be what it asks to be?
 *
 * By egs.conf: no daemon, no file, no Slurm; what the daemon has said of quotas
 * is no more than a note.  Rules that name groups are
 * left to the daemon: the groups of a user come from services that may be slow,
 * and slurmctld holds its locks while we are asked.  So a job that a group
 * could let in passes here, and is unmanaged if the daemon finds that none
 * does.  What no group could change is refused as elsewhere.
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

/* What a job asks for; strings may be NULL. */
struct egs_check_input {
	const char *account;
	const char *user; /* only needed where egs_check_needs_user() */
	const char *qos;
	const char *partitions;
	struct egs_hint hint;
	struct egs_gpu_request_text gpus;
	bool interactive;    /* salloc, srun */
	bool no_requeue;     /* it said so */
	bool can_checkpoint; /* it has declared a way to */
	bool is_update;	     /* of a job that is there: nothing is adjusted */
	/* What is left of a quota, as of now; false, or NULL: nobody knows. */
	bool (*quota_left)(const struct egs_quota_key *place, uint32_t *left);
};

/* 'gpus' of a verdict that leaves them as they are. */
#define EGS_GPUS_UNCHANGED UINT32_MAX

struct egs_check_result {
	struct egs_standing assignment;
	enum egs_mode mode;	/* of its team, never inherit */
	uint32_t adjusted_gpus; /* to ask for instead, in all */
	struct egs_err note;	/* what the user should know, or "" */
};

/* Judge 'request'.  '*verdict' is always filled in.  Returns 0, or -1 with
 * 'err' set to the reason to refuse, which in observe mode is a warning.
 */
int egs_check_job(const struct egs_policy_conf *conf,
		  const struct egs_check_input *request,
		  struct egs_check_result *verdict, struct egs_err *err);

/* Does some rule name users? */
bool egs_check_needs_user(const struct egs_policy_conf *conf);

#endif
