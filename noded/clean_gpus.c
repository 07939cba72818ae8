/* clean_gpus.c - the second scan of the GPUs of a starting step
 *
 * spank_egs scans these GPUs first, in haste.  If that scan leaves a question,
 * spank_egs writes a request.  A child process repeats the scan, kills
 * leftovers (leftovers.h), looks again and reports what it cannot end.  So a
 * node is fenced only for a process that three scans have found and two signals
 * have not ended.
 *
 * There is one request at a time.  A request that waits long is dropped: by
 * then the GPUs may belong to another job.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "common/node/leftovers.h"
#include "noded/noded.h"

enum {
	ANSWER_MS = 10000,
	RETRY_MS = 1000,
	EXIT_MS = 3000,
	SCAN_MS = 10000,
	LOOKS = 2,
	CLEAN_MS = 60000,
	REQUEST_MAX = 256,
	REQUEST_AGE_MAX_S = 60,
	ROWS_MAX = 64,
};

struct cleaning {
	const char *node;
	uint32_t job;
	uid_t uid;
	uint64_t gpus;
};

/* ---- in the child ---- */

/* One row for each job and GPU is enough. */
static bool is_reported(const struct egs_gpu_users *users, size_t index)
{
	const struct egs_gpu_user *user = &users->list[index];

	for (size_t i = 0; i < index; i++)
		if (users->list[i].gpu == user->gpu &&
		    users->list[i].fate == user->fate &&
		    users->list[i].uid == user->uid &&
		    users->list[i].step.job == user->step.job)
			return true;
	return false;
}

static void add_rows(struct egs_msg *report, const struct egs_gpu_users *users)
{
	static const char *const columns[] = { "CARD", "WORDS", "JOB", "UID",
					       "STAYS" };
	size_t rows = 0;

	egs_msg_set_columns(report, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; rows < ROWS_MAX && i < users->n; i++) {
		const struct egs_gpu_user *user = &users->list[i];

		if ((user->fate != EGS_GPU_USER_RUNS &&
		     user->fate != EGS_GPU_USER_STAYS) ||
		    is_reported(users, i))
			continue;
		rows++;
		egs_msg_add_row(report);
		egs_msg_add_cell_int(report, user->gpu);
		egs_msg_add_cell(report, egs_gpu_user_text(user).text);
		egs_msg_add_cell_int(report, user->step.job);
		egs_msg_add_cell_int(report, user->uid);
		egs_msg_add_cell_int(report, user->fate == EGS_GPU_USER_STAYS);
	}
}

static void log_killed(const struct egs_gpu_users *users, uint32_t job)
{
	for (size_t i = 0; i < users->n; i++)
		if (users->list[i].fate == EGS_GPU_USER_KILLED)
			egs_log_info("killed %s, which had GPU %" PRIu32
				     " of job %" PRIu32 " open",
				     egs_gpu_user_text(&users->list[i]).text,
				     users->list[i].gpu, job);
}

/* If the job has no step here any more, its GPUs may be another job's. */
static bool has_ended(uint32_t job)
{
	struct egs_stepds stepds = { .n = 0 };
	bool ended = egs_stepds_read(&stepds, NULL) == 0 &&
		     !egs_stepds_have_job(&stepds, job);

	egs_stepds_free(&stepds);
	return ended;
}

static bool has_staying(const struct egs_gpu_users *users)
{
	for (size_t i = 0; i < users->n; i++)
		if (users->list[i].fate == EGS_GPU_USER_STAYS)
			return true;
	return false;
}

/* Find and kill leftovers once.  A job without a slurmstepd has ended. */
static int clean_once(struct egs_gpu_users *users, const struct cleaning *c,
		      struct egs_err *err)
{
	struct egs_node_gpus gpus;

	egs_gpu_users_free(users);
	egs_node_gpus_read(&gpus, NULL, c->node);
	if (egs_gpu_users_scan(users, &gpus, c->gpus, SCAN_MS, err) < 0 ||
	    egs_gpu_users_identify(users, 0, err) < 0 ||
	    egs_gpu_users_read_claims(users, c->node, err) < 0)
		return -1;
	if (users->is_cut)
		egs_log_warn("not all open files were examined in %d ms",
			     SCAN_MS);
	if (!egs_stepds_have_job(&users->stepds, c->job))
		return 0;
	egs_leftovers_kill(users, c->job, c->uid, EXIT_MS);
	log_killed(users, c->job);
	return 0;
}

static int clean_gpus(struct egs_gpu_users *users, const struct cleaning *c,
		      struct egs_err *err)
{
	if (has_ended(c->job))
		return 0;
	for (int look = 0; look < LOOKS; look++) {
		if (clean_once(users, c, err) < 0)
			return -1;
		if (!has_staying(users))
			break;
	}
	return 0;
}

static int clean_in_child(const void *arg, char **bytes, size_t *len,
			  struct egs_err *err)
{
	const struct cleaning *c = arg;
	struct egs_msg *report = egs_msg_new();
	struct egs_gpu_users users = { .n = 0 };
	const char *text = NULL;
	int rc = clean_gpus(&users, c, err);

	if (rc == 0 && report) {
		egs_msg_set_str(report, "verb", "node-unclean");
		egs_msg_set_str(report, "node", c->node);
		egs_msg_set_int(report, "for", c->job);
		add_rows(report, &users);
		text = egs_msg_to_text(report, len);
	}
	*bytes = text ? strdup(text) : NULL;
	egs_msg_free(report);
	egs_gpu_users_free(&users);
	if (rc == 0 && !*bytes)
		return egs_errf(err, "out of memory");
	return rc;
}

/* ---- in egs-noded ---- */

/* A later step of the job may have replaced the file. */
static void end_request(struct egs_noded *noded)
{
	struct stat is;

	if (fstatat(noded->rundirs_fd, noded->clean_name, &is,
		    AT_SYMLINK_NOFOLLOW) == 0 &&
	    is.st_ino == noded->clean_inode)
		unlinkat(noded->rundirs_fd, noded->clean_name, 0);
}

void egs_noded_on_clean_answer(struct egs_noded *noded, int rc,
			       const struct egs_msg *answer,
			       const struct egs_err *err)
{
	(void)answer;
	if (rc == EGS_CLIENT_RETRY)
		egs_timer_start(noded->scan_timer, RETRY_MS);
	if (rc == EGS_CLIENT_RETRY || rc == EGS_CLIENT_UNREACHABLE)
		return; /* scan again later */
	if (rc < 0)
		egs_log_info("egs-policyd rejected the GPU report: %s",
			     err->msg);
	end_request(noded);
}

static bool has_rows(const struct egs_msg *report)
{
	size_t columns, rows = 0;

	return egs_msg_check_table(report, &columns, &rows, NULL) == 0 && rows;
}

static void on_cleaned(void *arg, int rc, const char *bytes, size_t len,
		       const struct egs_err *why)
{
	struct egs_noded *noded = arg;
	struct egs_msg *report = NULL;
	struct egs_err err = *why;

	if (rc == 0)
		report = egs_msg_parse(bytes, len, EGS_MSG_REQUEST_MAX, &err);
	if (!report)
		egs_log_error("the GPUs of a starting step were not scanned: "
			      "%s",
			      err.msg);
	if (report && has_rows(report))
		egs_policyd_call_start(&noded->clean_call, report, ANSWER_MS);
	else
		end_request(noded);
	egs_msg_free(report);
}

/* Returns 0, or -1 if the file is not a request, or is too old. */
static int read_request(struct egs_noded *noded, const char *name,
			struct cleaning *c)
{
	int fd = openat(noded->rundirs_fd, name,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[REQUEST_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct stat is = { .st_mtime = 0 };
	struct egs_msg *request = NULL;
	int64_t job, uid;
	int rc = -1;

	if (fd >= 0) {
		if (fstat(fd, &is) < 0)
			n = -1;
		close(fd);
	}
	noded->clean_inode = is.st_ino;
	if (n > 0 && is.st_mtime + REQUEST_AGE_MAX_S >= time(NULL))
		request = egs_msg_parse(text, (size_t)n, sizeof(text), NULL);
	if (request && egs_msg_get_int(request, "job", &job) &&
	    egs_msg_get_int(request, "uid", &uid) &&
	    egs_msg_get_str(request, "gpus")) {
		c->job = (uint32_t)job;
		c->uid = (uid_t)uid;
		c->gpus = strtoull(egs_msg_get_str(request, "gpus"), NULL, 16);
		rc = 0;
	}
	egs_msg_free(request);
	return rc;
}

void egs_noded_start_cleaning(struct egs_noded *noded, const char *name)
{
	struct cleaning c = { .node = noded->node };

	if (egs_timed_child_runs(&noded->clean_child) || noded->clean_call.busy)
		return; /* the next scan of run directories finds it */
	snprintf(noded->clean_name, sizeof(noded->clean_name), "%s", name);
	if (read_request(noded, name, &c) < 0) {
		end_request(noded);
		return;
	}
	noded->clean_child.done = on_cleaned;
	noded->clean_child.arg = noded;
	noded->clean_child.owner = c.uid;
	egs_timed_child_start(&noded->clean_child, noded->loop, clean_in_child,
			      &c, CLEAN_MS, NULL);
}
