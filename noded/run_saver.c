/* run_saver.c - a job that cannot save itself is asked to go: run its program
 *
 * When that has succeeded, the message that the job would have sent is put into
 * the spool: this node yields.  egs-policyd counts them, and when all nodes of
 * the job have said so the job is requeued.  Where it fails nothing is said,
 * and at the deadline the rule of the tier holds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/base/log.h"
#include "noded/noded.h"

#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

/* A program that runs, or has just ended. */
struct egs_saving {
	struct egs_noded *noded;
	struct egs_saver saver;
	uint32_t request;
	struct egs_aside aside;
	struct egs_watch *watch;
	struct egs_saving *next;
};

static void saving_free(struct egs_saving *s)
{
	egs_watch_free(s->watch);
	egs_aside_end(&s->aside);
	free(s);
}

void egs_noded_save_end(struct egs_noded *noded)
{
	struct egs_saving *s;

	while ((s = noded->savings)) {
		noded->savings = s->next;
		saving_free(s);
	}
}

static void forget(struct egs_saving *s)
{
	struct egs_saving **at = &s->noded->savings;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	saving_free(s);
}

static uint64_t mix(uint64_t sum, const char *text)
{
	while (*text)
		sum = (sum ^ (unsigned char)*text++) * FNV_PRIME;
	return sum;
}

/* The same each time for this node and request: what is said twice counts
 * once.  The name of the node stands for a rank.
 */
static struct egs_msg *words_of(const struct egs_saving *s, const char *path,
				char id[17])
{
	const struct egs_saver *saver = &s->saver;
	struct egs_msg *msg = egs_msg_new();
	char job[16], what[64];
	uint64_t node = mix(FNV_START, saver->node);

	if (!msg)
		return NULL;
	snprintf(job, sizeof(job), "%" PRIu32, saver->job);
	snprintf(what, sizeof(what), "cmd %s %" PRIu32 " %" PRIu32, job,
		 saver->restarts, s->request);
	snprintf(id, 17, "%016" PRIx64, mix(node, what));
	egs_msg_set_str(msg, "verb", "yield");
	egs_msg_set_str(msg, "id", id);
	egs_msg_set_str(msg, "job", job);
	egs_msg_set_int(msg, "restarts", saver->restarts);
	egs_msg_set_int(msg, "request", s->request);
	egs_msg_set_int(msg, "rank", (int64_t)(node >> 1));
	egs_msg_set_str(msg, "path", path);
	return msg;
}

static int say_yield(struct egs_saving *s, const char *path,
		     struct egs_err *err)
{
	char id[17], name[32];
	struct egs_msg *msg = words_of(s, path, id);
	const char *text = NULL;
	size_t len;
	int rc = -1;

	if (msg)
		text = egs_msg_text(msg, &len);
	if (!text || len > EGS_RUNDIR_MESSAGE_MAX) {
		egs_errf(err, "out of memory, or a path that is too long");
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

static void on_saved(void *arg, uint32_t events)
{
	struct egs_saving *s = arg;
	struct egs_noded *noded = s->noded;
	struct egs_err err;
	int rc = egs_aside_read(&s->aside, &err);

	(void)events;
	if (rc > 0)
		return;
	if (rc == 0)
		rc = say_yield(s, s->aside.bytes, &err);
	if (rc < 0)
		egs_warning("job %" PRIu32 ": it was not saved, %s",
			    s->saver.job, err.msg);
	else
		egs_info("job %" PRIu32 ": saved by %s for request %" PRIu32,
			 s->saver.job, s->saver.program, s->request);
	forget(s);
	egs_noded_relay(noded);
}

static struct egs_saving *
begin(struct egs_noded *noded, const struct egs_told *told, struct egs_err *err)
{
	struct egs_saving *s = calloc(1, sizeof(*s));

	if (!s) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	s->noded = noded;
	s->request = told->request.request;
	s->saver = (struct egs_saver){
		.job = told->job,
		.restarts = told->restarts,
		.uid = told->uid,
		.deadline = told->request.deadline,
		.node = noded->node,
	};
	snprintf(s->saver.program, sizeof(s->saver.program), "%s",
		 told->program);
	if (egs_aside_start(&s->aside, egs_saver_run, &s->saver, err) == 0)
		s->watch = egs_loop_fd(noded->loop, s->aside.fd, EPOLLIN,
				       on_saved, s, err);
	if (s->watch)
		return s;
	saving_free(s);
	return NULL;
}

void egs_noded_save(struct egs_noded *noded, const struct egs_told *told)
{
	struct egs_err err;
	struct egs_saving *s = begin(noded, told, &err);

	if (!s) {
		egs_warning("job %" PRIu32 ": it was not saved, %s", told->job,
			    err.msg);
		return;
	}
	s->next = noded->savings;
	noded->savings = s;
}
