/* account_jobs.c - every second of every job: what the policy knows of it */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "policyd/daemon/daemon.h"
#include "policyd/requests/resize.h"

/* When Slurm was last looked at, for the next daemon. */
#define LOOKED "looked"

int egs_daemon_recall_account(struct egs_daemon *d, struct egs_err *err)
{
	char text[32];

	if (egs_store_get(d->store, LOOKED, text, sizeof(text), err) < 0)
		return -1;
	d->account = egs_account_new(d->store, egs_daemon_policy(d),
				     strtoll(text, NULL, 10), err);
	return d->account ? 0 : -1;
}

void egs_daemon_count(void *arg, const struct egs_job_fact *fact,
		      egs_time_t now)
{
	struct egs_daemon *d = arg;

	egs_resize_seen(d, fact);
	egs_account_job(d->account, fact, now);
	d->unkept |= egs_account_pending(d->account);
}

void egs_daemon_count_gone(void *arg, uint32_t job_id)
{
	struct egs_daemon *d = arg;

	egs_account_gone(d->account, job_id);
	d->unkept |= egs_account_pending(d->account);
}

static void stand(struct egs_daemon *d, const struct egs_job *j)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	const struct egs_facts *f = &j->facts;
	const struct egs_account_standing standing = {
		.team = f->team < 0 ? "" : c->team[f->team].name,
		.tier = f->tier < 0 ? "" : c->tier[f->tier].name,
		.phase = f->phase < 0 ? "" : c->phase[f->phase].name,
		.loan = f->tier < 0 || !j->gpus ? "-"
			: j->on_loan		? "loan"
						: "owned",
	};

	egs_account_stand(d->account, j->ident.job_id, &standing,
			  egs_daemon_now());
}

int egs_daemon_write_account(struct egs_daemon *d, struct egs_err *err)
{
	uint32_t slots = egs_policy_slots(d->policy), i;
	char text[32];

	d->counted = false;
	if (!d->whole)
		return 0;
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (j && j->running)
			stand(d, j);
	}
	if (!egs_account_pending(d->account) && !d->store_open)
		return 0;
	if (egs_daemon_begin(d, err) < 0 ||
	    egs_daemon_stored(d, egs_account_write(d->account, err), err) < 0)
		return -1;
	snprintf(text, sizeof(text), "%" PRId64, d->looked_at);
	d->counted = true;
	return egs_daemon_stored(d, egs_store_set(d->store, LOOKED, text, err),
				 err);
}
