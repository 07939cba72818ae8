/* resume_info.h - what a job that runs again is told: where it was, why it had
 *to go, and its phase, where that is not the one of its submission
 *
 * egs-policyd hands it to slurmctld, in the update that lets the job start, and
 * Slurm brings it to the job as a variable of its environment:
 *
 *	EGS_AGAIN=RESTARTS\nPATH\nPHASE\nSTORY
 *
 * So nobody is asked and nothing is waited for as the job starts.  spank_egs
 * takes it from the environment before the script sees it.
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
	char path[EGS_RESUME_INFO_PATH_MAX +
		  1]; /* of its checkpoint, "": not said */
	char phase[EGS_RESUME_INFO_PHASE_MAX + 1]; /* "": as it was submitted */
	struct egs_err message; /* a sentence, "": there is none */
};

/* Write the variable, with its name. */
void egs_resume_info_format(const struct egs_resume_info *again,
			    char text[EGS_RESUME_INFO_MAX]);

/* Read the value of the variable.  0, or -1 if it is none, with '*again' left
 * as it was.
 */
int egs_resume_info_parse(struct egs_resume_info *again, const char *value);

#endif
