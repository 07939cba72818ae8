/* publish_jobs.c - write the rows of jobs into the decision table */
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

static uint32_t clamp_time(egs_time_t t)
{
	return t < 0 ? 0 : t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

static uint8_t make_flags(const struct egs_daemon *d, const struct egs_job *j,
			  const struct egs_take_view *row)
{
	bool observed = !egs_daemon_is_acting(d, j->facts.team) &&
			!(j->running && egs_policy_is_notice_binding(j));

	return (uint8_t)((row->managed ? EGS_TABLE_MANAGED : 0) |
			 (row->on_loan ? EGS_TABLE_ON_LOAN : 0) |
			 (row->dependents ? EGS_TABLE_DEPENDENTS : 0) |
			 (egs_take_needs_victims(row) ? EGS_TABLE_NEEDS_GPUS
						      : 0) |
			 (row->not_preemptible ? EGS_TABLE_NOT_PREEMPTIBLE
					       : 0) |
			 (row->over_limit ? EGS_TABLE_OVER_LIMIT : 0) |
			 (row->preempt_budget_used
				  ? EGS_TABLE_PREEMPT_BUDGET_USED
				  : 0) |
			 (observed ? EGS_TABLE_OBSERVED : 0));
}

static uint8_t make_fate_flags(const struct egs_daemon *d,
			       const struct egs_job *j,
			       const struct egs_take_view *row)
{
	uint32_t id = j->ident.job_id;

	return (uint8_t)(egs_policy_fate(d->policy, id) |
			 (j->preempting || j->deadline
				  ? EGS_TABLE_PREEMPT_REQUESTED
				  : 0) |
			 (j->withdrawing ? EGS_TABLE_WITHDRAWN : 0) |
			 (row->over_limit_pending ? EGS_TABLE_DEFERRED : 0) |
			 (j->running && j->preempting && j->requester
				  ? EGS_TABLE_FOR_OTHER
				  : 0) |
			 (egs_policy_exit_requeues(d->policy, id)
				  ? EGS_TABLE_REQUEUE_ON_EXIT
				  : 0));
}

static uint16_t clamp_gpus(uint32_t n)
{
	return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

static uint8_t make_type(const struct egs_job *j,
			 const struct egs_take_view *row)
{
	bool any = !j->running && j->facts.need.type == EGS_TYPE_ANY;

	return row->type | (any ? EGS_TABLE_ANY_TYPE : 0);
}

static struct egs_table_job make_row(const struct egs_daemon *d,
				     const struct egs_job *j, egs_time_t now)
{
	uint32_t id = j->ident.job_id;
	struct egs_take_view row = { .managed = false };

	egs_policy_take_view(d->policy, id, now, &row);
	return (struct egs_table_job){
		.nonce = j->ident.nonce,
		.job_id = id,
		.protected_until = j->running ? clamp_time(row.protected_until)
					      : j->facts.update_no,
		.recall_from = clamp_time(row.recall_from),
		.cost_gpu_s = egs_policy_victim_cost(d->policy, id),
		.grace_s = egs_policy_grace(d->policy, id) +
			   egs_policy_slack(d->policy, id),
		.site_factor = j->site_factor,
		.tier = row.tier,
		.phase = j->facts.phase < 0 ? UINT8_MAX
					    : (uint8_t)j->facts.phase,
		.fate_and_flags = make_fate_flags(d, j, &row),
		.flags = make_flags(d, j, &row),
		.submit = (uint32_t)j->ident.submit,
		.team = row.team,
		.gpus = clamp_gpus(row.gpus),
		.room = clamp_gpus(j->running ? row.slack : row.room),
		.type = make_type(j, &row),
		.displaces_or_span =
			j->running ? (uint8_t)row.span : row.displaces,
	};
}

/* Publish the free GPUs of quotas, for job_submit/egs. */
static void publish_quota_left(struct egs_daemon *d)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_quota_key at = { .names_hash = egs_table_hash_names(c) };

	for (at.team = 0; at.team < c->nteams; at.team++)
		for (at.type = 0; at.type <= c->ntypes; at.type++)
			for (at.tier = 0; at.tier < c->ntiers; at.tier++)
				egs_table_publish_quota(
					d->table, &at,
					egs_policy_quota_left(d->policy,
							      at.team, at.type,
							      at.tier));
}

/* The mode in which the daemon treats jobs of 'team' (-1: none). */
static enum egs_mode find_mode(const struct egs_daemon *d, int team)
{
	return egs_daemon_is_acting(d, team) ? EGS_MODE_ENFORCE
					     : EGS_MODE_OBSERVE;
}

void egs_daemon_apply_modes(struct egs_daemon *d)
{
	for (int i = -1; i < egs_daemon_conf(d)->nteams; i++)
		egs_policy_set_team_observed(
			d->policy, i, find_mode(d, i) == EGS_MODE_OBSERVE);
}

static void publish_modes(struct egs_daemon *d)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_table_modes modes = { .names_hash = egs_table_hash_names(c),
					 .site = find_mode(d, -1) };

	egs_daemon_apply_modes(d);
	for (int i = 0; i < c->nteams; i++)
		modes.team[i] = find_mode(d, i);
	egs_table_publish_modes(d->table, &modes);
}

/* Does the job have a row?  Unmanaged jobs have none and are never victims,
 * except a pending job that waits for the decision that it is unmanaged.
 */
static bool has_row(const struct egs_job *j, bool running)
{
	return j && j->running == running &&
	       (j->facts.tier >= 0 || (!running && j->facts.awaits_decision));
}

/* Fill in the rows of running or of pending jobs.  Returns the number of rows,
 * also of those without room.
 */
static size_t fill_rows(const struct egs_daemon *d, struct egs_table_job *row,
			size_t n, bool running, egs_time_t now)
{
	uint32_t slots = egs_policy_nslots(d->policy);

	for (uint32_t i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (has_row(j, running) && n++ < EGS_TABLE_JOBS_MAX)
			row[n - 1] = make_row(d, j, now);
	}
	return n;
}

/* Log this once until there is room again: rows are published every second. */
static void note_missing_rows(struct egs_daemon *d, size_t missing)
{
	if (missing && !d->rows_missing)
		egs_log_warn("table: full with %zu jobs; stock Slurm decides "
			     "for %zu more pending jobs",
			     d->nrows, missing);
	else if (!missing && d->rows_missing)
		egs_log_info("table: all %zu jobs have room again", d->nrows);
	d->rows_missing = missing > 0;
}

/* Running jobs come first, so that pending ones never take their rows. */
void egs_daemon_publish_jobs(struct egs_daemon *d)
{
	egs_time_t now = egs_daemon_now();
	struct egs_table_job *row;
	size_t n;

	if (!d->synced || d->slurmctld_down)
		return;
	row = egs_table_get_buffer(d->table);
	n = fill_rows(d, row, 0, true, now);
	n = fill_rows(d, row, n, false, now);
	publish_quota_left(d);
	publish_modes(d);
	d->nrows = egs_table_publish(d->table, row, n, now);
	note_missing_rows(d, n - d->nrows);
	d->publish_count++;
	d->changed &= ~EGS_CHANGED_TABLE;
}
