/* report_gpu_users.c - egs-noded reports a GPU scan until egs-policyd has it */
#include <stdlib.h>
#include <unistd.h>

#include "common/ipc/msg.h"
#include "common/node/gpu_users.h"
#include "noded/noded.h"
#include "t/lib/unit/tap.h"

#define SCAN 7

static struct {
	struct egs_noded noded;
	struct egs_job_orders orders;
	int reports;
} self;

/* ---- in the place of ask_policyd.c and nvml.c ---- */

void egs_policyd_call_start(struct egs_policyd_call *call,
			    const struct egs_msg *request, int timeout_ms)
{
	int64_t number = 0;

	(void)call;
	(void)timeout_ms;
	self.reports++;
	egs_msg_get_int(request, "look", &number);
	is_int(number, SCAN, "a report has the number of its scan");
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

/* ---- the stories ---- */

/* The scan of run directories, which the timer starts. */
static void on_scan_timer(void *arg, uint32_t events)
{
	(void)events;
	egs_noded_start_gpu_scan(arg);
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

	egs_noded_on_report_answer(&self.noded, rc, NULL, &err);
}

static void set_up(void)
{
	struct egs_err err;

	self.orders.job = 12;
	self.orders.uid = getuid();
	self.orders.gpu_scan = SCAN;
	self.noded.node = "n1";
	self.noded.rundirs_fd = -1;
	self.noded.orders = &self.orders;
	self.noded.norders = 1;
	self.noded.loop = egs_loop_new(&err);
	self.noded.scan_timer =
		self.noded.loop
			? egs_loop_add_timer(self.noded.loop, on_scan_timer,
					     &self.noded, &err)
			: NULL;
	if (!self.noded.scan_timer)
		exit(1);
}

int main(void)
{
	plan_none();
	set_up();
	egs_noded_start_gpu_scan(&self.noded);
	run_loop();
	is_int(self.reports, 1, "a scan that is ordered is reported");
	answer(EGS_CLIENT_RETRY);
	is_int(self.noded.gpu_scan_done, 0,
	       "a report that egs-policyd wants again is not done");
	run_loop();
	ok(egs_timed_child_runs(&self.noded.gpu_scan_child),
	   "the scan of a report that egs-policyd wants again is repeated");
	run_loop();
	is_int(self.reports, 2, "the repeated scan is reported");
	answer(EGS_CLIENT_UNREACHABLE);
	is_int(self.noded.gpu_scan_done, 0,
	       "a report that did not arrive is not done");
	answer(0);
	is_int(self.noded.gpu_scan_done, SCAN, "a report that arrived is done");
	egs_noded_start_gpu_scan(&self.noded);
	ok(!egs_timed_child_runs(&self.noded.gpu_scan_child),
	   "a scan that is done is not repeated");
	egs_loop_free(self.noded.loop);
	return done_testing();
}
