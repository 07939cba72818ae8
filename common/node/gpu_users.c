/* gpu_users.c - the list of processes that have GPUs of this node open */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/child.h"
#include "common/base/clock.h"
#include "common/node/gpu_users.h"
#include "common/node/proc.h"

enum {
	CLAIM_MS = 500,	  /* to read an environment */
	SILENT_MAX = 8,	  /* processes for which a scan waits so long */
	DAEMON_DEPTH = 4, /* of the processes of egs-noded */
};

static bool is_listed(const struct egs_gpu_users *users, pid_t pid,
		      uint32_t gpu)
{
	/* A process is mostly added GPU by GPU, so search from the end. */
	for (size_t i = users->n; i-- > 0;)
		if (users->list[i].pid == pid && users->list[i].gpu == gpu)
			return true;
	return false;
}

int egs_gpu_users_add(struct egs_gpu_users *users, pid_t pid, uint32_t gpu,
		      struct egs_err *err)
{
	struct egs_gpu_user user = { .pid = pid, .gpu = gpu };
	struct egs_proc_stat stat;

	if (is_listed(users, pid, gpu))
		return 0;
	if (egs_proc_stat(pid, &stat) < 0)
		return egs_proc_fail(pid, "stat", err);
	if (egs_proc_uid(pid, &user.uid) < 0)
		return egs_proc_fail(pid, "status", err);
	user.start = stat.start;
	egs_proc_command(pid, user.command, sizeof(user.command));
	if (egs_grow(&users->list, &users->room, users->n + 1) < 0)
		return egs_errf(err, "out of memory");
	users->list[users->n++] = user;
	return 0;
}

/* ---- steps and claims ---- */

int egs_gpu_users_identify(struct egs_gpu_users *users, uint32_t budget_ms,
			   struct egs_err *err)
{
	uint64_t end_ms = egs_now_ms() + budget_ms;
	size_t kept = 0;

	if (!users->n)
		return 0;
	users->stepds.end_ms = budget_ms ? end_ms : 0;
	switch (egs_stepds_read(&users->stepds, err)) {
	case 0:
		break;
	case 1:
		users->is_cut = true;
		users->n = 0;
		return 0;
	default:
		return -1;
	}
	for (size_t i = 0; i < users->n; i++) {
		struct egs_gpu_user *user = &users->list[i];
		int rc;

		if (budget_ms && egs_now_ms() >= end_ms) {
			users->is_cut = true;
			break;
		}
		rc = egs_stepds_find_step(&users->stepds, user->pid,
					  &user->step, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			users->list[kept++] = *user;
	}
	users->n = kept;
	return 0;
}

struct claim_of {
	pid_t pid;
	const char *node;
};

/* The result is a struct egs_step; empty: the process is gone. */
static int read_claim(const void *arg, char **bytes, size_t *len,
		      struct egs_err *err)
{
	const struct claim_of *of = arg;
	struct egs_step *step = malloc(sizeof(*step));
	int rc = step ? egs_stepds_read_claim(of->pid, of->node, step, err)
		      : egs_errf(err, "out of memory");

	if (rc != 0) {
		free(step);
		return rc < 0 ? rc : 0;
	}
	*bytes = (char *)step;
	*len = sizeof(*step);
	return 0;
}

/* Returns 1 if the environment cannot be read in time, 0, or -1 with 'err' set.
 */
static int read_claim_in_time(const struct claim_of *of, struct egs_step *step,
			      struct egs_err *err)
{
	struct egs_child child;
	struct pollfd ready = { .events = POLLIN };
	int rc;

	*step = (struct egs_step){ .source = EGS_STEP_UNKNOWN };
	if (egs_child_start(&child, read_claim, of, err) < 0)
		return -1;
	ready.fd = child.fd;
	do {
		rc = poll(&ready, 1, CLAIM_MS) > 0 ? egs_child_read(&child, err)
						   : 2;
	} while (rc == 1);
	if (rc == 0 && child.len == sizeof(*step))
		memcpy(step, child.bytes, sizeof(*step));
	egs_child_stop(&child);
	return rc == 2 ? 1 : rc;
}

int egs_gpu_users_read_claims(struct egs_gpu_users *users, const char *node,
			      struct egs_err *err)
{
	unsigned silent = 0;

	for (size_t i = 0; i < users->n; i++) {
		struct egs_gpu_user *user = &users->list[i];
		struct claim_of of = { .pid = user->pid, .node = node };
		int rc;

		if (user->step.source != EGS_STEP_UNREAD)
			continue;
		if (i && user[-1].pid == user->pid) {
			user->step = user[-1].step;
			continue;
		}
		if (silent == SILENT_MAX)
			break;
		rc = read_claim_in_time(&of, &user->step, err);
		if (rc < 0)
			return -1;
		silent += (unsigned)rc;
	}
	return 0;
}

void egs_gpu_users_free(struct egs_gpu_users *users)
{
	free(users->list);
	egs_stepds_free(&users->stepds);
	*users = (struct egs_gpu_users){ .n = 0 };
}

/* egs-noded samples GPUs, and a step may have started it. */
static bool is_of_daemon(const struct egs_gpu_users *users,
			 const struct egs_gpu_user *user)
{
	pid_t pid = user->pid;

	if (user->uid || !users->daemon)
		return false;
	for (int i = 0; i < DAEMON_DEPTH && pid > 1; i++) {
		if (pid == users->daemon)
			return true;
		pid = egs_proc_parent(pid);
	}
	return false;
}

/* Without a slurmstepd, only the name of a control group says so.  A user may
 * have chosen it, if systemd lets users make groups of their own.
 */
static bool proves_job(const struct egs_gpu_user *user)
{
	return user->step.source == EGS_STEP_RUNNING ||
	       (user->step.source == EGS_STEP_ENDED && user->uid == 0);
}

bool egs_gpu_users_counts(const struct egs_gpu_users *users,
			  const struct egs_gpu_user *user)
{
	const struct egs_step *step = &user->step;

	if (user->uid && user->uid == users->sub_uids.user)
		return true;
	if (step->job == users->job && proves_job(user))
		return !is_of_daemon(users, user);
	return egs_sub_uids_have(&users->sub_uids, user->pid, user->uid);
}

struct egs_text egs_gpu_user_text(const struct egs_gpu_user *user)
{
	const struct egs_step *step = &user->step;
	struct egs_text text;

	egs_textf(&text, "pid %ld (%s)", (long)user->pid, user->command);
	if (step->source == EGS_STEP_RUNNING && *step->name)
		egs_text_append(&text, " of step %" PRIu32 ".%s", step->job,
				step->name);
	else if (step->source == EGS_STEP_RUNNING)
		egs_text_append(&text, " of job %" PRIu32, step->job);
	else if (step->source == EGS_STEP_ENDED && step->job)
		egs_text_append(&text, " in the control group of job %" PRIu32,
				step->job);
	else if (step->source == EGS_STEP_ENDED)
		egs_text_append(&text, " of a job that has ended");
	else if (step->source == EGS_STEP_CLAIMED)
		egs_text_append(&text, " of uid %u that claims job %" PRIu32,
				(unsigned)user->uid, step->job);
	else if (step->source == EGS_STEP_UNREAD)
		egs_text_append(&text, " of uid %u in no step",
				(unsigned)user->uid);
	else
		egs_text_append(&text, " of no job");
	return text;
}
