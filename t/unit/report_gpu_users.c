/* report_gpu_users.c - egs-noded reports a GPU scan until egs-policyd has it */
#include <stdlib.h>
#include <unistd.h>

#include "common/ipc/msg.h"
#include "common/node/gpu_users.h"
#include "noded/noded.h"
#include "t/lib/unit/tap.h"

#define SCAN  7
#define ALICE 64101 /* nobody here */
#define BOB   64102
#define JOB   4000000000U /* no cluster that runs here has such a job */

static struct {
	struct egs_noded noded;
	struct egs_job_orders orders[3];
	int reports;
	int64_t number; /* of the last report */
} self;

/* ---- in the place of ask_policyd.c and nvml.c ---- */

void egs_policyd_call_start(struct egs_policyd_call *call,
			    const struct egs_msg *request, int timeout_ms)
{
	(void)timeout_ms;
	call->busy = true;
	self.reports++;
	egs_msg_get_int(request, "look", &self.number);
	egs_loop_stop(self.noded.loop);
}

int egs_gpu_users_add_nvml(struct egs_gpu_users *users,
			   const struct egs_node_gpus *gpus,
			   struct egs_err *err)
{
	(void)users;
	(void)gpus;
	(void)err;
	return 0;
}

uint64_t egs_noded_backoff_ms(uint32_t failures, uint64_t max_ms)
{
	(void)failures;
	return max_ms;
}

/* ---- the stories ---- */

/* The scan of run directories, which the timer starts. */
static void on_scan_timer(void *arg, uint32_t events)
{
	(void)events;
	egs_noded_start_gpu_scans(arg);
	egs_loop_stop(self.noded.loop);
}

static void run_loop(void)
{
	struct egs_err err;

	if (egs_loop_run(self.noded.loop, &err) < 0)
		exit(1);
}

static void answer(int rc)
{
	struct egs_err err = { "no" };

	self.noded.report_call.busy = false;
	egs_noded_on_report_answer(&self.noded, rc, NULL, &err);
}

/* The orders of egs-policyd are these 'n'; the last of them is this one. */
static void order_scan(size_t n, uint32_t job, uid_t uid, uint32_t number)
{
	self.noded.norders = n;
	self.orders[n - 1] = (struct egs_job_orders){ .job = job,
						      .uid = uid,
						      .gpu_scan = number };
}

static size_t count_scans(uid_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < EGS_GPU_SCANS_MAX; i++)
		n += self.noded.gpu_scans[i].number &&
		     self.noded.gpu_scans[i].uid == uid;
	return n;
}

static void set_up(void)
{
	struct egs_err err;

	self.noded.node = "n1";
	self.noded.rundirs_fd = -1;
	self.noded.gpu_locks = (struct egs_gpu_locks)EGS_GPU_LOCKS_NONE;
	self.noded.orders = self.orders;
	order_scan(1, JOB, ALICE, SCAN);
	self.noded.loop = egs_loop_new(&err);
	self.noded.scan_timer =
		self.noded.loop
			? egs_loop_add_timer(self.noded.loop, on_scan_timer,
					     &self.noded, &err)
			: NULL;
	if (!self.noded.scan_timer)
		exit(1);
}

static void test_repeats(void)
{
	egs_noded_start_gpu_scans(&self.noded);
	run_loop();
	is_int(self.reports, 1, "a scan that is ordered is reported");
	is_int(self.number, SCAN, "a report has the number of its scan");
	answer(EGS_CLIENT_RETRY);
	is_int((int)self.noded.nscans_done, 0,
	       "a report that egs-policyd wants again is not done");
	run_loop();
	is_int((int)count_scans(ALICE), 1,
	       "the scan of a report that egs-policyd wants again is repeated");
	run_loop();
	is_int(self.reports, 2, "the repeated scan is reported");
	answer(EGS_CLIENT_UNREACHABLE);
	is_int((int)self.noded.nscans_done, 0,
	       "a report that did not arrive is not done");
	egs_noded_start_gpu_scans(&self.noded);
	run_loop();
	answer(0);
	is_int((int)self.noded.nscans_done, 1, "a report that arrived is done");
	egs_noded_start_gpu_scans(&self.noded);
	is_int((int)count_scans(ALICE), 0,
	       "a scan that is done is not repeated");
}

/* The scans of one user do not let another user wait. */
static void test_turns(void)
{
	self.reports = 0;
	order_scan(1, JOB, ALICE, SCAN + 1);
	order_scan(2, JOB + 1, ALICE, SCAN + 2);
	order_scan(3, JOB + 2, BOB, SCAN + 3);
	egs_noded_start_gpu_scans(&self.noded);
	is_int((int)count_scans(ALICE), 1, "a user has one scan at a time");
	is_int((int)count_scans(BOB), 1,
	       "a scan does not wait for scans of another user");
	is_int((int)self.noded.nscans_done, 0,
	       "a scan that is no longer ordered is forgotten");
	while (self.reports < 3) {
		run_loop();
		answer(0);
	}
	is_int((int)self.noded.nscans_done, 3,
	       "all scans of all users are done in the end");
}

int main(void)
{
	plan_none();
	set_up();
	test_repeats();
	test_turns();
	egs_noded_stop_gpu_scans(&self.noded);
	egs_loop_free(self.noded.loop);
	return done_testing();
}
