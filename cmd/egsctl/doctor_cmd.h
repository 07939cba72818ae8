/* doctor_cmd.h - egsctl doctor: read the cluster, and give advice */
#ifndef EGS_EGSCTL_DOCTOR_CMD_H
#define EGS_EGSCTL_DOCTOR_CMD_H

#include "cmd/egsctl/egsctl.h"

/* Needs no daemon.  'operands' may name an egs.conf.  EGSCTL_DONE if nothing
 * has to be done, EGSCTL_FAILED if something has.
 */
int egsctl_run_doctor(const char *name, char **operands,
		      const struct egsctl_options *ctl);

#endif
