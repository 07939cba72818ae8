/* store_messages.h - reports of jobs, answers to them, acknowledgements
 *
 * Calls write into the open transaction and return what calls of store.h do.
 * egs_store_job_delete() deletes the reports, answers and acknowledgements of a
 * job.
 */
#ifndef EGS_STORE_STORE_MESSAGES_H
#define EGS_STORE_STORE_MESSAGES_H

#include "common/hint/resume_info.h"
#include "policyd/store/store.h"

#define EGS_CKPT_PATH_MAX  EGS_RESUME_INFO_PATH_MAX
#define EGS_MESSAGE_ID_LEN 16 /* hex digits */

/* Answers are stored for this time: a repeated message takes effect once. */
#define EGS_MESSAGE_MAX_AGE_S 86400

#define EGS_NO_STEP	(-1)
#define EGS_NO_PROGRESS (-1)

/* What a job has reported.  Its checkpoint may be of an earlier attempt;
 * progress and 'finished' are of attempt 'restarts'.  Progress is measured from
 * 'first_ppm' at 'first_at': a report after which it did not fall, or the start
 * of the job.
 */
struct egs_job_report {
	char path[EGS_CKPT_PATH_MAX + 1]; /* of the checkpoint; "": unknown */
	int64_t step;			  /* or EGS_NO_STEP */
	egs_time_t saved_at;		  /* 0: never */
	int64_t progress_ppm;		  /* or EGS_NO_PROGRESS */
	egs_time_t progress_at;		  /* since then it is 'progress_ppm' */
	int64_t first_ppm;
	egs_time_t first_at;
	uint32_t restarts;
	bool finished;
};

/* The report of attempt 'job': read it into '*report', or write it. */
int egs_store_job_report_get(struct egs_store *store,
			     const struct egs_identity *job,
			     struct egs_job_report *report,
			     struct egs_err *err);
int egs_store_job_report_set(struct egs_store *store,
			     const struct egs_identity *job,
			     const struct egs_job_report *report,
			     struct egs_err *err);

/* The answer to the message 'id' of a job.  Get: the caller frees
 * '*answer', which is NULL if the message has no answer yet.  Only the last
 * EGS_ANSWERS_MAX answers of a job are kept.
 */
#define EGS_ANSWERS_MAX 1000
int egs_store_answer_set(struct egs_store *store,
			 const struct egs_identity *job, const char *id,
			 const char *answer, egs_time_t now,
			 struct egs_err *err);
int egs_store_answer_get(struct egs_store *store,
			 const struct egs_identity *job, const char *id,
			 char **answer, struct egs_err *err);

/* Delete answers from before 'before'. */
int egs_store_answer_prune(struct egs_store *store, egs_time_t before,
			   struct egs_err *err);

/* A rank of a job has acknowledged a preemption notice.  '*count' is the number
 * of ranks that have.
 */
int egs_store_ack_add(struct egs_store *store, const struct egs_identity *job,
		      uint32_t request_no, int64_t rank, uint32_t *count,
		      struct egs_err *err);

#endif
