/* interval.h - when a job held what it holds, cut where that changed
 *
 *	struct egs_meter m = { 0 };
 *
 *	n = egs_interval_update(&m, &reading, out);	what Slurm shows of it
 *now n = egs_interval_split(&m, at, out);		it goes on as something
 *else n = egs_interval_close(&m, at, out);	Slurm forgot it
 *
 * Times are slurmctld's own wherever it tells them, so that the same run gives
 * the same seconds whenever it is looked at: start, end, and when it was last
 * suspended or resumed with what it had run until then.  How long a run was
 * suspended is exact even if nobody looked while it was.
 *
 * Slurm does not show when a run ended that was requeued.  Who was told sets
 * 'ended'; else that end is a guess, between the last look that showed it
 * running and the first that did not.
 */
#ifndef EGS_ACCOUNTING_INTERVAL_H
#define EGS_ACCOUNTING_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/rules/take_rule.h"

/* A call gives no more than that. */
#define EGS_INTERVALS_MAX 4

/* Never empty: 'end' is behind 'start'. */
struct egs_interval {
	egs_time_t start, end;
	bool suspended;
	bool end_guessed; /* 'end' is one */
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
	egs_time_t ran_before_s; /* what it had run until then */
	egs_time_t now;		 /* of the look */
};

/* All zero is a job nobody has seen yet. */
struct egs_run_clock {
	egs_time_t since;	/* of the interval under way, 0: none */
	egs_time_t started;	/* of the run */
	egs_time_t suspended_s; /* of it suspended, as told */
	egs_time_t
		reported_end; /* of the run, as slurmctld said then; 0: never */
	uint32_t restarts;
	bool suspended;
	bool finished; /* the run with this count was told to its end */
};

/* What is finished by what Slurm shows now goes to 'out', in the order of
 * time; returns how many.
 */
int egs_interval_update(struct egs_run_clock *m,
			const struct egs_run_reading *r,
			struct egs_interval out[EGS_INTERVALS_MAX]);

/* The interval under way ends at 'at', and another begins there; nothing
 * happens where none is under way or it has only begun.
 */
int egs_interval_split(struct egs_run_clock *m, egs_time_t at,
		       struct egs_interval out[EGS_INTERVALS_MAX]);

/* It is not there any more and was last seen at 'at'. */
int egs_interval_close(struct egs_run_clock *m, egs_time_t at,
		       struct egs_interval out[EGS_INTERVALS_MAX]);

#endif
