/* resize_acctg.h - a change of a running job's size in the accounting
 *
 * Slurm's functions around a change of size end the job in the accounting and
 * start it again.  They are made for a job that loses nodes: they count a task
 * of an array as ended, free the job's ports, replace its request, and before
 * 24.11 wait for slurmdbd.  Here the job stays as it is, and nothing waits.
 */
#ifndef EGS_JOB_SUBMIT_RESIZE_ACCTG_H
#define EGS_JOB_SUBMIT_RESIZE_ACCTG_H

#include "plugins/compat/gres.h"

/* What the job had before; egs_resize_acctg_end() frees it. */
struct egs_resize_acctg {
	uint64_t *req_cnt;
	char *req_str;
	char *fmt_req_str;
};

/* Call these before and after the change, if egs_db_index_is_ready(). */
struct egs_resize_acctg egs_resize_acctg_begin(job_record_t *job);
void egs_resize_acctg_end(job_record_t *job, struct egs_resize_acctg *before);

#endif
