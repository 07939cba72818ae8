/* store_messages.h - what jobs have said of themselves, in the store
 *
 * It goes into the transaction that is open, as everything of store.h does, and
 * with egs_store_job_delete() it is gone.
 */
#ifndef EGS_STORE_STORE_MESSAGES_H
#define EGS_STORE_STORE_MESSAGES_H

#include "common/hint/resume_info.h"
#include "policyd/store/store.h"

#define EGS_CKPT_PATH_MAX  EGS_RESUME_INFO_PATH_MAX
#define EGS_MESSAGE_ID_LEN 16 /* hex digits */

/* An older message is not heard any more. */
#define EGS_MESSAGE_MAX_AGE_S 86400

#define EGS_NO_STEP	(-1)
#define EGS_NO_PROGRESS (-1)

/* The last checkpoint is that of any attempt; progress and finished are of the
 * attempt 'restarts' alone.
 */
struct egs_job_report {
	char path[EGS_CKPT_PATH_MAX + 1]; /* of the checkpoint, "": not said */
	int64_t step;			  /* or EGS_NO_STEP */
	egs_time_t saved_at;		  /* 0: never */
	int64_t progress_ppm;		  /* done, or EGS_NO_PROGRESS */
	uint32_t restarts;
	bool finished;
};

/* What the attempt 'job' has said, in '*said'.  Both return 0, or -1 with
 * 'err' set.
 */
int egs_store_job_report_get(struct egs_store *store,
			     const struct egs_identity *job,
			     struct egs_job_report *said, struct egs_err *err);
int egs_store_job_report_set(struct egs_store *store,
			     const struct egs_identity *job,
			     const struct egs_job_report *said,
			     struct egs_err *err);

/* A message with this id was heard, and answered so.  The answer to one that
 * was heard is the caller's to free, NULL for one that was not.
 */
int egs_store_answer_set(struct egs_store *store,
			 const struct egs_identity *job, const char *id,
			 const char *answer, egs_time_t now,
			 struct egs_err *err);
int egs_store_answer_get(struct egs_store *store,
			 const struct egs_identity *job, const char *id,
			 char **answer, struct egs_err *err);

/* Forget messages heard before 'before'. */
int egs_store_answer_prune(struct egs_store *store, egs_time_t before,
			   struct egs_err *err);

/* A rank of a job has answered a request; how many have, in '*count'. */
int egs_store_ack_add(struct egs_store *store, const struct egs_identity *job,
		      uint32_t request, int64_t rank, uint32_t *count,
		      struct egs_err *err);

#endif
