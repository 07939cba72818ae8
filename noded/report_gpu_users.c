/* report_gpu_users.c - report which processes have GPUs open
 *
 * egs-policyd requests a GPU scan of a job.  Reading all of /proc takes time,
 * so a child process does the scan.  egs-policyd numbers the scans.  egs-noded
 * does them in that order, one at a time.  If the child cannot look at
 * everything, or does not end in time, egs-noded reports that, and no GPU
 * changes hands.
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

struct gpu_scan {
	const char *node;
	uint32_t job, number;
	uid_t uid;
};

static int find_users(struct egs_gpu_users *users, const struct gpu_scan *scan,
		      struct egs_err *err)
{
	struct egs_node_gpus gpus;

	users->daemon = getppid();
	egs_node_gpus_read(&gpus, NULL, scan->node);
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

		if (!egs_gpu_users_counts(users, user) ||
		    seen >> user->gpu & 1)
			continue;
		seen |= UINT64_C(1) << user->gpu;
		egs_msg_add_row(report);
		egs_msg_add_cell_int(report, user->gpu);
		egs_msg_add_cell(report, egs_gpu_user_text(user).text);
	}
}

static void add_scan(struct egs_msg *report, const struct gpu_scan *scan)
{
	struct egs_gpu_users users = { .n = 0 };
	struct egs_err why;

	if (find_users(&users, scan, &why) < 0)
		egs_msg_set_str(report, "error", why.msg);
	else
		add_gpu_rows(report, &users);
	egs_gpu_users_free(&users);
}

static struct egs_msg *new_report(const char *node, uint32_t job,
				  uint32_t number)
{
	struct egs_msg *report = egs_msg_new();

	if (!report)
		return NULL;
	egs_msg_set_str(report, "verb", "node-open");
	egs_msg_set_str(report, "node", node);
	egs_msg_set_int(report, "job", job);
	egs_msg_set_int(report, "look", number);
	return report;
}

static int scan_gpus(const void *arg, char **bytes, size_t *len,
		     struct egs_err *err)
{
	const struct gpu_scan *scan = arg;
	struct egs_msg *report =
		new_report(scan->node, scan->job, scan->number);
	const char *text;

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

static void on_gpu_scan(void *arg, int rc, const char *bytes, size_t len,
			const struct egs_err *why)
{
	struct egs_noded *noded = arg;
	struct egs_msg *report = NULL;
	struct egs_err err = *why;

	if (rc == 0)
		report = egs_msg_parse(bytes, len, EGS_MSG_REQUEST_MAX, &err);
	if (!report) {
		egs_log_warn("GPU scan failed: %s", err.msg);
		report = new_report(noded->node, noded->gpu_scan_job,
				    noded->gpu_scan);
		if (report)
			egs_msg_set_str(report, "error", err.msg);
	}
	if (report)
		egs_policyd_call_start(&noded->report_call, report, ANSWER_MS);
	egs_msg_free(report);
}

void egs_noded_start_gpu_scan(struct egs_noded *noded)
{
	const struct egs_job_orders *next = NULL;
	struct gpu_scan scan = { .node = noded->node };
	struct egs_err err;

	if (egs_timed_child_runs(&noded->gpu_scan_child) ||
	    noded->report_call.busy)
		return;
	for (size_t i = 0; i < noded->norders; i++)
		if (noded->orders[i].gpu_scan > noded->gpu_scan_done &&
		    (!next || noded->orders[i].gpu_scan < next->gpu_scan))
			next = &noded->orders[i];
	if (!next)
		return;
	scan.job = noded->gpu_scan_job = next->job;
	scan.uid = next->uid;
	scan.number = noded->gpu_scan = next->gpu_scan;
	noded->gpu_scan_child.done = on_gpu_scan;
	noded->gpu_scan_child.arg = noded;
	if (egs_timed_child_start(&noded->gpu_scan_child, noded->loop,
				  scan_gpus, &scan, SCAN_MS, &err) < 0)
		on_gpu_scan(noded, -1, NULL, 0, &err);
}

/* If the report did not arrive, or egs-policyd asks for it again, repeat the
 * scan, because its result is old.
 */
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
	else if (is_final)
		noded->gpu_scan_done = noded->gpu_scan;
	noded->report_name[0] = '\0';
	if (is_final)
		egs_noded_start_gpu_scan(noded);
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
	if (n < 0 || egs_timed_child_runs(&noded->gpu_scan_child) ||
	    noded->report_call.busy || noded->policyd_down)
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
