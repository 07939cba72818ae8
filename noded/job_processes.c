/* job_processes.c - the processes of a job on this node */
#define _GNU_SOURCE /* prlimit */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/node/proc.h"
#include "noded/job_processes.h"

/* A process of the user. */
struct job_candidate {
	pid_t pid, parent;
	bool started_by_us; /* by egs-noded; does not belong to the job */
	bool in_job;
};

struct search_proc {
	struct job_candidate list[EGS_JOB_PROCS_MAX];
	size_t n;
	char id[16], node[300];
};

/* Returns the content of /proc/PID/NAME and a NUL; NULL: not readable. */
static char *read_proc_file(pid_t pid, const char *name, size_t *len)
{
	char *text = malloc(EGS_JOB_PROCS_ENV_MAX + 1);
	ssize_t n =
		text ? egs_proc_read(pid, name, text, EGS_JOB_PROCS_ENV_MAX + 1)
		     : -1;

	if (n < 0) {
		free(text);
		return NULL;
	}
	*len = (size_t)n;
	return text;
}

/* ---- find the processes of the job ---- */

static void classify_process(const struct search_proc *s,
			     struct job_candidate *c)
{
	const char *id, *node;
	size_t len = 0;
	char *env = read_proc_file(c->pid, "environ", &len);

	if (!env)
		return;
	id = egs_proc_find_env(env, len, "SLURM_JOB_ID");
	node = egs_proc_find_env(env, len, "SLURMD_NODENAME");
	c->started_by_us = egs_proc_find_env(env, len, EGS_SAVER_ENV) != NULL;
	c->in_job = !c->started_by_us && id && !strcmp(id, s->id) &&
		    (!node || !strcmp(node, s->node));
	free(env);
}

static void add_candidate(struct search_proc *s, const char *name, uid_t uid)
{
	struct job_candidate *c = &s->list[s->n];
	char path[32];
	struct stat is;

	if (!isdigit((unsigned char)name[0]) || s->n == EGS_JOB_PROCS_MAX)
		return;
	*c = (struct job_candidate){ .pid = (pid_t)strtol(name, NULL, 10) };
	snprintf(path, sizeof(path), "/proc/%d", (int)c->pid);
	if (stat(path, &is) < 0 || is.st_uid != uid)
		return;
	c->parent = egs_proc_parent(c->pid);
	classify_process(s, c);
	s->n++;
}

static const struct job_candidate *find_candidate(const struct search_proc *s,
						  pid_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].pid == pid)
			return &s->list[i];
	return NULL;
}

/* A child process that changed its environment also belongs to the job. */
static void add_children(struct search_proc *s)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < s->n; i++) {
			struct job_candidate *c = &s->list[i];
			const struct job_candidate *p =
				find_candidate(s, c->parent);

			if (c->in_job || c->started_by_us || !p || !p->in_job)
				continue;
			c->in_job = more = true;
		}
	}
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

static void search_proc(struct search_proc *s, uid_t uid)
{
	DIR *list = opendir("/proc");
	const struct dirent *entry;

	while (list && (entry = readdir(list)))
		add_candidate(s, entry->d_name, uid);
	if (list)
		closedir(list);
	add_children(s);
}

/* ---- identity of the first process ---- */

/* Accept only a process with all four uids of the user and four equal gids.  A
 * process that is changing its identity may have rights that the user lacks.
 */
static int read_identity(struct egs_job_procs *procs, uid_t uid)
{
	unsigned id[4] = { 0 }, gid[4] = { 0 }, mask = 0, group;
	size_t len = 0;
	char *text = read_proc_file(procs->pid[0], "status", &len);
	const char *uids = text ? strstr(text, "\nUid:") : NULL;
	const char *gids = text ? strstr(text, "\nGid:") : NULL;
	const char *groups = text ? strstr(text, "\nGroups:") : NULL;
	const char *umasks = text ? strstr(text, "\nUmask:") : NULL;
	int rc = -1, used;

	if (uids && gids && groups &&
	    sscanf(uids + 5, "%u %u %u %u", id, id + 1, id + 2, id + 3) == 4 &&
	    sscanf(gids + 5, "%u %u %u %u", gid, gid + 1, gid + 2, gid + 3) ==
		    4 &&
	    id[0] == uid && id[1] == uid && id[2] == uid && id[3] == uid &&
	    gid[1] == gid[0] && gid[2] == gid[0] && gid[3] == gid[0])
		rc = 0;
	procs->gid = gid[0];
	for (groups = groups ? groups + 8 : "";
	     rc == 0 && sscanf(groups, "%*1[ \t]%u%n", &group, &used) == 1 &&
	     procs->ngroups < EGS_JOB_PROCS_GROUPS_MAX;
	     groups += used)
		procs->group[procs->ngroups++] = group;
	procs->umask =
		umasks && sscanf(umasks + 7, "%o", &mask) == 1 ? mask : 077;
	free(text);
	return rc;
}

static int read_environment(struct egs_job_procs *procs)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)procs->pid[0]);
	n = readlink(path, procs->cwd, sizeof(procs->cwd) - 1);
	procs->cwd[n > 0 ? n : 0] = '\0';
	procs->env = read_proc_file(procs->pid[0], "environ", &procs->env_len);
	return n > 0 && procs->env ? 0 : -1;
}

int egs_job_procs_find(struct egs_job_procs *procs, uint32_t job, uid_t uid,
		       const char *node, struct egs_err *err)
{
	struct search_proc *s = calloc(1, sizeof(*s));

	*procs = (struct egs_job_procs){ .n = 0 };
	if (!s)
		return egs_errf(err, "out of memory");
	snprintf(s->id, sizeof(s->id), "%" PRIu32, job);
	snprintf(s->node, sizeof(s->node), "%s", node);
	search_proc(s, uid);
	order_processes(s, procs);
	free(s);
	if (!procs->n)
		return egs_errf(err, "the job has no process on %s", node);
	if (read_identity(procs, uid) < 0 || read_environment(procs) < 0)
		return egs_errf(err, "process %d ended or changed its user",
				(int)procs->pid[0]);
	return 0;
}

void egs_job_procs_free(struct egs_job_procs *procs)
{
	free(procs->env);
	procs->env = NULL;
}

const char *egs_job_procs_getenv(const struct egs_job_procs *procs,
				 const char *name)
{
	return egs_proc_find_env(procs->env, procs->env_len, name);
}

/* ---- control groups and limits of the first process ---- */

/* A line of /proc/PID/cgroup is NUMBER:CONTROLLERS:PATH.  With cgroup v2 the
 * controllers are empty.  A named hierarchy (name=systemd) has no controllers.
 */
static int join_cgroup(char *line)
{
	char *controllers = strchr(line, ':'), file[PATH_MAX + 64];
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	int fd, rc;

	if (!path)
		return -1;
	*path++ = '\0';
	if (strncmp(++controllers, "name=", 5) == 0)
		return 0;
	snprintf(file, sizeof(file), "/sys/fs/cgroup/%s%s%s/cgroup.procs",
		 controllers, *controllers ? "/" : "", path);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	rc = fd >= 0 && write(fd, "0", 1) == 1 ? 0 : -1;
	if (fd >= 0)
		close(fd);
	return rc;
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, line, len) &&
		    (text[len] == '\n' || !text[len]))
			return true;
	}
	return false;
}

int egs_job_procs_join_cgroups(const struct egs_job_procs *procs,
			       struct egs_err *err)
{
	size_t len = 0, ownlen = 0;
	char *of_job = read_proc_file(procs->pid[0], "cgroup", &len), *line,
	     *rest;
	char *own = read_proc_file(getpid(), "cgroup", &ownlen);
	int rc = of_job && own ? 0 : -1;

	if (rc == 0 && strcmp(of_job, own) != 0)
		for (line = strtok_r(of_job, "\n", &rest); line && rc == 0;
		     line = strtok_r(NULL, "\n", &rest))
			rc = has_line(own, line) ? 0 : join_cgroup(line);
	free(of_job);
	free(own);
	return rc < 0 ? egs_errf(err, "cannot join the job's control group")
		      : 0;
}

void egs_job_procs_copy_limits(const struct egs_job_procs *procs)
{
	struct rlimit limit;

	for (int i = 0; i < (int)RLIM_NLIMITS; i++)
		if (prlimit(procs->pid[0], i, NULL, &limit) == 0)
			setrlimit(i, &limit);
}
