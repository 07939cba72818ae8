/* worker_main.c - the worker process, with a slurmctld that refuses
 *
 * The functions of libslurm that act on a job are defined here and so replace
 * those of libslurm.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "policyd/slurm/compat.h"
#include "policyd/slurm/read_jobs.h"
#include "policyd/slurm/worker_internal.h"
#include "t/lib/unit/tap.h"

#define UNREACHABLE "13" /* slurmctld does not answer about this job */
#define REFUSED	    "12" /* slurmctld refuses every action on this job */

static int answer_for(const char *job)
{
	if (strcmp(job, UNREACHABLE) == 0) {
		errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
		return SLURM_ERROR;
	}
	errno = strcmp(job, REFUSED) == 0 ? ESLURM_DISABLED : 0;
	return errno; /* libslurm returns the code, above zero */
}

void slurm_init(const char *conf)
{
	(void)conf;
}

int slurm_requeue2(char *job, uint32_t flags, job_array_resp_msg_t **resp)
{
	(void)flags;
	(void)resp;
	return answer_for(job);
}

int slurm_update_job2(job_desc_msg_t *job_msg, job_array_resp_msg_t **resp)
{
	(void)resp;
	return answer_for(job_msg->job_id_str);
}

int slurm_kill_job2(const char *job, uint16_t signal, uint16_t flags,
		    const char *sibling)
{
	(void)signal;
	(void)flags;
	(void)sibling;
	return answer_for(job);
}

/* Send an action to the worker and wait; "" if it was done, else the error. */
static const char *act(int fd, enum egs_worker_action action, const char *job)
{
	static char bytes[4096];
	struct egs_worker_request r;
	enum egs_frame_kind kind = 0;
	struct egs_buf_reader in;
	const char *error;
	ssize_t n;

	memset(&r, 0, sizeof(r));
	r.kind = EGS_WORKER_ACT;
	r.action = action;
	r.action_id = 7;
	snprintf(r.job, sizeof(r.job), "%s", job);
	if (send(fd, &r, sizeof(r), MSG_NOSIGNAL) < 0 ||
	    (n = recv(fd, bytes, sizeof(bytes), 0)) <= 0 ||
	    egs_frame_parse(bytes, (size_t)n, &kind, &in) != n ||
	    kind != EGS_FRAME_ACT_DONE || egs_buf_get_u64(&in) != 7)
		return "no answer";
	error = egs_buf_get_str(&in);
	return error ? error : "";
}

static void test_act(int fd, enum egs_worker_action action, const char *name)
{
	is_str(act(fd, action, "11"), "", "%s: done", name);
	is_str(act(fd, action, REFUSED), slurm_strerror(ESLURM_DISABLED),
	       "%s: a refusal of slurmctld is an error", name);
	is_str(act(fd, action, UNREACHABLE),
	       slurm_strerror(SLURM_COMMUNICATIONS_CONNECTION_ERROR),
	       "%s: a slurmctld that does not answer is an error", name);
}

static const struct {
	uint32_t state;
	bool lost;
	const char *title;
} node_states[] = {
	{ NODE_STATE_IDLE, false, "an idle node is capacity" },
	{ NODE_STATE_IDLE | NODE_STATE_CLOUD | NODE_STATE_POWERED_DOWN, false,
	  "a cloud node that is powered down is capacity" },
	{ NODE_STATE_IDLE | NODE_STATE_POWERING_UP | NODE_STATE_NO_RESPOND,
	  false,
	  "a node that does not respond while it powers up is capacity" },
	{ NODE_STATE_IDLE | NODE_STATE_NO_RESPOND, true,
	  "a node that does not respond is lost" },
	{ NODE_STATE_DOWN | NODE_STATE_POWERED_DOWN, true,
	  "a node that is down and powered down is lost" },
	{ NODE_STATE_IDLE | NODE_STATE_DRAIN, true, "a drained node is lost" },
};

static void lost_nodes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(node_states); i++)
		is_int(egs_slurm_is_node_lost(node_states[i].state),
		       node_states[i].lost, "%s", node_states[i].title);
}

int main(void)
{
	int fd[2], status = -1;
	pid_t pid;

	plan_none();
	lost_nodes();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		dup2(fd[1], STDIN_FILENO);
		close(fd[0]);
		close(fd[1]);
		_exit(egs_worker_main());
	}
	close(fd[1]);
	test_act(fd[0], EGS_DO_REQUEUE, "requeue");
	test_act(fd[0], EGS_DO_BEGIN_NOW, "begin now");
	test_act(fd[0], EGS_DO_CANCEL, "cancel");
	test_act(fd[0], EGS_DO_TOUCH, "touch");
	close(fd[0]);
	ok(waitpid(pid, &status, 0) == pid && status == 0,
	   "the worker ends when the daemon closes the socket");
	return done_testing();
}
