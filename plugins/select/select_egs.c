/* select_egs.c - select plugin stacked on Slurm's own cons_tres
 *
 * The object is linked with the real select_cons_tres.so.  Slurm's loader
 * asks dlsym() for each function of the API, dlsym() goes on to the libraries
 * an object was linked with, and so everything that is not defined here is
 * cons_tres itself, init() and plugin_id included.  cons_tres, for its part,
 * reads plugin_type from here.
 *
 * Up to 24.11 the file is called select_cons_tres.so and lies in a directory
 * of its own: first in PluginDir it takes the place of the real one, without
 * it nothing has ever happened.  It is then loaded by every command and by
 * slurmd too, hence no init() that might print on a user's terminal.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "plugins/compat/compat.h"
#include "plugins/decide/decide.h"
#include "plugins/resize/submitted.h"
#include "plugins/select/exact.h"
#include "plugins/select/leave.h"

EGS_PLUGIN("EGS on top of select/cons_tres", EGS_SELECT_TYPE);

static struct {
	pthread_once_t once;
	__typeof__(select_g_job_test) *job_test; /* those of cons_tres */
	__typeof__(select_g_job_begin) *job_begin;
	__typeof__(select_g_job_fini) *job_fini;
} self = { .once = PTHREAD_ONCE_INIT };

/* At the first test of a job: commands load us, too, and test none. */
static void find_cons_tres(void)
{
	egs_decide_init("select/egs");
	self.job_test = dlsym(RTLD_NEXT, "select_p_job_test");
	self.job_begin = dlsym(RTLD_NEXT, "select_p_job_begin");
	self.job_fini = dlsym(RTLD_NEXT, "select_p_job_fini");
	if (!self.job_test || !self.job_begin || !self.job_fini)
		error("egs: no cons_tres below select/egs: %s", dlerror());
}

int select_p_job_test(EGS_JOB_TEST_PARAMS)
{
	const struct egs_job_test test = { EGS_JOB_TEST_ARGS };

	pthread_once(&self.once, find_cons_tres);
	if (!self.job_test)
		return SLURM_ERROR;
	return egs_exact_test(&test, self.job_test);
}

int select_p_job_begin(job_record_t *job)
{
	pthread_once(&self.once, find_cons_tres);
	job->bit_flags &= ~(uint64_t)EGS_ASKED_TO_LEAVE;
	return self.job_begin ? self.job_begin(job) : SLURM_ERROR;
}

/* Number 0 is memory that a running job gives back (resize/cores.c). */
int select_p_job_fini(job_record_t *job)
{
	pthread_once(&self.once, find_cons_tres);
	if (job->job_id) {
		egs_leave(job);
		egs_submitted_restore(job);
	}
	return self.job_fini ? self.job_fini(job) : SLURM_ERROR;
}
