/* kill_leftovers.c - before a step starts, kill leftover processes on its GPUs
 *
 * A process that belongs to a job without a step on this node is a leftover and
 * is killed.  egs-noded reports other processes, and those that do not exit, to
 * egs-policyd.  This takes some milliseconds, or a second if a process does not
 * exit, and never fails.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/flat_json.h"
#include "common/node/gpus.h"
#include "plugins/spank/spank_egs.h"

enum { GPU_USERS_MAX = 256, CHECKS_MAX = 50, PAUSE_MS = 20 };

/* The GPUs of the step as bits of 'gpus'.  Slurm numbers them by their device
 * files.
 */
static uint64_t find_step_gpus(spank_t sp, const struct egs_node_gpus *gpus)
{
	char list[256], *rest = list, *word;
	uint64_t bits = 0;

	if (spank_getenv(sp, "SLURM_STEP_GPUS", list, sizeof(list)) !=
		    ESPANK_SUCCESS &&
	    spank_getenv(sp, "SLURM_JOB_GPUS", list, sizeof(list)) !=
		    ESPANK_SUCCESS)
		return 0;
	while ((word = strsep(&rest, ",")))
		for (uint32_t i = 0; i < gpus->n; i++)
			if (*word &&
			    strtoul(word, NULL, 10) == gpus->file_number[i])
				bits |= UINT64_C(1) << i;
	return bits;
}

/* egs-noded removes the file after egs-policyd got the report. */
static void write_report(int dirs, const char *node, uint32_t job,
			 const struct egs_gpu_user *o, bool stays)
{
	struct egs_flat_json report = { .len = 0 };
	char name[64], hidden[sizeof(name) + 8];
	const char *text;
	bool written;
	int fd;

	egs_flat_json_add_str(&report, "verb", "node-unclean");
	egs_flat_json_add_str(&report, "node", node);
	egs_flat_json_add_int(&report, "card", o->gpu);
	egs_flat_json_add_str(&report, "words", egs_gpu_user_text(o).text);
	egs_flat_json_add_int(&report, "job", o->job);
	egs_flat_json_add_int(&report, "for", job);
	egs_flat_json_add_int(&report, "stays", stays);
	text = egs_flat_json_end(&report);
	snprintf(name, sizeof(name),
		 EGS_RUNDIRS_GPU_REPORT "%" PRIu32 "-%ld-%u", job, (long)o->pid,
		 o->gpu);
	snprintf(hidden, sizeof(hidden), EGS_RUNDIRS_NEW "%s", name + 1);
	fd = openat(dirs, hidden,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return;
	written =
		text && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	if (!written || renameat(dirs, hidden, dirs, name) < 0)
		unlinkat(dirs, hidden, 0);
}

static bool is_still_open(const struct egs_node_gpus *gpus, const char *node,
			  const struct egs_gpu_user *who)
{
	struct egs_gpu_user list[GPU_USERS_MAX];
	size_t n = egs_gpu_users_find(gpus, node, list, GPU_USERS_MAX);

	for (size_t i = 0; i < n; i++)
		if (list[i].pid == who->pid && list[i].gpu == who->gpu)
			return true;
	return false;
}

/* Kill the process.  True if the GPU is closed before the checks run out. */
static bool kill_and_wait(const struct egs_node_gpus *gpus, const char *node,
			  const struct egs_gpu_user *o, int *checks)
{
	kill(o->pid, SIGKILL);
	while ((*checks)-- > 0) {
		if (!is_still_open(gpus, node, o))
			return true;
		poll(NULL, 0, PAUSE_MS);
	}
	return false;
}

void egs_spank_kill_leftovers(spank_t sp, int dirs, const char *node,
			      uint32_t job)
{
	struct egs_gpu_user list[GPU_USERS_MAX];
	struct egs_node_gpus gpus;
	int checks = CHECKS_MAX;
	uint64_t mine;
	size_t n;

	egs_node_gpus_read(&gpus, NULL, node);
	mine = find_step_gpus(sp, &gpus);
	n = mine ? egs_gpu_users_find(&gpus, node, list, GPU_USERS_MAX) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct egs_gpu_user *o = &list[i];

		if (!(mine >> o->gpu & 1) || !o->job || o->job == job ||
		    !o->uid)
			continue;
		if (o->is_in_step || egs_node_has_job_steps(o->job))
			write_report(dirs, node, job, o, false);
		else if (!kill_and_wait(&gpus, node, o, &checks))
			write_report(dirs, node, job, o, true);
		else
			slurm_info("egs: killed %s, which had GPU %u of job "
				   "%u open",
				   egs_gpu_user_text(o).text, o->gpu, job);
	}
}
