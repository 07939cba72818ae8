/* stepds.c - the slurmstepds of this host, and the step of a process */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/node/proc.h"
#include "common/node/stepds.h"

enum { TEXT_SIZE = 4096, ENVIRON_SIZE = 256 << 10, ANCESTORS_MAX = 64 };

struct egs_stepds_pid {
	pid_t parent;
	uint32_t stepd; /* its place in the list + 1, 0: no slurmstepd */
};

/* ---- control groups ---- */

/* Returns the part of "/slurmstepd.scope/job_12/step_0" from "/step_0" on, or
 * NULL if this is not a group of Slurm.  In version 2 the parent of a job's
 * group is the scope; in version 1 the name of the job's group has its id.
 */
static const char *find_step_part(const char *path)
{
	static const char scope[] = "slurmstepd.scope";
	const char *step = strstr(path, "/step_"), *job = step;

	while (job && job > path && job[-1] != '/')
		job--;
	if (!job || job <= path + 1)
		return NULL;
	if (strncmp(job, "job_", 4) == 0)
		return step;
	return (size_t)(job - 1 - path) > strlen(scope) &&
			       strncmp(job - 1 - strlen(scope), scope,
				       strlen(scope)) == 0
		       ? step
		       : NULL;
}

static bool parse_group_line(char *line, struct egs_step_group *group)
{
	char *path = strchr(line, ':');
	const char *step;
	int len;

	path = path ? strchr(path + 1, ':') : NULL;
	step = path ? find_step_part(path + 1) : NULL;
	if (!step)
		return false;
	path++;
	len = (int)(step - path + 1 + (ptrdiff_t)strcspn(step + 1, "/"));
	if (len >= EGS_STEP_GROUP_SIZE)
		return false;
	snprintf(group->path, sizeof(group->path), "%.*s", len, path);
	group->job_len = (size_t)(step - path);
	return true;
}

/* Returns 0, also if the process is in no group of a step, or -1 with errno
 * set.
 */
static int read_group(pid_t pid, struct egs_step_group *group)
{
	char text[TEXT_SIZE], *rest = text, *line;

	*group = (struct egs_step_group){ .job_len = 0 };
	if (egs_proc_read(pid, "cgroup", text, sizeof(text)) < 0)
		return -1;
	while ((line = strsep(&rest, "\n")))
		if (parse_group_line(line, group))
			break;
	return 0;
}

static bool is_same_job_group(const struct egs_step_group *a,
			      const struct egs_step_group *b)
{
	return a->job_len && a->job_len == b->job_len &&
	       strncmp(a->path, b->path, a->job_len) == 0;
}

/* ---- slurmstepds ---- */

/* "slurmstepd: [12.batch]", with "12+1" in a heterogeneous job. */
static bool parse_title(const char *text, struct egs_stepd *stepd)
{
	static const char title[] = "slurmstepd: [";
	char *end;

	if (strncmp(text, title, strlen(title)) != 0)
		return false;
	stepd->job = (uint32_t)strtoul(text + strlen(title), &end, 10);
	end += strcspn(end, ".]");
	end += *end == '.';
	snprintf(stepd->step, sizeof(stepd->step), "%.*s",
		 (int)strcspn(end, "]"), end);
	return stepd->job != 0;
}

/* Debian's program is slurmstepd-wlm.  After an upgrade of Slurm the link ends
 * in " (deleted)".
 */
bool egs_stepds_is_program(const char *path)
{
	static const char name[] = "/slurmstepd";
	const char *found = strrchr(path, '/');

	return found && strncmp(found, name, strlen(name)) == 0 &&
	       (!found[strlen(name)] || strchr("- ", found[strlen(name)]));
}

/* Returns 1 with '*stepd' set, 0 if this is not a slurmstepd or has ended, or
 * -1 with 'err' set.  All can read the title, so a program that we may not see
 * matters only with the title of a slurmstepd.
 */
static int read_stepd(pid_t pid, struct egs_stepd *stepd, struct egs_err *err)
{
	char program[TEXT_SIZE], title[TEXT_SIZE];
	int error = 0;
	uid_t uid;

	*stepd = (struct egs_stepd){ .pid = pid };
	if (egs_proc_uid(pid, &uid) < 0)
		return egs_proc_fail(pid, "status", err);
	if (uid != 0)
		return 0; /* what it shows is of the user's making */
	if (egs_proc_readlink(pid, "exe", program, sizeof(program)) < 0)
		error = errno;
	else if (!egs_stepds_is_program(program))
		return 0;
	if (egs_proc_read(pid, "cmdline", title, sizeof(title)) < 0)
		return egs_proc_fail(pid, "cmdline", err);
	if (!parse_title(title, stepd))
		return 0;
	errno = error;
	if (error)
		return egs_proc_fail(pid, "exe", err);
	if (read_group(pid, &stepd->group) < 0)
		return egs_proc_fail(pid, "cgroup", err);
	return 1;
}

/* Returns NULL without memory. */
static struct egs_stepds_pid *get_pid(struct egs_stepds *all, pid_t pid)
{
	uint32_t slot = egs_idmap_find(&all->pids, (uint32_t)pid);

	if (slot != EGS_IDMAP_NONE)
		return &all->known[slot];
	slot = egs_idmap_add(&all->pids, (uint32_t)pid);
	if (slot == EGS_IDMAP_NONE ||
	    egs_grow(&all->known, &all->known_room, slot + 1) < 0)
		return NULL;
	all->known[slot] =
		(struct egs_stepds_pid){ .parent = egs_proc_parent(pid) };
	return &all->known[slot];
}

struct stepds_search {
	struct egs_stepds *all;
	struct egs_err *err;
};

static int add_stepd(void *arg, pid_t pid)
{
	struct stepds_search *search = arg;
	struct egs_stepds *all = search->all;
	struct egs_stepds_pid *known;
	struct egs_stepd stepd;
	int rc;

	if (all->end_ms && egs_now_ms() >= all->end_ms)
		return 1;
	rc = read_stepd(pid, &stepd, search->err);
	if (rc <= 0)
		return rc;
	known = get_pid(all, pid);
	if (!known || egs_grow(&all->list, &all->room, all->n + 1) < 0)
		return egs_errf(search->err, "out of memory");
	all->list[all->n++] = stepd;
	known->stepd = (uint32_t)all->n;
	return 0;
}

int egs_stepds_read(struct egs_stepds *all, struct egs_err *err)
{
	struct stepds_search search = { .all = all, .err = err };
	int rc;

	all->n = 0;
	egs_idmap_clear(&all->pids);
	rc = egs_proc_each(add_stepd, &search, err);
	if (rc != 0)
		egs_stepds_free(all);
	return rc;
}

void egs_stepds_free(struct egs_stepds *all)
{
	free(all->list);
	free(all->known);
	egs_idmap_clear(&all->pids);
	*all = (struct egs_stepds){ .n = 0 };
}

bool egs_stepds_have_job(const struct egs_stepds *all, uint32_t job)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->list[i].job == job)
			return true;
	return false;
}

bool egs_stepds_have_pid(const struct egs_stepds *all, pid_t pid)
{
	uint32_t slot = egs_idmap_find(&all->pids, (uint32_t)pid);

	return slot != EGS_IDMAP_NONE && all->known[slot].stepd;
}

/* ---- the step of a process ---- */

static void set_running(struct egs_step *step, uint32_t job, const char *name)
{
	step->source = EGS_STEP_RUNNING;
	step->job = job;
	snprintf(step->name, sizeof(step->name), "%s", name);
}

/* Returns 1 with '*step' set, 0, or -1 with 'err' set. */
static int find_by_ancestor(struct egs_stepds *all, pid_t pid,
			    struct egs_step *step, struct egs_err *err)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		const struct egs_stepds_pid *known = get_pid(all, pid);
		const struct egs_stepd *stepd;

		if (!known)
			return egs_errf(err, "out of memory");
		if (known->stepd) {
			stepd = &all->list[known->stepd - 1];
			set_running(step, stepd->job, stepd->step);
			return 1;
		}
		pid = known->parent;
	}
	return 0;
}

/* The slurmstepd of another step of the job proves the job, too. */
static bool find_by_group(const struct egs_stepds *all,
			  const struct egs_step_group *group,
			  struct egs_step *step)
{
	const char *name = group->path + group->job_len;

	name += strlen("/step_");
	for (size_t i = 0; i < all->n; i++) {
		if (!is_same_job_group(&all->list[i].group, group))
			continue;
		set_running(step, all->list[i].job, name);
		return true;
	}
	return false;
}

/* No slurmstepd is left in the group.  Its name may have the job's id. */
static void set_ended(const struct egs_step_group *group, struct egs_step *step)
{
	const char *job = group->path + group->job_len;

	while (job > group->path && job[-1] != '/')
		job--;
	step->source = EGS_STEP_ENDED;
	if (strncmp(job, "job_", 4) == 0)
		step->job = (uint32_t)strtoul(job + 4, NULL, 10);
}

int egs_stepds_find_step(struct egs_stepds *all, pid_t pid,
			 struct egs_step *step, struct egs_err *err)
{
	struct egs_step_group group;
	int rc;

	*step = (struct egs_step){ .source = EGS_STEP_UNREAD };
	rc = find_by_ancestor(all, pid, step, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (read_group(pid, &group) < 0)
		return egs_proc_fail(pid, "cgroup", err) < 0 ? -1 : 1;
	if (*group.path && !find_by_group(all, &group, step))
		set_ended(&group, step);
	return 0;
}

int egs_stepds_read_claim(pid_t pid, const char *node, struct egs_step *step,
			  struct egs_err *err)
{
	char *text = malloc(ENVIRON_SIZE);
	const char *at, *job;
	ssize_t n;
	int rc = 0;

	*step = (struct egs_step){ .source = EGS_STEP_UNKNOWN };
	if (!text)
		return egs_errf(err, "out of memory");
	n = egs_proc_read(pid, "environ", text, ENVIRON_SIZE);
	if (n < 0) {
		rc = egs_proc_fail(pid, "environ", err) < 0 ? -1 : 1;
	} else {
		at = egs_proc_find_env(text, (size_t)n, "SLURMD_NODENAME");
		job = egs_proc_find_env(text, (size_t)n, "SLURM_JOB_ID");
		if (at && job && strcmp(at, node) == 0)
			step->job = (uint32_t)strtoul(job, NULL, 10);
		if (step->job)
			step->source = EGS_STEP_CLAIMED;
	}
	free(text);
	return rc;
}
