/* release_nodes.c - a running job gives whole nodes back */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "policyd/slurm/read_jobs.h"
#include "policyd/slurm/release_nodes.h"

enum { NODES_MAX = 1024 };

/* The nodes of a job, and which of them the job keeps. */
struct job_nodes {
	char *name[NODES_MAX];
	bool stays[NODES_MAX];
	uint32_t n, nstaying;
};

/* Call 'fn' with each name of "n[1-4]"; 'fn' frees the name. */
static void for_each_name(const char *text,
			  void (*fn)(struct job_nodes *n, char *name),
			  struct job_nodes *n)
{
	compat_hostlist list = slurm_hostlist_create(text ? text : "");
	char *name;

	while (list && (name = slurm_hostlist_shift(list)))
		fn(n, name);
	if (list)
		slurm_hostlist_destroy(list);
}

static void add_node(struct job_nodes *n, char *name)
{
	if (n->n < NODES_MAX)
		n->name[n->n++] = name;
	else
		free(name);
}

static void mark_node(struct job_nodes *n, const char *name, size_t len)
{
	for (uint32_t i = 0; i < n->n; i++)
		if (!n->stays[i] && strlen(n->name[i]) == len &&
		    strncmp(n->name[i], name, len) == 0) {
			n->stays[i] = true;
			n->nstaying++;
		}
}

static void mark_step_host(struct job_nodes *n, char *name)
{
	mark_node(n, name, strlen(name));
	free(name);
}

/* "n1:c" has open GPUs, "n1:0:620" has not. */
static bool is_in_use(const char *entry)
{
	const char *colon = strchr(entry, ':');

	return colon && strtoull(colon + 1, NULL, 16);
}

/* 'open' is "n1:c,n2:1". */
static void mark_open_nodes(struct job_nodes *n, const char *open)
{
	const char *entry;
	size_t len;

	while ((entry = egs_list_next(&open, &len)))
		if (is_in_use(entry))
			mark_node(n, entry, strcspn(entry, ":"));
}

/* Steps of Slurm itself, such as the batch step, do not count. */
static int mark_step_nodes(struct job_nodes *n, uint32_t job_id,
			   struct egs_err *err)
{
	job_step_info_response_msg_t *msg = NULL;

	if (compat_load_steps(&msg, job_id) != SLURM_SUCCESS)
		return egs_errf(err, "the steps of the job are unknown: %s",
				slurm_strerror(errno));
	for (uint32_t i = 0; i < msg->job_step_count; i++) {
		const job_step_info_t *step = &msg->job_steps[i];

		if (step->step_id.step_id < SLURM_MAX_NORMAL_STEP_ID)
			for_each_name(step->nodes, mark_step_host, n);
	}
	slurm_free_job_step_info_response_msg(msg);
	return 0;
}

static void mark_more_nodes(struct job_nodes *n, uint32_t keep)
{
	for (uint32_t i = 0; i < n->n && n->nstaying < keep; i++)
		if (!n->stays[i])
			mark_node(n, n->name[i], strlen(n->name[i]));
}

static int update_node_list(const struct job_nodes *n,
			    const slurm_job_info_t *job, struct egs_err *err)
{
	job_array_resp_msg_t *resp = NULL;
	job_desc_msg_t desc;
	char list[8192] = "", id[EGS_SLURM_JOB_ID_SIZE];
	int code = 0;

	for (uint32_t i = 0; i < n->n; i++)
		if (n->stays[i])
			snprintf(list + strlen(list),
				 sizeof(list) - strlen(list), "%s%s",
				 *list ? "," : "", n->name[i]);
	egs_slurm_format_job_id(job, id);
	slurm_init_job_desc_msg(&desc);
	desc.job_id_str = id;
	desc.req_nodes = list;
	if (slurm_update_job2(&desc, &resp))
		code = errno;
	else if (resp && resp->job_array_count)
		code = (int)resp->error_code[0];
	if (resp)
		slurm_free_job_array_resp(resp);
	return code ? egs_errf(err, "%s", slurm_strerror(code)) : 0;
}

/* Before 24.11 slurmctld waits for slurmdbd under its locks when a job releases
 * nodes, up to 15 minutes; without slurmdbd it never updates the job again.
 */
static int check_release(struct egs_err *err)
{
	return compat_can_skip_dbd()
		       ? 0
		       : egs_errf(err,
				  "before 24.11 Slurm stops while it waits "
				  "for slurmdbd to record the nodes");
}

/* Choose the nodes that stay, first the node of the batch script. */
static int choose_nodes(struct job_nodes *n, const slurm_job_info_t *job,
			uint32_t keep, const char *open, struct egs_err *err)
{
	for_each_name(job->nodes, add_node, n);
	if (!n->n || keep >= n->n)
		return egs_errf(err, "the job has %" PRIu32 " nodes", n->n);
	if (job->batch_host)
		mark_node(n, job->batch_host, strlen(job->batch_host));
	mark_open_nodes(n, open);
	if (mark_step_nodes(n, job->job_id, err) < 0)
		return -1;
	if (n->nstaying > keep)
		return egs_errf(err,
				"%" PRIu32 " of its nodes have the batch "
				"script, a step or a process with a GPU open, "
				"%" PRIu32 " are requested",
				n->nstaying, keep);
	mark_more_nodes(n, keep);
	return 0;
}

int egs_slurm_release_nodes(const slurm_job_info_t *job, uint32_t keep,
			    const char *open, struct egs_err *err)
{
	struct job_nodes *n = calloc(1, sizeof(*n));
	int rc;

	if (!n)
		return egs_errf(err, "out of memory");
	rc = check_release(err);
	if (rc == 0)
		rc = choose_nodes(n, job, keep, open, err);
	if (rc == 0)
		rc = update_node_list(n, job, err);
	while (n->n > 0)
		free(n->name[--n->n]);
	free(n);
	return rc;
}

/* The variables of tasks stay as submitted. */
void egs_slurm_append_node_env(const slurm_job_info_t *job, char *text,
			       size_t size)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used,
		 "?SLURM_JOB_NODELIST=%s\n?SLURM_NODELIST=%s\n"
		 "?SLURM_JOB_NUM_NODES=%" PRIu32 "\n?SLURM_NNODES=%" PRIu32
		 "\n",
		 job->nodes, job->nodes, job->num_nodes, job->num_nodes);
}
