/* store_messages.h - what jobs have said of themselves, in the store
 *
 * It goes into the transaction that is open, as everything of store.h does, and
 * with egs_store_forget() it is gone.
 */
#ifndef EGS_STORE_STORE_MESSAGES_H
#define EGS_STORE_STORE_MESSAGES_H

#include "common/hint/resume_info.h"
#include "policyd/store/store.h"

#define EGS_SAID_PATH_MAX EGS_AGAIN_PATH_MAX
#define EGS_HEARD_ID_LEN  16 /* hex digits */

/* An older message is not heard any more. */
#define EGS_HEARD_MAX_S 86400

#define EGS_NO_STEP (-1)
#define EGS_NO_PPM  (-1)

/* The last checkpoint is that of any attempt; progress and finished are of the
 * attempt 'restarts' alone.
 */
struct egs_said {
	char path[EGS_SAID_PATH_MAX + 1]; /* of the checkpoint, "": not said */
	int64_t step;			  /* or EGS_NO_STEP */
	egs_time_t saved_at;		  /* 0: never */
	int64_t ppm;			  /* done, or EGS_NO_PPM */
	uint32_t restarts;
	bool finished;
};

/* What the attempt 'job' has said, in '*said'.  Both return 0, or -1 with
 * 'err' set.
 */
int egs_store_said(struct egs_store *store, const struct egs_ident *job,
		   struct egs_said *said, struct egs_err *err);
int egs_store_say(struct egs_store *store, const struct egs_ident *job,
		  const struct egs_said *said, struct egs_err *err);

/* A message with this id was heard, and answered so.  The answer to one that
 * was heard is the caller's to free, NULL for one that was not.
 */
int egs_store_hear(struct egs_store *store, const struct egs_ident *job,
		   const char *id, const char *answer, egs_time_t now,
		   struct egs_err *err);
int egs_store_heard(struct egs_store *store, const struct egs_ident *job,
		    const char *id, char **answer, struct egs_err *err);

/* Forget messages heard before 'before'. */
int egs_store_unhear(struct egs_store *store, egs_time_t before,
		     struct egs_err *err);

/* A rank of a job has answered a request; how many have, in '*count'. */
int egs_store_ack(struct egs_store *store, const struct egs_ident *job,
		  uint32_t request, int64_t rank, uint32_t *count,
		  struct egs_err *err);

#endif
