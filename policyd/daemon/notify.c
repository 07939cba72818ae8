/* notify.c - pass warnings to the program of Notify= */
#define _GNU_SOURCE /* asprintf */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/ipc/msg.h"
#include "policyd/daemon/daemon.h"

enum { MINUTE_MS = 60 * 1000 };

/* ---- the JSON of a warning ---- */

static void set_job(const struct egs_daemon *d, const struct egs_job *j,
		    struct egs_msg *msg)
{
	struct egs_job_info known = { .user = NULL };
	char text[EGS_JOB_TEXT_SIZE];

	egs_daemon_format_job_id(d, &j->ident, text);
	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	egs_msg_set_str(msg, "job", text);
	egs_msg_set_str(msg, "user", known.user);
	if (j->facts.team >= 0)
		egs_msg_set_str(msg, "team",
				egs_daemon_conf(d)->team[j->facts.team].name);
}

char *egs_notify_format(const struct egs_daemon *d, const struct egs_warning *w,
			uint32_t dropped)
{
	struct egs_msg *msg = egs_msg_new();
	const char *text;
	char *copy = NULL;
	size_t len;

	if (!msg)
		return NULL;
	egs_msg_set_str(msg, "kind", w->kind);
	egs_msg_set_int(msg, "time", egs_daemon_now());
	if (*d->audience)
		egs_msg_set_str(msg, "cluster",
				d->audience + strlen(EGS_CRED_AUDIENCE_PREFIX));
	if (w->job)
		set_job(d, w->job, msg);
	egs_msg_set_str(msg, "node", w->node);
	if (w->node && w->gpu >= 0)
		egs_msg_set_int(msg, "gpu", w->gpu);
	egs_msg_set_str(msg, "rule", w->rule);
	if (w->observed)
		egs_msg_set_bool(msg, "observed", true);
	egs_msg_set_str(msg, "text", w->text);
	if (dropped)
		egs_msg_set_int(msg, "dropped", dropped);
	text = egs_msg_to_text(msg, &len);
	if (!text || asprintf(&copy, "%s\n", text) < 0)
		copy = NULL;
	egs_msg_free(msg);
	return copy;
}

/* ---- the queue ---- */

static bool has_room(struct egs_notify *n)
{
	uint64_t now = egs_now_ms();

	if (!n->minute_ms || now - n->minute_ms >= MINUTE_MS) {
		n->minute_ms = now;
		n->in_minute = 0;
	}
	return n->nqueued < EGS_NOTIFY_QUEUE_MAX &&
	       n->in_minute < EGS_NOTIFY_PER_MINUTE;
}

static void drop_warning(struct egs_notify *n)
{
	if (!n->dropped)
		egs_log_warn("Notify: too many warnings; further ones are only "
			     "in this log");
	n->dropped++;
	n->all_dropped++;
}

static void queue_warning(struct egs_daemon *d, const struct egs_warning *w)
{
	struct egs_notify *n = &d->notify;
	char *text = has_room(n) ? egs_notify_format(d, w, n->dropped) : NULL;

	if (!text) {
		drop_warning(n);
		return;
	}
	n->queue[n->nqueued++] = text;
	n->in_minute++;
	n->dropped = 0;
}

void egs_notify_send(struct egs_daemon *d, const struct egs_warning *w)
{
	if (w->job)
		egs_log_warn("job %" PRIu32 ": %s", w->job->ident.job_id,
			     w->text);
	else
		egs_log_warn("%s%s%s", w->node ? w->node : "",
			     w->node ? ": " : "", w->text);
	if (egs_daemon_conf(d)->notify)
		queue_warning(d, w);
}

/* ---- the program ---- */

static void run_program(struct egs_daemon *d, const char *text)
{
	struct egs_notify *n = &d->notify;
	const char *path = egs_daemon_conf(d)->notify;
	struct egs_err err;

	if (!path)
		return; /* a reload has removed Notify= */
	if (egs_program_start(&n->program, path, text, strlen(text),
			      EGS_NOTIFY_LIMIT_MS, &err) == 0) {
		n->sent++;
		return;
	}
	n->failed++;
	egs_log_warn("Notify: %s", err.msg);
}

static void start_next(struct egs_daemon *d)
{
	struct egs_notify *n = &d->notify;
	char *text = n->queue[0];

	n->nqueued--;
	memmove(n->queue, n->queue + 1, n->nqueued * sizeof(n->queue[0]));
	run_program(d, text);
	free(text);
}

void egs_notify_tick(struct egs_daemon *d)
{
	struct egs_notify *n = &d->notify;
	struct egs_err err;
	int rc = egs_program_check_end(&n->program, &err);

	if (rc < 0) {
		n->failed++;
		egs_log_warn("Notify: the program %s", err.msg);
	}
	if (rc <= 0 && n->nqueued)
		start_next(d);
}

void egs_notify_free(struct egs_daemon *d)
{
	struct egs_notify *n = &d->notify;

	egs_program_stop(&n->program);
	while (n->nqueued)
		free(n->queue[--n->nqueued]);
}
