/* kill_leftovers.c - before a step starts, kill leftover processes on its GPUs
 *
 * The scan takes BUDGET_MS at most, whatever users have open, and so does the
 * search for steps.  It takes EXIT_MS more if a leftover does not end.  It
 * never fails.  egs-noded does the rest: it repeats the scan without haste if
 * this one was cut short or was not possible, or if a process still has a GPU
 * open.  egs-noded also reports what it finds, and reads the environment of
 * processes in no step: here, such a process could let the step wait for ever.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/ipc/flat_json.h"
#include "common/node/leftovers.h"
#include "plugins/spank/spank_egs.h"

enum { BUDGET_MS = 50, EXIT_MS = 1000 };

/* ---- the GPUs of the step ---- */

static int is_gres_gpu(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = strrchr(info->dlpi_name, '/');

	(void)size;
	(void)arg;
	return name && strcmp(name, "/gres_gpu.so") == 0;
}

/* Steps that have all GPUs of their job on this node. */
static const uint32_t whole_job_steps[] = { SLURM_BATCH_SCRIPT,
					    SLURM_INTERACTIVE_STEP };

/* Before this plugin is called, gres/gpu in slurmstepd sets or removes one
 * variable from the credential of the step (slurm-22.05 slurmstepd.c:788,
 * gres_common.c:545; slurm-24.11 slurmstepd.c:1152).  The other one may be of
 * the user's making.  If gres/gpu is not loaded, both are.
 */
static const char *find_gpus_variable(spank_t sp)
{
	uint32_t step;

	if (!dl_iterate_phdr(is_gres_gpu, NULL) ||
	    spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(whole_job_steps); i++)
		if (step == whole_job_steps[i])
			return "SLURM_JOB_GPUS";
	return "SLURM_STEP_GPUS";
}

/* The GPUs of the step as bits of 'gpus'.  Slurm numbers them by their device
 * files.
 */
static uint64_t find_step_gpus(spank_t sp, const struct egs_node_gpus *gpus)
{
	const char *name = find_gpus_variable(sp);
	char list[256], *rest = list, *word;
	uint64_t bits = 0;

	if (!name ||
	    spank_getenv(sp, name, list, sizeof(list)) != ESPANK_SUCCESS)
		return 0;
	while ((word = strsep(&rest, ",")))
		for (uint32_t i = 0; i < gpus->n; i++)
			if (*word &&
			    strtoul(word, NULL, 10) == gpus->file_number[i])
				bits |= UINT64_C(1) << i;
	return bits;
}

/* ---- a request for egs-noded ---- */

static bool write_file(int dirs, const char *name, const char *text)
{
	int fd = openat(dirs, name,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);
	bool written = fd >= 0 &&
		       write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

/* One file for each job: steps that start often make no further requests. */
static void request_cleaning(int dirs, uint32_t job, uid_t uid, uint64_t gpus)
{
	struct egs_flat_json request = { .len = 0 };
	char name[64], hidden[sizeof(name) + 8], bits[24];
	const char *text;

	snprintf(bits, sizeof(bits), "%" PRIx64, gpus);
	egs_flat_json_add_int(&request, "job", job);
	egs_flat_json_add_int(&request, "uid", uid);
	egs_flat_json_add_str(&request, "gpus", bits);
	text = egs_flat_json_end(&request);
	snprintf(name, sizeof(name), EGS_RUNDIRS_CLEAN "%" PRIu32, job);
	snprintf(hidden, sizeof(hidden), EGS_RUNDIRS_NEW "%s", name + 1);
	if (!text || !write_file(dirs, hidden, text) ||
	    renameat(dirs, hidden, dirs, name) < 0)
		unlinkat(dirs, hidden, 0);
}

/* ---- the scan ---- */

/* Returns whether egs-noded must look again. */
static bool log_fates(const struct egs_gpu_users *users, uint32_t job)
{
	bool is_open = false;

	for (size_t i = 0; i < users->n; i++) {
		const struct egs_gpu_user *user = &users->list[i];

		if (user->fate == EGS_GPU_USER_KILLED)
			slurm_info("egs: killed %s, which had GPU %u of job "
				   "%u open",
				   egs_gpu_user_text(user).text, user->gpu,
				   job);
		is_open |= user->fate != EGS_GPU_USER_KILLED &&
			   user->fate != EGS_GPU_USER_IGNORED;
	}
	return is_open;
}

void egs_spank_kill_leftovers(spank_t sp, int dirs, const char *node,
			      uint32_t job, uid_t uid)
{
	struct egs_gpu_users users = { .n = 0 };
	struct egs_node_gpus gpus;
	struct egs_err err;
	uint64_t wanted;
	bool again;

	egs_node_gpus_read(&gpus, NULL, node);
	wanted = find_step_gpus(sp, &gpus);
	if (!wanted)
		return;
	if (egs_gpu_users_scan(&users, &gpus, wanted, BUDGET_MS, &err) < 0 ||
	    egs_gpu_users_identify(&users, BUDGET_MS, &err) < 0) {
		slurm_error("egs: the GPUs of job %u were not scanned: %s", job,
			    err.msg);
		again = true;
	} else {
		egs_leftovers_kill(&users, job, uid, EXIT_MS);
		again = log_fates(&users, job) || users.is_cut;
	}
	if (users.is_cut)
		slurm_info("egs: the scan of the GPUs of job %u was stopped "
			   "after %d ms; egs-noded completes it",
			   job, BUDGET_MS);
	if (again)
		request_cleaning(dirs, job, uid, wanted);
	egs_gpu_users_free(&users);
}
