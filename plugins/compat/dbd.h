/* dbd.h - slurmctld and slurmdbd, under one name in every Slurm */
#ifndef EGS_PLUGINS_COMPAT_DBD_H
#define EGS_PLUGINS_COMPAT_DBD_H

#include "plugins/compat/compat.h"

#include "src/common/slurm_protocol_api.h"
#include "src/slurmctld/locks.h"

#if EGS_SLURM_SINCE(23, 2)
#include "src/interfaces/accounting_storage.h"
#else
#include "src/common/slurm_accounting_storage.h"
#endif

/* Since 24.11 slurmctld itself numbers the records of slurmdbd. */
#define EGS_DBD_NUMBERS_RECORDS !EGS_SLURM_SINCE(24, 11)

#endif
