/* interval.c - intervals of a run, cut where what the job holds changes */
#include "policyd/accounting/interval.h"

static egs_time_t clamp_time(egs_time_t t, egs_time_t low, egs_time_t high)
{
	return t < low ? low : t > high ? high : t;
}

/* Put the time from 'since' to 'end' at out[n], unless it is empty. */
static int append_interval(struct egs_run_clock *m, egs_time_t end,
			   bool suspended, bool guess, struct egs_interval *out,
			   int n)
{
	if (end <= m->since)
		return n;
	out[n] = (struct egs_interval){
		.start = m->since,
		.end = end,
		.suspended = suspended,
		.end_guessed = guess,
	};
	if (suspended)
		m->suspended_s += end - m->since;
	m->since = end;
	return n + 1;
}

static int close_run(struct egs_run_clock *m, egs_time_t end, bool guess,
		     struct egs_interval *out, int n)
{
	n = append_interval(m, end, m->suspended, guess, out, n);
	m->since = 0;
	m->finished = true;
	return n;
}

static void open_run(struct egs_run_clock *m, const struct egs_run_reading *r)
{
	*m = (struct egs_run_clock){
		.since = r->start,
		.started = r->start,
		.restarts = r->restarts,
	};
}

static bool has_reported_end(const struct egs_run_clock *m,
			     const struct egs_run_reading *r)
{
	return m->reported_end >= m->since && m->reported_end <= r->now;
}

/* slurmctld renews the submit time of a requeued job when its last process has
 * ended.  The run has ended by then.
 */
static egs_time_t find_requeue_time(const struct egs_run_clock *m,
				    const struct egs_run_reading *r)
{
	egs_time_t end = r->now;

	if (has_reported_end(m, r))
		return m->reported_end;
	if (r->submit > m->since && r->submit < end)
		end = r->submit;
	if (r->start > 0 && r->start < end)
		end = r->start;
	return end < m->since ? m->since : end;
}

/* Up to the last suspension or resumption, Slurm shows the time run and so the
 * time suspended, but not their order.  The suspended time comes first if the
 * last poll showed the job suspended, else last.
 */
static int split_at_suspend(struct egs_run_clock *m,
			    const struct egs_run_reading *r,
			    struct egs_interval *out, int n)
{
	egs_time_t suspended, run;

	if (r->suspend_time <= m->since || r->suspend_time < m->started)
		return n;
	suspended = clamp_time(r->suspend_time - m->started - r->ran_before_s -
				       m->suspended_s,
			       0, r->suspend_time - m->since);
	run = r->suspend_time - m->since - suspended;
	if (m->suspended) {
		n = append_interval(m, m->since + suspended, true, false, out,
				    n);
		n = append_interval(m, r->suspend_time, false, false, out, n);
	} else {
		n = append_interval(m, m->since + run, false, false, out, n);
		n = append_interval(m, r->suspend_time, true, false, out, n);
	}
	m->suspended = r->state == EGS_RUN_SUSPENDED;
	return n;
}

int egs_interval_update(struct egs_run_clock *m,
			const struct egs_run_reading *r,
			struct egs_interval out[EGS_INTERVALS_MAX])
{
	int n = 0;

	if (m->since &&
	    (r->state == EGS_RUN_PENDING || r->restarts != m->restarts))
		n = close_run(m, find_requeue_time(m, r),
			      !has_reported_end(m, r), out, n);
	if (r->state == EGS_RUN_PENDING || !r->start)
		return n;
	if (!m->since && m->finished && r->restarts == m->restarts)
		return n;
	if (!m->since)
		open_run(m, r);
	n = split_at_suspend(m, r, out, n);
	if (r->state == EGS_RUN_ENDED)
		n = close_run(m, r->end, false, out, n);
	else
		m->suspended = r->state == EGS_RUN_SUSPENDED;
	return n;
}

int egs_interval_split(struct egs_run_clock *m, egs_time_t at,
		       struct egs_interval out[EGS_INTERVALS_MAX])
{
	return m->since ? append_interval(m, at, m->suspended, false, out, 0)
			: 0;
}

int egs_interval_close(struct egs_run_clock *m, egs_time_t at,
		       struct egs_interval out[EGS_INTERVALS_MAX])
{
	return m->since ? close_run(m, at, true, out, 0) : 0;
}
