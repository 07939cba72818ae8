/* munge_helper.h - processes that call munged for the server, again and again
 *
 * A call of munged may block, so another process makes it.  To fork a daemon
 * with many jobs takes a millisecond.  So some helpers are forked when the
 * server starts.  A helper answers one question at a time.  Questions that are
 * too long, and those that find all helpers busy, get a child of their own
 * (authenticate.c).
 */
#ifndef EGS_SERVER_MUNGE_HELPER_H
#define EGS_SERVER_MUNGE_HELPER_H

#include "common/base/buf.h"
#include "common/base/child.h"
#include "common/ipc/sealed.h"

enum egs_munge_task {
	EGS_MUNGE_DECODE, /* a credential: struct egs_cred and its payload */
	EGS_MUNGE_SEAL,	  /* an answer: its packets */
};

/* The caller owns all of it; 'bytes' has a NUL behind 'len' bytes. */
struct egs_munge_question {
	struct egs_cred_conf conf;
	enum egs_munge_task task;
	struct egs_sealed_request request; /* of EGS_MUNGE_SEAL */
	const char *bytes;
	size_t len;
};

/* Answer the question, in this process: 'arg' is a struct egs_munge_question.
 * Returns as an egs_child_fn, with EGS_CRED_NO_MUNGED if munged is down.
 */
int egs_munge_answer(const void *arg, char **bytes, size_t *len,
		     struct egs_err *err);

/* All zero except 'fd' = -1: it does not run. */
struct egs_munge_helper {
	const char *munge_socket; /* the caller's; as in cred.h */
	struct egs_child child;
	int fd; /* questions, and answers: wait for EPOLLIN */
	bool is_busy;
	struct egs_buf in; /* the answer so far */
};

/* Start a helper.  Returns 0, or -1 with 'err' set. */
int egs_munge_helper_start(struct egs_munge_helper *helper,
			   struct egs_err *err);
void egs_munge_helper_stop(struct egs_munge_helper *helper);

/* Ask one of 'n' helpers.  Returns the helper, which the caller releases; NULL:
 * none has time, or the question is too long.
 */
struct egs_munge_helper *
egs_munge_helper_ask(struct egs_munge_helper *helpers, size_t n,
		     const struct egs_munge_question *question);

/* Read the answer, without waiting.  Returns 1 if it is not complete, else as
 * egs_munge_answer().
 */
int egs_munge_helper_read(struct egs_munge_helper *helper, char **bytes,
			  size_t *len, struct egs_err *err);

/* A helper whose answer was not read is stopped; the next question starts it
 * again.
 */
void egs_munge_helper_release(struct egs_munge_helper *helper);

#endif
