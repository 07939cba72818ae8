/* job_request.h - send a message of a job and wait for the answer
 *
 *	struct egs_job_request request;
 *	struct egs_transport how = { .dir = egs_rundir_path(),
 *				     .timeout_ms = 10000 };
 *
 *	if (egs_job_request_begin(&request, "saved", &err) == 0) {
 *		egs_flat_json_add_str(&request.json, "path", path);
 *		rc = egs_job_request_send(&request, &how, &err);
 *	}
 *
 * There are two ways: the run directory, and a direct call of egs-policyd if
 * the caller has 'call_direct'.  The run directory is first, because a message
 * that egs-noded has read is not lost.  If egs-noded does not read the message,
 * or the answer does not come soon, the message is also sent directly.  Each
 * message has an id, so egs-policyd counts it once.
 */
#ifndef EGS_IPC_JOB_REQUEST_H
#define EGS_IPC_JOB_REQUEST_H

#include "common/ipc/flat_json.h"
#include "common/ipc/rundir_client.h"

/* How long egs-policyd holds a message of a job that waits for GPUs.  The job
 * sends the message again after that time.
 */
#define EGS_JOB_HOLD_S 20

/* A message on its way. */
struct egs_job_request {
	struct egs_flat_json json;
	char id[EGS_RUNDIR_ID_SIZE];
	bool by_rundir; /* the last answer came through the run directory */
};

/* Results of a message; the same values as EGS_CLIENT_* of client.h. */
enum {
	EGS_REQUEST_NONE_YET = 1, /* egs_job_request_receive(): no answer yet */
	EGS_REQUEST_REFUSED = -1,
	EGS_REQUEST_NO_ANSWER = -2, /* 'err' has the fate of the message */
	EGS_REQUEST_RETRY = -3,
};

struct egs_transport {
	const char *dir; /* the run directory, NULL: none */
	/* Call egs-policyd.  Returns 0 after 'on_value' was called for each
	 * value of the answer, or one of the above with 'err' set.  NULL: no
	 * direct way.
	 */
	int (*call_direct)(const struct egs_transport *how, const char *text,
			   size_t len, int timeout_ms, struct egs_err *err);
	void *direct_arg; /* for 'call_direct' */
	int timeout_ms;
	/* A report that is not read stays in the run directory until egs-noded
	 * is back.  Any other message is removed when the time is over.
	 */
	bool is_report;
	egs_flat_json_fn *on_value; /* may be NULL */
	void *arg;
};

/* Begin a message of the job in whose environment this process runs.  Returns
 * 0, or -1 with 'err' set outside of a job.
 */
int egs_job_request_begin(struct egs_job_request *request, const char *verb,
			  struct egs_err *err);

/* Begin the same message again, with the same id and the current time. */
void egs_job_request_repeat(struct egs_job_request *request, const char *verb);

/* The rank of this process; -1 for a batch script, which acts for all ranks. */
int64_t egs_job_request_rank(void);

/* Number of the notice in the run directory, 0: none. */
uint32_t egs_job_request_open_notice(const char *dir);

/* Send the message and wait for the answer.  Returns 0, or one of the above
 * with 'err' set.
 */
int egs_job_request_send(struct egs_job_request *request,
			 const struct egs_transport *transport,
			 struct egs_err *err);

/* Wait for another answer to a message that was answered through the run
 * directory.  Returns EGS_REQUEST_NONE_YET if there is none after 'timeout_ms',
 * and at once if the answer came directly; else as egs_job_request_send().
 */
int egs_job_request_receive(const struct egs_job_request *request,
			    const struct egs_transport *how, int timeout_ms,
			    struct egs_err *err);

#endif
