/* publish_jobs.c - what was decided, for the plugins to read */
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

static uint32_t until(egs_time_t t)
{
	return t < 0 ? 0 : t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

static uint8_t flags_of(const struct egs_daemon *d, const struct egs_job *j,
			const struct egs_row *row)
{
	bool observed = d->paused || !egs_daemon_enforces(d, j->facts.team);

	return (uint8_t)((row->managed ? EGS_TABLE_MANAGED : 0) |
			 (row->on_loan ? EGS_TABLE_ON_LOAN : 0) |
			 (row->dependents ? EGS_TABLE_DEPENDENTS : 0) |
			 (row->needs_gpus && !row->patient
				  ? EGS_TABLE_NEEDS_GPUS
				  : 0) |
			 (row->keeps ? EGS_TABLE_KEEPS : 0) |
			 (row->over ? EGS_TABLE_OVER : 0) |
			 (row->spent ? EGS_TABLE_SPENT : 0) |
			 (observed ? EGS_TABLE_OBSERVED : 0));
}

static uint8_t mode_of(const struct egs_daemon *d, const struct egs_job *j,
		       const struct egs_row *row)
{
	uint32_t id = j->ident.job_id;

	return (uint8_t)(egs_policy_fate(d->policy, id) |
			 (j->asked || j->deadline ? EGS_TABLE_ASKED : 0) |
			 (j->sparing ? EGS_TABLE_SPARED : 0) |
			 (row->barred ? EGS_TABLE_BARRED : 0) |
			 (egs_policy_returns(d->policy, id) ? EGS_TABLE_RETURNS
							    : 0));
}

static struct egs_table_job row_of(const struct egs_daemon *d,
				   const struct egs_job *j, egs_time_t now)
{
	uint32_t id = j->ident.job_id;
	struct egs_row row = { .managed = false };

	egs_policy_row(d->policy, id, now, &row);
	return (struct egs_table_job){
		.nonce = j->ident.nonce,
		.job_id = id,
		.protected_until = until(row.protected_until),
		.recall_from = until(row.recall_from),
		.cost = egs_policy_cost(d->policy, id),
		.grace_s = egs_policy_grace(d->policy, id) +
			   egs_policy_slack(d->policy, id),
		.site_factor = j->site_factor,
		.tier = row.tier,
		.phase = j->facts.phase < 0 ? UINT8_MAX
					    : (uint8_t)j->facts.phase,
		.mode = mode_of(d, j, &row),
		.flags = flags_of(d, j, &row),
		.submit = (uint32_t)j->ident.submit,
	};
}

/* What is left of quotas, for those who submit a job. */
static void publish_left(struct egs_daemon *d)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	struct egs_table_place at = { .names = egs_table_names(c) };

	for (at.team = 0; at.team < c->nteams; at.team++)
		for (at.type = 0; at.type <= c->ntypes; at.type++)
			for (at.tier = 0; at.tier < c->ntiers; at.tier++)
				egs_table_publish_left(
					d->table, &at,
					egs_policy_left(d->policy, at.team,
							at.type, at.tier));
}

/* Jobs that are not managed have no row: nobody takes from them. */
void egs_daemon_publish(struct egs_daemon *d)
{
	uint32_t slots = egs_policy_slots(d->policy), i;
	egs_time_t now = egs_daemon_now();
	struct egs_table_job *row;
	size_t n = 0;

	if (!d->whole || d->frozen)
		return;
	row = egs_table_room(d->table);
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && j->facts.tier >= 0 && n++ < EGS_TABLE_JOBS)
			row[n - 1] = row_of(d, j, now);
	}
	publish_left(d);
	d->nrows = egs_table_publish(d->table, row, n, now);
	if (d->nrows < n)
		egs_warning("table: room for %zu jobs, %zu are left to stock "
			    "Slurm",
			    d->nrows, n - d->nrows);
	d->published++;
	d->stale = false;
}
