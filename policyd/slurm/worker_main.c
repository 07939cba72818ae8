/* worker_main.c - the worker's side: libslurm, one request after another
 *
 * Here anything may block.  When the daemon goes, file 0 is closed and the
 * process ends; so it does when libslurm calls exit().
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/hint/resume_info.h"
#include "policyd/slurm/compat.h"
#include "policyd/slurm/frame.h"
#include "policyd/slurm/read_jobs.h"
#include "policyd/slurm/read_operators.h"
#include "policyd/slurm/requeue.h"
#include "policyd/slurm/resize_job.h"
#include "policyd/slurm/worker.h"

enum {
	/* Answers are sent when so many bytes have gathered. */
	SEND_SIZE = 64 * 1024,
	/* Who is an operator is asked this often. */
	OPERATORS_EVERY_MS = 60 * 1000,
};

static struct {
	struct egs_buf out;
	time_t jobs_at, nodes_at; /* of the last look that told something */
	uint32_t operators_ms;	  /* when they were last asked for */
	char *cluster;
} self;

static void flush_out(void)
{
	size_t done = 0;

	/* Without all of its jobs a look would tell that they have ended. */
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

static uint32_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint32_t)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/* 1 if there was something new, 0 if not, -1 on failure. */
static int put_jobs(bool anew)
{
	job_info_msg_t *msg = NULL;
	uint32_t i;

	if (slurm_load_jobs(anew ? 0 : self.jobs_at, &msg,
			    SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : -1;
	self.jobs_at = msg->last_update;
	for (i = 0; i < msg->record_count; i++) {
		egs_frame_begin(&self.out, EGS_FRAME_JOB);
		egs_slurm_put_job(&self.out, &msg->job_array[i]);
		egs_frame_end(&self.out);
		if (self.out.used >= SEND_SIZE)
			flush_out();
	}
	compat_free_jobs(msg);
	return 1;
}

/* Nodes do not say which partitions they are in; partitions say which nodes
 * are in them.
 */
static void fill_partitions(node_info_msg_t *nodes)
{
	partition_info_msg_t *parts = NULL;

	if (slurm_load_partitions(0, &parts, SHOW_ALL) != SLURM_SUCCESS)
		return;
	slurm_populate_node_partitions(nodes, parts);
	slurm_free_partition_info_msg(parts);
}

static int put_nodes(bool anew)
{
	node_info_msg_t *msg = NULL;
	uint32_t i;

	if (slurm_load_node(anew ? 0 : self.nodes_at, &msg,
			    SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : -1;
	self.nodes_at = msg->last_update;
	fill_partitions(msg);
	for (i = 0; i < msg->record_count; i++) {
		if (!msg->node_array[i].name)
			continue; /* a hole: the node was deleted */
		egs_frame_begin(&self.out, EGS_FRAME_NODE);
		egs_slurm_put_node(&self.out, &msg->node_array[i]);
		egs_frame_end(&self.out);
		if (self.out.used >= SEND_SIZE)
			flush_out();
	}
	slurm_free_node_info_msg(msg);
	return 1;
}

/* The name does not change while slurmctld lives on with its jobs. */
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

/* Without an answer those told last stay. */
static void put_operators(bool anew)
{
	uint32_t now = now_ms();

	if (!anew && now - self.operators_ms < OPERATORS_EVERY_MS)
		return;
	self.operators_ms = now;
	egs_slurm_put_operators(&self.out);
}

/* The time counted is that of slurmctld and the wire, since nothing else is
 * slow here; it sets how often the daemon may ask.
 */
static void poll_all(bool anew)
{
	uint32_t begun = now_ms();
	int jobs = put_jobs(anew);
	int nodes = jobs < 0 ? -1 : put_nodes(anew);
	uint32_t ms = now_ms() - begun;

	if (nodes >= 0)
		put_operators(anew);
	egs_frame_begin(&self.out, EGS_FRAME_POLL_DONE);
	egs_buf_put_u32(&self.out, jobs >= 0 && nodes >= 0);
	egs_buf_put_u32(&self.out, jobs == 0);
	egs_buf_put_u32(&self.out, ms);
	egs_buf_put_str(&self.out,
			jobs < 0 || nodes < 0 ? last_slurm_error() : NULL);
	egs_buf_put_str(&self.out,
			jobs < 0 || nodes < 0 ? NULL : get_cluster_name());
	egs_frame_end(&self.out);
}

/* The record of 'job_id' itself: an array's other elements come along. */
static const slurm_job_info_t *find_record(const job_info_msg_t *msg,
					   uint32_t job_id)
{
	uint32_t i;

	for (i = 0; msg && i < msg->record_count; i++)
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

/* Slurm ignores the environment of an update; job_submit/egs does not. */
static int begin_now(char *job, const char *again, job_array_resp_msg_t **resp)
{
	char variable[EGS_RESUME_INFO_MAX];
	char *env[] = { variable, NULL };
	job_desc_msg_t desc;

	slurm_init_job_desc_msg(&desc);
	if (again) {
		snprintf(variable, sizeof(variable), "%s", again);
		desc.environment = env;
		desc.env_size = 1;
	}
	desc.job_id_str = job;
	desc.begin_time = time(NULL) + 1; /* a start in the second of the
					   * end would be refused by slurmd
					   */
	return slurm_update_job2(&desc, resp);
}

/* Without the flag the steps get it, and not the batch shell. */
static int send_signal(char *job, uint32_t what)
{
	return slurm_kill_job2(job, (uint16_t)(what >> 8 & 255),
			       what & EGS_DO_SIGNAL_BATCH ? KILL_JOB_BATCH : 0,
			       NULL);
}

/* Any update makes slurmctld compute the priority, and job_submit/egs read the
 * row of the job.  This one changes nothing else.
 */
static int touch_job(char *job, uint32_t what, job_array_resp_msg_t **resp)
{
	job_desc_msg_t desc;

	if (what & EGS_DO_TOUCH_EXIT && !compat_requeues_in_grace())
		return 0;
	slurm_init_job_desc_msg(&desc);
	desc.job_id_str = job;
	return slurm_update_job2(&desc, resp);
}

/* The first element of an answer that failed, or NULL. */
static const char *find_refusal(const job_array_resp_msg_t *resp)
{
	uint32_t i;

	for (i = 0; resp && i < resp->job_array_count; i++)
		if (resp->error_code[i])
			return slurm_strerror((int)resp->error_code[i]);
	return NULL;
}

/* 0, -1, or the code of slurmctld's refusal; errno has the code in both. */
static int call_slurm(char *job, uint32_t what, const char *again,
		      job_array_resp_msg_t **resp)
{
	switch (what & EGS_DO_MASK) {
	case EGS_DO_REQUEUE:
		return egs_slurm_requeue(job, resp);
	case EGS_DO_BEGIN_NOW:
		return begin_now(job, again, resp);
	case EGS_DO_CANCEL:
		return slurm_kill_job2(job, SIGKILL, 0, NULL);
	case EGS_DO_TOUCH:
		return touch_job(job, what, resp);
	case EGS_DO_SIGNAL:
		return send_signal(job, what);
	default:
		errno = ESLURM_NOT_SUPPORTED;
		return -1;
	}
}

static void run_action(uint64_t id, uint32_t what, const char *job,
		       const char *again)
{
	job_array_resp_msg_t *resp = NULL;
	const char *why;
	char text[64];

	snprintf(text, sizeof(text), "%s", job ? job : "");
	why = call_slurm(text, what, again, &resp) ? last_slurm_error()
						   : find_refusal(resp);
	egs_frame_begin(&self.out, EGS_FRAME_ACT_DONE);
	egs_buf_put_u64(&self.out, id);
	egs_buf_put_str(&self.out, why);
	egs_frame_end(&self.out);
	if (resp)
		slurm_free_job_array_resp(resp);
}

static void resize_job(struct egs_buf_reader *in)
{
	struct egs_resize_params ask = {
		.job_id = egs_buf_get_u32(in),
		.uid = egs_buf_get_u32(in),
		.gpus = egs_buf_get_u32(in),
		.keep_cores = egs_buf_get_u32(in),
		.whole_nodes = egs_buf_get_u32(in),
		.cancel = egs_buf_get_u32(in),
		.on_restart = egs_buf_get_u32(in),
		.gpus_scanned = egs_buf_get_u32(in),
	};
	const char *open = egs_buf_get_str(in);
	char text[EGS_RESIZE_TEXT_MAX];
	enum egs_resize_outcome end;

	snprintf(ask.open_gpus, sizeof(ask.open_gpus), "%s", open ? open : "");
	end = egs_slurm_resize_job(&ask, text);
	egs_frame_begin(&self.out, EGS_FRAME_RESIZE_DONE);
	egs_buf_put_u32(&self.out, ask.job_id);
	egs_buf_put_u32(&self.out, end);
	egs_buf_put_str(&self.out, text);
	egs_frame_end(&self.out);
}

static int serve_request(enum egs_frame_kind kind, struct egs_buf_reader *in)
{
	const char *job;
	uint64_t id;
	uint32_t what;

	switch (kind) {
	case EGS_FRAME_POLL:
		poll_all(egs_buf_get_u32(in));
		break;
	case EGS_FRAME_READ_JOB:
		read_job(egs_buf_get_u32(in));
		break;
	case EGS_FRAME_ACT:
		id = egs_buf_get_u64(in);
		what = egs_buf_get_u32(in);
		job = egs_buf_get_str(in);
		run_action(id, what, job, egs_buf_get_str(in));
		break;
	case EGS_FRAME_RESIZE:
		resize_job(in);
		break;
	default:
		return -1;
	}
	flush_out();
	return in->failed ? -1 : 0;
}

int egs_worker_main(void)
{
	struct egs_buf got = { .used = 0 };
	enum egs_frame_kind kind;
	struct egs_buf_reader in;
	ssize_t n;
	long len;

	slurm_init(NULL);
	while (egs_buf_reserve(&got, 4096) &&
	       (n = recv(STDIN_FILENO, got.bytes + got.used, 4096, 0)) > 0) {
		got.used += (size_t)n;
		while ((len = egs_frame_parse(got.bytes, got.used, &kind,
					      &in)) > 0) {
			if (serve_request(kind, &in) < 0)
				return 1;
			egs_buf_consume(&got, (size_t)len);
		}
		if (len < 0)
			return 1;
	}
	return 0;
}
