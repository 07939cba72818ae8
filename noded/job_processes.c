/* job_processes.c - the processes of a job on this node */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/node/proc.h"
#include "common/node/stepds.h"
#include "noded/job_processes.h"

enum { TEXT_SIZE = 8192 };

struct job_process {
	pid_t pid, parent;
};

struct search_proc {
	struct job_process list[EGS_JOB_PROCS_MAX];
	size_t n;
	struct egs_stepds stepds;
	uint32_t job;
	uid_t uid;
	const char *node;
	struct egs_err *err;
};

ssize_t egs_job_procs_read(int proc_fd, const char *name, char *text,
			   size_t size)
{
	int fd = openat(proc_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : egs_read_all(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* Returns all of /proc/PID/environ and a NUL; NULL: not readable. */
static char *read_environ(int proc_fd, size_t *len)
{
	char *text = malloc(EGS_JOB_PROCS_ENV_MAX + 1);
	ssize_t n = text ? egs_job_procs_read(proc_fd, "environ", text,
					      EGS_JOB_PROCS_ENV_MAX + 1)
			 : -1;

	if (n < 0) {
		free(text);
		return NULL;
	}
	*len = (size_t)n;
	return text;
}

/* ---- the processes of the job ---- */

/* Returns the user of a process if all four uids are the same, else -1.  The
 * owner of /proc/PID is not enough: a process that is not dumpable has root's.
 */
static int64_t read_only_uid(int proc_fd)
{
	char text[TEXT_SIZE];
	unsigned id[4];
	const char *uids;

	egs_job_procs_read(proc_fd, "status", text, sizeof(text));
	uids = strstr(text, "\nUid:");
	if (!uids ||
	    sscanf(uids + 5, "%u %u %u %u", id, id + 1, id + 2, id + 3) != 4 ||
	    id[1] != id[0] || id[2] != id[0] || id[3] != id[0])
		return -1;
	return id[0];
}

/* The step "extern" has no process of the job's script. */
static bool is_of_job(const struct search_proc *s, const struct egs_step *step)
{
	return step->source == EGS_STEP_RUNNING && step->job == s->job &&
	       strncmp(step->name, "extern", strlen("extern")) != 0;
}

/* Was the process started by egs-noded, or by the slurmd of another node on the
 * same host?  A slurmstepd that has just become the user still has root's
 * environment, and is no process of the job either.
 */
static bool is_stranger(const struct search_proc *s, pid_t pid, int proc_fd)
{
	char exe[PATH_MAX];
	size_t len = 0;
	char *env;
	const char *node;
	bool yes;

	egs_proc_readlink(pid, "exe", exe, sizeof(exe));
	if (egs_stepds_is_program(exe))
		return true;
	env = read_environ(proc_fd, &len);
	node = env ? egs_proc_find_env(env, len, "SLURMD_NODENAME") : NULL;
	yes = (node && strcmp(node, s->node) != 0) ||
	      (env && egs_proc_find_env(env, len, EGS_SAVER_ENV));
	free(env);
	return yes;
}

static int classify_process(struct search_proc *s, pid_t pid, int proc_fd)
{
	struct egs_step step;
	int rc;

	if (read_only_uid(proc_fd) != s->uid || s->n == EGS_JOB_PROCS_MAX)
		return 0;
	rc = egs_stepds_find_step(&s->stepds, pid, &step, s->err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (!is_of_job(s, &step) || is_stranger(s, pid, proc_fd))
		return 0;
	s->list[s->n++] = (struct job_process){
		.pid = pid,
		.parent = egs_proc_parent(pid),
	};
	return 0;
}

static int add_process(void *arg, pid_t pid)
{
	char path[EGS_PROC_PATH_MAX];
	int fd, rc;

	egs_proc_path(path, pid, "");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	rc = classify_process(arg, pid, fd);
	close(fd);
	return rc;
}

static bool has_process(const struct search_proc *s, pid_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].pid == pid)
			return true;
	return false;
}

/* List the processes whose parent is not in the job first.  Their children
 * follow, level by level.
 */
static void order_processes(const struct search_proc *s,
			    struct egs_job_procs *procs)
{
	for (size_t i = 0; i < s->n; i++)
		if (!has_process(s, s->list[i].parent))
			procs->pid[procs->n++] = s->list[i].pid;
	for (size_t k = 0; k < procs->n; k++)
		for (size_t i = 0; i < s->n; i++)
			if (s->list[i].parent == procs->pid[k] &&
			    procs->n < EGS_JOB_PROCS_MAX)
				procs->pid[procs->n++] = s->list[i].pid;
}

/* ---- identity of the first process ---- */

/* The user decides what a process in a user namespace of its own sees. */
static bool is_in_our_user_namespace(int proc_fd)
{
	char its[64] = "", ours[64] = "";

	return readlinkat(proc_fd, "ns/user", its, sizeof(its) - 1) > 0 &&
	       readlink("/proc/self/ns/user", ours, sizeof(ours) - 1) > 0 &&
	       strcmp(its, ours) == 0;
}

static int open_first_process(struct egs_job_procs *procs)
{
	char path[32];

	for (size_t i = 0; i < procs->n; i++) {
		snprintf(path, sizeof(path), "/proc/%d", (int)procs->pid[i]);
		procs->first = procs->pid[i];
		procs->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (procs->proc_fd >= 0 &&
		    is_in_our_user_namespace(procs->proc_fd))
			return 0;
		if (procs->proc_fd >= 0)
			close(procs->proc_fd);
		procs->proc_fd = -1;
	}
	return -1;
}

static unsigned read_status_number(const char *status, const char *key,
				   int base, unsigned otherwise)
{
	const char *at = strstr(status, key);

	return at ? (unsigned)strtoul(at + strlen(key), NULL, base) : otherwise;
}

static void read_groups(struct egs_job_procs *procs, const char *status)
{
	const char *groups = strstr(status, "\nGroups:");
	unsigned group;
	int used;

	for (groups = groups ? groups + 8 : "";
	     sscanf(groups, "%*1[ \t]%u%n", &group, &used) == 1 &&
	     procs->ngroups < EGS_JOB_PROCS_GROUPS_MAX;
	     groups += used)
		procs->group[procs->ngroups++] = group;
}

/* Accept only a process with all four uids of the user and four equal gids.  A
 * process that is changing its identity may have rights that the user lacks.
 */
static int read_identity(struct egs_job_procs *procs, uid_t uid)
{
	char text[TEXT_SIZE];
	unsigned gid[4];
	const char *gids;

	if (read_only_uid(procs->proc_fd) != uid)
		return -1;
	egs_job_procs_read(procs->proc_fd, "status", text, sizeof(text));
	gids = strstr(text, "\nGid:");
	if (!gids ||
	    sscanf(gids + 5, "%u %u %u %u", gid, gid + 1, gid + 2, gid + 3) !=
		    4 ||
	    gid[1] != gid[0] || gid[2] != gid[0] || gid[3] != gid[0])
		return -1;
	procs->gid = gid[0];
	read_groups(procs, text);
	procs->umask = read_status_number(text, "\nUmask:", 8, 077);
	procs->no_new_privs =
		read_status_number(text, "\nNoNewPrivs:", 10, 1) != 0;
	return 0;
}

/* From another mount namespace, the kernel shows the path with that of the
 * process's root directory in front.
 */
static void strip_root(const struct egs_job_procs *procs, char *path)
{
	char root[PATH_MAX];
	ssize_t n = readlinkat(procs->proc_fd, "root", root, sizeof(root));
	size_t len = n > 1 ? (size_t)n : 0;

	if (len && strncmp(path, root, len) == 0 && path[len] == '/')
		memmove(path, path + len, strlen(path + len) + 1);
}

static int read_environment(struct egs_job_procs *procs)
{
	ssize_t n = readlinkat(procs->proc_fd, "cwd", procs->cwd,
			       sizeof(procs->cwd) - 1);

	procs->cwd[n > 0 ? n : 0] = '\0';
	strip_root(procs, procs->cwd);
	procs->env = read_environ(procs->proc_fd, &procs->env_len);
	return n > 0 && procs->env ? 0 : -1;
}

static int read_first_process(struct egs_job_procs *procs, uid_t uid,
			      struct egs_err *err)
{
	if (open_first_process(procs) < 0)
		return egs_errf(err, "all processes of the job are in user "
				     "namespaces of their own");
	if (read_identity(procs, uid) < 0 || read_environment(procs) < 0)
		return egs_errf(err, "process %d ended or changed its user",
				(int)procs->first);
	return 0;
}

/* The list of slurmstepds is older than that of processes: a process of a step
 * that is just starting is not found.
 */
static int search_processes(struct egs_job_procs *procs, uint32_t job,
			    uid_t uid, const char *node, struct egs_err *err)
{
	struct search_proc *s = calloc(1, sizeof(*s));
	int rc = -1;

	if (!s)
		return egs_errf(err, "out of memory");
	s->job = job;
	s->uid = uid;
	s->node = node;
	s->err = err;
	if (egs_stepds_read(&s->stepds, err) == 0)
		rc = egs_proc_each(add_process, s, err);
	if (rc == 0)
		order_processes(s, procs);
	egs_stepds_free(&s->stepds);
	free(s);
	return rc;
}

int egs_job_procs_find(struct egs_job_procs *procs, uint32_t job, uid_t uid,
		       const char *node, struct egs_err *err)
{
	*procs = (struct egs_job_procs){ .proc_fd = -1 };
	if (search_processes(procs, job, uid, node, err) < 0)
		return -1;
	if (!procs->n)
		return egs_errf(err, "the job has no process on %s", node);
	return read_first_process(procs, uid, err);
}

void egs_job_procs_free(struct egs_job_procs *procs)
{
	free(procs->env);
	procs->env = NULL;
	if (procs->proc_fd >= 0)
		close(procs->proc_fd);
	procs->proc_fd = -1;
}

const char *egs_job_procs_getenv(const struct egs_job_procs *procs,
				 const char *name)
{
	return egs_proc_find_env(procs->env, procs->env_len, name);
}
