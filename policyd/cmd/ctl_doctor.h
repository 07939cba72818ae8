/* ctl_doctor.h - egsctl doctor: read the cluster, and give advice */
#ifndef EGS_CMD_CTL_DOCTOR_H
#define EGS_CMD_CTL_DOCTOR_H

#include "policyd/cmd/egsctl.h"

/* Needs no daemon.  'operands' may name an egs.conf.  EGSCTL_DONE if nothing
 * has to be done, EGSCTL_FAILED if something has.
 */
int egsctl_doctor(const char *name, char **operands, const struct egsctl *ctl);

#endif
