/* abort_targets.c - the jobs that a user may abort, hold or release together */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/conf/names.h"
#include "policyd/requests/abort_targets.h"

/* A job that waits for a job that waits ..., so many times. */
enum { DEPTH_MAX = 64 };

const char *egs_abort_allowed_as(const struct egs_daemon *d, uid_t uid,
				 const struct egs_job *j)
{
	const char *name = egs_requests_lead_name(d, uid, j);
	struct egs_job_info known;

	if (name || j->ident.uid != uid ||
	    egs_cluster_lookup(d->cluster, j->ident.job_id, &known) < 0)
		return name;
	return known.user;
}

static uint32_t get_kind(const struct egs_abort_targets *t)
{
	return t->wish & EGS_WISH_MASK;
}

/* ---- is the wish possible for a job? ---- */

static int check_abort(const struct egs_job *j, bool requeue,
		       struct egs_err *err)
{
	if (requeue && j->running && !j->facts.can_requeue)
		return egs_errf(err,
				"job %" PRIu32 " cannot be requeued; use "
				"--requeue=no",
				j->ident.job_id);
	return 0;
}

static int check_hold(const struct egs_job *j, struct egs_err *err)
{
	uint32_t id = j->ident.job_id;

	if (j->running)
		return egs_errf(err,
				"job %" PRIu32 " runs; 'egsctl abort' with "
				"--requeue=hold ends its run",
				id);
	return j->facts.held
		       ? egs_errf(err, "job %" PRIu32 " is held already", id)
		       : 0;
}

static int check_release(const struct egs_job *j, bool operator,
			 struct egs_err * err)
{
	uint32_t id = j->ident.job_id;

	if (!j->facts.held)
		return egs_errf(err, "job %" PRIu32 " is not held", id);
	if (j->facts.held_by_admin && !operator)
		return egs_errf(err,
				"job %" PRIu32 " is held by an operator, who "
				"alone may release it",
				id);
	return 0;
}

/* Is the wish possible for this job? */
static int check_wish(const struct egs_abort_targets *t,
		      const struct egs_job *j, struct egs_err *err)
{
	bool operator= egs_daemon_operator_name(t->d, t->uid) != NULL;

	if (egs_job_is_aborted(j) && (j->wish & EGS_WISH_MASK) != get_kind(t))
		return egs_errf(err, "job %" PRIu32 " is being aborted",
				j->ident.job_id);
	switch (get_kind(t)) {
	case EGS_WISH_HOLD:
		return check_hold(j, err);
	case EGS_WISH_RELEASE:
		return check_release(j, operator, err);
	default:
		return check_abort(j, get_kind(t) == EGS_WISH_REQUEUE, err);
	}
}

/* ---- the list ---- */

/* Slurm cancels, requeues and holds a het job by its first component. */
static const struct egs_job *find_leader(const struct egs_daemon *d,
					 const struct egs_job *j)
{
	const struct egs_job *leader =
		j->facts.het_job ? egs_policy_job(d->policy, j->facts.het_job)
				 : NULL;

	return leader ? leader : j;
}

/* The id of the array of a job, or of the job itself. */
static uint32_t get_array_id(const struct egs_daemon *d,
			     const struct egs_job *j)
{
	struct egs_job_info known = { .array_job_id = 0 };

	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	return known.array_job_id ? known.array_job_id : j->ident.job_id;
}

static bool is_chosen(const struct egs_abort_targets *t,
		      const struct egs_job *j)
{
	return egs_idmap_find(&t->jobs, find_leader(t->d, j)->ident.job_id) !=
	       EGS_IDMAP_NONE;
}

static int add_target(struct egs_abort_targets *t, const struct egs_job *j,
		      uint32_t depends_on, struct egs_err *err)
{
	const struct egs_job *leader = find_leader(t->d, j);
	uint32_t id = leader->ident.job_id;

	if (is_chosen(t, j))
		return 0;
	if (egs_grow(&t->list, &t->room, t->n + 1) < 0 ||
	    egs_idmap_add(&t->jobs, id) == EGS_IDMAP_NONE ||
	    egs_idmap_add(&t->arrays, get_array_id(t->d, leader)) ==
		    EGS_IDMAP_NONE)
		return egs_errf(err, "out of memory");
	t->list[t->n++] = (struct egs_abort_target){ .job_id = id,
						     .depends_on = depends_on };
	return 0;
}

void egs_abort_free_targets(struct egs_abort_targets *t)
{
	free(t->list);
	egs_idmap_clear(&t->jobs);
	egs_idmap_clear(&t->arrays);
	t->list = NULL;
	t->n = t->room = 0;
}

/* ---- job= ---- */

static int refuse_job(const struct egs_job *j, struct egs_err *err)
{
	return egs_errf(err,
			"job %" PRIu32 " is not yours; its owner, operators "
			"and the coordinators of its account in a team may do "
			"that",
			j->ident.job_id);
}

static int add_named(struct egs_abort_targets *t, const struct egs_job *j,
		     struct egs_err *err)
{
	if (!egs_abort_allowed_as(t->d, t->uid, j))
		return refuse_job(j, err);
	if (t->as_of && j->first_submitted > t->as_of)
		return egs_errf(err,
				"job %" PRIu32 " is another job now; ask again",
				j->ident.job_id);
	return check_wish(t, find_leader(t->d, j), err) < 0
		       ? -1
		       : add_target(t, j, 0, err);
}

/* All tasks of an array; those for which the wish is not possible are left out
 * unless none is left.
 */
static int add_tasks(struct egs_abort_targets *t, uint32_t array,
		     struct egs_err *err)
{
	uint32_t slots = egs_policy_nslots(t->d->policy);
	struct egs_job_info known;

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(t->d->policy, i);

		if (!j ||
		    egs_cluster_lookup(t->d->cluster, j->ident.job_id, &known) <
			    0 ||
		    known.array_job_id != array)
			continue;
		if (!egs_abort_allowed_as(t->d, t->uid, j))
			return refuse_job(j, err);
		if (add_named(t, j, err) < 0 && get_kind(t) == EGS_WISH_REQUEUE)
			return -1;
	}
	return t->n ? 0 : -1;
}

/* A task that has not started has no record of its own. */
static int check_task(const struct egs_job *j, uint32_t task,
		      struct egs_err *err)
{
	if (task == EGS_NO_TASK || j->ident.array_task == task)
		return 0;
	return egs_errf(err,
			"task %" PRIu32 " of job %" PRIu32
			" has not started; name the array, or use scancel or "
			"scontrol for the task",
			task, j->ident.job_id);
}

static bool is_array(const struct egs_daemon *d, uint32_t id)
{
	uint32_t slots = egs_policy_nslots(d->policy);
	struct egs_job_info known;

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j &&
		    egs_cluster_lookup(d->cluster, j->ident.job_id, &known) ==
			    0 &&
		    known.array_job_id == id)
			return true;
	}
	return false;
}

static int choose_job(struct egs_abort_targets *t,
		      const struct egs_msg *request, struct egs_err *err)
{
	uint32_t id = 0, task = EGS_NO_TASK;
	const struct egs_job *j;

	if (egs_requests_read_job_id(request, &id, &task, err) < 0)
		return -1;
	if (task == EGS_NO_TASK && is_array(t->d, id))
		return add_tasks(t, id, err);
	j = egs_requests_find_job(t->d, request, err);
	if (!j || check_task(j, task, err) < 0)
		return -1;
	return add_named(t, j, err);
}

/* ---- workload= ---- */

/* Does the job belong to the workload NAME, or to its stage?  A stage is part
 * of the job's hint, or the phase that the job is in.
 */
static bool is_in_workload(const struct egs_daemon *d, const struct egs_job *j,
			   const char *workload)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	size_t name = strcspn(workload, "/");
	struct egs_job_info known;
	const char *own;

	if (egs_cluster_lookup(d->cluster, j->ident.job_id, &known) < 0)
		return false;
	own = known.workload;
	if (strncmp(own, workload, name) != 0 ||
	    (own[name] && own[name] != '/'))
		return false;
	return !workload[name] || strcmp(own, workload) == 0 ||
	       (!own[name] && j->facts.phase >= 0 &&
		j->facts.phase ==
			egs_conf_find_typed_phase(c, workload + name + 1));
}

static int choose_workload(struct egs_abort_targets *t, const char *workload,
			   struct egs_err *err)
{
	uint32_t slots = egs_policy_nslots(t->d->policy);

	if (!*workload || *workload == '/')
		return egs_errf(err,
				"workload='%s' has no name; use "
				"NAME or NAME/STAGE",
				egs_printable(workload).text);
	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(t->d->policy, i);

		if (!j || !is_in_workload(t->d, j, workload) ||
		    !egs_abort_allowed_as(t->d, t->uid, j) ||
		    (t->as_of && j->first_submitted > t->as_of))
			continue;
		if (check_wish(t, find_leader(t->d, j), err) == 0) {
			if (add_target(t, j, 0, err) < 0)
				return -1;
		} else if (get_kind(t) == EGS_WISH_REQUEUE) {
			return -1;
		}
	}
	return t->n ? 0
		    : egs_errf(err,
			       "workload %s has no job for that, or none that "
			       "is yours",
			       egs_printable(workload).text);
}

int egs_abort_choose(struct egs_abort_targets *t, const struct egs_msg *request,
		     struct egs_err *err)
{
	const char *workload = egs_msg_get_str(request, "workload");
	const char *job = egs_msg_get_str(request, "job");

	if (!job == !workload)
		return egs_errf(err, "use either job= or workload=");
	if (egs_requests_check_synced(t->d, err) < 0)
		return -1;
	return workload ? choose_workload(t, workload, err)
			: choose_job(t, request, err);
}

/* ---- dependents ---- */

/* Are all known tasks of the array chosen? */
static bool is_array_chosen(const struct egs_abort_targets *t, uint32_t array)
{
	uint32_t slots = egs_policy_nslots(t->d->policy);

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(t->d->policy, i);

		if (j && get_array_id(t->d, j) == array && !is_chosen(t, j))
			return false;
	}
	return true;
}

/* Is the job of a dependency chosen?  Returns its id, or 0.  With aftercorr
 * the tasks whose own task is not aborted can still start.
 */
static uint32_t find_chosen(const struct egs_abort_targets *t,
			    const struct egs_dependency *on)
{
	if (on->is_by_task && on->task == EGS_NO_TASK &&
	    !is_array_chosen(t, on->job_id))
		return 0;
	if (on->task == EGS_NO_TASK &&
	    egs_idmap_find(&t->jobs, on->job_id) != EGS_IDMAP_NONE)
		return on->job_id;
	if (egs_idmap_find(&t->arrays, on->job_id) == EGS_IDMAP_NONE)
		return 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct egs_job *j =
			egs_policy_job(t->d->policy, t->list[i].job_id);

		if (j && get_array_id(t->d, j) == on->job_id &&
		    (on->task == EGS_NO_TASK || j->facts.array_rest ||
		     j->ident.array_task == on->task))
			return j->ident.job_id;
	}
	return 0;
}

/* The chosen job without which this one can never start; 0: none. */
static uint32_t find_needed(const struct egs_abort_targets *t,
			    const struct egs_job *j)
{
	struct egs_job_info known;
	struct egs_dependency on;
	const char *text;
	uint32_t id;

	if (j->running ||
	    egs_cluster_lookup(t->d->cluster, j->ident.job_id, &known) < 0)
		return 0;
	for (text = known.depends_on; egs_dependency_next(&text, &on);)
		if (on.needs_success && !on.is_alternative &&
		    (id = find_chosen(t, &on)))
			return id;
	return 0;
}

int egs_abort_add_dependents(struct egs_abort_targets *t, struct egs_err *err)
{
	uint32_t slots = egs_policy_nslots(t->d->policy);
	size_t before;
	int depth = 0;

	do {
		before = t->n;
		for (uint32_t i = 0; i < slots; i++) {
			const struct egs_job *j =
				egs_policy_slot(t->d->policy, i);
			uint32_t needed = j ? find_needed(t, j) : 0;

			if (needed && !is_chosen(t, j) &&
			    egs_abort_allowed_as(t->d, t->uid, j) &&
			    add_target(t, j, needed, err) < 0)
				return -1;
		}
	} while (t->n > before && ++depth < DEPTH_MAX);
	return 0;
}
