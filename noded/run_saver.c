/* run_saver.c - run the save program of a job that is preempted
 *
 * When the program has succeeded, egs-noded adds a message to the spool, the
 * same as from 'egs yield' in the job.  egs-policyd requeues the job when all
 * its nodes have yielded.  If the program fails, egs-noded sends nothing, and
 * AtDeadline= of the tier applies at the deadline.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "noded/noded.h"

enum { EXIT_S = 10 };

/* A save program that runs, or has just ended. */
struct egs_running_saver {
	struct egs_noded *noded;
	struct egs_saver saver;
	uint32_t notice_number;
	struct egs_timed_child child;
	struct egs_running_saver *next;
};

static void free_saver(struct egs_running_saver *s)
{
	egs_timed_child_stop(&s->child);
	free(s);
}

void egs_noded_stop_savers(struct egs_noded *noded)
{
	struct egs_running_saver *s;

	while ((s = noded->savers)) {
		noded->savers = s->next;
		free_saver(s);
	}
}

static void remove_saver(struct egs_running_saver *s)
{
	struct egs_running_saver **at = &s->noded->savers;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	free_saver(s);
}

/* The id depends only on the node, the job, its run and the notice, so that
 * egs-policyd counts a repeated message once.  The rank is a hash of the name
 * of the node.
 */
static struct egs_msg *make_yield_msg(const struct egs_running_saver *s,
				      const char *path, char id[17])
{
	const struct egs_saver *saver = &s->saver;
	struct egs_msg *msg = egs_msg_new();
	char job[16], key[64];
	uint64_t node = egs_hash_text(EGS_HASH_START, saver->node);

	if (!msg)
		return NULL;
	snprintf(job, sizeof(job), "%" PRIu32, saver->job);
	snprintf(key, sizeof(key), "cmd %s %" PRIu32 " %" PRIu32, job,
		 saver->restarts, s->notice_number);
	snprintf(id, 17, "%016" PRIx64, egs_hash_text(node, key));
	egs_msg_set_str(msg, "verb", "yield");
	egs_msg_set_str(msg, "id", id);
	egs_msg_set_str(msg, "job", job);
	egs_msg_set_int(msg, "restarts", saver->restarts);
	egs_msg_set_int(msg, "request", s->notice_number);
	egs_msg_set_int(msg, "rank", (int64_t)(node >> 1));
	egs_msg_set_str(msg, "path", path);
	return msg;
}

static int spool_yield(struct egs_running_saver *s, const char *path,
		       struct egs_err *err)
{
	char id[17], name[32];
	struct egs_msg *msg = make_yield_msg(s, path, id);
	const char *text = NULL;
	size_t len;
	int rc = -1;

	if (msg)
		text = egs_msg_to_text(msg, &len);
	if (!text || len > EGS_RUNDIR_MESSAGE_MAX) {
		egs_errf(err, "out of memory, or the path of the checkpoint is "
			      "too long");
	} else {
		snprintf(name, sizeof(name), "cmd-%s", id);
		rc = egs_spool_add(&s->noded->spool, s->saver.job, s->saver.uid,
				   name, text, err)
			     ? 0
			     : -1;
	}
	egs_msg_free(msg);
	return rc;
}

static void on_saver_done(void *arg, int rc, const char *path, size_t len,
			  const struct egs_err *why)
{
	struct egs_running_saver *s = arg;
	struct egs_noded *noded = s->noded;
	struct egs_err err = *why;

	(void)len;
	if (rc == 0)
		rc = spool_yield(s, path, &err);
	if (rc < 0)
		egs_log_warn("job %" PRIu32 ": not saved: %s", s->saver.job,
			     err.msg);
	else
		egs_log_info("job %" PRIu32 ": saved by %s for notice %" PRIu32,
			     s->saver.job, s->saver.program, s->notice_number);
	remove_saver(s);
	egs_noded_relay_next(noded);
}

/* The child itself ends the program at its deadline, unless it hangs. */
static uint64_t reckon_limit_ms(const struct egs_saver *saver)
{
	int64_t left_s = saver->deadline_s - (int64_t)time(NULL);

	return (uint64_t)((left_s > 0 ? left_s : 0) + EXIT_S) * 1000;
}

static struct egs_running_saver *
start_saver(struct egs_noded *noded, const struct egs_job_orders *orders,
	    struct egs_err *err)
{
	struct egs_running_saver *s = calloc(1, sizeof(*s));

	if (!s) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	s->noded = noded;
	s->child.done = on_saver_done;
	s->child.arg = s;
	s->child.owner = orders->uid;
	s->notice_number = orders->notice.number;
	s->saver = (struct egs_saver){
		.job = orders->job,
		.restarts = orders->restarts,
		.uid = orders->uid,
		.deadline_s = orders->notice.deadline_s,
		.node = noded->node,
	};
	if (egs_save_program_read(noded->rundirs_fd, orders->job, orders->uid,
				  s->saver.program, err) == 0 &&
	    egs_timed_child_start(&s->child, noded->loop, egs_saver_run,
				  &s->saver, reckon_limit_ms(&s->saver),
				  err) == 0)
		return s;
	free_saver(s);
	return NULL;
}

void egs_noded_start_saver(struct egs_noded *noded,
			   const struct egs_job_orders *orders)
{
	struct egs_err err;
	struct egs_running_saver *s = start_saver(noded, orders, &err);

	if (!s) {
		egs_log_warn("job %" PRIu32 ": not saved: %s", orders->job,
			     err.msg);
		return;
	}
	s->next = noded->savers;
	noded->savers = s;
}
