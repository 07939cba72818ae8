/* gpu_users_scan.c - find the processes that have GPUs of this node open
 *
 * The scan of a job stops all processes that count, so that none can pass a GPU
 * on to another one that was examined before.  A child process does that:
 * whatever happens to it, the kernel lets all continue when it has ended.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/child.h"
#include "common/base/clock.h"
#include "common/node/gpu_search.h"
#include "common/node/proc.h"
#include "common/node/stops.h"

enum {
	STOP_MS = 2000, /* no process is stopped for longer */
	CALM_LISTS = 2, /* lists of processes in which nothing is new */
	PROBES = 128,
	NEWEST_MAX = 1024,
	SETTLE_MS = 20, /* for files that are just being sent */
	SETTLE_TRIES = 15,
};

/* ---- all processes ---- */

static int scan_process(void *arg, pid_t pid)
{
	return pid == getpid() ? 0 : egs_gpu_search_process(arg, pid);
}

int egs_gpu_users_scan(struct egs_gpu_users *users,
		       const struct egs_node_gpus *gpus, uint64_t wanted,
		       uint32_t budget_ms, struct egs_err *err)
{
	struct egs_gpu_search search = {
		.users = users,
		.gpus = gpus,
		.wanted = wanted,
		.deadline_ms = budget_ms ? egs_now_ms() + budget_ms : 0,
		.err = err,
	};
	int rc;

	users->job = 0;
	users->is_cut = false;
	rc = egs_proc_each(scan_process, &search, err);
	if (rc == 0)
		rc = egs_gpu_search_rests(&search);
	egs_gpu_search_free(&search);
	return rc < 0 ? -1 : 0;
}

/* ---- the processes that count for a job ---- */

struct judged_process {
	bool is_roots, counts;
};

struct job_scan {
	struct egs_gpu_search search;
	struct egs_stops stops;
	struct egs_idmap pids;
	struct judged_process *judged; /* by slot of 'pids' */
	size_t room;
	pid_t last_pid; /* of the processes that are judged */
	bool is_late;	/* not all processes have stopped in time */
	uint64_t stop_end_ms;
	uint32_t budget_ms;
	uint64_t end_ms; /* of the whole scan */
};

/* Returns 1 if the process counts, 0, or -1 with the error set. */
static int judge_user(const struct job_scan *scan, pid_t pid, uid_t uid)
{
	struct egs_gpu_users *users = scan->search.users;
	struct egs_gpu_user user = { .pid = pid, .uid = uid };
	int rc;

	if (egs_gpu_users_counts(users, &user))
		return 1;
	rc = egs_stepds_find_step(&users->stepds, pid, &user.step,
				  scan->search.err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return egs_gpu_users_counts(users, &user);
}

static int judge_new(struct job_scan *scan, pid_t pid)
{
	uint32_t slot;
	uid_t uid;
	int rc;

	if (egs_proc_uid(pid, &uid) < 0)
		return egs_proc_fail(pid, "status", scan->search.err);
	rc = judge_user(scan, pid, uid);
	if (rc < 0)
		return rc;
	slot = egs_idmap_add(&scan->pids, (uint32_t)pid);
	if (slot == EGS_IDMAP_NONE ||
	    egs_grow(&scan->judged, &scan->room, slot + 1) < 0)
		return egs_errf(scan->search.err, "out of memory");
	scan->judged[slot] = (struct judged_process){ .is_roots = uid == 0,
						      .counts = rc != 0 };
	return rc;
}

/* A process keeps its user, unless it is root's.  No pid comes back so soon. */
static int judge_process(struct job_scan *scan, pid_t pid)
{
	uint32_t slot = egs_idmap_find(&scan->pids, (uint32_t)pid);
	uid_t uid = 0;

	if (slot == EGS_IDMAP_NONE)
		return judge_new(scan, pid);
	if (scan->judged[slot].is_roots && egs_proc_uid(pid, &uid) < 0)
		return egs_proc_fail(pid, "status", scan->search.err);
	return uid ? judge_new(scan, pid) : scan->judged[slot].counts;
}

static int judge_listed(void *arg, pid_t pid)
{
	int rc = judge_process(arg, pid);

	return rc < 0 ? rc : 0;
}

/* ---- stop them ---- */

/* A slurmstepd keeps no file for a user.  What it has started may be in the
 * list of slurmstepds, until it runs the user's program.
 */
static bool is_stepd(const struct job_scan *scan, pid_t pid)
{
	uint32_t slot = egs_idmap_find(&scan->pids, (uint32_t)pid);

	return slot != EGS_IDMAP_NONE && scan->judged[slot].is_roots &&
	       egs_stepds_have_pid(&scan->search.users->stepds, pid);
}

static int fail_to_stop(struct job_scan *scan)
{
	scan->is_late = true;
	return egs_errf(scan->search.err,
			"the processes of the user cannot all be stopped in "
			"%d ms",
			STOP_MS);
}

/* The list may be long, and the processes before this one stand still. */
static int stop_process(void *arg, pid_t pid)
{
	struct job_scan *scan = arg;
	int rc;

	if (egs_now_ms() >= scan->stop_end_ms)
		return fail_to_stop(scan);
	rc = judge_process(scan, pid);
	if (rc <= 0)
		return rc;
	if (is_stepd(scan, pid) ||
	    egs_stops_add(&scan->stops, pid, scan->search.err) == 0)
		return 0;
	/* The scan of another node on this host may trace it for a moment. */
	scan->is_late = true;
	return -1;
}

/* The kernel's last pid is at the end of "0.00 0.01 0.05 1/97 4711". */
static pid_t read_last_pid(void)
{
	char text[128];
	const char *last;

	if (egs_proc_read(0, "loadavg", text, sizeof(text)) < 0)
		return 0;
	last = strrchr(text, ' ');
	return last ? (pid_t)strtol(last, NULL, 10) : 0;
}

/* Has the process ended before its user was known, or before it stopped? */
static bool has_escaped(const struct job_scan *scan, pid_t pid)
{
	uint32_t slot = egs_idmap_find(&scan->pids, (uint32_t)pid);

	if (slot == EGS_IDMAP_NONE)
		return true;
	return scan->judged[slot].counts && !is_stepd(scan, pid) &&
	       egs_idmap_find(&scan->stops.threads, (uint32_t)pid) ==
		       EGS_IDMAP_NONE;
}

/* Stop the processes that count among the newest ones, down to 'first'.  Clears
 * '*is_sure' if one has ended that may have started another.
 */
static int stop_down_to(struct job_scan *scan, pid_t last, pid_t first,
			bool *is_sure)
{
	int rc = 0;

	for (pid_t pid = last; rc == 0 && pid >= first && pid > 0; pid--) {
		rc = stop_process(scan, pid);
		if (has_escaped(scan, pid))
			*is_sure = false;
	}
	return rc;
}

/* A process that starts another and ends, and so on without end, has ended when
 * a list that names it was read.  So examine the newest processes directly.
 * Those of other users may come and go, too: do not wait for them for ever.
 */
static int stop_newest(struct job_scan *scan)
{
	bool is_sure = false;
	int rc = 0;

	for (int i = 0; rc == 0 && !is_sure && i < PROBES; i++) {
		pid_t last = read_last_pid(), first = scan->last_pid + 1;

		if (last < scan->last_pid || last - first >= NEWEST_MAX)
			first = last - NEWEST_MAX + 1;
		scan->last_pid = last;
		is_sure = true;
		rc = stop_down_to(scan, last, first, &is_sure);
	}
	return rc == 0 && !is_sure ? fail_to_stop(scan) : rc;
}

static int stop_all(struct job_scan *scan)
{
	int calm = 0;

	while (calm < CALM_LISTS) {
		scan->stops.n_new = 0;
		if (egs_proc_each(stop_process, scan, scan->search.err) < 0 ||
		    stop_newest(scan) < 0)
			return -1;
		if (egs_stops_wait(&scan->stops, scan->stop_end_ms,
				   scan->search.err) < 0) {
			scan->is_late = true;
			return -1;
		}
		calm = scan->stops.n_new ? 0 : calm + 1;
		if (egs_now_ms() >= scan->stop_end_ms)
			return fail_to_stop(scan);
	}
	return 0;
}

/* ---- examine them ---- */

static int fail_late(const struct job_scan *scan)
{
	uint32_t limit_ms = scan->budget_ms && scan->budget_ms < STOP_MS
				    ? scan->budget_ms
				    : STOP_MS;

	return egs_errf(scan->search.err,
			"the files of job %" PRIu32 " and its user are too "
			"many to examine in %u ms",
			scan->search.users->job, (unsigned)limit_ms);
}

static int examine_stopped(struct job_scan *scan)
{
	struct egs_gpu_search *search = &scan->search;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < scan->pids.nslots; i++)
		if (scan->judged[i].counts)
			rc = egs_gpu_search_process(search,
						    (pid_t)scan->pids.id[i]);
	if (rc == 0)
		rc = egs_gpu_search_rests(search);
	if (rc == 0 && !search->users->is_cut)
		return 0;
	return rc < 0 ? -1 : fail_late(scan);
}

/* The budget is for files: lists of processes may be long by others' doing. */
static int scan_stopped(struct job_scan *scan)
{
	struct egs_gpu_search *search = &scan->search;
	uint64_t budget_end_ms;

	scan->stop_end_ms = egs_now_ms() + STOP_MS;
	if (stop_all(scan) < 0)
		return -1;
	budget_end_ms = egs_now_ms() + scan->budget_ms;
	search->deadline_ms =
		scan->budget_ms && budget_end_ms < scan->stop_end_ms
			? budget_end_ms
			: scan->stop_end_ms;
	if (examine_stopped(scan) < 0)
		return -1;
	return search->users->on_stopped
		       ? search->users->on_stopped(
				 search->users->on_stopped_arg, search->users,
				 search->err)
		       : 0;
}

/* Whose each process is can be found before any is stopped. */
static int scan_once(struct job_scan *scan)
{
	struct egs_gpu_search *search = &scan->search;
	int rc = egs_stepds_read(&search->users->stepds, search->err);

	search->users->n = 0;
	search->users->is_cut = search->is_hidden = scan->is_late = false;
	scan->last_pid = read_last_pid();
	if (rc == 0)
		rc = egs_proc_each(judge_listed, scan, search->err);
	if (rc == 0)
		rc = scan_stopped(scan);
	egs_stops_end(&scan->stops);
	egs_gpu_search_free(search);
	egs_idmap_clear(&scan->pids);
	return rc;
}

/* Programs send files to each other.  They are in flight for a moment, those
 * that a process hides for longer.  A process may also need a moment to stop.
 */
static int scan_until_settled(struct job_scan *scan)
{
	int rc = scan_once(scan);

	for (int i = 0; rc < 0 && (scan->search.is_hidden || scan->is_late) &&
			i < SETTLE_TRIES && egs_now_ms() < scan->end_ms;
	     i++) {
		/* Two scans that met do not meet again. */
		poll(NULL, 0, SETTLE_MS + (int)(getpid() % 16) * (i + 1));
		rc = scan_once(scan);
	}
	free(scan->judged);
	return rc;
}

/* ---- in a child ---- */

struct job_scan_input {
	const struct egs_node_gpus *gpus;
	const struct egs_gpu_users *users;
	uint32_t budget_ms;
};

/* The result is the list of users. */
static int scan_in_child(const void *arg, char **bytes, size_t *len,
			 struct egs_err *err)
{
	const struct job_scan_input *input = arg;
	struct egs_gpu_users users = { .job = input->users->job,
				       .daemon = input->users->daemon,
				       .sub_uids = input->users->sub_uids,
				       .on_stopped = input->users->on_stopped,
				       .on_stopped_arg =
					       input->users->on_stopped_arg };
	struct job_scan scan = {
		.search = { .users = &users,
			    .gpus = input->gpus,
			    .wanted = EGS_GPUS_ALL,
			    .err = err },
		.budget_ms = input->budget_ms,
		.end_ms = input->budget_ms ? egs_now_ms() + input->budget_ms
					   : UINT64_MAX,
	};
	int rc = scan_until_settled(&scan);

	if (rc == 0) {
		*bytes = (char *)users.list;
		*len = users.n * sizeof(*users.list);
		users.list = NULL;
	}
	egs_gpu_users_free(&users);
	return rc;
}

static int take_list(struct egs_gpu_users *users, const struct egs_child *child,
		     struct egs_err *err)
{
	size_t n = child->len / sizeof(*users->list);

	if (egs_grow(&users->list, &users->room, n + 1) < 0)
		return egs_errf(err, "out of memory");
	memcpy(users->list, child->bytes, n * sizeof(*users->list));
	users->n = n;
	return 0;
}

int egs_gpu_users_scan_job(struct egs_gpu_users *users,
			   const struct egs_node_gpus *gpus, uint32_t job,
			   uid_t uid, uint32_t budget_ms, struct egs_err *err)
{
	struct job_scan_input input = { gpus, users, budget_ms };
	struct egs_child child;
	struct pollfd ready = { .events = POLLIN };
	int rc;

	users->job = job;
	users->n = 0;
	egs_sub_uids_read(&users->sub_uids, NULL, uid);
	if (egs_child_start(&child, scan_in_child, &input, err) < 0)
		return -1;
	ready.fd = child.fd;
	do {
		poll(&ready, 1, -1);
		rc = egs_child_read(&child, err);
	} while (rc == 1);
	if (rc == 0)
		rc = take_list(users, &child, err);
	egs_child_stop(&child);
	return rc;
}
