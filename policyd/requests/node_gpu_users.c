/* node_gpu_users.c - nodes report which processes have GPUs open
 *
 * A node answers a GPU scan before a job gives back GPUs (resize.h).  A node
 * also reports a process of another job on a GPU of a job that starts.  'egs
 * why' shows this report to the owner of the process.  If the process cannot be
 * ended, the daemon fences the node.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/requests/node.h"
#include "policyd/requests/resize.h"

static int read_number(const struct egs_msg *request, const char *key,
		       uint32_t *value)
{
	int64_t n;

	if (!egs_msg_get_int(request, key, &n) || n < 0 || n > UINT32_MAX)
		return -1;
	*value = (uint32_t)n;
	return 0;
}

/* Read the open GPUs as bits, and a text about the first open GPU. */
static int read_gpu_users(const struct egs_msg *request, const char *node,
			  uint64_t *open, struct egs_err *who,
			  struct egs_err *err)
{
	size_t columns, rows;
	bool number;

	*open = 0;
	if (egs_msg_check_table(request, &columns, &rows, err) < 0)
		return -1;
	for (size_t i = 0; columns == 2 && i < rows; i++) {
		unsigned long card = strtoul(
			egs_msg_get_cell(request, i, 0, &number), NULL, 10);

		if (card > 63)
			continue;
		if (!*open)
			egs_errf(who, "%s has GPU %lu of %s open",
				 egs_msg_get_cell(request, i, 1, &number), card,
				 node);
		*open |= UINT64_C(1) << card;
	}
	return 0;
}

int egs_verb_node_open(void *arg, const struct egs_peer *peer,
		       const struct egs_msg *request, struct egs_msg *answer,
		       struct egs_err *err)
{
	struct egs_daemon *d = arg;
	struct egs_err who = { "" };
	uint32_t job_id, look;
	uint64_t open;
	int64_t node;

	(void)answer;
	if (egs_requests_check_synced(d, err) < 0)
		return -1;
	node = egs_nodes_identify(d, peer, request, err);
	if (node < 0)
		return (int)node;
	if (read_number(request, "job", &job_id) < 0 ||
	    read_number(request, "look", &look) < 0)
		return egs_errf(err, "node-open needs job, look and a table");
	if (read_gpu_users(request, egs_msg_get_str(request, "node"), &open,
			   &who, err) < 0)
		return -1;
	egs_resize_add_gpu_users(d, job_id, look, (uint32_t)node, open, &who);
	return 0;
}

/* ---- a job starts on a GPU that is in use ---- */

static int log_for_owner(struct egs_daemon *d, uint32_t job_id,
			 const struct egs_err *what, struct egs_err *err)
{
	const struct egs_job *j =
		job_id ? egs_policy_job(d->policy, job_id) : NULL;

	egs_log_warn("%s", what->msg);
	if (!j)
		return 0;
	if (egs_daemon_log_event(d, &j->ident, "unclean", "egs-noded",
				 what->msg, err) < 0)
		return -1;
	return egs_daemon_commit(d, err);
}

int egs_verb_node_unclean(void *arg, const struct egs_peer *peer,
			  const struct egs_msg *request, struct egs_msg *answer,
			  struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const char *name = egs_msg_get_str(request, "node");
	const char *words = egs_msg_get_str(request, "words");
	uint32_t job_id, starts, card, stays = 0;
	struct egs_err what;
	int64_t node;

	(void)answer;
	if (egs_requests_check_synced(d, err) < 0)
		return EGS_REPLY_RETRY;
	node = egs_nodes_identify(d, peer, request, err);
	if (node < 0)
		return (int)node;
	if (!words || read_number(request, "job", &job_id) < 0 ||
	    read_number(request, "for", &starts) < 0 ||
	    read_number(request, "card", &card) < 0)
		return egs_errf(err,
				"node-unclean needs card, words, job and for");
	egs_errf(&what,
		 "node %s: %s has GPU %" PRIu32
		 " open, which belongs to job %" PRIu32 " now",
		 name, words, card, starts);
	if (log_for_owner(d, job_id, &what, err) < 0)
		return EGS_REPLY_RETRY;
	read_number(request, "stays", &stays);
	if (!stays || egs_daemon_is_fenced(d, name))
		return 0;
	if (egs_daemon_fence_node(d, name, true, "egs-noded", what.msg, err) <
	    0)
		return EGS_REPLY_RETRY;
	egs_log_error("node %s: fenced=yes, set by egs-noded: %s", name,
		      what.msg);
	return 0;
}
