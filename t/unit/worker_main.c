/* worker_main.c - the worker's own side, with a slurmctld that says no
 *
 * The calls of libslurm that act on a job are defined here, and so take the
 * place of its own.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policyd/slurm/compat.h"
#include "policyd/slurm/frame.h"
#include "policyd/slurm/worker.h"
#include "t/lib/unit/tap.h"

#define FAR "13" /* slurmctld does not answer about this one */
#define BAD "12" /* and refuses anything about this one */

static int answer(const char *job)
{
	if (strcmp(job, FAR) == 0) {
		errno = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
		return SLURM_ERROR;
	}
	errno = strcmp(job, BAD) == 0 ? ESLURM_DISABLED : 0;
	return errno; /* as libslurm does it: the code, above zero */
}

void slurm_init(const char *conf)
{
	(void)conf;
}

int slurm_requeue2(char *job, uint32_t flags, job_array_resp_msg_t **resp)
{
	(void)flags;
	(void)resp;
	return answer(job);
}

int slurm_update_job2(job_desc_msg_t *job_msg, job_array_resp_msg_t **resp)
{
	(void)resp;
	return answer(job_msg->job_id_str);
}

int slurm_kill_job2(const char *job, uint16_t signal, uint16_t flags,
		    const char *sibling)
{
	(void)signal;
	(void)flags;
	(void)sibling;
	return answer(job);
}

/* Ask the worker behind 'fd' and wait; "" if it was done, else why not. */
static const char *ask(int fd, enum egs_worker_action act, const char *job)
{
	static char bytes[4096];
	struct egs_buf out = { .used = 0 };
	enum egs_frame_kind kind = 0;
	struct egs_buf_reader in;
	const char *why;
	ssize_t n;

	egs_frame_begin(&out, EGS_FRAME_ACT);
	egs_buf_put_u64(&out, 7);
	egs_buf_put_u32(&out, act);
	egs_buf_put_str(&out, job);
	egs_buf_put_str(&out, NULL);
	egs_frame_end(&out);
	n = send(fd, out.bytes, out.used, MSG_NOSIGNAL);
	egs_buf_clear(&out);
	if (n < 0 || (n = recv(fd, bytes, sizeof(bytes), 0)) <= 0 ||
	    egs_frame_parse(bytes, (size_t)n, &kind, &in) != n ||
	    kind != EGS_FRAME_ACT_DONE || egs_buf_get_u64(&in) != 7)
		return "no answer";
	why = egs_buf_get_str(&in);
	return why ? why : "";
}

static void test_act(int fd, enum egs_worker_action act, const char *name)
{
	is_str(ask(fd, act, "11"), "", "%s: done", name);
	is_str(ask(fd, act, BAD), slurm_strerror(ESLURM_DISABLED),
	       "%s: what slurmctld refuses is not done", name);
	is_str(ask(fd, act, FAR),
	       slurm_strerror(SLURM_COMMUNICATIONS_CONNECTION_ERROR),
	       "%s: nor what it never heard of", name);
}

int main(void)
{
	int fd[2], status = -1;
	pid_t pid;

	plan_none();
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
	test_act(fd[0], EGS_DO_BEGIN_NOW, "release");
	test_act(fd[0], EGS_DO_CANCEL, "cancel");
	test_act(fd[0], EGS_DO_TOUCH, "touch");
	close(fd[0]);
	ok(waitpid(pid, &status, 0) == pid && status == 0,
	   "the worker goes when the daemon does");
	return done_testing();
}
