/* daemon_fixture.h - egs-policyd without Slurm, sockets and main(), for unit
 *programs
 *
 * daemon_start()	a daemon with the store and the table in the current
 *			directory; what is in 'daemon_conf' is its egs.conf
 * daemon_show(fact)	Slurm shows this job, beside a node n1
 * daemon_stop()	its memory is gone, the files stay: as after kill -9
 * daemon_say(uid, text, &answer, &err)	a verb of a job, sent by 'uid'
 */
#ifndef EGS_T_DAEMON_FIXTURE_H
#define EGS_T_DAEMON_FIXTURE_H

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/daemon/daemon.h"
#include "policyd/requests/job_message.h"
#include "policyd/requests/node.h"
#include "policyd/requests/resize.h"
#include "policyd/server/rate_limit.h"
#include "t/lib/unit/conf_file.h"

static struct egs_daemon *d;
static const char *daemon_conf = "Mode=enforce\n"
				 "TierOrder=prod,scavenge\n"
				 "GpuType=a100\n"
				 "Phase=label Gpus=any\n"
				 "Team=red Users=alice Quota=a100:4 "
				 "DefaultTier=scavenge\n";

static inline void daemon_must(int rc, const struct egs_err *why)
{
	if (rc < 0)
		errx(1, "%s", why->msg);
}

static inline void daemon_start(void)
{
	const struct egs_server_conf door = { .socket_path = "./door" };
	struct egs_err why = { "out of memory" };
	bool locked = true;

	d = calloc(1, sizeof(*d));
	d->conf = conf_load(daemon_conf);
	if (!d->conf)
		errx(1, "%s", conf_problems.list[0].err.msg);
	/* A worker that has not begun yet holds the files of a daemon that was
	 * killed, for a moment.
	 */
	for (int i = 0; i < 6000 && locked && !d->store; i++) {
		locked = false;
		d->store = egs_store_open("./state", &locked, &why);
		if (locked)
			poll(NULL, 0, 10);
	}
	d->table = d->store ? egs_table_create("./table", &why) : NULL;
	d->loop = d->table ? egs_loop_new(&why) : NULL;
	d->worker = d->loop ? egs_worker_new(d->loop, "/bin/true",
					     &egs_daemon_worker_ops, d, &why)
			    : NULL;
	d->rate_limit = egs_rate_limit_new();
	d->nodes = egs_nodes_new();
	d->resizes = egs_resizes_new();
	daemon_must(d->worker ? egs_daemon_restore(d, &why) : -1, &why);
	daemon_must(egs_daemon_restore_account(d, &why), &why);
	d->policy = egs_policy_new(egs_daemon_conf(d));
	d->cluster = egs_cluster_new(d->policy, egs_daemon_conf(d),
				     &egs_daemon_cluster_ops, d);
	d->server = egs_server_new(d->loop, &door, &why);
	daemon_must(d->server ? 0 : -1, &why);
	d->synced = true;
}

static inline void daemon_stop(void)
{
	egs_server_free(d->server);
	egs_nodes_free(d->nodes);
	egs_worker_free(d->worker);
	egs_rate_limit_free(d->rate_limit);
	egs_resizes_free(d->resizes);
	egs_table_close(d->table);
	egs_cluster_free(d->cluster);
	egs_account_free(d->account);
	egs_idle_levels_free(d->idle_levels);
	egs_policy_free(d->policy);
	egs_store_close(d->store);
	egs_loop_free(d->loop);
	egs_conf_free(d->conf);
	free(d->restored);
	free(d->forgotten);
	free(d->saved_sum);
	free(d->touched_sum);
	free(d);
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
	struct egs_fact_alloc part = { "n1", 2, 4 };
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
