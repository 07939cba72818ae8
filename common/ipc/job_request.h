/* job_request.h - a job says something and waits for the answer
 *
 *	struct egs_job_request words;
 *	struct egs_transport how = { .dir = egs_rundir_path(), .timeout_ms =
 *10000 };
 *
 *	if (egs_job_request_begin(&words, "saved", &err) == 0) {
 *		egs_flat_json_add_str(&words.flat, "path", path);
 *		rc = egs_job_request_send(&words, &how, &err);
 *	}
 *
 * There are two roads: the run directory, and where there is one a direct call
 * of egs-policyd.  The run directory is first: it costs egs-policyd no more,
 * and what egs-noded has taken is not lost.  A message that nobody takes there,
 * or that is not answered soon, goes the direct way, too: it has an id and
 * counts once.
 */
#ifndef EGS_IPC_JOB_REQUEST_H
#define EGS_IPC_JOB_REQUEST_H

#include "common/ipc/flat_json.h"
#include "common/ipc/rundir_client.h"

/* A message under way. */
struct egs_job_request {
	struct egs_flat_json json;
	char id[EGS_RUNDIR_ID_SIZE];
};

/* What becomes of it; as EGS_CLIENT_* of client.h. */
enum {
	EGS_REQUEST_REFUSED = -1,
	EGS_REQUEST_NO_ANSWER =
		-2, /* nobody answered, 'err' says what became of it */
	EGS_REQUEST_RETRY = -3,
};

struct egs_transport {
	const char *dir; /* the run directory, NULL: none */
	/* Call egs-policyd: 0, with 'fn' called for each value of the answer,
	 * or one of the above with 'err' set.  NULL: nobody can.
	 */
	int (*call_direct)(const struct egs_transport *how, const char *text,
			   size_t len, int timeout_ms, struct egs_err *err);
	void *direct_arg; /* for 'direct' */
	int timeout_ms;
	/* A report that nobody takes stays where it is and is heard when
	 * egs-noded is back; everything else is taken back.
	 */
	bool is_report;
	egs_flat_json_fn *on_value; /* may be NULL */
	void *arg;
};

/* Begin a message of the job this process runs in, by its environment.  0, or
 * -1 with 'err' set if it runs in none.
 */
int egs_job_request_begin(struct egs_job_request *words, const char *verb,
			  struct egs_err *err);

/* The rank of this process, -1 for a batch script, which speaks for all. */
int64_t egs_job_request_rank(void);

/* The request that is open by the run directory, 0 if none is. */
uint32_t egs_job_request_open_notice(const char *dir);

/* Say it, and wait.  0, or one of the above with 'err' set. */
int egs_job_request_send(struct egs_job_request *words,
			 const struct egs_transport *asking,
			 struct egs_err *err);

#endif
