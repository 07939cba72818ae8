/* node_rundir.c - a job that has no run directory
 *
 * Its owner sees that with 'egs why'.  The batch script of such a job gets no
 * notice, so the daemon sends a signal when the job is preempted.
 */
#include <inttypes.h>

#include "common/base/log.h"
#include "policyd/requests/node.h"

static int log_for_owner(struct egs_daemon *d, const struct egs_job *j,
			 const char *what, struct egs_err *err)
{
	egs_log_warn("job %" PRIu32 ": %s", j->ident.job_id, what);
	if (egs_daemon_log_event(d, &j->ident, "no rundir", "egs-noded", what,
				 err) < 0)
		return -1;
	return egs_daemon_commit(d, err);
}

static int mark_unreachable(struct egs_daemon *d, const struct egs_job *j)
{
	const struct egs_event ev = { .kind = EGS_EV_UNREACHABLE,
				      .job = j->ident };

	return egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

/* A report of a job that no poll has shown as running may be early.  egs-noded
 * sends it again until it is too old.
 */
int egs_verb_node_no_rundir(void *arg, const struct egs_peer *peer,
			    const struct egs_msg *request,
			    struct egs_msg *answer, struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const char *words = egs_msg_get_str(request, "words");
	int64_t job_id = 0, batch = 0, node;
	const struct egs_job *j;
	struct egs_err what;

	(void)answer;
	if (egs_requests_check_synced(d, err) < 0)
		return EGS_REPLY_RETRY;
	node = egs_nodes_identify(d, peer, request, err);
	if (node < 0)
		return (int)node;
	if (!words || !egs_msg_get_int(request, "job", &job_id) || job_id < 1 ||
	    job_id > UINT32_MAX)
		return egs_errf(err, "node-no-rundir needs job and words");
	egs_msg_get_int(request, "batch", &batch);
	j = egs_policy_job(d->policy, (uint32_t)job_id);
	if (!j || !j->running) {
		egs_requests_read_job(d, peer->uid, (uint32_t)job_id);
		egs_errf(err, "job %" PRId64 " does not run yet", job_id);
		return EGS_REPLY_RETRY;
	}
	egs_errf(&what, "node %s: %s", egs_msg_get_str(request, "node"), words);
	if (log_for_owner(d, j, what.msg, err) < 0 ||
	    (batch && mark_unreachable(d, j) < 0))
		return EGS_REPLY_RETRY;
	return 0;
}
