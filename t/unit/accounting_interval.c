/* accounting_interval.c - runs as Slurm shows them, by hand-made timelines */
#include <inttypes.h>

#include "policyd/accounting/interval.h"
#include "t/lib/unit/tap.h"

static struct egs_run_clock meter;
static struct egs_interval out[EGS_INTERVALS_MAX];
static char text[256];

/* The intervals as "100-160 160-170s", guesses with a '?'. */
static const char *said(int n)
{
	size_t at = 0;
	int i;

	text[0] = '\0';
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s%" PRId64 "-%" PRId64 "%s%s",
				       i ? " " : "", out[i].start, out[i].end,
				       out[i].suspended ? "s" : "",
				       out[i].end_guessed ? "?" : "");
	return text;
}

static const char *show(struct egs_run_reading r)
{
	return said(egs_interval_update(&meter, &r, out));
}

static void anew(void)
{
	meter = (struct egs_run_clock){ 0 };
}

#define WAITS	  .state = EGS_RUN_PENDING
#define RUNS	  .state = EGS_RUN_RUNNING
#define SUSPENDED .state = EGS_RUN_SUSPENDED
#define ENDED	  .state = EGS_RUN_ENDED
#define READ(...) show((struct egs_run_reading){ __VA_ARGS__ })

static void test_plain(void)
{
	anew();
	is_str(READ(WAITS, .submit = 90, .now = 95), "", "waiting holds none");
	is_str(READ(RUNS, .start = 100, .now = 103), "", "a run begins");
	is_str(READ(RUNS, .start = 100, .now = 150), "", "and goes on");
	is_str(READ(ENDED, .start = 100, .end = 160, .now = 163), "100-160",
	       "its times are Slurm's, not those of the looks");
	is_str(READ(ENDED, .start = 100, .end = 160, .now = 165), "",
	       "an end is told once");
	anew();
	is_str(READ(ENDED, .start = 100, .end = 101, .now = 163), "100-101",
	       "a run between two looks is whole");
	anew();
	is_str(READ(ENDED, .end = 101, .now = 163), "",
	       "cancelled in the queue: no run");
	anew();
	is_str(READ(ENDED, .start = 100, .end = 100, .now = 101), "",
	       "a run of no second is none");
}

static void test_requeue(void)
{
	anew();
	READ(RUNS, .start = 100, .submit = 90, .now = 102);
	is_str(READ(WAITS, .restarts = 1, .submit = 90, .now = 152), "100-152?",
	       "requeued, its processes still ending: the look is the end");
	is_str(READ(RUNS, .restarts = 1, .start = 200, .submit = 154,
		    .now = 201),
	       "", "the next run begins");
	is_str(READ(ENDED, .restarts = 1, .start = 200, .end = 230,
		    .submit = 154, .now = 231),
	       "200-230", "and ends");
	anew();
	READ(RUNS, .start = 100, .submit = 90, .now = 102);
	is_str(READ(WAITS, .restarts = 1, .submit = 130, .now = 152),
	       "100-130?", "the new submit time is nearer than the look");
	anew();
	READ(RUNS, .start = 100, .submit = 90, .now = 102);
	is_str(READ(RUNS, .restarts = 1, .start = 140, .submit = 130,
		    .now = 152),
	       "100-130?", "requeued and started again between two looks");
	is_str(READ(ENDED, .restarts = 2, .start = 170, .end = 180,
		    .submit = 160, .now = 199),
	       "140-160? 170-180", "and the whole of the next run too");
	anew();
	READ(RUNS, .start = 100, .submit = 90, .now = 102);
	meter.reported_end = 128;
	is_str(READ(WAITS, .restarts = 1, .submit = 130, .now = 152), "100-128",
	       "the end that slurmctld told is none to guess");
	is_str(READ(RUNS, .restarts = 1, .start = 140, .submit = 130,
		    .now = 152),
	       "", "the next run begins");
	is_str(READ(WAITS, .restarts = 2, .submit = 160, .now = 170),
	       "140-160?", "of which nothing was told");
	anew();
	READ(RUNS, .start = 100, .submit = 90, .now = 102);
	READ(ENDED, .start = 100, .end = 120, .now = 121);
	is_str(READ(ENDED, .restarts = 1, .start = 130, .end = 140,
		    .submit = 125, .now = 150),
	       "130-140", "a job that had ended may be requeued");
}

static void test_suspend(void)
{
	anew();
	READ(RUNS, .start = 100, .now = 101);
	is_str(READ(SUSPENDED, .start = 100, .suspend_time = 110,
		    .ran_before_s = 10, .now = 112),
	       "100-110", "suspended: the run is cut then");
	is_str(READ(RUNS, .start = 100, .suspend_time = 125, .ran_before_s = 10,
		    .now = 127),
	       "110-125s", "resumed: it was suspended until then");
	is_str(READ(ENDED, .start = 100, .suspend_time = 125,
		    .ran_before_s = 10, .end = 150, .now = 151),
	       "125-150", "and runs to its end");
	anew();
	READ(RUNS, .start = 100, .now = 101);
	is_str(READ(RUNS, .start = 100, .suspend_time = 130, .ran_before_s = 20,
		    .now = 131),
	       "100-120 120-130s", "a suspension nobody saw is known exactly");
	is_str(READ(ENDED, .start = 100, .suspend_time = 160,
		    .ran_before_s = 40, .end = 170, .now = 171),
	       "130-150 150-160s 160-170", "and a second one");
	anew();
	READ(RUNS, .start = 100, .now = 101);
	READ(SUSPENDED, .start = 100, .suspend_time = 110, .ran_before_s = 10,
	     .now = 112);
	is_str(READ(SUSPENDED, .start = 100, .suspend_time = 140,
		    .ran_before_s = 25, .now = 141),
	       "110-125s 125-140", "resumed and suspended again unseen");
	is_str(READ(ENDED, .start = 100, .suspend_time = 140,
		    .ran_before_s = 25, .end = 140, .now = 190),
	       "", "ended while suspended: Slurm's end is when it was");
	anew();
	is_str(READ(ENDED, .start = 100, .suspend_time = 125,
		    .ran_before_s = 10, .end = 150, .now = 151),
	       "100-110 110-125s 125-150", "all of it between two looks");
}

static void test_cut(void)
{
	anew();
	is_int(egs_interval_split(&meter, 100, out), 0,
	       "nothing is there to cut");
	READ(RUNS, .start = 100, .now = 101);
	is_str(said(egs_interval_split(&meter, 100, out)), "",
	       "nor at its start");
	is_str(said(egs_interval_split(&meter, 130, out)), "100-130",
	       "a change");
	is_str(said(egs_interval_split(&meter, 120, out)), "",
	       "never back into what was told");
	is_str(READ(ENDED, .start = 100, .end = 160, .now = 163), "130-160",
	       "the rest");
	anew();
	READ(RUNS, .start = 100, .now = 101);
	READ(SUSPENDED, .start = 100, .suspend_time = 110, .ran_before_s = 10,
	     .now = 112);
	is_str(said(egs_interval_split(&meter, 115, out)), "110-115s",
	       "a change while suspended");
	is_str(READ(RUNS, .start = 100, .suspend_time = 125, .ran_before_s = 10,
		    .now = 127),
	       "115-125s", "and the rest of the suspension");
	is_str(said(egs_interval_close(&meter, 140, out)), "125-140?",
	       "a job that vanished was there when last seen");
	is_int(egs_interval_close(&meter, 150, out), 0, "which is told once");
	is_str(READ(ENDED, .start = 100, .suspend_time = 125,
		    .ran_before_s = 10, .end = 150, .now = 160),
	       "", "and a late word about that run changes nothing");
}

int main(void)
{
	plan_none();
	test_plain();
	test_requeue();
	test_suspend();
	test_cut();
	return done_testing();
}
