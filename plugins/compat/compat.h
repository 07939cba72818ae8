/* compat.h - differences between releases of Slurm
 *
 * Only plugins/compat includes Slurm's private headers or tests its version.
 * Everything that differs between 22.05 and 26.05 gets one name here.  Each
 * plugin function is declared with the type that this Slurm expects, so that a
 * changed signature fails in the compiler and not in slurmctld.
 */
#ifndef EGS_PLUGINS_COMPAT_H
#define EGS_PLUGINS_COMPAT_H

/* This header is first, because it renames what libslurm exports (error,
 * xstrdup, ...).  Since 23.02 it no longer includes xmalloc.h and xstring.h.
 * Without declarations a pointer would be returned as an int.
 */
#include "src/common/slurm_xlator.h"

#include "src/common/assoc_mgr.h"
#include "src/common/uid.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/slurmctld.h"

#define EGS_SLURM_SINCE(major, minor) \
	(SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(major, minor, 0))

#if EGS_SLURM_SINCE(23, 2)
#include "src/interfaces/gres.h"
#include "src/interfaces/preempt.h"
#include "src/interfaces/select.h"
#include "src/interfaces/site_factor.h"
#else
#include "src/common/gres.h"
#include "src/common/select.h"
#include "src/common/site_factor.h"
#include "src/slurmctld/preempt.h"
#endif

/* Everything is compiled with hidden visibility, except what Slurm's loader
 * looks up by name.  t/0200-plugin-symbols.t has the list.
 */
#define EGS_EXPORT __attribute__((visibility("default")))

/* Defined by EGS_PLUGIN(). */
EGS_EXPORT extern const char plugin_type[];

/* The three constants of a plugin.  Slurm loads a plugin only into the exact
 * version it was built for.  Records change between micro releases, too.
 */
#define EGS_PLUGIN(name, type)                      \
	EGS_EXPORT const char plugin_name[] = name; \
	EGS_EXPORT const char plugin_type[] = type; \
	EGS_EXPORT const uint32_t plugin_version = SLURM_VERSION_NUMBER

/* job_submit: since 23.02 job_modify() can return a message. */
#if EGS_SLURM_SINCE(23, 2)
#define EGS_JOB_MODIFY_PARAMS \
	job_desc_msg_t *desc, job_record_t *job, uint32_t uid, char **err_msg
#define EGS_JOB_MODIFY_ERR_MSG err_msg
#else
#define EGS_JOB_MODIFY_PARAMS \
	job_desc_msg_t *desc, job_record_t *job, uint32_t uid
#define EGS_JOB_MODIFY_ERR_MSG NULL
#endif

/* Parts of an update that are not a request. */
#define EGS_DESC_NO_REQUEST_FLAGS                                           \
	((uint64_t)(USE_DEFAULT_ACCT | USE_DEFAULT_PART | USE_DEFAULT_QOS | \
		    USE_DEFAULT_WCKEY))
#if EGS_SLURM_SINCE(23, 2)
#define EGS_DESC_SET_JOBINFO(desc, value) ((void)(desc))
#else
#define EGS_DESC_SET_JOBINFO(desc, value) ((desc)->select_jobinfo = (value))
#endif

/* job_modify() returns this to let slurmctld repeat the update after a second,
 * without its locks.  Since 24.11 nothing waits for slurmdbd.
 */
#if EGS_SLURM_SINCE(24, 11)
#define EGS_ESLURM_TRY_AGAIN SLURM_ERROR
#else
#define EGS_ESLURM_TRY_AGAIN ESLURM_JOB_SETTING_DB_INX
#endif

/* Since 24.05 a second table of slurmctld has the states of all jobs. */
#if EGS_SLURM_SINCE(24, 5)
#define EGS_SET_JOB_STATE(job, state) job_state_set(job, state)
#else
#define EGS_SET_JOB_STATE(job, state) ((job)->job_state = (state))
#endif

/* Since 25.11 sbatch --requeue=expedite. */
#if EGS_SLURM_SINCE(25, 11)
#define EGS_EXPEDITED_REQUEUE EXPEDITED_REQUEUE
#else
#define EGS_EXPEDITED_REQUEUE UINT64_C(0)
#endif

/* The target of an update: a job, since 25.11 a step id. */
#if EGS_SLURM_SINCE(25, 11)
#define EGS_DESC_ID step_id
#else
#define EGS_DESC_ID job_id
#endif

EGS_EXPORT int fini(void);
EGS_EXPORT int job_submit(job_desc_msg_t *desc, uint32_t uid, char **err_msg);
EGS_EXPORT int job_modify(EGS_JOB_MODIFY_PARAMS);

/* PreemptParameters; before 23.02 these were in SlurmctldParameters. */
#if EGS_SLURM_SINCE(23, 2)
#define EGS_PREEMPT_PARAMETERS slurm_conf.preempt_params
#else
#define EGS_PREEMPT_PARAMETERS slurm_conf.slurmctld_params
#endif

/* select: up to 24.11 a plugin with the id of cons_tres but another name is
 * fatal for every command (22.05 select.c:233).  So ours has the same name.
 * From 25.05 on slurmctld recognizes cons_tres by the id in some places, and in
 * others by "cons_tres" in the name (26.05 read_config.c:5046,
 * node_mgr.c:5085).
 */
#if EGS_SLURM_SINCE(25, 5)
#define EGS_SELECT_TYPE "select/cons_tres_egs"
#else
#define EGS_SELECT_TYPE "select/cons_tres"
#endif

/* The id of a job is in its record twice. */
#if EGS_SLURM_SINCE(25, 11)
#define EGS_HAS_SAME_IDS(job) ((job)->job_id == (job)->step_id.job_id)
#else
#define EGS_HAS_SAME_IDS(job) true
#endif

/* Since 26.05 an update lowers the memory of a running job, with the limits of
 * its steps, which takes a while.
 */
#if EGS_SLURM_SINCE(26, 5)
#define EGS_IS_MEM_CHANGING(job) ((job)->node_bitmap_rs != NULL)
#define EGS_CAN_LOWER_MEM(job) \
	((job)->start_protocol_ver >= SLURM_26_05_PROTOCOL_VERSION)
#else
#define EGS_IS_MEM_CHANGING(job) false
#define EGS_CAN_LOWER_MEM(job)	 false
#endif

/* SelectTypeParameters: memory is allocated; the least loaded node first. */
#if EGS_SLURM_SINCE(25, 11)
#define EGS_SELECT_MEMORY SELECT_MEMORY
#define EGS_SELECT_LLN	  SELECT_LLN
#else
#define EGS_SELECT_MEMORY CR_MEMORY
#define EGS_SELECT_LLN	  CR_LLN
#endif

#if EGS_SLURM_SINCE(23, 2)
typedef list_t *egs_list;
#else
typedef List egs_list;
#endif

#if EGS_SLURM_SINCE(23, 11)
typedef resv_exc_t egs_excluded_cores;
#else
typedef bitstr_t egs_excluded_cores;
#endif
#if EGS_SLURM_SINCE(24, 11)
#define EGS_JOB_TEST_TAIL	egs_excluded_cores *except, will_run_data_t *will_run
#define EGS_JOB_TEST_REST	except, will_run
#define EGS_JOB_TEST_REST_OF(t) (t)->except, (t)->will_run
#else
#define EGS_JOB_TEST_TAIL	egs_excluded_cores *except
#define EGS_JOB_TEST_REST	except
#define EGS_JOB_TEST_REST_OF(t) (t)->except
#endif

#define EGS_JOB_TEST_PARAMS                                            \
	job_record_t *job, bitstr_t *nodes, uint32_t min_nodes,        \
		uint32_t max_nodes, uint32_t req_nodes, uint16_t mode, \
		egs_list candidates, egs_list *victims, EGS_JOB_TEST_TAIL
#define EGS_JOB_TEST_ARGS                                              \
	job, nodes, min_nodes, max_nodes, req_nodes, mode, candidates, \
		victims, EGS_JOB_TEST_REST

/* The same parameters as a struct, for several calls of cons_tres.
 * { EGS_JOB_TEST_ARGS } fills the struct, EGS_JOB_TEST_OF() passes it on.
 */
struct egs_job_test {
	job_record_t *job;
	bitstr_t *nodes;
	uint32_t min_nodes, max_nodes, req_nodes;
	uint16_t mode;
	egs_list candidates;
	egs_list *victims;
	egs_excluded_cores *except;
#if EGS_SLURM_SINCE(24, 11)
	will_run_data_t *will_run;
#endif
};
#define EGS_JOB_TEST_OF(t)                                                    \
	(t)->job, (t)->nodes, (t)->min_nodes, (t)->max_nodes, (t)->req_nodes, \
		(t)->mode, (t)->candidates, (t)->victims,                     \
		EGS_JOB_TEST_REST_OF(t)

/* Is the test about a future time?  Backfill passes a time in each of its
 * tests; the first is now.
 */
#if EGS_SLURM_SINCE(24, 11)
#define EGS_JOB_TEST_IS_FUTURE(t) \
	((t)->will_run && (t)->will_run->start > time(NULL))
#else
#define EGS_JOB_TEST_IS_FUTURE(t) false
#endif

EGS_EXPORT extern __typeof__(select_g_job_test) select_p_job_test;
EGS_EXPORT extern __typeof__(select_g_job_begin) select_p_job_begin;
EGS_EXPORT extern __typeof__(select_g_job_fini) select_p_job_fini;
EGS_EXPORT extern __typeof__(select_g_job_suspend) select_p_job_suspend;
EGS_EXPORT extern __typeof__(select_g_job_resume) select_p_job_resume;
EGS_EXPORT extern __typeof__(select_g_job_resized) select_p_job_resized;
EGS_EXPORT extern __typeof__(select_g_job_expand) select_p_job_expand;

/* Since 24.05 a job that is being preempted has this flag.  Only a requeue by
 * Slurm's own preemption clears the flag.  After any other requeue, the next
 * normal end would requeue the job again (24.11 proc_req.c:2139).
 */
#if EGS_SLURM_SINCE(24, 5)
#define EGS_GRACE_PREEMPT GRACE_PREEMPT
#else
#define EGS_GRACE_PREEMPT 0
#endif

/* preempt: one function for all kinds of data, since 25.05 one for each.  The
 * parameters of preemptable() are victim, then requester, although Slurm's
 * header names them the other way round (22.05 preempt.c:59 and :95).
 */
EGS_EXPORT bool preempt_p_preemptable(job_record_t *victim,
				      job_record_t *requester);
EGS_EXPORT bool preempt_p_job_preempt_check(job_queue_rec_t *requester,
					    job_queue_rec_t *victim);
#define EGS_PREEMPT_GETTERS EGS_SLURM_SINCE(25, 5)
#if EGS_PREEMPT_GETTERS
EGS_EXPORT uint16_t preempt_p_get_mode(job_record_t *job);
EGS_EXPORT uint32_t preempt_p_get_prio(job_record_t *job);
EGS_EXPORT uint32_t preempt_p_get_grace_time(job_record_t *job);
#else
EGS_EXPORT int preempt_p_get_data(job_record_t *job,
				  slurm_preempt_data_type_t type, void *data);
#endif

/* site_factor: no reconfig since 24.05. */
EGS_EXPORT void site_factor_p_set(job_record_t *job);
EGS_EXPORT void site_factor_p_update(void);
#define EGS_SITE_FACTOR_RECONFIG !EGS_SLURM_SINCE(24, 5)
#if EGS_SITE_FACTOR_RECONFIG
EGS_EXPORT void site_factor_p_reconfig(void);
#endif

EGS_EXPORT int init(void);

#endif
