/* make_ready.c - make a job ready for a preemption inside slurmctld */
#include <signal.h>

#include "common/hint/stamp.h"
#include "plugins/shared/make_ready.h"

static bool has_declared_checkpoint(const struct egs_stamp *stamp)
{
	return stamp->nonce &&
	       egs_hint_can_save(&stamp->hint, &stamp->own_signal);
}

void egs_make_ready_signal(job_record_t *job)
{
	struct egs_stamp stamp = egs_stamp_read(job->admin_comment);
	struct egs_save_signal declared = { .number = SIGCONT };

	if (job->warn_signal || !has_declared_checkpoint(&stamp))
		return;
	if (egs_hint_get_signal(&stamp.hint, &declared) && !declared.before_s)
		declared.before_s = EGS_SAVE_SIGNAL_BEFORE_S;
	job->warn_signal = declared.number;
	job->warn_time = declared.before_s;
	job->warn_flags = declared.to_batch_shell ? KILL_JOB_BATCH : 0;
}

void egs_make_ready_output(job_record_t *job)
{
	struct egs_stamp stamp = egs_stamp_read(job->admin_comment);

	if (job->batch_flag && job->details && !job->details->open_mode &&
	    has_declared_checkpoint(&stamp))
		job->details->open_mode = OPEN_MODE_APPEND;
}
