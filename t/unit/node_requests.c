/* node_requests.c - 2,400 nodes wait for word of their jobs, and those
 * concerned get it
 *
 * A daemon without Slurm, in a child: jobs are told to it, and nodes are
 * clients on its socket.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/ipc/packet.h"
#include "policyd/requests/node.h"
#include "policyd/server/rate_limit.h"
#include "t/lib/unit/server_fixture.h"
#include "t/lib/unit/tap.h"

#define NODES 2400
#define WIDE  5000 /* a job on the first ten nodes */

static int nnodes = NODES;
static struct pollfd client[NODES];
static char seq[NODES][32];

/* ---- the daemon ---- */

static struct egs_requests requests;
static struct egs_daemon d = { .requests = &requests };

static void tell_job(uint32_t id, int first, int n)
{
	struct egs_buf parts = { .used = 0 };
	struct egs_job_fact fact = { .job_id = id,
				     .task = EGS_NO_TASK,
				     .uid = 2001,
				     .state = EGS_JOB_RUNNING,
				     .nnodes = (uint32_t)n,
				     .user = "alice" };

	for (int i = first; i < first + n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "node%04d", i);
		egs_fact_put_alloc(&parts,
				   &(struct egs_fact_alloc){ name, 1, 1, 1 });
	}
	fact.allocs = (struct egs_buf_reader){ parts.bytes, parts.used, false };
	if (egs_cluster_update_job(d.cluster, &fact, 1000) < 0)
		exit(1);
	egs_buf_clear(&parts);
}

/* A job on each two nodes, and one on ten. */
static void tell_jobs(void)
{
	for (int i = 0; i < nnodes; i += 2)
		tell_job(100 + (uint32_t)i, i, 2);
	tell_job(WIDE, 0, 10);
}

static int verb_end(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	(void)arg;
	(void)peer;
	(void)request;
	(void)answer;
	(void)err;
	egs_cluster_job_gone(d.cluster, WIDE, 1001);
	egs_nodes_mark_changed(&d);
	egs_nodes_wake(&d);
	return 0;
}

static void serve_nodes(const char *path, int ready)
{
	static const struct egs_verb verbs[] = {
		{ "node-wait", EGS_ROLE_ANYONE, egs_verb_node_wait },
		{ "end", EGS_ROLE_ANYONE, verb_end },
	};
	struct egs_server_conf conf = { .socket_path = path,
					.audience = "",
					.timeout_ms = PATIENCE,
					.verbs = verbs,
					.nverbs = ARRAY_SIZE(verbs),
					.arg = &d };
	struct egs_policy_conf *rules = egs_policy_conf_new();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	d.loop = egs_loop_new(NULL);
	d.policy = egs_policy_new(rules);
	d.cluster = egs_cluster_new(d.policy, rules, NULL, NULL);
	egs_node_part.init(&d, NULL);
	d.polled_at = egs_daemon_now();
	d.synced = true;
	tell_jobs();
	requests.server = egs_server_new(d.loop, &conf, NULL);
	egs_loop_add_signal(d.loop, SIGTERM, stop_loop, d.loop, NULL);
	if (requests.server && write(ready, "", 1) == 1)
		egs_loop_run(d.loop, NULL);
	egs_server_free(requests.server);
	egs_node_part.stop(&d);
	egs_cluster_free(d.cluster);
	egs_policy_free(d.policy);
	egs_policy_conf_free(rules);
	egs_loop_free(d.loop);
	exit(requests.server ? 0 : 1);
}

/* ---- a job that is not there ---- */

/* A message it has sent 'age_s' ago, 10 s after our last look. */
static int relay(int64_t age_s, struct egs_msg *answer)
{
	const struct egs_peer root = { .uid = 0, .local = true };
	struct egs_msg *request = egs_msg_new();
	struct egs_err err;
	int rc;

	egs_msg_set_str(request, "node", "node0000");
	egs_msg_set_int(request, "job", 7);
	egs_msg_set_int(request, "uid", 2001);
	egs_msg_set_int(request, "age", age_s);
	egs_msg_set_str(request, "request", "{\"verb\":\"saved\"}");
	d.polled_at = egs_daemon_now() - 10;
	rc = egs_verb_relay(&d, &root, request, answer, &err);
	egs_msg_free(request);
	return rc;
}

/* That a worker has died may be seen at once, or never. */
static void ignore(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

static void test_relay(void)
{
	static const struct egs_worker_ops ops = { .warn = ignore };
	struct egs_policy_conf *rules = egs_policy_conf_new();
	struct egs_msg *answer = egs_msg_new();
	const char *said;

	d.loop = egs_loop_new(NULL);
	d.worker = egs_worker_new(d.loop, "/bin/true", &ops, NULL, NULL);
	d.policy = egs_policy_new(rules);
	d.cluster = egs_cluster_new(d.policy, rules, NULL, NULL);
	d.synced = true;
	requests.rate_limit = egs_rate_limit_new();
	is_int(relay(20, answer), EGS_REPLY_RETRY,
	       "a message from shortly before the last poll may be from a new "
	       "job");
	is_int(relay(40, answer), 0,
	       "a message from long before the last poll is from an ended job");
	said = egs_msg_get_str(answer, "answer");
	ok(said && strstr(said, "the job is not running on this node"),
	   "the node gets a refusal for the message of an ended job");
	egs_msg_free(answer);
	egs_cluster_free(d.cluster);
	egs_policy_free(d.policy);
	egs_worker_free(d.worker);
	egs_loop_free(d.loop);
	egs_policy_conf_free(rules);
	egs_rate_limit_free(requests.rate_limit);
	requests.rate_limit = NULL;
	d = (struct egs_daemon){ .requests = &requests };
}

/* ---- the nodes ---- */

static void come(int i, const char *path)
{
	const struct timeval patience = { .tv_sec = PATIENCE / 1000 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	while (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 &&
	       errno == EAGAIN)
		poll(NULL, 0, 10);
	client[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static void ask_wait(int i, const char *path)
{
	char bytes[200];
	int n = snprintf(bytes + EGS_PACKET_HEAD_SIZE,
			 sizeof(bytes) - EGS_PACKET_HEAD_SIZE,
			 "{\"verb\":\"node-wait\",\"node\":\"node%04d\","
			 "\"seq\":\"%s\"}",
			 i, seq[i]);

	come(i, path);
	egs_packet_put_head(bytes, (size_t)n);
	if (send(client[i].fd, bytes, EGS_PACKET_HEAD_SIZE + (size_t)n,
		 MSG_NOSIGNAL) < 0)
		note("node%04d: %s", i, strerror(errno));
}

/* How many jobs its answer tells of, with its number kept; -1: no answer. */
static int hear(int i)
{
	static char text[1 << 16];
	size_t columns, rows, len;
	char head[EGS_PACKET_HEAD_SIZE];
	struct egs_msg *answer;
	int jobs = -1;

	if (recv(client[i].fd, head, sizeof(head), MSG_WAITALL) != sizeof(head))
		return -1;
	len = egs_packet_get_head(head);
	if (len > sizeof(text) ||
	    recv(client[i].fd, text, len, MSG_WAITALL) != (ssize_t)len)
		return -1;
	answer = egs_msg_parse(text, len, sizeof(text), NULL);
	if (answer && egs_msg_check_table(answer, &columns, &rows, NULL) == 0 &&
	    columns == EGS_NODE_COL_COUNT) {
		jobs = (int)rows;
		snprintf(seq[i], sizeof(seq[i]), "%s",
			 egs_msg_get_str(answer, "seq"));
	}
	egs_msg_free(answer);
	return jobs;
}

static void test_crowd(const struct egs_endpoint *where)
{
	int jobs = 0, once = 0, right = 0;
	struct egs_msg *answer = NULL;
	struct egs_err err;

	for (int i = 0; i < nnodes; i++)
		ask_wait(i, where->address);
	for (int i = 0; i < nnodes; i++) {
		int n = hear(i);

		once += n >= 1;
		jobs += n;
		close(client[i].fd);
	}
	is_int(once, nnodes,
	       "a node without a checksum gets an answer at once");
	is_int(jobs, nnodes + 10,
	       "the answers have each job on each of its nodes");
	for (int i = 0; i < nnodes; i++)
		ask_wait(i, where->address);
	is_int(ask_for(where, "end", PATIENCE, &answer, &err), 0,
	       "a job ends %s", err.msg);
	egs_msg_free(answer);
	for (int i = 0; i < 10; i++)
		right += hear(i) == 1;
	is_int(right, 10, "the nodes of an ended job get their remaining jobs");
	is_int(poll(client + 10, (nfds_t)nnodes - 10, 0), 0,
	       "other nodes get no answer when a job ends");
}

static void test_refusals(const struct egs_endpoint *where)
{
	struct egs_msg *answer = NULL;
	struct egs_err err;

	is_int(ask_for(where, "node-wait", PATIENCE, &answer, &err),
	       EGS_CLIENT_REFUSED, "a request without a node is refused");
	is_str(err.msg,
	       geteuid() == 0 ? "node='' is not a node of this cluster"
			      : "only root may ask for a node",
	       "the refusal of a request without a node has a reason");
}

/* A client and a file of the daemon for each node. */
static void set_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < NODES + 100)
		nnodes = 500;
}

int main(void)
{
	char dir[] = "/tmp/egs-nodes.XXXXXX", path[64], byte;
	struct egs_endpoint where = { .address = path };
	int ready[2], status = -1;
	pid_t pid;

	plan_none();
	set_limit();
	test_relay();
	if (!mkdtemp(dir) || pipe(ready) < 0)
		return 1;
	snprintf(path, sizeof(path), "%s/sock", dir);
	pid = fork();
	if (pid == 0)
		serve_nodes(path, ready[1]);
	close(ready[1]);
	ok(read(ready[0], &byte, 1) == 1,
	   "the daemon starts and knows its jobs");
	test_refusals(&where);
	if (geteuid() == 0)
		test_crowd(&where);
	else
		note("only root is a node");
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	is_int(status, 0, "the daemon ends with status 0");
	rmdir(dir);
	return done_testing();
}
