/* accounting_interval.c - intervals of runs, from timelines made by hand */
#include <inttypes.h>

#include "policyd/accounting/interval.h"
#include "t/lib/unit/tap.h"

static struct egs_run_clock run_clock;
static struct egs_interval out[EGS_INTERVALS_MAX];
static char text[256];

/* The intervals as "100-160 160-170s", guesses with a '?'. */
static const char *format_intervals(int n)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%s%" PRId64 "-%" PRId64 "%s%s",
				       i ? " " : "", out[i].start, out[i].end,
				       out[i].suspended ? "s" : "",
				       out[i].end_guessed ? "?" : "");
	return text;
}

static const char *show(struct egs_run_reading r)
{
	return format_intervals(egs_interval_update(&run_clock, &r, out));
}

static void reset_clock(void)
{
	run_clock = (struct egs_run_clock){ 0 };
}

#define PENDING	  .state = EGS_RUN_PENDING
#define RUNNING	  .state = EGS_RUN_RUNNING
#define SUSPENDED .state = EGS_RUN_SUSPENDED
#define ENDED	  .state = EGS_RUN_ENDED
#define READ(...) show((struct egs_run_reading){ __VA_ARGS__ })

static void test_plain(void)
{
	reset_clock();
	is_str(READ(PENDING, .submit = 90, .now = 95), "",
	       "a pending job has no interval");
	is_str(READ(RUNNING, .start = 100, .now = 103), "",
	       "a run that begins has no finished interval");
	is_str(READ(RUNNING, .start = 100, .now = 150), "",
	       "a run that continues has no finished interval");
	is_str(READ(ENDED, .start = 100, .end = 160, .now = 163), "100-160",
	       "an interval has Slurm's times, not those of the polls");
	is_str(READ(ENDED, .start = 100, .end = 160, .now = 165), "",
	       "an end gives its interval once");
	reset_clock();
	is_str(READ(ENDED, .start = 100, .end = 101, .now = 163), "100-101",
	       "a run between two polls is counted whole");
	reset_clock();
	is_str(READ(ENDED, .end = 101, .now = 163), "",
	       "a job cancelled while pending has no interval");
	reset_clock();
	is_str(READ(ENDED, .start = 100, .end = 100, .now = 101), "",
	       "a run of zero seconds has no interval");
}

static void test_requeue(void)
{
	reset_clock();
	READ(RUNNING, .start = 100, .submit = 90, .now = 102);
	is_str(READ(PENDING, .restarts = 1, .submit = 90, .now = 152),
	       "100-152?",
	       "a requeue before the processes ended ends at the poll, a "
	       "guess");
	is_str(READ(RUNNING, .restarts = 1, .start = 200, .submit = 154,
		    .now = 201),
	       "", "the run after a requeue begins");
	is_str(READ(ENDED, .restarts = 1, .start = 200, .end = 230,
		    .submit = 154, .now = 231),
	       "200-230", "the run after a requeue has Slurm's end");
	reset_clock();
	READ(RUNNING, .start = 100, .submit = 90, .now = 102);
	is_str(READ(PENDING, .restarts = 1, .submit = 130, .now = 152),
	       "100-130?",
	       "the new submit time is a better guess than the poll");
	reset_clock();
	READ(RUNNING, .start = 100, .submit = 90, .now = 102);
	is_str(READ(RUNNING, .restarts = 1, .start = 140, .submit = 130,
		    .now = 152),
	       "100-130?",
	       "a requeue and restart between two polls ends the first run");
	is_str(READ(ENDED, .restarts = 2, .start = 170, .end = 180,
		    .submit = 160, .now = 199),
	       "140-160? 170-180",
	       "one reading may close a run and add the whole next run");
	reset_clock();
	READ(RUNNING, .start = 100, .submit = 90, .now = 102);
	run_clock.reported_end = 128;
	is_str(READ(PENDING, .restarts = 1, .submit = 130, .now = 152),
	       "100-128", "an end that slurmctld reported is not a guess");
	is_str(READ(RUNNING, .restarts = 1, .start = 140, .submit = 130,
		    .now = 152),
	       "", "the run after a reported end begins");
	is_str(READ(PENDING, .restarts = 2, .submit = 160, .now = 170),
	       "140-160?", "a reported end does not count for the next run");
	reset_clock();
	READ(RUNNING, .start = 100, .submit = 90, .now = 102);
	READ(ENDED, .start = 100, .end = 120, .now = 121);
	is_str(READ(ENDED, .restarts = 1, .start = 130, .end = 140,
		    .submit = 125, .now = 150),
	       "130-140", "a job that had ended may be requeued");
}

static void test_suspend(void)
{
	reset_clock();
	READ(RUNNING, .start = 100, .now = 101);
	is_str(READ(SUSPENDED, .start = 100, .suspend_time = 110,
		    .ran_before_s = 10, .now = 112),
	       "100-110", "a suspension cuts the run at its time");
	is_str(READ(RUNNING, .start = 100, .suspend_time = 125,
		    .ran_before_s = 10, .now = 127),
	       "110-125s", "a resumption ends the suspended interval");
	is_str(READ(ENDED, .start = 100, .suspend_time = 125,
		    .ran_before_s = 10, .end = 150, .now = 151),
	       "125-150", "a resumed job runs to its end");
	reset_clock();
	READ(RUNNING, .start = 100, .now = 101);
	is_str(READ(RUNNING, .start = 100, .suspend_time = 130,
		    .ran_before_s = 20, .now = 131),
	       "100-120 120-130s",
	       "a suspension between two polls is counted exactly");
	is_str(READ(ENDED, .start = 100, .suspend_time = 160,
		    .ran_before_s = 40, .end = 170, .now = 171),
	       "130-150 150-160s 160-170",
	       "a second suspension between two polls is counted exactly");
	reset_clock();
	READ(RUNNING, .start = 100, .now = 101);
	READ(SUSPENDED, .start = 100, .suspend_time = 110, .ran_before_s = 10,
	     .now = 112);
	is_str(READ(SUSPENDED, .start = 100, .suspend_time = 140,
		    .ran_before_s = 25, .now = 141),
	       "110-125s 125-140",
	       "a resumption and suspension between two polls are counted");
	is_str(READ(ENDED, .start = 100, .suspend_time = 140,
		    .ran_before_s = 25, .end = 140, .now = 190),
	       "",
	       "a job that ended while suspended ends when it was suspended");
	reset_clock();
	is_str(READ(ENDED, .start = 100, .suspend_time = 125,
		    .ran_before_s = 10, .end = 150, .now = 151),
	       "100-110 110-125s 125-150",
	       "start, suspension and end between two polls are counted");
}

static void test_cut(void)
{
	reset_clock();
	is_int(egs_interval_split(&run_clock, 100, out), 0,
	       "a job without a run has no interval to split");
	READ(RUNNING, .start = 100, .now = 101);
	is_str(format_intervals(egs_interval_split(&run_clock, 100, out)), "",
	       "a split at the start gives no interval");
	is_str(format_intervals(egs_interval_split(&run_clock, 130, out)),
	       "100-130", "a split gives the interval before it");
	is_str(format_intervals(egs_interval_split(&run_clock, 120, out)), "",
	       "a split before the last one gives no interval");
	is_str(READ(ENDED, .start = 100, .end = 160, .now = 163), "130-160",
	       "the end gives the interval since the split");
	reset_clock();
	READ(RUNNING, .start = 100, .now = 101);
	READ(SUSPENDED, .start = 100, .suspend_time = 110, .ran_before_s = 10,
	     .now = 112);
	is_str(format_intervals(egs_interval_split(&run_clock, 115, out)),
	       "110-115s",
	       "a split while suspended gives a suspended interval");
	is_str(READ(RUNNING, .start = 100, .suspend_time = 125,
		    .ran_before_s = 10, .now = 127),
	       "115-125s",
	       "a resumption gives the suspended interval since the split");
	is_str(format_intervals(egs_interval_close(&run_clock, 140, out)),
	       "125-140?",
	       "a job that vanished ends at the last poll, a guess");
	is_int(egs_interval_close(&run_clock, 150, out), 0,
	       "a closed run gives no second interval");
	is_str(READ(ENDED, .start = 100, .suspend_time = 125,
		    .ran_before_s = 10, .end = 150, .now = 160),
	       "", "a late reading of a closed run gives no interval");
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
