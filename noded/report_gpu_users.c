/* report_gpu_users.c - report which processes have GPUs open
 *
 * egs-policyd requests a GPU scan of a job.  Reading all of /proc takes time,
 * so a child process does the scan.  egs-policyd numbers the scans.  egs-noded
 * does those of a user in that order, one at a time, and those of several users
 * at once.  If the child cannot look at everything, or does not end in time,
 * egs-noded reports that, and no GPU changes hands.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "common/node/gpu_users.h"
#include "noded/noded.h"
#include "noded/user_memory.h"

/* egs-policyd waits for 10 s.  The rest of a scan's time is for the driver. */
enum {
	ANSWER_MS = 10000,
	REPORT_RETRY_MS = 1000,
	FILES_MS = 5000,
	SCAN_MS = 8000,
};

/* ---- in the child ---- */

static int find_users(struct egs_gpu_users *users,
		      const struct egs_gpu_scan *scan, struct egs_err *err)
{
	struct egs_node_gpus gpus;

	users->daemon = getppid();
	users->on_stopped = egs_noded_lock_unopened;
	users->on_stopped_arg = (void *)scan;
	egs_node_gpus_read(&gpus, NULL, scan->noded->node);
	if (egs_gpu_users_scan_job(users, &gpus, scan->job, scan->uid, FILES_MS,
				   err) < 0 ||
	    egs_gpu_users_add_nvml(users, &gpus, err) < 0)
		return -1;
	return egs_gpu_users_identify(users, 0, err);
}

/* Add a row for each open GPU, with the first process that has the GPU open. */
static void add_gpu_rows(struct egs_msg *report,
			 const struct egs_gpu_users *users)
{
	static const char *const columns[] = { "CARD", "WORDS" };
	uint64_t seen = 0;

	egs_msg_set_columns(report, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < users->n; i++) {
		const struct egs_gpu_user *user = &users->list[i];

		if (!egs_gpu_users_counts(users, user) || seen >> user->gpu & 1)
			continue;
		seen |= UINT64_C(1) << user->gpu;
		egs_msg_add_row(report);
		egs_msg_add_cell_int(report, user->gpu);
		egs_msg_add_cell(report, egs_gpu_user_text(user).text);
	}
}

static void add_scan(struct egs_msg *report, const struct egs_gpu_scan *scan)
{
	struct egs_gpu_users users = { .n = 0 };
	struct egs_err why;

	if (find_users(&users, scan, &why) < 0)
		egs_msg_set_str(report, "error", why.msg);
	else
		add_gpu_rows(report, &users);
	egs_gpu_users_free(&users);
}

static struct egs_msg *new_report(const struct egs_gpu_scan *scan)
{
	struct egs_msg *report = egs_msg_new();

	if (!report)
		return NULL;
	egs_msg_set_str(report, "verb", "node-open");
	egs_msg_set_str(report, "node", scan->noded->node);
	egs_msg_set_int(report, "job", scan->job);
	egs_msg_set_int(report, "look", scan->number);
	return report;
}

static int scan_gpus(const void *arg, char **bytes, size_t *len,
		     struct egs_err *err)
{
	const struct egs_gpu_scan *scan = arg;
	struct egs_msg *report = new_report(scan);
	const char *text;

	egs_noded_close_link(scan->noded);
	if (report) {
		egs_msg_set_int(report, "mem_mb",
				egs_user_memory_mb(scan->uid));
		add_scan(report, scan);
	}
	text = report ? egs_msg_to_text(report, len) : NULL;
	*bytes = text ? strdup(text) : NULL;
	egs_msg_free(report);
	return *bytes ? 0 : egs_errf(err, "out of memory");
}

/* ---- in egs-noded ---- */

static void free_scan(struct egs_gpu_scan *scan)
{
	egs_timed_child_stop(&scan->child);
	egs_msg_free(scan->report);
	*scan = (struct egs_gpu_scan){ .number = 0 };
}

/* Reports go one at a time, the oldest first. */
static void send_next_scan(struct egs_noded *noded)
{
	const struct egs_gpu_scan *next = NULL;

	if (noded->report_call.busy)
		return;
	for (size_t i = 0; i < EGS_GPU_SCANS_MAX; i++) {
		const struct egs_gpu_scan *scan = &noded->gpu_scans[i];

		if (scan->report && (!next || scan->number < next->number))
			next = scan;
	}
	noded->reported_scan = next;
	if (next)
		egs_policyd_call_start(&noded->report_call, next->report,
				       ANSWER_MS);
}

static void on_gpu_scan(void *arg, int rc, const char *bytes, size_t len,
			const struct egs_err *why)
{
	struct egs_gpu_scan *scan = arg;
	struct egs_noded *noded = scan->noded;
	struct egs_err err = *why;

	if (rc == 0)
		scan->report =
			egs_msg_parse(bytes, len, EGS_MSG_REQUEST_MAX, &err);
	if (!scan->report) {
		egs_log_warn("GPU scan failed: %s", err.msg);
		scan->report = new_report(scan);
		if (scan->report)
			egs_msg_set_str(scan->report, "error", err.msg);
	}
	if (!scan->report)
		free_scan(scan);
	send_next_scan(noded);
	egs_noded_unlock_after_scan(noded);
}

/* ---- which scan is next ---- */

static bool is_done(const struct egs_noded *noded, uint32_t number)
{
	for (size_t i = 0; i < noded->nscans_done; i++)
		if (noded->scans_done[i] == number)
			return true;
	return false;
}

static bool is_ordered(const struct egs_noded *noded, uint32_t number)
{
	for (size_t i = 0; i < noded->norders; i++)
		if (noded->orders[i].gpu_scan == number)
			return true;
	return false;
}

static void forget_done(struct egs_noded *noded)
{
	size_t kept = 0;

	for (size_t i = 0; i < noded->nscans_done; i++)
		if (is_ordered(noded, noded->scans_done[i]))
			noded->scans_done[kept++] = noded->scans_done[i];
	noded->nscans_done = kept;
}

static bool has_scan(const struct egs_noded *noded, uid_t uid)
{
	for (size_t i = 0; i < EGS_GPU_SCANS_MAX; i++)
		if (noded->gpu_scans[i].number &&
		    noded->gpu_scans[i].uid == uid)
			return true;
	return false;
}

static const struct egs_job_orders *
find_next_scan(const struct egs_noded *noded)
{
	const struct egs_job_orders *next = NULL;

	for (size_t i = 0; i < noded->norders; i++) {
		const struct egs_job_orders *orders = &noded->orders[i];

		if (orders->gpu_scan &&
		    (!next || orders->gpu_scan < next->gpu_scan) &&
		    !is_done(noded, orders->gpu_scan) &&
		    !has_scan(noded, orders->uid))
			next = orders;
	}
	return next;
}

static struct egs_gpu_scan *find_free_scan(struct egs_noded *noded)
{
	for (size_t i = 0; i < EGS_GPU_SCANS_MAX; i++)
		if (!noded->gpu_scans[i].number)
			return &noded->gpu_scans[i];
	return NULL;
}

static void start_scan(struct egs_noded *noded, struct egs_gpu_scan *scan,
		       const struct egs_job_orders *orders)
{
	struct egs_err err;

	*scan = (struct egs_gpu_scan){
		.number = orders->gpu_scan,
		.job = orders->job,
		.uid = orders->uid,
		.gpu_set = orders->gpu_set,
		.noded = noded,
		.child = { .done = on_gpu_scan,
			   .arg = scan,
			   .owner = orders->uid },
	};
	if (egs_noded_expect_lock(noded, orders, &err) < 0 ||
	    egs_timed_child_start(&scan->child, noded->loop, scan_gpus, scan,
				  SCAN_MS, &err) < 0)
		on_gpu_scan(scan, -1, NULL, 0, &err);
}

void egs_noded_start_gpu_scans(struct egs_noded *noded)
{
	const struct egs_job_orders *next;
	struct egs_gpu_scan *scan;

	forget_done(noded);
	while (!egs_noded_is_unlocking(noded) &&
	       (scan = find_free_scan(noded)) && (next = find_next_scan(noded)))
		start_scan(noded, scan, next);
	send_next_scan(noded);
}

void egs_noded_stop_gpu_scans(struct egs_noded *noded)
{
	for (size_t i = 0; i < EGS_GPU_SCANS_MAX; i++)
		free_scan(&noded->gpu_scans[i]);
	free(noded->scans_done);
}

/* ---- answers of egs-policyd ---- */

static void end_scan(struct egs_noded *noded)
{
	struct egs_gpu_scan *scan =
		&noded->gpu_scans[noded->reported_scan - noded->gpu_scans];

	if (egs_grow(&noded->scans_done, &noded->scans_done_room,
		     noded->nscans_done + 1) == 0)
		noded->scans_done[noded->nscans_done++] = scan->number;
	free_scan(scan);
}

/* If a report did not arrive, or egs-policyd asks for it again, repeat all
 * scans that are to be reported, because their results are old.
 */
static void drop_reports(struct egs_noded *noded)
{
	for (size_t i = 0; i < EGS_GPU_SCANS_MAX; i++)
		if (noded->gpu_scans[i].report)
			free_scan(&noded->gpu_scans[i]);
}

void egs_noded_on_report_answer(struct egs_noded *noded, int rc,
				const struct egs_msg *answer,
				const struct egs_err *err)
{
	bool is_final = rc != EGS_CLIENT_UNREACHABLE && rc != EGS_CLIENT_RETRY;

	(void)answer;
	if (rc < 0 && is_final)
		egs_log_info("egs-policyd rejected the report: %s", err->msg);
	if (*noded->report_name && is_final)
		unlinkat(noded->rundirs_fd, noded->report_name, 0);
	else if (is_final && noded->reported_scan)
		end_scan(noded);
	noded->report_name[0] = '\0';
	noded->reported_scan = NULL;
	if (!is_final)
		drop_reports(noded);
	if (is_final)
		egs_noded_start_gpu_scans(noded);
	else if (rc == EGS_CLIENT_RETRY)
		egs_timer_start(noded->scan_timer, REPORT_RETRY_MS);
}

void egs_noded_send_report(struct egs_noded *noded, const char *name)
{
	int fd = openat(noded->rundirs_fd, name,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[2 * EGS_ERR_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct egs_msg *report = NULL;
	struct egs_err err;

	if (fd >= 0)
		close(fd);
	if (n < 0 || noded->report_call.busy || noded->policyd_down)
		return; /* the next scan of run directories sends it */
	report = egs_msg_parse(text, (size_t)n, sizeof(text), &err);
	if (!report) {
		unlinkat(noded->rundirs_fd, name, 0);
		return;
	}
	snprintf(noded->report_name, sizeof(noded->report_name), "%s", name);
	egs_policyd_call_start(&noded->report_call, report, ANSWER_MS);
	egs_msg_free(report);
}
