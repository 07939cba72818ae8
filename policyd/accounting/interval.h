/* interval.h - intervals of a run, cut where what the job holds changes
 *
 *	struct egs_run_clock clock = { 0 };
 *
 *	n = egs_interval_update(&clock, &reading, out);	  Slurm shows the job
 *	n = egs_interval_split(&clock, at, out);	  its resources change
 *	n = egs_interval_close(&clock, at, out);	  Slurm forgot the job
 *
 * Times are slurmctld's own: start, end, and the last suspension or resumption
 * with the time run before it.  So a run gives the same seconds whenever it is
 * polled, and its suspended time is exact even if no poll saw it suspended.
 *
 * Slurm does not show the end of a run that was requeued.  The caller sets
 * 'reported_end' if slurmctld reported it.  Otherwise the end is a guess
 * between the last poll that showed the run and the first that did not.
 */
#ifndef EGS_ACCOUNTING_INTERVAL_H
#define EGS_ACCOUNTING_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/rules/take_rule.h"

/* Most intervals of one call. */
#define EGS_INTERVALS_MAX 4

/* Never empty: 'end' is after 'start'. */
struct egs_interval {
	egs_time_t start, end;
	bool suspended;
	bool end_guessed; /* 'end' is a guess */
};

enum egs_run_state {
	EGS_RUN_PENDING,
	EGS_RUN_RUNNING,
	EGS_RUN_SUSPENDED,
	EGS_RUN_ENDED,
};

struct egs_run_reading {
	enum egs_run_state state;
	uint32_t restarts;
	egs_time_t start;	 /* of the run; 0: it never ran */
	egs_time_t end;		 /* ENDED */
	egs_time_t submit;	 /* a requeue renews it */
	egs_time_t suspend_time; /* last suspended or resumed, 0: never */
	egs_time_t ran_before_s; /* time run before that */
	egs_time_t now;		 /* of the poll */
};

/* All zero: a job that no poll has shown. */
struct egs_run_clock {
	egs_time_t since;	 /* start of the open interval, 0: none */
	egs_time_t started;	 /* of the run */
	egs_time_t suspended_s;	 /* suspended time of finished intervals */
	egs_time_t reported_end; /* of the run, by slurmctld; 0: not reported */
	uint32_t restarts;
	bool suspended;
	bool finished; /* run 'restarts' has ended */
};

/* Put the intervals that are finished now into 'out', in the order of time.
 * Returns their number.
 */
int egs_interval_update(struct egs_run_clock *m,
			const struct egs_run_reading *r,
			struct egs_interval out[EGS_INTERVALS_MAX]);

/* End the open interval at 'at' and begin another.  Returns 0 if none is open
 * or the open one is empty.
 */
int egs_interval_split(struct egs_run_clock *m, egs_time_t at,
		       struct egs_interval out[EGS_INTERVALS_MAX]);

/* The job is gone; Slurm showed it last at 'at'. */
int egs_interval_close(struct egs_run_clock *m, egs_time_t at,
		       struct egs_interval out[EGS_INTERVALS_MAX]);

#endif
