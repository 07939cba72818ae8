/* resume_info.h - what a restarted job is told: its last checkpoint, why it was
 * preempted, and its phase if that differs from its submission
 *
 * egs-policyd sends the resume info to slurmctld in the update that lets the
 * job start.  Slurm passes it to the job as a variable of its environment:
 *
 *	EGS_AGAIN=RESTARTS\nPATH\nPHASE\nMESSAGE
 *
 * So a job that starts does not wait for an answer of egs-policyd.  spank_egs
 * removes the variable from the environment before the script runs.
 */
#ifndef EGS_HINT_RESUME_INFO_H
#define EGS_HINT_RESUME_INFO_H

#include <stdint.h>

#include "common/base/err.h"

#define EGS_RESUME_INFO_ENV	  "EGS_AGAIN"
#define EGS_RESUME_INFO_PATH_MAX  1024
#define EGS_RESUME_INFO_PHASE_MAX 64
#define EGS_RESUME_INFO_MAX                                                   \
	(EGS_RESUME_INFO_PATH_MAX + EGS_RESUME_INFO_PHASE_MAX + EGS_ERR_MAX + \
	 32)

struct egs_resume_info {
	uint32_t restarts; /* of the run it is for */

	/* Path of the checkpoint, "": unknown. */
	char path[EGS_RESUME_INFO_PATH_MAX + 1];
	char phase[EGS_RESUME_INFO_PHASE_MAX + 1]; /* "": of its submission */
	struct egs_err message;			   /* a sentence, "": none */
};

/* Write the variable, with its name. */
void egs_resume_info_format(const struct egs_resume_info *info,
			    char text[EGS_RESUME_INFO_MAX]);

/* Parse the value of the variable.  Returns 0, or -1 with '*info' unchanged if
 * it is invalid.
 */
int egs_resume_info_parse(struct egs_resume_info *info, const char *value);

#endif
