/* gpu_users.c - which processes have GPUs open, and to which jobs they belong
 *
 * A link of /proc/PID/fd is read before it is followed.  Only files in /dev are
 * examined, because stat() of a file on a dead file server would hang.
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/node/gpus.h"
#include "common/node/proc.h"

enum { TEXT_SIZE = 4096, ENVIRON_SIZE = 256 << 10, ANCESTORS_MAX = 64 };

/* ---- the job of a process ---- */

/* "slurmstepd: [12.batch]", with "12+1" in a heterogeneous job. */
static bool parse_stepd_title(pid_t pid, uint32_t *job, char *step, size_t size)
{
	static const char title[] = "slurmstepd: [";
	char text[128], *end;

	egs_proc_read(pid, "cmdline", text, sizeof(text));
	if (strncmp(text, title, strlen(title)) != 0)
		return false;
	*job = (uint32_t)strtoul(text + strlen(title), &end, 10);
	end += strcspn(end, ".]");
	snprintf(step, size, "%.*s", (int)strcspn(end + (*end == '.'), "]"),
		 end + (*end == '.'));
	return *job != 0;
}

static bool find_by_ancestor(struct egs_gpu_user *user)
{
	pid_t pid = user->pid;

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (parse_stepd_title(pid, &user->job, user->step,
				      sizeof(user->step)))
			return true;
		pid = egs_proc_parent(pid);
	}
	return false;
}

/* "0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0" */
static bool find_by_cgroup(struct egs_gpu_user *user)
{
	char text[TEXT_SIZE];
	const char *job, *step;

	egs_proc_read(user->pid, "cgroup", text, sizeof(text));
	job = strstr(text, "/job_");
	if (!job)
		return false;
	user->job = (uint32_t)strtoul(job + 5, NULL, 10);
	step = strstr(job, "/step_");
	if (step)
		snprintf(user->step, sizeof(user->step), "%.*s",
			 (int)strcspn(step + 6, "/\n"), step + 6);
	return user->job != 0;
}

static bool find_by_environ(struct egs_gpu_user *user, const char *node)
{
	char *text = malloc(ENVIRON_SIZE);
	ssize_t n =
		text ? egs_proc_read(user->pid, "environ", text, ENVIRON_SIZE)
		     : -1;
	size_t len = n > 0 ? (size_t)n : 0;
	const char *at = egs_proc_find_env(text, len, "SLURMD_NODENAME");
	const char *job = egs_proc_find_env(text, len, "SLURM_JOB_ID");

	if (at && job && strcmp(at, node) == 0)
		user->job = (uint32_t)strtoul(job, NULL, 10);
	free(text);
	return user->job != 0;
}

static void find_owner(struct egs_gpu_user *user, const char *node)
{
	char name[32] = "";
	struct stat is;

	snprintf(name, sizeof(name), "/proc/%ld", (long)user->pid);
	user->uid = stat(name, &is) == 0 ? is.st_uid : 0;
	egs_proc_read(user->pid, "comm", user->command, sizeof(user->command));
	user->command[strcspn(user->command, "\n")] = '\0';
	user->is_in_step = find_by_ancestor(user);
	if (!user->is_in_step && !find_by_cgroup(user))
		find_by_environ(user, node);
}

/* ---- processes that have GPUs open ---- */

/* The result so far. */
struct gpu_user_search {
	const struct egs_node_gpus *gpus;
	const char *node;
	struct egs_gpu_user *list;
	size_t n, max;
};

static int find_gpu(const struct egs_node_gpus *gpus, int fds, const char *name)
{
	char link[64] = "";
	struct stat is;

	if (readlinkat(fds, name, link, sizeof(link) - 1) < 0 ||
	    strncmp(link, "/dev/", 5) != 0 || fstatat(fds, name, &is, 0) < 0 ||
	    !S_ISCHR(is.st_mode))
		return -1;
	for (uint32_t i = 0; i < gpus->n; i++)
		if (gpus->device[i] && gpus->device[i] == is.st_rdev)
			return (int)i;
	return -1;
}

struct egs_gpu_user egs_gpu_user_read(pid_t pid, uint32_t gpu, const char *node)
{
	struct egs_gpu_user user = { .pid = pid, .gpu = gpu };

	find_owner(&user, node);
	return user;
}

/* Add the GPUs that one process has open, each once. */
static void scan_process(struct gpu_user_search *search, pid_t pid)
{
	uint64_t seen = 0;
	const struct dirent *entry;
	char path[40];
	DIR *fds;
	int gpu;

	snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	fds = opendir(path);
	while (fds && search->n < search->max && (entry = readdir(fds))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		gpu = find_gpu(search->gpus, dirfd(fds), entry->d_name);
		if (gpu < 0 || seen >> gpu & 1)
			continue;
		seen |= UINT64_C(1) << gpu;
		search->list[search->n++] =
			egs_gpu_user_read(pid, (uint32_t)gpu, search->node);
	}
	if (fds)
		closedir(fds);
}

/* Call 'fn' with each process until it returns true. */
static bool each_process(bool (*fn)(void *arg, pid_t pid), void *arg)
{
	DIR *all = opendir("/proc");
	const struct dirent *entry;
	bool done = false;

	while (all && !done && (entry = readdir(all)))
		if (isdigit((unsigned char)entry->d_name[0]))
			done = fn(arg, (pid_t)strtol(entry->d_name, NULL, 10));
	if (all)
		closedir(all);
	return done;
}

static bool scan_other_process(void *arg, pid_t pid)
{
	struct gpu_user_search *search = arg;

	if (pid != getpid())
		scan_process(search, pid);
	return search->n == search->max;
}

size_t egs_gpu_users_find(const struct egs_node_gpus *gpus, const char *node,
			  struct egs_gpu_user *list, size_t max)
{
	struct gpu_user_search search = {
		.gpus = gpus, .node = node, .list = list, .max = max
	};

	each_process(scan_other_process, &search);
	return search.n;
}

static bool is_step_of_job(void *arg, pid_t pid)
{
	char step[24];
	uint32_t job;

	return parse_stepd_title(pid, &job, step, sizeof(step)) &&
	       job == *(const uint32_t *)arg;
}

bool egs_node_has_job_steps(uint32_t job)
{
	return each_process(is_step_of_job, &job);
}

struct egs_text egs_gpu_user_text(const struct egs_gpu_user *user)
{
	struct egs_text text;

	if (user->job && *user->step)
		egs_textf(&text, "pid %ld (%s) of step %" PRIu32 ".%s",
			  (long)user->pid, user->command, user->job,
			  user->step);
	else if (user->job)
		egs_textf(&text, "pid %ld (%s) of job %" PRIu32,
			  (long)user->pid, user->command, user->job);
	else
		egs_textf(&text, "pid %ld (%s) of no job", (long)user->pid,
			  user->command);
	return text;
}
