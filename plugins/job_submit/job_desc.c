/* job_desc.c - read and change Slurm's description of a job */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "plugins/job_submit/job_desc.h"

struct egs_hint_sources egs_job_desc_hint_sources(const job_desc_msg_t *desc)
{
	return (struct egs_hint_sources){
		.spank = desc->spank_job_env,
		.nspank = desc->spank_job_env_size,
		.env = desc->environment,
		.nenv = desc->env_size,
		.comment = desc->comment,
	};
}

struct egs_save_signal egs_job_desc_signal(const job_desc_msg_t *desc)
{
	struct egs_save_signal own = { 0 };

	if (!desc->warn_signal || desc->warn_signal == NO_VAL16)
		return own;
	own.number = desc->warn_signal;
	own.to_batch_shell = desc->warn_flags & KILL_JOB_BATCH;
	if (desc->warn_time != NO_VAL16)
		own.before_s = desc->warn_time;
	return own;
}

static uint32_t number_or_default(uint32_t value, uint32_t otherwise)
{
	return value == NO_VAL ? otherwise : value;
}

/* The account of a job that names none; borrowed from slurmctld. */
static const char *get_default_account(uint32_t uid)
{
	slurmdb_user_rec_t user = { .uid = uid };

	if (assoc_mgr_fill_in_user(acct_db_conn, &user, 0, NULL, false) ==
	    SLURM_ERROR)
		return NULL;
	return user.default_acct;
}

static const char *get_default_partition(void)
{
	return default_part_loc ? default_part_loc->name : NULL;
}

static struct egs_gpu_request_text get_gpu_request(const job_desc_msg_t *desc)
{
	return (struct egs_gpu_request_text){
		.per_job = desc->tres_per_job,
		.per_node = desc->tres_per_node,
		.per_task = desc->tres_per_task,
		.per_socket = desc->tres_per_socket,
		.nodes = number_or_default(desc->min_nodes, 0),
		.tasks = number_or_default(desc->num_tasks, 0),
	};
}

/* The GPU request of 'job' after the update. */
static struct egs_gpu_request_text merge_gpu_request(const job_desc_msg_t *desc,
						     const job_record_t *job)
{
	struct egs_gpu_request_text now = get_gpu_request(desc);

	now.per_job = now.per_job ? now.per_job : job->tres_per_job;
	now.per_node = now.per_node ? now.per_node : job->tres_per_node;
	now.per_task = now.per_task ? now.per_task : job->tres_per_task;
	now.per_socket = now.per_socket ? now.per_socket : job->tres_per_socket;
	if (!now.nodes && job->details)
		now.nodes = job->details->min_nodes;
	if (!now.tasks && job->details)
		now.tasks = job->details->num_tasks;
	return now;
}

/* Does Slurm give every job of one of these partitions whole nodes? */
static bool has_exclusive_partition(const char *partitions)
{
	const char *name;
	char one[EGS_NAME_SIZE];
	size_t len;

	while (partitions && (name = egs_list_next(&partitions, &len))) {
		const part_record_t *part;

		snprintf(one, sizeof(one), "%.*s", (int)len, name);
		part = find_part_record(one);
		if (part && part->max_share == 0)
			return true;
	}
	return false;
}

static struct egs_check_input make_update_input(const job_desc_msg_t *desc,
						const job_record_t *job)
{
	const char *qos = job->qos_ptr ? job->qos_ptr->name : NULL;

	return (struct egs_check_input){
		.account = desc->account ? desc->account : job->account,
		.qos = desc->qos ? desc->qos : qos,
		.partitions =
			desc->partition ? desc->partition : job->partition,
		.gpus = merge_gpu_request(desc, job),
		.interactive = !job->batch_flag,
		.exclusive = desc->shared == JOB_SHARED_NONE ||
			     (desc->shared == NO_VAL16 && job->details &&
			      job->details->whole_node),
		.no_requeue = desc->requeue == 0,
		.expedite = desc->bitflags & EGS_EXPEDITED_REQUEUE,
		.is_update = true,
	};
}

/* In a het job only the first component has the script. */
static bool is_het_component(const job_desc_msg_t *desc)
{
	return desc->het_job_offset && desc->het_job_offset != NO_VAL;
}

static struct egs_check_input make_submit_input(const job_desc_msg_t *desc)
{
	return (struct egs_check_input){
		.account = desc->account ? desc->account
					 : get_default_account(desc->user_id),
		.qos = desc->qos,
		.partitions = desc->partition ? desc->partition
					      : get_default_partition(),
		.gpus = get_gpu_request(desc),
		.interactive = !desc->script && !is_het_component(desc),
		.exclusive = desc->shared == JOB_SHARED_NONE,
		.no_requeue = desc->requeue == 0,
		.expedite = desc->bitflags & EGS_EXPEDITED_REQUEUE,
		.site_no_requeue =
			desc->requeue == NO_VAL16 && !slurm_conf.job_requeue,
	};
}

/* slurmctld caches the names of users. */
void egs_job_desc_check_input(const job_desc_msg_t *desc,
			      const job_record_t *job, bool user,
			      struct egs_check_input *request)
{
	*request = job ? make_update_input(desc, job) : make_submit_input(desc);
	request->exclusive |= has_exclusive_partition(request->partitions);
	if (user)
		request->user = uid_to_string_cached(job ? job->user_id
							 : desc->user_id);
}

/* A running job can only lose nodes and tasks. */
bool egs_job_desc_needs_check(const job_desc_msg_t *desc,
			      const job_record_t *job)
{
	if (desc->account || desc->partition || desc->qos ||
	    desc->tres_per_job || desc->tres_per_node || desc->tres_per_task ||
	    desc->tres_per_socket || desc->requeue == 0 ||
	    desc->shared != NO_VAL16 || desc->bitflags & EGS_EXPEDITED_REQUEUE)
		return true;
	return IS_JOB_PENDING(job) &&
	       (desc->min_nodes != NO_VAL || desc->num_tasks != NO_VAL);
}

static int replace_gpu_count(char **text, uint32_t gpus, struct egs_err *err)
{
	char *new = egs_gpu_text_rewrite(*text, gpus);

	if (!new)
		return egs_errf(err,
				"the GPU request of this job cannot be "
				"adjusted; request %u GPUs",
				gpus);
	xfree(*text);
	if (*new)
		*text = xstrdup(new);
	free(new);
	return 0;
}

/* Adjust the number only if the description has it in one place. */
int egs_job_desc_set_gpus(job_desc_msg_t *desc, uint32_t gpus,
			  struct egs_err *err)
{
	uint32_t nodes = number_or_default(desc->min_nodes, 1);
	bool one = !desc->cpus_per_tres && !desc->mem_per_tres &&
		   !desc->tres_per_task && !desc->tres_per_socket;

	if (one && desc->tres_per_job && !desc->tres_per_node)
		return replace_gpu_count(&desc->tres_per_job, gpus, err);
	if (one && desc->tres_per_node && !desc->tres_per_job &&
	    gpus % (nodes ? nodes : 1) == 0)
		return replace_gpu_count(&desc->tres_per_node,
					 gpus / (nodes ? nodes : 1), err);
	return egs_errf(err,
			"the GPU request of this job cannot be adjusted; "
			"request %u GPUs",
			gpus);
}

static void drop_hints(job_desc_msg_t *desc)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < desc->env_size; i++) {
		char *var = desc->environment[i];

		desc->environment[i] = NULL;
		if (var && egs_hint_sources_is_var(var))
			xfree(var);
		else
			desc->environment[kept++] = var;
	}
	desc->env_size = kept;
}

void egs_job_desc_set_hint(job_desc_msg_t *desc, const struct egs_hint *hint)
{
	char var[EGS_HINT_VAR_MAX];

	if (!desc->environment)
		return;
	drop_hints(desc);
	if (egs_hint_is_empty(hint))
		return;
	egs_hint_sources_format(hint, var);
	xrealloc(desc->environment, (desc->env_size + 2) * sizeof(char *));
	desc->environment[desc->env_size++] = xstrdup(var);
	desc->environment[desc->env_size] = NULL;
}

/* With this setting Slurm sends SIGTERM, at the start of the grace period, only
 * to the steps of jobs without a warn_signal (slurm-22.05 preempt.c:419).
 */
static bool is_user_signal_sent(void)
{
	return xstrcasestr(slurm_conf.slurmctld_params,
			   "preempt_send_user_signal") ||
	       xstrcasestr(EGS_PREEMPT_PARAMETERS, "send_user_signal");
}

/* A job that declares nothing gets SIGTERM, as with GraceTime of stock Slurm. A
 * job that is asked by its run directory must not get it.
 */
static void set_signal(job_desc_msg_t *desc, const struct egs_hint *hint)
{
	const struct egs_save_signal none = { 0 };
	struct egs_save_signal declared;

	if (egs_hint_get_signal(hint, &declared)) {
		desc->warn_signal = declared.number;
		desc->warn_time = declared.before_s ? declared.before_s
						    : EGS_SAVE_SIGNAL_BEFORE_S;
		desc->warn_flags = declared.to_batch_shell ? KILL_JOB_BATCH : 0;
	} else if (egs_hint_can_save(hint, &none) && is_user_signal_sent()) {
		desc->warn_signal = SIGCONT;
		desc->warn_time = 0;
		desc->warn_flags = 0;
	}
}

void egs_job_desc_set_defaults(job_desc_msg_t *desc,
			       const struct egs_hint *hint,
			       const struct egs_save_signal *own)
{
	if (desc->script && egs_hint_can_save(hint, own)) {
		if (desc->requeue == NO_VAL16)
			desc->requeue = 1;
		if (!desc->open_mode)
			desc->open_mode = OPEN_MODE_APPEND;
	}
	if (!own->number)
		set_signal(desc, hint);
}
