/* job_processes.c - the processes of a job on this node */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/node/proc.h"
#include "noded/job_processes.h"

enum { TEXT_SIZE = 8192, GROUP_SIZE = 1024 };

/* A process of the user, or a slurmstepd of the job. */
struct job_candidate {
	pid_t pid, parent;
	bool is_stepd;
	bool started_by_us; /* by egs-noded; does not belong to the job */
	bool on_other_node; /* with several slurmds on a host */
	bool in_job;
};

struct search_proc {
	struct job_candidate list[EGS_JOB_PROCS_MAX];
	size_t n;
	/* Control groups of the job's steps, one after the other. */
	char groups[16 * GROUP_SIZE];
	size_t groups_len;
	uint32_t job;
	uid_t uid;
	const char *node;
	pid_t hidden; /* a slurmstepd that cannot be examined, 0: none */
};

static bool add_candidate(struct search_proc *s,
			  const struct job_candidate *new)
{
	if (s->n == EGS_JOB_PROCS_MAX)
		return false;
	s->list[s->n++] = *new;
	return true;
}

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

/* ---- the steps of the job ---- */

/* Is the title "slurmstepd: [JOB.STEP..."?  The step "extern" has no process of
 * the job's script.
 */
static bool has_step_title(int proc_fd, uint32_t job)
{
	char text[128], title[40];
	int len = snprintf(title, sizeof(title), "slurmstepd: [%" PRIu32 ".",
			   job);

	egs_job_procs_read(proc_fd, "cmdline", text, sizeof(text));
	return strncmp(text, title, (size_t)len) == 0 &&
	       strncmp(text + len, "extern", 6) != 0;
}

/* 1: yes, 0: no, -1: that cannot be seen.  Debian's file is slurmstepd-wlm. */
static int is_stepd_program(int proc_fd)
{
	static const char name[] = "/slurmstepd";
	char path[PATH_MAX];
	const char *last;
	ssize_t n = readlinkat(proc_fd, "exe", path, sizeof(path) - 1);

	if (n < 0)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	path[n] = '\0';
	last = strrchr(path, '/');
	return last && strncmp(last, name, strlen(name)) == 0;
}

/* With cgroup v2 slurmstepd is in .../job_12/step_0/slurm, and the processes of
 * the step are in .../job_12/step_0/user/task_0.
 */
static void add_step_group(struct search_proc *s, int proc_fd)
{
	static const char own[] = "/slurm\n";
	char text[GROUP_SIZE];
	size_t len, step;

	egs_job_procs_read(proc_fd, "cgroup", text, sizeof(text));
	len = strlen(text);
	if (strncmp(text, "0::/", 4) != 0 || len < strlen(own) + 4 ||
	    strcmp(text + len - strlen(own), own) != 0)
		return;
	step = len - strlen(own) + 1; /* with the slash at its end */
	if (s->groups_len + step + 1 > sizeof(s->groups))
		return;
	memcpy(s->groups + s->groups_len, text, step);
	s->groups[s->groups_len + step] = '\0';
	s->groups_len += step + 1;
}

static void classify_root_process(struct search_proc *s, pid_t pid, int proc_fd)
{
	struct job_candidate c = { .pid = pid, .is_stepd = true };
	int found;

	if (!has_step_title(proc_fd, s->job))
		return;
	found = is_stepd_program(proc_fd);
	if (found < 0)
		s->hidden = pid;
	if (found > 0 && add_candidate(s, &c))
		add_step_group(s, proc_fd);
}

/* ---- the processes of the user ---- */

/* A slurmstepd that has just become the user still has root's environment. */
static void classify_user_process(struct search_proc *s, pid_t pid, int proc_fd)
{
	struct job_candidate c = { .pid = pid, .parent = egs_proc_parent(pid) };
	size_t len = 0;
	char *env;
	const char *node;

	if (is_stepd_program(proc_fd) > 0)
		return;
	env = read_environ(proc_fd, &len);
	node = env ? egs_proc_find_env(env, len, "SLURMD_NODENAME") : NULL;
	c.started_by_us = env && egs_proc_find_env(env, len, EGS_SAVER_ENV);
	c.on_other_node = node && strcmp(node, s->node) != 0;
	free(env);
	add_candidate(s, &c);
}

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

static void classify_process(struct search_proc *s, const char *name, int proc)
{
	int fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = (pid_t)strtol(name, NULL, 10);
	int64_t uid;

	if (fd < 0)
		return;
	uid = read_only_uid(fd);
	if (uid == 0)
		classify_root_process(s, pid, fd);
	else if (uid == s->uid)
		classify_user_process(s, pid, fd);
	close(fd);
}

static const struct job_candidate *find_candidate(const struct search_proc *s,
						  pid_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].pid == pid)
			return &s->list[i];
	return NULL;
}

static bool is_in_step_group(const struct search_proc *s, pid_t pid)
{
	char text[GROUP_SIZE];
	const char *group = s->groups;

	if (!s->groups_len)
		return false;
	egs_proc_read(pid, "cgroup", text, sizeof(text));
	for (; group < s->groups + s->groups_len; group += strlen(group) + 1)
		if (strncmp(text, group, strlen(group)) == 0)
			return true;
	return false;
}

static bool belongs_to_job(const struct search_proc *s,
			   const struct job_candidate *c)
{
	const struct job_candidate *p = find_candidate(s, c->parent);

	return (p && (p->is_stepd || p->in_job)) || is_in_step_group(s, c->pid);
}

/* Processes are found in any order, so repeat until no process is added. */
static void mark_job_processes(struct search_proc *s)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < s->n; i++) {
			struct job_candidate *c = &s->list[i];

			if (c->in_job || c->is_stepd || c->started_by_us ||
			    c->on_other_node || !belongs_to_job(s, c))
				continue;
			c->in_job = more = true;
		}
	}
}

static void search_proc(struct search_proc *s)
{
	DIR *list = opendir("/proc");
	const struct dirent *entry;

	while (list && (entry = readdir(list)))
		if (isdigit((unsigned char)entry->d_name[0]))
			classify_process(s, entry->d_name, dirfd(list));
	if (list)
		closedir(list);
	mark_job_processes(s);
}

/* List the processes whose parent is not in the job first.  Their children
 * follow, level by level.
 */
static void order_processes(const struct search_proc *s,
			    struct egs_job_procs *procs)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct job_candidate *p =
			find_candidate(s, s->list[i].parent);

		if (s->list[i].in_job && (!p || !p->in_job))
			procs->pid[procs->n++] = s->list[i].pid;
	}
	for (size_t k = 0; k < procs->n; k++)
		for (size_t i = 0; i < s->n; i++)
			if (s->list[i].in_job &&
			    s->list[i].parent == procs->pid[k] &&
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

int egs_job_procs_find(struct egs_job_procs *procs, uint32_t job, uid_t uid,
		       const char *node, struct egs_err *err)
{
	struct search_proc *s = calloc(1, sizeof(*s));
	pid_t hidden;

	*procs = (struct egs_job_procs){ .proc_fd = -1 };
	if (!s)
		return egs_errf(err, "out of memory");
	s->job = job;
	s->uid = uid;
	s->node = node;
	search_proc(s);
	order_processes(s, procs);
	hidden = s->hidden;
	free(s);
	if (hidden)
		return egs_errf(err,
				"egs-noded may not examine slurmstepd, process "
				"%d; it needs CAP_SYS_PTRACE",
				(int)hidden);
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
