/* job_submit_egs.c - where trust begins: parse the hint again, stamp the job
 *
 * Runs inside slurmctld under its locks: no file, no socket, no waiting.  Since
 * 23.02 several submissions may be in here at once, and nothing is shared.  A
 * job that asked for nothing leaves exactly as it came.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "plugins/compat/compat.h"
#include "plugins/job_submit/ask.h"
#include "policyd/wire/err.h"
#include "policyd/wire/hint.h"
#include "policyd/wire/stamp.h"

EGS_PLUGIN("EGS hints of jobs", "job_submit/egs");

/* The user sees the sentence; the code only says that it was a refusal. */
static int refuse(const struct egs_err *why, char **err_msg)
{
	if (err_msg) {
		if (*err_msg)
			xstrcat(*err_msg, "\n");
		xstrfmtcat(*err_msg, "egs: %s", why->msg);
	}
	return ESLURM_NOT_SUPPORTED;
}

static int make_nonce(uint64_t *nonce, struct egs_err *err)
{
	ssize_t got = getrandom(nonce, sizeof(*nonce), GRND_NONBLOCK);

	if (got == sizeof(*nonce))
		return 0;
	return egs_errf(err, "no random number for the job: %s",
			got < 0 ? strerror(errno) : "too short");
}

/* Put 'stamp' into '*comment', one of Slurm's own strings. */
static int put_stamp(char **comment, const struct egs_stamp *stamp,
		     struct egs_err *err)
{
	char *text = egs_stamp_put(*comment, stamp);

	if (!text)
		return egs_errf(err, "out of memory");
	xfree(*comment);
	*comment = xstrdup(text);
	free(text);
	return 0;
}

static int stamp_job(job_desc_msg_t *desc, struct egs_err *err)
{
	struct egs_stamp stamp = { 0 };

	if (egs_ask_read(&stamp.hint, desc->spank_job_env,
			 desc->spank_job_env_size, err) < 0)
		return -1;
	if (egs_hint_empty(&stamp.hint))
		return 0;
	if (make_nonce(&stamp.nonce, err) < 0)
		return -1;
	return put_stamp(&desc->admin_comment, &stamp, err);
}

int job_submit(job_desc_msg_t *desc, uint32_t uid, char **err_msg)
{
	struct egs_err err;

	(void)uid;
	if (stamp_job(desc, &err) < 0)
		return refuse(&err, err_msg);
	return SLURM_SUCCESS;
}

/* An operator who writes a new AdminComment does not mean to take the job's
 * phase and identity away.
 */
int job_modify(EGS_JOB_MODIFY_PARAMS)
{
	struct egs_stamp stamp;
	struct egs_err err;

	(void)uid;
	if (!desc->admin_comment || !job ||
	    egs_stamp_find(job->admin_comment, &stamp) < 0)
		return SLURM_SUCCESS;
	if (put_stamp(&desc->admin_comment, &stamp, &err) < 0)
		return refuse(&err, EGS_JOB_MODIFY_ERR_MSG);
	return SLURM_SUCCESS;
}
