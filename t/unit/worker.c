/* worker.c - the daemon's side of its worker, with a scripted worker
 *
 * This program is also the worker: started with --worker it answers by the
 * number of the job, or of the action, in the request.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "policyd/slurm/worker_internal.h"
#include "t/lib/unit/tap.h"

enum { KNOWN = 1, UNKNOWN, FAILS, DIES, HANGS, INVALID, TALKS };

/* TALKS sends frames for longer than a worker may be silent. */
enum { SILENCE_MS = 4000, TALK_MS = 5000, FRAME_MS = 200 };

/* ---- the worker ---- */

static void send_out(struct egs_buf *out)
{
	if (send(0, out->bytes, out->used, MSG_NOSIGNAL) < 0)
		_exit(0);
	egs_buf_clear(out);
}

static void send_many_frames(const struct egs_job_fact *fact)
{
	struct egs_buf out = { .used = 0 };

	for (int ms = 0; ms < TALK_MS; ms += FRAME_MS) {
		egs_frame_begin(&out, EGS_FRAME_JOB);
		egs_fact_put_job(&out, fact);
		egs_frame_end(&out);
		send_out(&out);
		poll(NULL, 0, FRAME_MS);
	}
}

static void answer_read(uint32_t job_id)
{
	struct egs_job_fact fact = { .job_id = job_id, .user = "alice" };
	struct egs_buf out = { .used = 0 };

	if (job_id == DIES)
		_exit(1);
	if (job_id == HANGS)
		pause();
	if (job_id == TALKS)
		send_many_frames(&fact);
	if (job_id == INVALID)
		egs_buf_put_str(&out, "not a frame");
	egs_frame_begin(&out, EGS_FRAME_READ_DONE);
	egs_buf_put_u32(&out, job_id);
	egs_buf_put_u32(&out, job_id == KNOWN ? 1 : job_id == FAILS ? 2 : 0);
	if (job_id == KNOWN)
		egs_fact_put_job(&out, &fact);
	egs_frame_end(&out);
	send_out(&out);
}

static void answer_poll(void)
{
	struct egs_node_fact node = { .name = "n1" };
	struct egs_job_fact fact = { .user = "bob" };
	struct egs_buf out = { .used = 0 };

	for (fact.job_id = 1; fact.job_id <= 5000; fact.job_id++) {
		egs_frame_begin(&out, EGS_FRAME_JOB);
		egs_fact_put_job(&out, &fact);
		egs_frame_end(&out);
	}
	egs_frame_begin(&out, EGS_FRAME_NODE);
	egs_fact_put_node(&out, &node);
	egs_frame_end(&out);
	egs_frame_begin(&out, EGS_FRAME_OPERATOR);
	egs_buf_put_u32(&out, 17);
	egs_buf_put_str(&out, "carol");
	egs_frame_end(&out);
	egs_frame_begin(&out, EGS_FRAME_OPERATOR);
	egs_buf_put_u32(&out, 0);
	egs_buf_put_str(&out, NULL);
	egs_frame_end(&out);
	egs_frame_begin(&out, EGS_FRAME_NAME);
	egs_buf_put_u32(&out, EGS_NAME_PARTITION);
	egs_buf_put_str(&out, "gpu");
	egs_frame_end(&out);
	egs_frame_begin(&out, EGS_FRAME_POLL_DONE);
	egs_buf_put_u32(&out, 1);
	egs_buf_put_u32(&out, 0);
	egs_buf_put_u32(&out, 7);
	egs_buf_put_str(&out, NULL);
	egs_buf_put_str(&out, "deep");
	egs_frame_end(&out);
	send_out(&out);
}

static void answer_act(uint64_t id)
{
	struct egs_buf out = { .used = 0 };

	if (id == DIES)
		_exit(1);
	egs_frame_begin(&out, EGS_FRAME_ACT_DONE);
	egs_buf_put_u64(&out, id);
	egs_buf_put_str(&out, id == FAILS ? "Invalid job id" : NULL);
	egs_frame_end(&out);
	send_out(&out);
}

static void answer_resize(uint32_t job_id)
{
	struct egs_buf out = { .used = 0 };

	egs_frame_begin(&out, EGS_FRAME_RESIZE_DONE);
	egs_buf_put_u32(&out, job_id);
	egs_buf_put_u32(&out, EGS_RESIZE_DONE);
	egs_buf_put_str(&out, "");
	egs_frame_end(&out);
	send_out(&out);
}

static int scripted_worker(void)
{
	struct egs_worker_request r;

	while (recv(0, &r, sizeof(r), MSG_WAITALL) == sizeof(r)) {
		if (r.kind == EGS_WORKER_POLL)
			answer_poll();
		else if (r.kind == EGS_WORKER_READ_JOB)
			answer_read(r.job_id);
		else if (r.kind == EGS_WORKER_RESIZE)
			answer_resize(r.resize.job_id);
		else
			answer_act(r.action_id);
	}
	return 0;
}

/* ---- the daemon ---- */

static struct {
	struct egs_loop *loop;
	int jobs, nodes, polls, failed_polls, full_polls;
	int reads, unknown, warnings;
	uint64_t acted;
	uint32_t serial; /* of the last answer to a resize */
	char why[128], warning[128], user[16], cluster[16], operators[64];
	char partition[16];
} s;

static void on_job(void *arg, const struct egs_job_fact *fact)
{
	(void)arg;
	s.jobs += fact->job_id == (uint32_t)s.jobs + 1;
}

static void on_node(void *arg, const struct egs_node_fact *fact)
{
	(void)arg;
	s.nodes += strcmp(fact->name, "n1") == 0;
}

static void on_operator(void *arg, uint32_t uid, const char *name)
{
	size_t used = strlen(s.operators);

	(void)arg;
	snprintf(s.operators + used, sizeof(s.operators) - used, "%s %u;",
		 name ? name : "end", uid);
}

static void on_name(void *arg, enum egs_name_kind kind, const char *name)
{
	(void)arg;
	if (kind == EGS_NAME_PARTITION)
		snprintf(s.partition, sizeof(s.partition), "%s", name);
}

static void on_poll_done(void *arg, const struct egs_poll_result *result)
{
	(void)arg;
	s.full_polls += result->full;
	s.polls += result->ok && result->slurmctld_ms == 7;
	if (result->cluster_name)
		snprintf(s.cluster, sizeof(s.cluster), "%s",
			 result->cluster_name);
	s.failed_polls += !result->ok;
	egs_loop_stop(s.loop);
}

static void on_read(void *arg, uint32_t job_id, const struct egs_job_fact *fact)
{
	(void)arg;
	s.reads += fact && fact->job_id == job_id;
	s.unknown += !fact;
	if (job_id == UNKNOWN)
		egs_loop_stop(s.loop);
	if (fact)
		snprintf(s.user, sizeof(s.user), "%s", fact->user);
}

static void on_act_done(void *arg, uint64_t id, const char *why)
{
	(void)arg;
	s.acted = id;
	snprintf(s.why, sizeof(s.why), "%s", why ? why : "");
	egs_loop_stop(s.loop);
}

static void on_resize_step(void *arg, const struct egs_resize_params *params,
			   enum egs_resize_outcome outcome, const char *text)
{
	(void)arg;
	(void)text;
	s.serial = outcome == EGS_RESIZE_DONE ? params->serial : 0;
	egs_loop_stop(s.loop);
}

static void on_warn(void *arg, const char *message)
{
	(void)arg;
	s.warnings++;
	snprintf(s.warning, sizeof(s.warning), "%s", message);
}

static const struct egs_worker_ops ops = {
	.job = on_job,
	.node = on_node,
	.operator= on_operator,
	.name = on_name,
	.poll_done = on_poll_done,
	.job_read = on_read,
	.act_done = on_act_done,
	.resize_step = on_resize_step,
	.warn = on_warn,
};

static void act(struct egs_worker *w, uint64_t id)
{
	egs_worker_act(w, id, EGS_DO_REQUEUE, "12", NULL);
	egs_loop_run(s.loop, NULL);
}

static void test_answers(struct egs_worker *w)
{
	egs_worker_poll(w, true);
	egs_loop_run(s.loop, NULL);
	is_int(s.jobs, 5000, "a poll delivers all jobs, in order");
	is_int(s.nodes, 1, "a poll delivers the node");
	is_str(s.operators, "carol 17;end 0;",
	       "a poll delivers Slurm's operators and the end of their list");
	is_int(s.polls, 1,
	       "the end of a poll is reported with slurmctld's time");
	is_str(s.partition, "gpu", "a poll delivers the partition");
	is_int(s.full_polls, 1, "the end of a poll tells that it was full");
	is_str(s.cluster, "deep",
	       "the end of a poll has the name of the cluster");

	egs_worker_read_job(w, KNOWN);
	egs_worker_read_job(w, FAILS);
	egs_worker_read_job(w, UNKNOWN);
	act(w, KNOWN);
	is_int(s.unknown, 0, "an action is done before the reads that wait");
	egs_loop_run(s.loop, NULL);
	is_int(s.reads, 1, "a job that Slurm knows is delivered");
	is_str(s.user, "alice", "a job that was read has its fields");
	is_int(s.unknown, 1,
	       "a job that Slurm does not know is delivered as NULL");
	is_str(s.why, "", "an action that succeeds has no error");
	act(w, FAILS);
	is_str(s.why, "Invalid job id",
	       "an action that fails has slurmctld's error");
}

static void test_resize(struct egs_worker *w)
{
	const struct egs_resize_params first = { .job_id = KNOWN, .serial = 3 };
	const struct egs_resize_params second = { .job_id = KNOWN,
						  .serial = 4,
						  .way = EGS_RESIZE_CANCEL };

	egs_worker_resize(w, &first);
	egs_worker_resize(w, &second);
	ok(egs_worker_has_resize(w, KNOWN) && !egs_worker_has_resize(w, FAILS),
	   "the worker has a resize of a job until it answers");
	egs_loop_run(s.loop, NULL);
	ok(s.serial == 3 && egs_worker_has_resize(w, KNOWN),
	   "the worker has another resize of the job after the first answer");
	egs_loop_run(s.loop, NULL);
	ok(s.serial == 4 && !egs_worker_has_resize(w, KNOWN),
	   "the answer to a resize has its serial number");
}

static void test_long_answer(struct egs_worker *w)
{
	egs_worker_set_timeout(w, SILENCE_MS);
	egs_worker_read_job(w, TALKS);
	act(w, KNOWN);
	is_int(s.warnings, 0,
	       "a worker that sends frames for 5 s is not killed: %s",
	       s.warning);
	egs_worker_set_timeout(w, 30000);
}

static void test_deaths(struct egs_worker *w)
{
	is_int(s.warnings, 0, "no warning before the first death");
	act(w, DIES);
	is_int((intmax_t)s.acted, DIES,
	       "an action is answered if the worker dies");
	ok(*s.why, "an action of a dead worker has an error: %s", s.why);
	is_int(s.warnings, 1, "the death of a worker is one warning: %s",
	       s.warning);
	act(w, KNOWN);
	is_str(s.why, "", "a new worker serves the next action");

	egs_worker_read_job(w, DIES);
	act(w, KNOWN);
	is_int(s.warnings, 2, "requests behind a fatal request are served");
	egs_worker_set_timeout(w, 200);
	egs_worker_read_job(w, HANGS);
	act(w, KNOWN);
	egs_worker_set_timeout(w, 30000);
	ok(strstr(s.warning, "no answer"),
	   "a worker that hangs is replaced: %s", s.warning);
	egs_worker_read_job(w, INVALID);
	act(w, KNOWN);
	ok(strstr(s.warning, "invalid answer"),
	   "a worker that sends invalid frames is replaced: %s", s.warning);
}

/* No file descriptor is left: root cannot make fork() fail. */
static void test_no_worker(struct egs_worker *w)
{
	struct rlimit was, none;

	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = 3;
	s.failed_polls = 0;
	egs_worker_read_job(w, DIES);
	egs_worker_poll(w, true);
	setrlimit(RLIMIT_NOFILE, &none);
	egs_loop_run(s.loop, NULL);
	setrlimit(RLIMIT_NOFILE, &was);
	is_int(s.failed_polls, 1, "a poll fails if no worker can be started");
	act(w, KNOWN);
	is_str(s.why, "", "actions succeed as soon as a worker can be started");
}

int main(int argc, char **argv)
{
	struct egs_worker *w;

	if (argc > 1)
		return scripted_worker();
	plan_none();
	s.loop = egs_loop_new(NULL);
	w = egs_worker_new(s.loop, argv[0], &ops, NULL, NULL);
	test_answers(w);
	test_resize(w);
	test_long_answer(w);
	test_deaths(w);
	test_no_worker(w);
	egs_worker_poll(w, true);
	egs_worker_free(w);
	egs_loop_free(s.loop);
	return done_testing();
}
