/* touch_jobs.c - which jobs the daemon touches, and how many in a second */
#include <err.h>
#include <malloc.h>

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

/* The number of touches in the next second. */
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
	is_int(updates(), 0, "no job is touched while none is pending");
	show_all();
	is_int(updates(), 5,
	       "five of twelve pending jobs are touched in a second");
	is_int(updates(), 5, "five more jobs are touched in the next second");
	is_int(updates(), 2,
	       "the other two jobs are touched in the third second");
	is_int(updates(), 0, "an unchanged job is touched once");
	show(3, 0, "serve");
	is_int(updates(), 1, "a job with another tier is touched again");
	show(4, 1, "gpu");
	is_int(updates(), 1, "a requeued job is touched again");
	show(4, 1, "gpu");
	is_int(updates(), 0,
	       "a requeued job that stays pending is touched once");
	daemon_stop();
}

static bool is_touched(uint32_t id)
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
	is_int(updates(), 5,
	       "jobs that were pending before the daemon started are touched");
	show(JOBS + 1, 0, "gpu");
	is_int(updates(), 5, "a new job counts among the five of a second");
	ok(is_touched(JOBS + 1), "a new job is touched before the older ones");
	is_int(updates(), 3,
	       "the remaining jobs are touched in the third second");
	is_int(updates(), 0,
	       "jobs that were pending at the start are touched once");
	daemon_stop();
}

/* Freed memory is filled with zeros, so that using it shows. */
static void stop_during_lookup(void)
{
	daemon_start();
	egs_daemon_look_up_operators(d, NULL);
	mallopt(M_PERTURB, 256);
	daemon_stop();
	mallopt(M_PERTURB, 0);
	ok(true, "a daemon stops while a child looks up operators");
}

int main(void)
{
	plan_none();
	conf_enter();
	daemon_conf = conf;
	changes();
	restart();
	stop_during_lookup();
	daemon_leave();
	return done_testing();
}
