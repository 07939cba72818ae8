/* worker.c - the daemon's side of its worker, with a scripted one
 *
 * This program is also the worker: started with --worker it answers as the
 * test wants it by the number of the job it is asked about.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "policyd/slurm/frame.h"
#include "policyd/slurm/worker.h"
#include "t/lib/unit/tap.h"

enum { KNOWN = 1, UNKNOWN, FAILS, DIES, HANGS, BABBLES, TALKS };

/* A worker that talks does so for longer than it may be silent. */
enum { SILENCE_MS = 4000, TALK_MS = 5000, WORD_MS = 200 };

/* ---- the worker ---- */

static void send_out(struct egs_buf *out)
{
	if (send(0, out->bytes, out->used, MSG_NOSIGNAL) < 0)
		_exit(0);
	egs_buf_clear(out);
}

static void talk(const struct egs_job_fact *fact)
{
	struct egs_buf out = { .used = 0 };

	for (int ms = 0; ms < TALK_MS; ms += WORD_MS) {
		egs_frame_begin(&out, EGS_FRAME_JOB);
		egs_fact_put_job(&out, fact);
		egs_frame_end(&out);
		send_out(&out);
		poll(NULL, 0, WORD_MS);
	}
}

static void answer_look(uint32_t job_id)
{
	struct egs_job_fact fact = { .job_id = job_id, .user = "alice" };
	struct egs_buf out = { .used = 0 };

	if (job_id == DIES)
		_exit(1);
	if (job_id == HANGS)
		pause();
	if (job_id == TALKS)
		talk(&fact);
	if (job_id == BABBLES)
		egs_buf_put_str(&out, "what is no frame at all");
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
	egs_frame_begin(&out, EGS_FRAME_POLL_DONE);
	egs_buf_put_u32(&out, 1);
	egs_buf_put_u32(&out, 0);
	egs_buf_put_u32(&out, 7);
	egs_buf_put_str(&out, NULL);
	egs_buf_put_str(&out, "deep");
	egs_frame_end(&out);
	send_out(&out);
}

static void answer_act(struct egs_buf_reader *in)
{
	struct egs_buf out = { .used = 0 };
	uint64_t id = egs_buf_get_u64(in);

	if (id == DIES)
		_exit(1);
	egs_frame_begin(&out, EGS_FRAME_ACT_DONE);
	egs_buf_put_u64(&out, id);
	egs_buf_put_str(&out, id == FAILS ? "Invalid job id" : NULL);
	egs_frame_end(&out);
	send_out(&out);
}

static int scripted_worker(void)
{
	char bytes[4096];
	enum egs_frame_kind kind;
	struct egs_buf_reader in;
	ssize_t n;

	/* One request is under way at a time, so it comes in one piece. */
	while ((n = recv(0, bytes, sizeof(bytes), 0)) > 0 &&
	       egs_frame_parse(bytes, (size_t)n, &kind, &in) == n) {
		if (kind == EGS_FRAME_POLL)
			answer_poll();
		else if (kind == EGS_FRAME_READ_JOB)
			answer_look(egs_buf_get_u32(&in));
		else
			answer_act(&in);
	}
	return 0;
}

/* ---- the daemon ---- */

static struct {
	struct egs_loop *loop;
	int jobs, nodes, polls, failed_polls, looks, unknown, warnings;
	uint64_t acted;
	char why[128], warning[128], user[16], cluster[16], operators[64];
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

static void on_polled(void *arg, const struct egs_poll_result *end)
{
	(void)arg;
	s.polls += end->ok && end->slurmctld_ms == 7;
	if (end->cluster_name)
		snprintf(s.cluster, sizeof(s.cluster), "%s", end->cluster_name);
	s.failed_polls += !end->ok;
	egs_loop_stop(s.loop);
}

static void on_looked(void *arg, uint32_t job_id,
		      const struct egs_job_fact *fact)
{
	(void)arg;
	s.looks += fact && fact->job_id == job_id;
	s.unknown += !fact;
	if (fact)
		snprintf(s.user, sizeof(s.user), "%s", fact->user);
}

static void on_acted(void *arg, uint64_t id, const char *why)
{
	(void)arg;
	s.acted = id;
	snprintf(s.why, sizeof(s.why), "%s", why ? why : "");
	egs_loop_stop(s.loop);
}

static void on_warn(void *arg, const char *what)
{
	(void)arg;
	s.warnings++;
	snprintf(s.warning, sizeof(s.warning), "%s", what);
}

static const struct egs_worker_ops ops = {
	.job = on_job,
	.node = on_node,
	.operator= on_operator,
	.poll_done = on_polled,
	.job_read = on_looked,
	.act_done = on_acted,
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
	is_int(s.jobs, 5000, "all jobs are handed over, in order");
	is_int(s.nodes, 1, "and the node");
	is_str(s.operators, "carol 17;end 0;", "and Slurm's operators");
	is_int(s.polls, 1, "then the end");
	is_str(s.cluster, "deep", "with the name of the cluster");

	egs_worker_read_job(w, KNOWN);
	egs_worker_read_job(w, UNKNOWN);
	egs_worker_read_job(w, FAILS);
	act(w, KNOWN);
	is_int(s.looks, 1, "a job that is there is seen");
	is_str(s.user, "alice", "with what Slurm shows of it");
	is_int(s.unknown, 1, "one that is not is known to be gone");
	is_str(s.why, "", "an action is done");
	act(w, FAILS);
	is_str(s.why, "Invalid job id", "or says why not");
}

static void test_patience(struct egs_worker *w)
{
	egs_worker_set_timeout(w, SILENCE_MS);
	egs_worker_read_job(w, TALKS);
	act(w, KNOWN);
	is_int(s.warnings, 0, "a long answer is no silence: %s", s.warning);
	egs_worker_set_timeout(w, 30000);
}

static void test_deaths(struct egs_worker *w)
{
	is_int(s.warnings, 0, "so far all is well");
	act(w, DIES);
	is_int((intmax_t)s.acted, DIES,
	       "an action is answered though the worker died");
	ok(*s.why, "as failed: %s", s.why);
	is_int(s.warnings, 1, "the death is said: %s", s.warning);
	act(w, KNOWN);
	is_str(s.why, "", "another worker goes on");

	egs_worker_read_job(w, DIES);
	act(w, KNOWN);
	is_int(s.warnings, 2, "what waited behind a fatal request is served");
	egs_worker_set_timeout(w, 200);
	egs_worker_read_job(w, HANGS);
	act(w, KNOWN);
	egs_worker_set_timeout(w, 30000);
	ok(strstr(s.warning, "no answer"), "a worker that hangs is replaced");
	egs_worker_read_job(w, BABBLES);
	act(w, KNOWN);
	ok(strstr(s.warning, "what is no answer"),
	   "and so is one that babbles: %s", s.warning);
}

/* As when fork fails, which root cannot provoke: no descriptor is left. */
static void test_none(struct egs_worker *w)
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
	is_int(s.failed_polls, 1,
	       "where no worker can be started a look fails and does not wait");
	act(w, KNOWN);
	is_str(s.why, "", "and all goes on when one can be");
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
	test_patience(w);
	test_deaths(w);
	test_none(w);
	egs_worker_poll(w, true);
	egs_worker_free(w);
	egs_loop_free(s.loop);
	return done_testing();
}
