/* grow_job.c - helper jobs, which get GPUs for a growing job */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/hint/gpu_count.h"
#include "common/hint/stamp.h"
#include "policyd/slurm/facts.h"
#include "policyd/slurm/grow_job.h"

/* Slurm's structs have no const.  If the growing job does not take the GPUs,
 * the helper job ends by itself.
 */
static char helper_script[] = "#!/bin/sh\nexec sleep 120\n";
static char path_env[] = "PATH=/usr/bin:/bin";
static char root_dir[] = "/";
static char dev_null[] = "/dev/null";

static struct egs_gpu_count read_gpus(const slurm_job_info_t *job)
{
	struct egs_gpu_count gpus = { .ntypes = 0 };

	for (uint32_t i = 0; i < job->gres_detail_cnt; i++)
		egs_gpu_count_add(&gpus, job->gres_detail_str[i], 1);
	return gpus;
}

uint32_t egs_slurm_count_gpus(const slurm_job_info_t *job)
{
	struct egs_gpu_count gpus = read_gpus(job);

	return egs_gpu_count_total(&gpus);
}

static uint64_t scale_amount(uint64_t amount, uint64_t part, uint64_t whole)
{
	return whole ? (amount * part + whole - 1) / whole : 0;
}

/* Set cores and memory on a node for 'more' GPUs, in proportion to the job. */
static void set_cpus_mem(job_desc_msg_t *desc, const slurm_job_info_t *job,
			 uint32_t more, bool keep_cores)
{
	uint32_t held = egs_slurm_count_gpus(job) / job->num_nodes;
	uint64_t cpus = scale_amount(compat_cpus_on_node(job, 0), more, held);
	uint64_t mem = scale_amount(egs_fact_parse_mem_mb(job->tres_alloc_str) /
					    job->num_nodes,
				    more, held);

	desc->cpus_per_task = (uint16_t)(keep_cores || !cpus ? 1 : cpus);
	if (job->pn_min_memory & MEM_PER_CPU)
		desc->pn_min_memory = job->pn_min_memory;
	else
		desc->pn_min_memory = keep_cores || !mem ? 1 : mem;
}

/* The time limit of the helper job; backfill and reservations rely on it. */
static uint32_t get_minutes_left(const slurm_job_info_t *job)
{
	time_t seconds = job->end_time - time(NULL);

	if (job->time_limit >= INFINITE - 1)
		return INFINITE;
	return seconds > 60 ? (uint32_t)(seconds + 59) / 60 : 1;
}

static int submit_job(job_desc_msg_t *desc, struct egs_err *err)
{
	submit_response_msg_t *resp = NULL;
	int rc = slurm_submit_batch_job(desc, &resp);
	const char *message = resp ? resp->job_submit_user_msg : NULL;

	if (rc != SLURM_SUCCESS)
		egs_errf(err, "%s%s%s", slurm_strerror(errno),
			 message && *message ? ": " : "",
			 message ? message : "");
	if (resp)
		slurm_free_submit_response_response_msg(resp);
	return rc == SLURM_SUCCESS ? 0 : -1;
}

static void copy_job_fields(job_desc_msg_t *desc, const slurm_job_info_t *job)
{
	desc->user_id = job->user_id;
	desc->group_id = job->group_id;
	desc->account = job->account;
	desc->partition = job->partition;
	desc->qos = job->qos;
	desc->reservation = job->resv_name;
	desc->req_nodes = job->nodes;
	desc->min_nodes = desc->max_nodes = job->num_nodes;
	desc->num_tasks = job->num_nodes;
	desc->ntasks_per_node = 1;
	desc->time_limit = get_minutes_left(job);
	desc->requeue = 0;
	desc->work_dir = root_dir;
	desc->std_in = desc->std_out = desc->std_err = dev_null;
	desc->script = helper_script;
}

int egs_slurm_submit_helper(const slurm_job_info_t *job, uint32_t more,
			    bool keep_cores, struct egs_err *err)
{
	char name[32], tag[EGS_STAMP_MAX + 1], gres[128],
		hint[EGS_HINT_MAX + 32];
	char *environment[] = { path_env, hint, NULL };
	struct egs_gpu_count gpus = read_gpus(job);
	struct egs_stamp stamp = egs_stamp_read(job->admin_comment);
	const struct egs_stamp helper = { .helper_for = job->job_id };
	job_desc_msg_t desc;

	if (gpus.ntypes != 1)
		return egs_errf(err, "the job has GPUs of several types");
	snprintf(name, sizeof(name), "egs-grow:%" PRIu32, job->job_id);
	egs_stamp_format(&helper, tag, sizeof(tag));
	snprintf(gres, sizeof(gres), COMPAT_GPU_TRES "%s%s:%" PRIu32,
		 *gpus.by_type[0].type ? ":" : "", gpus.by_type[0].type, more);
	snprintf(hint, sizeof(hint), "EGS_HINT=%s%s",
		 *stamp.hint.tier ? "tier=" : "", stamp.hint.tier);
	slurm_init_job_desc_msg(&desc);
	copy_job_fields(&desc, job);
	desc.name = name;
	desc.admin_comment = tag;
	desc.tres_per_node = gres;
	desc.environment = environment;
	desc.env_size = *stamp.hint.tier ? 2 : 1;
	set_cpus_mem(&desc, job, more, keep_cores);
	return submit_job(&desc, err);
}

/* ---- environment variables ---- */

/* Write the indices of "gpu:a100:2(IDX:0-1,3)" as "0,1,3". */
static void format_indices(const char *detail, char *list, size_t size)
{
	const char *p = detail ? strstr(detail, "IDX:") : NULL;
	size_t used = 0;
	char *end;

	*list = '\0';
	for (p = p ? p + 4 : NULL; p && *p >= '0' && *p <= '9'; p = end + 1) {
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && used < size; first++)
			used += (size_t)snprintf(list + used, size - used,
						 "%s%lu", used ? "," : "",
						 first);
		if (*end != ',')
			break;
	}
}

__attribute__((format(printf, 3, 4))) static void
append_env(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}

static void append_gpu_env(const slurm_job_info_t *job, char *text, size_t size)
{
	struct egs_gpu_count gpus = { .ntypes = 0 };
	char list[256];
	uint32_t count;

	if (!job->gres_detail_cnt)
		return;
	format_indices(job->gres_detail_str[0], list, sizeof(list));
	egs_gpu_count_add(&gpus, job->gres_detail_str[0], 1);
	count = egs_gpu_count_total(&gpus);
	append_env(text, size, "CUDA_VISIBLE_DEVICES=%s\nSLURM_JOB_GPUS=%s\n",
		   list, list);
	append_env(text, size,
		   "?GPU_DEVICE_ORDINAL=%s\n?ROCR_VISIBLE_DEVICES=%s\n", list,
		   list);
	append_env(text, size, "SLURM_GPUS_ON_NODE=%" PRIu32 "\n", count);
	append_env(text, size, "?SLURM_GPUS_PER_NODE=%" PRIu32 "\n", count);
	append_env(text, size, "?SLURM_GPUS=%" PRIu32 "\n",
		   egs_slurm_count_gpus(job));
}

void egs_slurm_format_env(const slurm_job_info_t *job, char *text, size_t size)
{
	uint32_t cpus = compat_cpus_on_node(job, 0);
	uint32_t nodes = job->num_nodes;

	*text = '\0';
	append_gpu_env(job, text, size);
	append_env(text, size, "SLURM_CPUS_ON_NODE=%" PRIu32 "\n", cpus);
	if (nodes > 1)
		append_env(text, size,
			   "SLURM_JOB_CPUS_PER_NODE=%" PRIu32 "(x%" PRIu32
			   ")\n",
			   cpus, nodes);
	else
		append_env(text, size, "SLURM_JOB_CPUS_PER_NODE=%" PRIu32 "\n",
			   cpus);
	if (job->num_tasks == nodes)
		append_env(text, size,
			   "?SLURM_CPUS_PER_TASK=%" PRIu32
			   "\n?SLURM_TRES_PER_TASK=cpu=%" PRIu32 "\n",
			   cpus, cpus);
	if (!(job->pn_min_memory & MEM_PER_CPU))
		append_env(text, size, "?SLURM_MEM_PER_NODE=%" PRIu64 "\n",
			   egs_fact_parse_mem_mb(job->tres_alloc_str) / nodes);
}
