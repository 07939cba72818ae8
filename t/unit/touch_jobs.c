/* touch_jobs.c - whose site factor Slurm is told to ask for, and how many */
#include <err.h>

#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

static const char conf[] =
	"Mode=enforce\n"
	"TierOrder=prod,scavenge\n"
	"GpuType=a100\n"
	"Tier=prod Partitions=serve\n"
	"Team=red Users=alice Quota=a100:4 DefaultTier=scavenge\n";

enum { JOBS = 12 };

static void show(uint32_t id, uint32_t restarts, const char *partition)
{
	struct egs_job_fact f = daemon_job(id, EGS_JOB_PENDING);

	f.restarts = restarts;
	f.partition = partition;
	daemon_show(f);
	egs_daemon_publish_jobs(d);
}

static void show_all(void)
{
	for (uint32_t id = 1; id <= JOBS; id++)
		show(id, 0, "gpu");
}

/* updates(): so many go to Slurm in the next second, which then is over. */
static uint32_t updates(void)
{
	uint32_t left;

	egs_daemon_touch_tick(d);
	egs_daemon_touch_jobs(d);
	left = d->touches.left;
	d->touches.left = 0;
	return 5 - left;
}

static void changes(void)
{
	daemon_start();
	egs_daemon_publish_jobs(d);
	is_int(updates(), 0, "nobody waits: nobody is told of");
	show_all();
	is_int(updates(), 5, "of twelve jobs five are told of in a second");
	is_int(updates(), 5, "five in the next");
	is_int(updates(), 2, "and the rest");
	is_int(updates(), 0, "each of them once");
	show(3, 0, "serve");
	is_int(updates(), 1, "one gets another tier: it is told of again");
	show(4, 1, "gpu");
	is_int(updates(), 1, "and so is one that was requeued");
	show(4, 1, "gpu");
	is_int(updates(), 0, "which goes on waiting");
	daemon_stop();
}

static bool is_told(uint32_t id)
{
	for (uint32_t i = 0; i < egs_policy_nslots(d->policy); i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && j->ident.job_id == id)
			return i < d->touches.nsums && d->touches.sum[i] % 2;
	}
	return false;
}

static void restart(void)
{
	daemon_start();
	d->synced = false;
	show_all();
	d->synced = true;
	egs_daemon_publish_jobs(d);
	is_int(updates(), 5, "who waited before the daemon came follows");
	show(JOBS + 1, 0, "gpu");
	is_int(updates(), 5, "five at a time");
	ok(is_told(JOBS + 1), "and who is new before them");
	is_int(updates(), 3, "until all are told of");
	is_int(updates(), 0, "once");
	daemon_stop();
}

int main(void)
{
	plan_none();
	conf_enter();
	daemon_conf = conf;
	changes();
	restart();
	daemon_leave();
	return done_testing();
}
