/* gres.h - a job's GPUs inside slurmctld, under one name in every Slurm
 *
 * For code that changes the resources of a running job.
 */
#ifndef EGS_PLUGINS_COMPAT_GRES_H
#define EGS_PLUGINS_COMPAT_GRES_H

#include "plugins/compat/compat.h"

#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/slurmctld/job_scheduler.h"

#if EGS_SLURM_SINCE(23, 2)
#include "src/interfaces/gres.h"
typedef list_itr_t *egs_list_iter;
#else
#include "src/common/gres.h"
typedef ListIterator egs_list_iter;
#endif

#if EGS_SLURM_SINCE(24, 5)
#include "src/stepmgr/gres_stepmgr.h"
#define egs_job_dealloc	  gres_stepmgr_job_dealloc
#define egs_build_details gres_stepmgr_job_build_details
#else
#include "src/slurmctld/gres_ctld.h"
#define egs_job_dealloc	  gres_ctld_job_dealloc
#define egs_build_details gres_ctld_job_build_details
#endif

#if EGS_SLURM_SINCE(23, 11)
#define egs_job_build_details(job)                                          \
	egs_build_details((job)->gres_list_alloc, (job)->nodes,             \
			  &(job)->gres_detail_cnt, &(job)->gres_detail_str, \
			  &(job)->gres_used)
#else
#define egs_job_build_details(job)                                         \
	egs_build_details((job)->gres_list_alloc, &(job)->gres_detail_cnt, \
			  &(job)->gres_detail_str, &(job)->gres_used)
#endif

/* The node creates the steps of such a job; slurmctld does not know them. */
#if EGS_SLURM_SINCE(24, 5)
#define EGS_STEPMGR_ENABLED STEPMGR_ENABLED
#else
#define EGS_STEPMGR_ENABLED 0
#endif

/* Since 24.05 a job can have ports, and a change of its size frees them. */
#if EGS_SLURM_SINCE(24, 5)
#define EGS_TAKE_PORTS(job)	     egs_take_text(&(job)->resv_ports)
#define EGS_RETURN_PORTS(job, ports) ((job)->resv_ports = (ports))
#else
#define EGS_TAKE_PORTS(job)	     ((void)(job), NULL)
#define EGS_RETURN_PORTS(job, ports) ((void)(ports))
#endif

static inline char *egs_take_text(char **text)
{
	char *taken = *text;

	*text = NULL;
	return taken;
}

#endif
