/* compat.h - where libslurm's public API differs between versions
 *
 * The daemon's counterpart of plugins/compat.  Only files of the worker process
 * include it.
 */
#ifndef EGS_SLURM_COMPAT_H
#define EGS_SLURM_COMPAT_H

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdbool.h>

/* Every libslurm exports this function; no public header declares it. */
extern void slurm_xfree(void **item);

/* slurm_free_job_info_msg() of 22.05 leaks admin_comment: 65 bytes and more for
 * each job at each poll.  Later versions free it.
 */
static inline void compat_free_leaked(slurm_job_info_t *job)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
	slurm_xfree((void **)&job->admin_comment);
#else
	(void)job;
#endif
}

/* Free the answer of slurm_load_jobs(), slurm_load_job() and others. */
static inline void compat_free_jobs(job_info_msg_t *msg)
{
	for (uint32_t i = 0; i < msg->record_count; i++)
		compat_free_leaked(&msg->job_array[i]);
	slurm_free_job_info_msg(msg);
}

/* The message of a plugin that refused an update; NULL before 23.02. */
static inline const char *compat_refusal_text(const job_array_resp_msg_t *resp)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
	if (resp && resp->job_array_count && resp->err_msg)
		return resp->err_msg[0];
#endif
	(void)resp;
	return NULL;
}

/* Is this a refusal until slurmdbd has answered about the job?  Since 24.11
 * Slurm does not wait for slurmdbd.
 */
static inline bool compat_is_retryable(int code)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
	return code == ESLURM_JOB_SETTING_DB_INX;
#else
	(void)code;
	return false;
#endif
}

/* Does slurmctld lower the memory limit of a job that is resized? */
static inline bool compat_lowers_mem(void)
{
	return SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0);
}

static inline bool compat_can_skip_dbd(void)
{
	return SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0);
}

/* squeue's word for why a job waits.  libslurm exports it under one of two
 * names, and no public header declares them.
 */
extern char *slurm_job_reason_string(enum job_state_reason reason)
	__attribute__((weak));
extern const char *slurm_job_state_reason_string(enum job_state_reason reason)
	__attribute__((weak));

static inline const char *compat_reason_text(const slurm_job_info_t *job)
{
	enum job_state_reason reason = (enum job_state_reason)job->state_reason;

	if (job->state_desc && *job->state_desc)
		return job->state_desc;
	if (slurm_job_state_reason_string)
		return slurm_job_state_reason_string(reason);
	return slurm_job_reason_string ? slurm_job_reason_string(reason)
				       : "other";
}

/* The prefix of GPUs in tres_per_node. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
#define COMPAT_GPU_TRES "gres/gpu"
#else
#define COMPAT_GPU_TRES "gres:gpu"
#endif

/* Since 24.05 Slurm requeues a job that exits in its grace period. */
static inline bool compat_requeues_in_grace(void)
{
	return SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0);
}

static inline void compat_free_conf(slurm_conf_t *conf)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	slurm_free_conf(conf);
#else
	slurm_free_ctl_conf(conf);
#endif
}

static inline int compat_load_job(job_info_msg_t **msg, uint32_t job_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_load_job(msg, id, SHOW_ALL | SHOW_DETAIL);
#else
	return slurm_load_job(msg, job_id, SHOW_ALL | SHOW_DETAIL);
#endif
}

static inline int compat_load_steps(job_step_info_response_msg_t **msg,
				    uint32_t job_id)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_get_job_steps(&id, msg, SHOW_ALL);
#else
	return slurm_get_job_steps(0, job_id, NO_VAL, msg, SHOW_ALL);
#endif
}

/* Before 23.02 the type is a pointer already. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
typedef hostlist_t *compat_hostlist;
#else
typedef hostlist_t compat_hostlist;
#endif

/* CPUs of a job on its i-th node.  Since 23.02 libslurm does not export that,
 * and the mean of all nodes is used.
 */
static inline uint32_t compat_cpus_on_node(const slurm_job_info_t *job, int i)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
	int n = job->job_resrcs ? slurm_job_cpus_allocated_on_node_id(
					  job->job_resrcs, i)
				: 0;

	return n > 0 ? (uint32_t)n : 0;
#else
	(void)i;
	return job->num_nodes ? job->num_cpus / job->num_nodes : 0;
#endif
}

/* CPUs and memory in use on a node; 25.05 moved them into the struct. */
static inline void compat_node_used(node_info_t *node, uint32_t *cpus,
				    uint64_t *mem_mb)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
	*cpus = node->alloc_cpus;
	*mem_mb = node->alloc_memory;
#else
	uint16_t used = 0;

	slurm_get_select_nodeinfo(node->select_nodeinfo, SELECT_NODEDATA_SUBCNT,
				  NODE_STATE_ALLOCATED, &used);
	*cpus = used;
	*mem_mb = 0;
	slurm_get_select_nodeinfo(node->select_nodeinfo,
				  SELECT_NODEDATA_MEM_ALLOC, 0, mem_mb);
#endif
}

#endif
