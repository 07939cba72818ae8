/* transaction.c - transactions of the store, on a disk that may fail
 *
 * A failure is said once, and so is the recovery; in between requests that need
 * the store are refused, and nothing is done to a job.
 */
#include <string.h>

#include "common/base/log.h"
#include "policyd/daemon/daemon.h"
#include "policyd/store/store_messages.h"

/* Nothing of the transaction is on disk: all jobs are to be written again. */
static int failed(struct egs_daemon *d, struct egs_err *err,
		  const struct egs_err *why)
{
	if (!d->store_failed)
		egs_error("%s; nothing is done to jobs until it works",
			  why->msg);
	d->store_failed = true;
	d->store_losses++;
	d->store_open = false;
	if (d->nsums)
		memset(d->sum, 0, d->nsums * sizeof(d->sum[0]));
	return egs_errf(err, "%s", why->msg);
}

int egs_daemon_begin(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_err why;

	if (!d->store)
		return egs_errf(err, "StateDir=%s does not work", d->state_dir);
	if (egs_store_begin(d->store, &why) < 0)
		return failed(d, err, &why);
	d->store_open = true;
	return 0;
}

int egs_daemon_commit(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_err why;

	if (egs_daemon_write_jobs(d, &why) < 0 ||
	    egs_daemon_write_account(d, &why) < 0 ||
	    egs_daemon_write_levels(d, &why) < 0)
		return egs_errf(err, "%s", why.msg);
	if (!d->store_open)
		return 0; /* nothing has changed */
	if (egs_daemon_write_usage(d, &why) < 0)
		return egs_errf(err, "%s", why.msg);
	if (egs_store_commit(d->store, &why) < 0)
		return failed(d, err, &why);
	d->store_open = false;
	egs_daemon_forgotten(d);
	if (d->counted)
		egs_account_written(d->account);
	egs_daemon_levels_written(d);
	if (d->store_failed)
		egs_info("store: works again");
	d->store_failed = false;
	return 0;
}

/* A write of its own, as there may be no job to write. */
void egs_daemon_retry(struct egs_daemon *d)
{
	struct egs_err err;

	if (egs_daemon_set(d, "tried", "again", &err) == 0)
		egs_daemon_commit(d, NULL);
}

int egs_daemon_stored(struct egs_daemon *d, int rc, struct egs_err *err)
{
	return rc < 0 ? failed(d, err, err) : 0;
}

int egs_daemon_deed(struct egs_daemon *d, const struct egs_ident *job,
		    const char *what, const char *who, const char *reason,
		    struct egs_err *err)
{
	struct egs_deed deed = {
		.at = egs_daemon_now(),
		.nonce = job ? job->nonce : 0,
		.job_id = job ? job->job_id : 0,
		.what = what,
		.who = who,
		.reason = reason,
	};

	if (egs_daemon_begin(d, err) < 0)
		return -1;
	return egs_daemon_stored(d, egs_store_deed(d->store, &deed, err), err);
}

int egs_daemon_set(struct egs_daemon *d, const char *name, const char *value,
		   struct egs_err *err)
{
	if (egs_daemon_begin(d, err) < 0)
		return -1;
	return egs_daemon_stored(d, egs_store_set(d->store, name, value, err),
				 err);
}

void egs_daemon_prune(struct egs_daemon *d)
{
	egs_time_t before =
		egs_daemon_now() - egs_daemon_policy(d)->retention_s;
	/* What is older than that is not listened to any more. */
	egs_time_t unheard = egs_daemon_now() - INT64_C(2) * EGS_HEARD_MAX_S;
	struct egs_err err;

	if (egs_daemon_begin(d, &err) == 0 &&
	    egs_daemon_stored(d, egs_store_prune(d->store, before, &err),
			      &err) == 0 &&
	    egs_daemon_stored(d, egs_store_unhear(d->store, unheard, &err),
			      &err) == 0 &&
	    egs_daemon_stored(d, egs_history_prune(d->store, before, &err),
			      &err) == 0)
		egs_daemon_commit(d, NULL);
}
