/* transaction.c - transactions of the store, on a disk that may fail
 *
 * The daemon logs a failure once, and the recovery.  In between the daemon
 * refuses requests that need the store and takes no action on jobs.
 */
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"
#include "policyd/store/store_messages.h"

/* Nothing of the transaction is on disk, so write all jobs again. */
static int fail_transaction(struct egs_daemon *d, struct egs_err *err,
			    const struct egs_err *why)
{
	if (!d->store_failed)
		egs_log_error("%s; no job is preempted until it works",
			      why->msg);
	d->store_failed = true;
	d->store_failures++;
	d->in_transaction = false;
	egs_daemon_resave_jobs(d);
	return egs_errf(err, "%s", why->msg);
}

int egs_daemon_begin(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_err why;

	if (!d->store)
		return egs_errf(err, "StateDir=%s does not work", d->state_dir);
	if (egs_store_begin(d->store, &why) < 0)
		return fail_transaction(d, err, &why);
	d->in_transaction = true;
	return 0;
}

int egs_daemon_commit(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_err why;

	if (egs_daemon_save_jobs(d, &why) < 0 ||
	    egs_daemon_save_account(d, &why) < 0 ||
	    egs_daemon_save_levels(d, &why) < 0)
		return egs_errf(err, "%s", why.msg);
	if (!d->in_transaction)
		return 0; /* nothing has changed */
	if (egs_daemon_save_usage(d, &why) < 0)
		return egs_errf(err, "%s", why.msg);
	if (egs_store_commit(d->store, &why) < 0)
		return fail_transaction(d, err, &why);
	d->in_transaction = false;
	egs_daemon_clear_forgotten(d);
	egs_daemon_commit_account(d);
	egs_daemon_commit_levels(d);
	if (d->store_failed)
		egs_log_info("store: works again");
	d->store_failed = false;
	return 0;
}

/* Write a value, because there may be no job to write. */
void egs_daemon_retry_store(struct egs_daemon *d)
{
	struct egs_err err;

	if (egs_daemon_save_value(d, "tried", "again", &err) == 0)
		egs_daemon_commit(d, NULL);
}

int egs_daemon_check_store(struct egs_daemon *d, int rc, struct egs_err *err)
{
	return rc < 0 ? fail_transaction(d, err, err) : 0;
}

static int add_log_entry(struct egs_daemon *d, const struct egs_identity *job,
			 struct egs_log_entry *entry, struct egs_err *err)
{
	entry->at = egs_daemon_now();
	entry->nonce = job ? job->nonce : 0;
	entry->job_id = job ? job->job_id : 0;
	if (egs_daemon_begin(d, err) < 0)
		return -1;
	return egs_daemon_check_store(
		d, egs_store_log_add(d->store, entry, err), err);
}

int egs_daemon_log_event(struct egs_daemon *d, const struct egs_identity *job,
			 const char *what, const char *who, const char *reason,
			 struct egs_err *err)
{
	struct egs_log_entry entry = { .event = what,
				       .actor = who,
				       .reason = reason };

	return add_log_entry(d, job, &entry, err);
}

int egs_daemon_log_report(struct egs_daemon *d, const struct egs_identity *job,
			  const char *what, const char *who,
			  struct egs_err *err)
{
	struct egs_log_entry entry = { .event = what,
				       .actor = who,
				       .reason = "reported by the job",
				       .reports = 1 };

	return add_log_entry(d, job, &entry, err);
}

int egs_daemon_save_value(struct egs_daemon *d, const char *name,
			  const char *value, struct egs_err *err)
{
	if (egs_daemon_begin(d, err) < 0)
		return -1;
	return egs_daemon_check_store(
		d, egs_store_set(d->store, name, value, err), err);
}

void egs_daemon_prune_history(struct egs_daemon *d)
{
	egs_time_t before = egs_daemon_now() - egs_daemon_conf(d)->retention_s;
	/* Older messages are refused, so their answers are not needed. */
	egs_time_t answers_before =
		egs_daemon_now() - INT64_C(2) * EGS_MESSAGE_MAX_AGE_S;
	struct egs_err err;

	if (egs_daemon_begin(d, &err) == 0 &&
	    egs_daemon_check_store(d, egs_store_prune(d->store, before, &err),
				   &err) == 0 &&
	    egs_daemon_check_store(
		    d, egs_store_answer_prune(d->store, answers_before, &err),
		    &err) == 0 &&
	    egs_daemon_check_store(d, egs_history_prune(d->store, before, &err),
				   &err) == 0)
		egs_daemon_commit(d, NULL);
}
