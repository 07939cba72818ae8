/* interval.c - when a job held what it holds, cut where that changed */
#include "policyd/accounting/interval.h"

static egs_time_t between(egs_time_t t, egs_time_t low, egs_time_t high)
{
	return t < low ? low : t > high ? high : t;
}

/* Put the time from 'since' to 'end' at out[n], unless there is none. */
static int put(struct egs_meter *m, egs_time_t end, bool suspended, bool guess,
	       struct egs_interval *out, int n)
{
	if (end <= m->since)
		return n;
	out[n] = (struct egs_interval){
		.start = m->since,
		.end = end,
		.suspended = suspended,
		.guess = guess,
	};
	if (suspended)
		m->idle_s += end - m->since;
	m->since = end;
	return n + 1;
}

/* The run is over. */
static int close_run(struct egs_meter *m, egs_time_t end, bool guess,
		     struct egs_interval *out, int n)
{
	n = put(m, end, m->suspended, guess, out, n);
	m->since = 0;
	m->over = true;
	return n;
}

static void open_run(struct egs_meter *m, const struct egs_reading *r)
{
	*m = (struct egs_meter){
		.since = r->start,
		.started = r->start,
		.restarts = r->restarts,
	};
}

static bool told(const struct egs_meter *m, const struct egs_reading *r)
{
	return m->ended >= m->since && m->ended <= r->now;
}

/* A requeue renews the submit time when the last process has gone, which is
 * the latest the run can have ended.
 */
static egs_time_t requeued_at(const struct egs_meter *m,
			      const struct egs_reading *r)
{
	egs_time_t end = r->now;

	if (told(m, r))
		return m->ended;
	if (r->submit > m->since && r->submit < end)
		end = r->submit;
	if (r->start > 0 && r->start < end)
		end = r->start;
	return end < m->since ? m->since : end;
}

/* Up to when it was last suspended or resumed the seconds are known, if not
 * always their order: what was suspended comes first where it was suspended
 * when last seen, else last.
 */
static int turn(struct egs_meter *m, const struct egs_reading *r,
		struct egs_interval *out, int n)
{
	egs_time_t idle, run;

	if (r->turned <= m->since || r->turned < m->started)
		return n;
	idle = between(r->turned - m->started - r->ran_s - m->idle_s, 0,
		       r->turned - m->since);
	run = r->turned - m->since - idle;
	if (m->suspended) {
		n = put(m, m->since + idle, true, false, out, n);
		n = put(m, r->turned, false, false, out, n);
	} else {
		n = put(m, m->since + run, false, false, out, n);
		n = put(m, r->turned, true, false, out, n);
	}
	m->suspended = r->state == EGS_METER_SUSPENDED;
	return n;
}

int egs_meter_read(struct egs_meter *m, const struct egs_reading *r,
		   struct egs_interval out[EGS_INTERVALS_MAX])
{
	int n = 0;

	if (m->since &&
	    (r->state == EGS_METER_WAITS || r->restarts != m->restarts))
		n = close_run(m, requeued_at(m, r), !told(m, r), out, n);
	if (r->state == EGS_METER_WAITS || !r->start)
		return n;
	if (!m->since && m->over && r->restarts == m->restarts)
		return n;
	if (!m->since)
		open_run(m, r);
	n = turn(m, r, out, n);
	if (r->state == EGS_METER_ENDED)
		n = close_run(m, r->end, false, out, n);
	else
		m->suspended = r->state == EGS_METER_SUSPENDED;
	return n;
}

int egs_meter_cut(struct egs_meter *m, egs_time_t at,
		  struct egs_interval out[EGS_INTERVALS_MAX])
{
	return m->since ? put(m, at, m->suspended, false, out, 0) : 0;
}

int egs_meter_gone(struct egs_meter *m, egs_time_t at,
		   struct egs_interval out[EGS_INTERVALS_MAX])
{
	return m->since ? close_run(m, at, true, out, 0) : 0;
}
