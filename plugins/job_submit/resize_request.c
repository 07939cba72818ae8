/* resize_request.c - read a resize request from an update of a running job */
#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "common/hint/gpu_count.h"
#include "plugins/job_submit/resize_request.h"

enum { GPUS_MAX = 1024 };

bool egs_resize_request_is_set(const job_desc_msg_t *desc,
			       const job_record_t *job)
{
	return job && IS_JOB_RUNNING(job) &&
	       (desc->tres_per_node ||
		egs_resize_command_is_set(desc->admin_comment));
}

/* Is all but the request as in an empty update?  The padding is 0 in both,
 * because Slurm clears the whole struct first.
 */
static bool is_only_change(const job_desc_msg_t *desc)
{
	job_desc_msg_t rest, empty;
	const void *one = &rest, *other = &empty;

	memcpy(&rest, desc, sizeof(rest));
	slurm_init_job_desc_msg(&empty);
	rest.tres_per_node = empty.tres_per_node;
	if (egs_resize_command_is_set(desc->admin_comment))
		rest.admin_comment = empty.admin_comment;
	memcpy(&rest.EGS_DESC_ID, &empty.EGS_DESC_ID, sizeof(rest.EGS_DESC_ID));
	rest.job_id_str = empty.job_id_str;
	rest.user_id = empty.user_id;
	rest.group_id = empty.group_id;
	rest.alloc_node = empty.alloc_node;
	rest.script_hash = empty.script_hash;
	rest.bitflags &= ~EGS_DESC_NO_REQUEST_FLAGS;
	EGS_DESC_SET_JOBINFO(&rest, empty.select_jobinfo);
	return memcmp(one, other, sizeof(rest)) == 0;
}

static int read_comment(struct egs_resize_request *request, const char *comment,
			struct egs_err *err)
{
	struct egs_resize_command *command = &request->command;

	if (egs_resize_command_parse(comment, command) < 0)
		return egs_errf(err, "'%s' is not a resize command",
				egs_printable(comment).text);
	if (!command->helper_job_id &&
	    (command->gpus_per_node < 1 || command->gpus_per_node > GPUS_MAX))
		return egs_errf(err, "gpus=%u is not a number from 1 to %d",
				command->gpus_per_node, GPUS_MAX);
	return 0;
}

/* Read "gres:gpu:2" or "gres/gpu:a100:2": one type of GPUs, nothing else. */
static int read_gres(struct egs_resize_request *request, const char *text,
		     struct egs_err *err)
{
	struct egs_gpu_count gpus = { .ntypes = 0 };

	egs_gpu_count_add(&gpus, text, 1);
	if (strchr(text, ',') || gpus.ntypes != 1 ||
	    gpus.by_type[0].count < 1 || gpus.by_type[0].count > GPUS_MAX)
		return egs_errf(err,
				"'%s': a running job can keep one GPU or "
				"more on each node, as in Gres=gpu:1",
				egs_printable(text).text);
	request->command.gpus_per_node = gpus.by_type[0].count;
	snprintf(request->type, sizeof(request->type), "%s",
		 gpus.by_type[0].type);
	return 0;
}

/* With the id of an array slurmctld calls us for each task, with one 'desc'.
 * One task would take the request, and the others would be told it is done.
 */
static bool is_one_task(const job_desc_msg_t *desc, const job_record_t *job)
{
	char task[32], id[16];

	if (job->array_task_id == NO_VAL || !desc->job_id_str)
		return true;
	snprintf(task, sizeof(task), "%u_%u", job->array_job_id,
		 job->array_task_id);
	snprintf(id, sizeof(id), "%u", job->job_id);
	return !xstrcmp(desc->job_id_str, task) ||
	       (job->job_id != job->array_job_id &&
		!xstrcmp(desc->job_id_str, id));
}

int egs_resize_request_read(struct egs_resize_request *request,
			    const job_desc_msg_t *desc, const job_record_t *job,
			    struct egs_err *err)
{
	struct egs_resize_request new = { 0 };
	int rc;

	if (!is_one_task(desc, job))
		return egs_errf(err,
				"'%s' is an array; resize one task at a time, "
				"as in JobId=%u_%u",
				egs_printable(desc->job_id_str).text,
				job->array_job_id, job->array_task_id);
	if (!is_only_change(desc))
		return egs_errf(err, "an update of the GPUs of a running job "
				     "must not change anything else");
	if (egs_resize_command_is_set(desc->admin_comment) ==
	    (desc->tres_per_node != NULL))
		return egs_errf(err, "a resize request has Gres= or a command "
				     "in AdminComment, not both");
	rc = desc->tres_per_node ? read_gres(&new, desc->tres_per_node, err)
				 : read_comment(&new, desc->admin_comment, err);
	if (rc == 0)
		*request = new;
	return rc;
}

/* The text after "n1:" in the list, or NULL. */
static const char *find_node_use(const struct egs_resize_request *request,
				 const char *node)
{
	size_t len = strlen(node);
	const char *list = request->command.open_gpus;
	const char *entry;
	size_t entry_len;

	while ((entry = egs_list_next(&list, &entry_len)))
		if (strncmp(entry, node, len) == 0 && entry[len] == ':')
			return entry + len + 1;
	return NULL;
}

uint64_t egs_resize_request_open_gpus(const struct egs_resize_request *request,
				      const char *node)
{
	const char *use = find_node_use(request, node);

	return use ? strtoull(use, NULL, 16) : 0;
}

uint64_t egs_resize_request_used_mem(const struct egs_resize_request *request,
				     const char *node)
{
	const char *use = find_node_use(request, node);
	char *end = NULL;

	if (use)
		strtoull(use, &end, 16);
	return end && *end == ':' ? strtoull(end + 1, NULL, 10) : UINT64_MAX;
}

void egs_resize_request_remove(job_desc_msg_t *desc)
{
	xfree(desc->tres_per_node);
	if (egs_resize_command_is_set(desc->admin_comment))
		xfree(desc->admin_comment);
}
