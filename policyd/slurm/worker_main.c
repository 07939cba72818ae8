/* worker_main.c - the worker process: calls of libslurm, one at a time
 *
 * Every function here may block.  The process ends when the daemon closes file
 * 0, or when libslurm calls exit().
 */
#include <errno.h>
#include <signal.h>
#include <slurm/slurmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "policyd/slurm/compat.h"
#include "policyd/slurm/drain_node.h"
#include "policyd/slurm/hold_job.h"
#include "policyd/slurm/read_jobs.h"
#include "policyd/slurm/resize_job.h"
#include "policyd/slurm/worker_internal.h"

enum {
	/* Answers are sent in pieces of about this size. */
	SEND_SIZE = 64 * 1024,
	/* Operators and QOS are read this often. */
	ASSOC_EVERY_MS = 60 * 1000,
};

static struct {
	struct egs_buf out;
	time_t jobs_at, nodes_at; /* last_update of the last answers */
	partition_info_msg_t *partitions;
	uint64_t assoc_ms; /* when operators and QOS were last read */
	char *cluster;
} self;

static void flush_out(void)
{
	size_t done = 0;

	/* The daemon would conclude that missing jobs have ended. */
	if (self.out.failed)
		_exit(1);
	while (done < self.out.used) {
		ssize_t n = send(STDIN_FILENO, self.out.bytes + done,
				 self.out.used - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			_exit(0); /* the daemon is gone */
		done += (size_t)n;
	}
	egs_buf_clear(&self.out);
}

static const char *last_slurm_error(void)
{
	return slurm_strerror(errno);
}

/* 1 if there were changes, 0 if not, -1 on failure. */
static int put_jobs(bool full)
{
	job_info_msg_t *msg = NULL;

	if (slurm_load_jobs(full ? 0 : self.jobs_at, &msg,
			    SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : -1;
	self.jobs_at = msg->last_update;
	for (uint32_t i = 0; i < msg->record_count; i++) {
		egs_frame_begin(&self.out, EGS_FRAME_JOB);
		egs_slurm_put_job(&self.out, &msg->job_array[i]);
		egs_frame_end(&self.out);
		if (self.out.used >= SEND_SIZE)
			flush_out();
	}
	compat_free_jobs(msg);
	return 1;
}

/* A name of NULL ends the list. */
static void put_name(enum egs_name_kind kind, const char *name)
{
	egs_frame_begin(&self.out, EGS_FRAME_NAME);
	egs_buf_put_u32(&self.out, kind);
	egs_buf_put_str(&self.out, name);
	egs_frame_end(&self.out);
}

/* Read partitions before jobs: a fact of a job has a flag of its partition.
 * True if they have changed.
 */
static bool read_partitions(void)
{
	partition_info_msg_t *parts = NULL;
	time_t since = self.partitions ? self.partitions->last_update : 0;

	if (slurm_load_partitions(since, &parts, SHOW_ALL) != SLURM_SUCCESS)
		return false;
	if (self.partitions)
		slurm_free_partition_info_msg(self.partitions);
	self.partitions = parts;
	egs_slurm_set_partitions(parts);
	return true;
}

/* Slurm lists the nodes of a partition, not the partitions of a node. */
static void fill_partitions(node_info_msg_t *nodes)
{
	partition_info_msg_t *parts = self.partitions;

	if (!parts)
		return;
	for (uint32_t i = 0; i < parts->record_count; i++)
		if (parts->partition_array[i].name)
			put_name(EGS_NAME_PARTITION,
				 parts->partition_array[i].name);
	put_name(EGS_NAME_PARTITION, NULL);
	slurm_populate_node_partitions(nodes, parts);
}

static int put_nodes(bool full)
{
	node_info_msg_t *msg = NULL;

	if (slurm_load_node(full ? 0 : self.nodes_at, &msg,
			    SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : -1;
	self.nodes_at = msg->last_update;
	fill_partitions(msg);
	for (uint32_t i = 0; i < msg->record_count; i++) {
		if (!msg->node_array[i].name)
			continue; /* the node was deleted */
		egs_frame_begin(&self.out, EGS_FRAME_NODE);
		egs_slurm_put_node(&self.out, &msg->node_array[i]);
		egs_frame_end(&self.out);
		if (self.out.used >= SEND_SIZE)
			flush_out();
	}
	slurm_free_node_info_msg(msg);
	return 1;
}

/* The name cannot change while slurmctld has jobs. */
static const char *get_cluster_name(void)
{
	slurm_conf_t *conf = NULL;

	if (!self.cluster && slurm_load_ctl_conf(0, &conf) == SLURM_SUCCESS) {
		if (conf->cluster_name)
			self.cluster = strdup(conf->cluster_name);
		compat_free_conf(conf);
	}
	return self.cluster;
}

/* ---- operators, coordinators and QOS ---- */

static void put_operator(uint32_t uid, const char *name)
{
	egs_frame_begin(&self.out, EGS_FRAME_OPERATOR);
	egs_buf_put_u32(&self.out, uid);
	egs_buf_put_str(&self.out, name);
	egs_frame_end(&self.out);
}

/* A user whose name is unknown on this host has no uid. */
static bool is_operator(const slurmdb_user_rec_t *user)
{
	return user->admin_level >= SLURMDB_ADMIN_OPERATOR && user->name &&
	       user->uid != NO_VAL;
}

static void put_operator_list(const assoc_mgr_info_msg_t *msg)
{
	const slurmdb_user_rec_t *user;

	if (msg->user_list) {
		__auto_type i = slurm_list_iterator_create(msg->user_list);

		while ((user = slurm_list_next(i)))
			if (is_operator(user))
				put_operator(user->uid, user->name);
		slurm_list_iterator_destroy(i);
	}
	put_operator(0, NULL);
}

static void put_coordinator(uint32_t uid, const char *name, const char *account)
{
	egs_frame_begin(&self.out, EGS_FRAME_COORDINATOR);
	egs_buf_put_u32(&self.out, uid);
	egs_buf_put_str(&self.out, name);
	egs_buf_put_str(&self.out, account);
	egs_frame_end(&self.out);
}

/* Slurm lists the accounts below a coordinated account, too. */
static void put_accounts(const slurmdb_user_rec_t *user)
{
	const slurmdb_coord_rec_t *account;

	if (user->name && user->uid != NO_VAL && user->coord_accts) {
		__auto_type i = slurm_list_iterator_create(user->coord_accts);

		while ((account = slurm_list_next(i)))
			if (account->name)
				put_coordinator(user->uid, user->name,
						account->name);
		slurm_list_iterator_destroy(i);
	}
}

static void put_coordinator_list(const assoc_mgr_info_msg_t *msg)
{
	const slurmdb_user_rec_t *user;

	if (msg->user_list) {
		__auto_type i = slurm_list_iterator_create(msg->user_list);

		while ((user = slurm_list_next(i)))
			put_accounts(user);
		slurm_list_iterator_destroy(i);
	}
	put_coordinator(0, NULL, NULL);
}

static void put_qos_list(const assoc_mgr_info_msg_t *msg)
{
	const slurmdb_qos_rec_t *qos;

	if (msg->qos_list) {
		__auto_type i = slurm_list_iterator_create(msg->qos_list);

		while ((qos = slurm_list_next(i)))
			if (qos->name)
				put_name(EGS_NAME_QOS, qos->name);
		slurm_list_iterator_destroy(i);
	}
	put_name(EGS_NAME_QOS, NULL);
}

/* Users with an AdminLevel, coordinators, and QOS.  They come from slurmdbd;
 * slurmctld has a copy and answers without the locks of the scheduler.  If
 * slurmctld does not answer, nothing is sent and the daemon uses its last
 * lists.  Without slurmdbd the lists are empty.
 */
static void put_assoc_lists(bool full)
{
	assoc_mgr_info_request_msg_t request = {
		.flags = ASSOC_MGR_INFO_FLAG_USERS | ASSOC_MGR_INFO_FLAG_QOS,
	};
	assoc_mgr_info_msg_t *msg = NULL;
	uint64_t now = egs_now_ms();

	if (!full && now - self.assoc_ms < ASSOC_EVERY_MS)
		return;
	self.assoc_ms = now;
	if (slurm_load_assoc_mgr_info(&request, &msg) != SLURM_SUCCESS || !msg)
		return;
	put_operator_list(msg);
	put_coordinator_list(msg);
	put_qos_list(msg);
	slurm_free_assoc_mgr_info_msg(msg);
}

/* ---- polls ---- */

/* The time measured is slurmctld's and the network's; nothing else here is
 * slow.  The daemon polls less often if it is long.
 */
static void poll_all(bool full)
{
	uint64_t begun = egs_now_ms();
	bool all = read_partitions() || full;
	int jobs = put_jobs(all);
	int nodes = jobs < 0 ? -1 : put_nodes(all);
	bool ok = jobs >= 0 && nodes >= 0;
	uint32_t ms = (uint32_t)(egs_now_ms() - begun);

	if (ok)
		put_assoc_lists(full);
	egs_frame_begin(&self.out, EGS_FRAME_POLL_DONE);
	egs_buf_put_u32(&self.out, ok);
	egs_buf_put_u32(&self.out, jobs == 0);
	egs_buf_put_u32(&self.out, ms);
	egs_buf_put_str(&self.out, ok ? NULL : last_slurm_error());
	egs_buf_put_str(&self.out, ok ? get_cluster_name() : NULL);
	egs_frame_end(&self.out);
}

/* The record of 'job_id'; slurmctld also sends the rest of a job array. */
static const slurm_job_info_t *find_record(const job_info_msg_t *msg,
					   uint32_t job_id)
{
	for (uint32_t i = 0; msg && i < msg->record_count; i++)
		if (msg->job_array[i].job_id == job_id)
			return &msg->job_array[i];
	return NULL;
}

static void read_job(uint32_t job_id)
{
	job_info_msg_t *msg = NULL;
	int rc = compat_load_job(&msg, job_id);
	const slurm_job_info_t *job = find_record(msg, job_id);
	bool failed = rc != SLURM_SUCCESS && errno != ESLURM_INVALID_JOB_ID;

	egs_frame_begin(&self.out, EGS_FRAME_READ_DONE);
	egs_buf_put_u32(&self.out, job_id);
	egs_buf_put_u32(&self.out, failed ? 2 : job != NULL);
	if (job)
		egs_slurm_put_job(&self.out, job);
	egs_frame_end(&self.out);
	if (msg)
		compat_free_jobs(msg);
}

/* ---- actions ---- */

/* Since 24.05 Slurm remembers over a requeue that it has preempted a job.  It
 * treats the next normal end of the job as an exit in the grace period (24.11
 * preempt.c:459, proc_req.c:2139).  job_submit/egs makes Slurm forget that.
 * slurmctld does not change its plugins while it runs.
 */
static bool can_forget_preempt(void)
{
	static bool known, egs;
	slurm_conf_t *conf = NULL;

	if (!compat_requeues_in_grace())
		return true;
	if (!known && slurm_load_ctl_conf(0, &conf) == SLURM_SUCCESS) {
		known = true;
		egs = conf->job_submit_plugins &&
		      strstr(conf->job_submit_plugins, "egs");
		compat_free_conf(conf);
	}
	return egs;
}

static bool is_named(const slurm_job_info_t *job, const char *name)
{
	char text[EGS_SLURM_JOB_ID_SIZE];

	egs_slurm_format_job_id(job, text);
	return strcmp(text, name) == 0;
}

static bool is_in_grace(const char *name)
{
	job_info_msg_t *msg = NULL;
	bool preempting = false;

	if (compat_load_job(&msg, (uint32_t)strtoul(name, NULL, 10)) !=
	    SLURM_SUCCESS)
		return false;
	for (uint32_t i = 0; i < msg->record_count; i++)
		if (is_named(&msg->job_array[i], name))
			preempting = msg->job_array[i].preempt_time != 0;
	compat_free_jobs(msg);
	return preempting;
}

/* With JOB_RUNNING slurmctld does not requeue a job that was cancelled and is
 * still completing.  Without job_submit/egs a job in its grace period gets
 * SIGTERM instead: Slurm requeues it when it exits, and only once.
 */
static int requeue_job(char *job, uint32_t flags, job_array_resp_msg_t **resp)
{
	if (can_forget_preempt() || !is_in_grace(job))
		return slurm_requeue2(job, JOB_RUNNING | flags, resp);
	return slurm_kill_job2(job, SIGTERM, KILL_FULL_JOB, NULL);
}

struct resume_env {
	char variable[EGS_RESUME_INFO_MAX];
	char *env[2];
};

/* Slurm ignores the environment of an update; job_submit/egs reads it. */
static void add_resume_info(const struct egs_worker_request *r,
			    struct resume_env *to, job_desc_msg_t *desc)
{
	if (!*r->resume_info)
		return;
	snprintf(to->variable, sizeof(to->variable), "%s", r->resume_info);
	to->env[0] = to->variable;
	to->env[1] = NULL;
	desc->environment = to->env;
	desc->env_size = 1;
}

static int begin_now(const struct egs_worker_request *r, char *job,
		     job_array_resp_msg_t **resp)
{
	struct resume_env env;
	job_desc_msg_t desc;

	slurm_init_job_desc_msg(&desc);
	add_resume_info(r, &env, &desc);
	desc.job_id_str = job;
	/* slurmd refuses a start in the second in which the job ended. */
	desc.begin_time = time(NULL) + 1;
	return slurm_update_job2(&desc, resp);
}

/* With KILL_JOB_BATCH the batch shell gets the signal, else the steps.  Slurm
 * itself sends SIGCONT first, too, so that stopped processes get the signal.
 */
static int send_signal(char *job, uint32_t action)
{
	uint16_t flags = action & EGS_DO_SIGNAL_BATCH ? KILL_JOB_BATCH : 0;

	slurm_kill_job2(job, SIGCONT, flags, NULL);
	return slurm_kill_job2(job, (uint16_t)(action >> 8 & 255), flags, NULL);
}

/* Any update makes slurmctld compute the priority, and job_submit/egs read the
 * row of the job.  Besides its resume info this update changes nothing.
 */
static int touch_job(const struct egs_worker_request *r, char *job,
		     job_array_resp_msg_t **resp)
{
	struct resume_env env;
	job_desc_msg_t desc;

	if (r->action & EGS_DO_TOUCH_EXIT && !compat_requeues_in_grace())
		return 0;
	slurm_init_job_desc_msg(&desc);
	add_resume_info(r, &env, &desc);
	desc.job_id_str = job;
	return slurm_update_job2(&desc, resp);
}

/* The first refusal in an answer, or NULL. */
static const char *find_refusal(const job_array_resp_msg_t *resp)
{
	for (uint32_t i = 0; resp && i < resp->job_array_count; i++)
		if (resp->error_code[i])
			return slurm_strerror((int)resp->error_code[i]);
	return NULL;
}

/* 0, -1, or the code of slurmctld's refusal; errno has the code of a failure.
 */
static int call_slurm(const struct egs_worker_request *r,
		      job_array_resp_msg_t **resp)
{
	char job[EGS_WORKER_JOB_MAX]; /* libslurm takes no constant */

	snprintf(job, sizeof(job), "%s", r->job);
	switch (r->action & EGS_DO_MASK) {
	case EGS_DO_REQUEUE:
		return requeue_job(job, 0, resp);
	case EGS_DO_REQUEUE_HOLD:
		return requeue_job(job, JOB_REQUEUE_HOLD, resp);
	case EGS_DO_BEGIN_NOW:
		return begin_now(r, job, resp);
	case EGS_DO_CANCEL:
		return slurm_kill_job2(job, SIGKILL, 0, NULL);
	case EGS_DO_CANCEL_PENDING:
		return egs_slurm_cancel_pending(job);
	case EGS_DO_HOLD:
	case EGS_DO_HOLD_ADMIN:
		return egs_slurm_hold_job(job, r->action == EGS_DO_HOLD_ADMIN,
					  resp);
	case EGS_DO_UNHOLD:
	case EGS_DO_UNHOLD_ADMIN:
		return egs_slurm_release_job(
			job, r->action == EGS_DO_UNHOLD_ADMIN, resp);
	case EGS_DO_TOUCH:
		return touch_job(r, job, resp);
	case EGS_DO_SIGNAL:
		return send_signal(job, r->action);
	default:
		errno = ESLURM_NOT_SUPPORTED;
		return -1;
	}
}

static void run_action(const struct egs_worker_request *r)
{
	job_array_resp_msg_t *resp = NULL;
	const char *error =
		call_slurm(r, &resp) ? last_slurm_error() : find_refusal(resp);

	egs_frame_begin(&self.out, EGS_FRAME_ACT_DONE);
	egs_buf_put_u64(&self.out, r->action_id);
	egs_buf_put_str(&self.out, error);
	egs_frame_end(&self.out);
	if (resp)
		slurm_free_job_array_resp(resp);
}

static void resize_job(const struct egs_resize_params *params)
{
	char text[EGS_RESIZE_TEXT_MAX];
	enum egs_resize_outcome outcome = egs_slurm_resize_job(params, text);

	egs_frame_begin(&self.out, EGS_FRAME_RESIZE_DONE);
	egs_buf_put_u32(&self.out, params->job_id);
	egs_buf_put_u32(&self.out, outcome);
	egs_buf_put_str(&self.out, text);
	egs_frame_end(&self.out);
}

static void drain_node(const struct egs_drain_params *params)
{
	char text[EGS_DRAIN_TEXT_MAX];
	enum egs_drain_outcome outcome = egs_slurm_drain_node(params, text);

	egs_frame_begin(&self.out, EGS_FRAME_DRAIN_DONE);
	egs_buf_put_u32(&self.out, outcome);
	egs_buf_put_str(&self.out, text);
	egs_frame_end(&self.out);
}

static void serve_request(const struct egs_worker_request *r)
{
	switch (r->kind) {
	case EGS_WORKER_POLL:
		poll_all(r->full_poll);
		break;
	case EGS_WORKER_READ_JOB:
		read_job(r->job_id);
		break;
	case EGS_WORKER_ACT:
		run_action(r);
		break;
	case EGS_WORKER_RESIZE:
		resize_job(&r->resize);
		break;
	case EGS_WORKER_DRAIN:
		drain_node(&r->drain);
		break;
	}
	flush_out();
}

int egs_worker_main(void)
{
	struct egs_worker_request request;

	/* libslurm would shorten the list of tasks of an array. */
	setenv("SLURM_BITSTR_LEN", "0", 1);
	slurm_init(NULL);
	while (recv(STDIN_FILENO, &request, sizeof(request), MSG_WAITALL) ==
	       sizeof(request))
		serve_request(&request);
	return 0;
}
