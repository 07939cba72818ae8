/* account_jobs.c - feed the accounting: jobs, their team, tier, phase and loan
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "policyd/daemon/daemon.h"

/* Time of the last poll, for the next daemon. */
#define POLLED_AT_KEY "looked"

int egs_daemon_restore_account(struct egs_daemon *d, struct egs_err *err)
{
	char text[32];

	if (egs_store_get(d->store, POLLED_AT_KEY, text, sizeof(text), err) < 0)
		return -1;
	d->account = egs_account_new(d->store, egs_daemon_conf(d),
				     strtoll(text, NULL, 10), err);
	return d->account ? 0 : -1;
}

void egs_daemon_account_job(struct egs_daemon *d,
			    const struct egs_job_fact *fact, egs_time_t now)
{
	egs_account_update_job(d->account, fact, now);
	if (egs_account_has_unwritten(d->account))
		egs_daemon_changed(d, EGS_CHANGED_JOBS);
}

void egs_daemon_account_job_gone(void *arg, uint32_t job_id)
{
	struct egs_daemon *d = arg;

	egs_account_remove_job(d->account, job_id);
	if (egs_account_has_unwritten(d->account))
		egs_daemon_changed(d, EGS_CHANGED_JOBS);
}

static void set_assignment(struct egs_daemon *d, const struct egs_job *j)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	const struct egs_facts *f = &j->facts;
	const struct egs_account_assignment assignment = {
		.team = f->team < 0 ? "" : c->team[f->team].name,
		.tier = f->tier < 0 ? "" : c->tier[f->tier].name,
		.phase = f->phase < 0 ? "" : c->phase[f->phase].name,
		.loan = f->tier < 0 || !j->gpus ? "-"
			: j->on_loan		? "loan"
						: "owned",
	};

	egs_account_assign(d->account, j->ident.job_id, &assignment,
			   egs_daemon_now());
}

int egs_daemon_save_account(struct egs_daemon *d, struct egs_err *err)
{
	uint32_t slots = egs_policy_nslots(d->policy), i;
	char text[32];

	d->account_written = false;
	if (!d->synced)
		return 0;
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && j->running)
			set_assignment(d, j);
	}
	if (!egs_account_has_unwritten(d->account) && !d->in_transaction)
		return 0;
	if (egs_daemon_begin(d, err) < 0 ||
	    egs_daemon_check_store(d, egs_account_write(d->account, err), err) <
		    0)
		return -1;
	snprintf(text, sizeof(text), "%" PRId64, d->polled_at);
	d->account_written = true;
	return egs_daemon_check_store(
		d, egs_store_set(d->store, POLLED_AT_KEY, text, err), err);
}

static void tell_run_began(void *arg, const struct egs_job_run *run,
			   const struct egs_usage_kind *kind)
{
	struct egs_daemon *d = arg;

	EGS_PARTS_CALL(d, run_began, d, run, kind);
}

static void tell_span_ended(void *arg, const struct egs_usage_kind *kind,
			    const struct egs_span *span)
{
	struct egs_daemon *d = arg;

	EGS_PARTS_CALL(d, span_ended, d, kind, span);
}

static void tell_run_ended(void *arg, const struct egs_job_run *run)
{
	struct egs_daemon *d = arg;

	EGS_PARTS_CALL(d, run_ended, d, run);
}

void egs_daemon_commit_account(struct egs_daemon *d)
{
	static const struct egs_account_watcher watcher = {
		.run_began = tell_run_began,
		.span_ended = tell_span_ended,
		.run_ended = tell_run_ended,
	};

	if (!d->account_written)
		return;
	egs_account_each_written(d->account, &watcher, d);
	egs_account_clear_written(d->account);
}
