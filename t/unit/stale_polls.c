/* stale_polls.c - slurmctld does not believe a table without recent polls */
#include "common/base/clock.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

static struct egs_table *table;

/* Do the plugins believe the table? */
static bool is_believed(void)
{
	return egs_table_fresh_seq(table, egs_daemon_now(),
				   egs_daemon_conf(d)->stale_after_s) != 0;
}

static void end_poll(bool ok)
{
	const struct egs_poll_result result = {
		.ok = ok, .error = ok ? NULL : "Unable to contact slurmctld"
	};
	struct egs_job_fact f = daemon_job(7, EGS_JOB_RUNNING);

	if (ok)
		egs_daemon_worker_ops.job(d, &f);
	egs_daemon_worker_ops.poll_done(d, &result);
}

static void age_poll(uint32_t s)
{
	d->poll.done_ms = egs_now_ms() - s * UINT64_C(1000);
	egs_daemon_check_polls(d);
}

int main(void)
{
	struct egs_err err;

	plan_none();
	conf_enter();
	daemon_start();
	end_poll(true);
	table = egs_table_open("run/table", &err);
	if (!ok(table, "the daemon has a decision table"))
		return done_testing();
	ok(is_believed(), "plugins believe the table after a poll");
	age_poll(50);
	ok(is_believed() && !d->slurmctld_down,
	   "plugins believe the table 50 s after the last poll");
	age_poll(62);
	ok(!is_believed(),
	   "plugins do not believe the table 62 s after the last poll");
	ok(d->slurmctld_down, "the daemon decides nothing without polls");
	ok(d->changed & EGS_CHANGED_CLUSTER,
	   "the poll after a long pause reads everything");
	egs_daemon_publish_jobs(d);
	ok(!is_believed(), "no publication revives a table without polls");
	end_poll(true);
	ok(is_believed() && !d->slurmctld_down,
	   "plugins believe the table again after a complete poll");
	end_poll(false);
	ok(is_believed() && d->slurmctld_down,
	   "plugins believe the table just after a poll that failed");
	age_poll(62);
	ok(!is_believed(), "plugins do not believe the table if polls fail "
			   "for 62 s");
	egs_table_free(table);
	daemon_stop();
	daemon_leave();
	return done_testing();
}
