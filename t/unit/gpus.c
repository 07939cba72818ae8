/* gpus.c - which device files are GPUs, and which processes have them open */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/node/gpus.h"
#include "t/lib/unit/tap.h"

static char top[] = "/tmp/egs-gpus.XXXXXX";

/* ---- names ---- */

static int join(void *arg, const char *name)
{
	char *all = arg;

	snprintf(all + strlen(all), 200 - strlen(all), "%s ", name);
	return 0;
}

static void test_names(void)
{
	static const struct {
		const char *text, *names;
	} cases[] = {
		{ "", "" },
		{ "n1", "n1 " },
		{ "n1,n2", "n1 n2 " },
		{ "/dev/nvidia[0-2]",
		  "/dev/nvidia0 /dev/nvidia1 /dev/nvidia2 " },
		{ "n[1,3-4],m", "n1 n3 n4 m " },
		{ "gpu[08-10]-ib", "gpu08-ib gpu09-ib gpu10-ib " },
		{ "n[1-99999999]", "" },
		{ "n[", "n[ " },
		{ "n[x]", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char all[200] = "";

		egs_hostlist_each(cases[i].text, join, all);
		is_str(all, cases[i].names, "names of '%s'", cases[i].text);
	}
}

/* ---- gres.conf ---- */

static const char *write_conf(const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/gres.conf", top);
	f = fopen(path, "we");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
	return path;
}

static void test_files(void)
{
	const char *path = write_conf("# comment\n"
				      "NodeName=n[1-2] Name=gpu Type=a100 "
				      "File=/dev/zero\n"
				      "nodename=n1 name=gpu file=/dev/full\n"
				      "NodeName=n3 Name=gpu File=/dev/null\n"
				      "Name=nic File=/dev/null\n"
				      "Name=gpu File=/dev/egs-none7\n");
	struct egs_node_gpus gpus;
	struct stat zero;

	egs_node_gpus_read(&gpus, path, "n1");
	ok(gpus.n == 3,
	   "n1 has the GPUs of its own lines and of lines without NodeName");
	ok(stat("/dev/zero", &zero) == 0 && gpus.device[0] == zero.st_rdev,
	   "GPUs are in the order of gres.conf");
	ok(gpus.device[2] == 0 && gpus.file_number[2] == 7,
	   "a GPU without a device file counts and has its number");
	egs_node_gpus_read(&gpus, path, "n2");
	ok(gpus.n == 2, "n2 has the GPUs of its lines only");
	egs_node_gpus_read(&gpus, "/nonexistent", "n1");
	ok(gpus.n <= EGS_NODE_GPUS_MAX, "a missing gres.conf is not an error");
}

/* ---- processes ---- */

/* A process that has /dev/full open, with that environment. */
static pid_t child(char *const env[])
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe(fds) < 0 || fcntl(fds[0], F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(fds[1], F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (open("/dev/full", O_RDONLY) >= 0)
			execle("/bin/sleep", "sleep", "100", (char *)NULL, env);
		_exit(1);
	}
	/* exec() closes the child's end of the pipe. */
	close(fds[1]);
	if (read(fds[0], &c, 1) != 0)
		note("the child does not start");
	close(fds[0]);
	return pid;
}

static const struct egs_gpu_user *find(const struct egs_gpu_user *list,
				       size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].pid == pid)
			return &list[i];
	return NULL;
}

static void test_gpu_users(void)
{
	static char node[] = "SLURMD_NODENAME=n1", id[] = "SLURM_JOB_ID=812";
	char *const of_job[] = { node, id, NULL };
	char *const of_login[] = { id, NULL };
	const char *path = write_conf("Name=gpu File=/dev/zero,/dev/full\n");
	pid_t job = child(of_job), login = child(of_login);
	static struct egs_gpu_user list[512];
	const struct egs_gpu_user *user;
	struct egs_node_gpus gpus;
	char text[64];
	size_t n;

	egs_node_gpus_read(&gpus, path, "n1");
	n = egs_gpu_users_find(&gpus, "n1", list, ARRAY_SIZE(list));
	user = find(list, n, job);
	ok(user && user->gpu == 1 && user->job == 812 && !user->is_in_step &&
		   user->uid == geteuid(),
	   "a process outside of steps is found, with its job");
	snprintf(text, sizeof(text), "pid %ld (sleep) of job 812", (long)job);
	is_str(user ? egs_gpu_user_text(user).text : "", text,
	       "the text names pid, program and job");
	user = find(list, n, login);
	ok(user && !user->job,
	   "a process without SLURMD_NODENAME is in no job");
	n = egs_gpu_users_find(&gpus, "n2", list, ARRAY_SIZE(list));
	user = find(list, n, job);
	ok(user && !user->job, "on another node the process is in no job");
	ok(egs_gpu_users_find(&gpus, "n1", list, 1) == 1,
	   "the result is cut off at the size of the list");
	kill(job, SIGKILL);
	kill(login, SIGKILL);
	while (wait(NULL) > 0)
		;
	n = egs_gpu_users_find(&gpus, "n1", list, ARRAY_SIZE(list));
	ok(!find(list, n, job), "a process that has ended is not found");
	ok(!egs_node_has_job_steps(4294967294U),
	   "a job that does not exist has no steps");
}

int main(void)
{
	char path[64];

	plan_none();
	if (!mkdtemp(top))
		return 1;
	test_names();
	test_files();
	test_gpu_users();
	snprintf(path, sizeof(path), "%s/gres.conf", top);
	unlink(path);
	rmdir(top);
	return done_testing();
}
