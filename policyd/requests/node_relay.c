/* node_relay.c - egs-noded relays a message from a run directory
 *
 * Root of a node may relay messages only for jobs that run on that node.
 */
#include <inttypes.h>
#include <string.h>

#include "policyd/requests/job_message.h"
#include "policyd/requests/node.h"
#include "policyd/requests/node_addresses.h"
#include "policyd/requests/resize.h"

/* The longest time that a poll of Slurm takes. */
enum { POLL_MAX_S = 15 };

static bool is_running_on(const struct egs_daemon *d, const struct egs_job *j,
			  const char *node)
{
	int64_t number = egs_cluster_find_node(d->cluster, node);

	for (uint32_t i = 0; number >= 0 && i < j->nallocs; i++)
		if (j->running && j->alloc[i].node == number)
			return true;
	return false;
}

/* Set the answer for the job, which is a success or a refusal. */
static void set_answer(struct egs_msg *answer, const struct egs_msg *reply)
{
	size_t len;

	egs_msg_set_str(answer, "answer",
			reply ? egs_msg_to_text(reply, &len) : "");
}

static void set_refusal(struct egs_msg *answer, const char *why)
{
	struct egs_msg *reply = egs_msg_new();

	if (reply)
		egs_msg_set_str(reply, "error", why);
	set_answer(answer, reply);
	egs_msg_free(reply);
}

/* If the job waits, its node wakes the job when there is later news. */
static void set_news(const struct egs_daemon *d, const struct egs_msg *message,
		     const struct egs_msg *reply, struct egs_msg *answer)
{
	int64_t wait_s = 0;

	if (egs_msg_is_true(reply, "waits") &&
	    egs_msg_get_int(message, "wait", &wait_s) && wait_s > 0)
		egs_msg_set_int(answer, "news", egs_resize_last_news(d));
}

/* Relay a final refusal to the job as an answer. */
static int handle_message(struct egs_daemon *d, uid_t uid,
			  const struct egs_msg *message, struct egs_msg *answer,
			  struct egs_err *err)
{
	const struct egs_peer owner = { .uid = uid, .gid = (gid_t)-1 };
	struct egs_msg *reply = egs_msg_new();
	int rc;

	if (!reply)
		return egs_errf(err, "out of memory");
	egs_msg_set_bool(reply, "ok", true);
	rc = egs_job_message_handle(d, &owner, message, reply, err);
	if (rc >= 0) {
		set_answer(answer, reply);
		set_news(d, message, reply, answer);
	} else if (rc == -1) {
		set_refusal(answer, err->msg);
	}
	egs_msg_free(reply);
	return rc < -1 ? rc : 0;
}

/* A job that is not running has ended, if a poll began after the message was
 * written.  Compare lengths of time, because the clocks of two hosts differ.
 */
static bool has_ended(const struct egs_daemon *d, const struct egs_msg *request)
{
	int64_t age = 0;

	return egs_msg_get_int(request, "age", &age) &&
	       egs_daemon_now() - d->polled_at + POLL_MAX_S < age;
}

/* A job may send a message before the daemon has seen it running.  Poll the
 * job, and let the node send the message again.
 */
static int poll_and_retry(struct egs_daemon *d, uid_t uid, uint32_t job_id,
			  struct egs_err *err)
{
	egs_requests_read_job(d, uid, job_id);
	egs_errf(err,
		 "job %" PRIu32 " is not running, as far as egs-policyd knows",
		 job_id);
	return EGS_REPLY_RETRY;
}

static int relay_message(struct egs_daemon *d, const struct egs_msg *request,
			 const struct egs_msg *message, struct egs_msg *answer,
			 struct egs_err *err)
{
	const char *node = egs_msg_get_str(request, "node");
	int64_t uid = -1, id = 0;
	const struct egs_job *j;

	if (!node || !egs_msg_get_int(request, "uid", &uid) || uid < 0 ||
	    !egs_msg_get_int(request, "job", &id) || id < 1 || id > UINT32_MAX)
		return egs_errf(err, "relay needs node, uid, job and request");
	j = egs_policy_job(d->policy, (uint32_t)id);
	if ((!j || !j->running) && !has_ended(d, request))
		return poll_and_retry(d, (uid_t)uid, (uint32_t)id, err);
	if (!j || j->ident.uid != uid || !is_running_on(d, j, node))
		set_refusal(answer, "the job is not running on this node");
	else if (egs_requests_find_job(d, message, err) != j)
		set_refusal(answer, "the message names another job");
	else
		return handle_message(d, (uid_t)uid, message, answer, err);
	return 0;
}

/* Accept an unknown node here.  relay_message() refuses it, because no job runs
 * there.
 */
static int check_address(struct egs_daemon *d, const struct egs_peer *peer,
			 const struct egs_msg *request, struct egs_err *err)
{
	const char *name = egs_msg_get_str(request, "node");
	int64_t node = name ? egs_cluster_find_node(d->cluster, name) : -1;

	return node < 0
		       ? 0
		       : egs_node_addresses_check(d, (uint32_t)node, peer, err);
}

int egs_verb_relay(void *arg, const struct egs_peer *peer,
		   const struct egs_msg *request, struct egs_msg *answer,
		   struct egs_err *err)
{
	const char *text = egs_msg_get_str(request, "request");
	struct egs_msg *message;
	int rc;

	if (peer->uid != 0)
		return egs_errf(err, "only root may relay messages");
	if (egs_requests_check_synced(arg, err) < 0)
		return EGS_REPLY_RETRY;
	if (check_address(arg, peer, request, err) < 0)
		return EGS_REPLY_RETRY;
	message = egs_msg_parse(text ? text : "", text ? strlen(text) : 0,
				EGS_RUNDIR_MESSAGE_MAX, err);
	if (!message) {
		set_refusal(answer, err->msg);
		return 0;
	}
	rc = relay_message(arg, request, message, answer, err);
	egs_msg_free(message);
	return rc;
}
