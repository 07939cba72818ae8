/* daemon_fixture.h - egs-policyd without Slurm and its loop, for unit programs
 *
 * daemon_start()	a daemon in the current directory; 'daemon_conf' is its
 *			egs.conf, with StateDir= and RunDir= added
 * daemon_show(fact)	Slurm shows this job, beside a node n1
 * daemon_stop()	its memory is gone, the files stay: as after kill -9
 * daemon_leave()	as conf_leave(), with the daemon's files
 * daemon_say(uid, text, &answer, &err)	a verb of a job, sent by 'uid'
 */
#ifndef EGS_T_DAEMON_FIXTURE_H
#define EGS_T_DAEMON_FIXTURE_H

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/daemon/daemon.h"
#include "policyd/requests/job_message.h"
#include "policyd/server/rate_limit.h"
#include "t/lib/unit/conf_file.h"

static struct egs_daemon *d;
static const char *daemon_conf =
	"Mode=enforce\n"
	"TierOrder=prod,scavenge\n"
	"GpuType=a100\n"
	"Phase=label Gpus=any\n"
	"Team=red Users=alice Quota=a100:4 MaxGpus=a100:8 "
	"DefaultTier=scavenge\n";

/* A server without a port. */
static inline int daemon_start_server(struct egs_daemon *daemon,
				      struct egs_err *err)
{
	const struct egs_server_conf door = { .socket_path = "./door" };

	daemon->requests->server = egs_server_new(daemon->loop, &door, err);
	return daemon->requests->server ? 0 : -1;
}

/* A test may serve other verbs. */
static int (*daemon_serve)(struct egs_daemon *daemon,
			   struct egs_err *err) = daemon_start_server;

/* All parts of egs-policyd, but the server is the one above. */
static inline const struct egs_part *const *daemon_parts(void)
{
	static struct egs_part server;
	static const struct egs_part *parts[32];

	server = egs_server_part;
	server.start = daemon_serve;
	for (size_t i = 0; i < 31 && egs_requests_parts[i]; i++)
		parts[i] = egs_requests_parts[i] == &egs_server_part
				   ? &server
				   : egs_requests_parts[i];
	return parts;
}

static inline void daemon_start(void)
{
	struct egs_err why;
	char text[4096];

	snprintf(text, sizeof(text), "%sStateDir=%s\nRunDir=%s/run\n",
		 daemon_conf, conf_dir, conf_dir);
	conf_write("egs.conf", text);
	/* A worker that has not begun yet holds the files of a daemon that was
	 * killed, for a moment.
	 */
	for (int i = 0; i < 600; i++) {
		d = egs_daemon_new("egs.conf", "/bin/true", daemon_parts(),
				   &why);
		if (d)
			break;
		poll(NULL, 0, 10);
	}
	if (!d || !d->store)
		errx(1, "%s", why.msg);
	d->synced = true;
}

static inline void daemon_stop(void)
{
	egs_daemon_free(d);
}

static inline void daemon_leave(void)
{
	static const char *const files[] = { "table", "doorbell" };
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "run/%s", files[i]);
		remove(path);
	}
	conf_leave();
}

/* A job without a stamp is known by its submit time, so that is always the
 * same.
 */
static inline struct egs_job_fact daemon_job(uint32_t id, uint32_t state)
{
	static egs_time_t begun;
	struct egs_job_fact f = {
		.job_id = id,
		.task = EGS_NO_TASK,
		.uid = 2001,
		.user = "alice",
		.state = state,
		.nnodes = 1,
		.ntasks = 2,
		.cpus = 4,
		.flags = EGS_FACT_BATCH | EGS_FACT_REQUEUE,
	};

	if (!begun)
		begun = egs_daemon_now();
	f.submit = (uint64_t)begun - 200;
	f.start = (uint64_t)begun - 100;
	egs_gpu_count_add(&f.gpus, "gpu:a100:2", 1);
	return f;
}

static inline void daemon_show(struct egs_job_fact f)
{
	struct egs_node_fact node = { .name = "n1", .cpus = 8 };
	struct egs_fact_alloc part = { "n1", 2, 4, 6 };
	struct egs_buf parts = { .used = 0 };

	egs_gpu_count_add(&node.gpus, "gpu:a100:4", 1);
	egs_cluster_update_node(d->cluster, &node, egs_daemon_now());
	if (f.state == EGS_JOB_RUNNING)
		egs_fact_put_alloc(&parts, &part);
	f.allocs = (struct egs_buf_reader){ .at = parts.bytes,
					    .left = parts.used };
	egs_cluster_update_job(d->cluster, &f, egs_daemon_now());
	egs_buf_clear(&parts);
	egs_daemon_update(d);
}

static inline int daemon_say(uid_t uid, const char *text,
			     struct egs_msg **answer, struct egs_err *err)
{
	const struct egs_peer peer = { .uid = uid, .local = true };
	struct egs_msg *request =
		egs_msg_parse(text, strlen(text), EGS_MSG_REQUEST_MAX, err);
	int rc;

	*answer = egs_msg_new();
	egs_msg_set_bool(*answer, "ok", true);
	rc = request ? egs_job_message_handle(d, &peer, request, *answer, err)
		     : -1;
	egs_msg_free(request);
	return rc;
}

#endif
