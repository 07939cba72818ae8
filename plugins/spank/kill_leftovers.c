/* kill_leftovers.c - before a step starts: does anybody else have its GPUs
 * open?
 *
 * A process of a job that has no step here any more is left over, and is ended.
 * Of one that has, or one that does not end, egs-noded tells egs-policyd.  All
 * of it takes no longer than some milliseconds, or a second where somebody does
 * not end, and never fails.
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

/* The GPUs of the step, as bits of 'cards': Slurm names them by the numbers of
 * their files.
 */
static uint64_t find_step_gpus(spank_t sp, const struct egs_node_gpus *cards)
{
	char list[256], *rest = list, *word;
	uint64_t bits = 0;

	if (spank_getenv(sp, "SLURM_STEP_GPUS", list, sizeof(list)) !=
		    ESPANK_SUCCESS &&
	    spank_getenv(sp, "SLURM_JOB_GPUS", list, sizeof(list)) !=
		    ESPANK_SUCCESS)
		return 0;
	while ((word = strsep(&rest, ",")))
		for (uint32_t i = 0; i < cards->n; i++)
			if (*word &&
			    strtoul(word, NULL, 10) == cards->file_number[i])
				bits |= UINT64_C(1) << i;
	return bits;
}

/* egs-noded takes the file away when egs-policyd has heard of it. */
static void write_report(int dirs, const char *node, uint32_t job,
			 const struct egs_gpu_user *o, bool stays)
{
	struct egs_flat_json said = { .len = 0 };
	char name[64], hidden[sizeof(name) + 8];
	const char *text;
	bool written;
	int fd;

	egs_flat_json_add_str(&said, "verb", "node-unclean");
	egs_flat_json_add_str(&said, "node", node);
	egs_flat_json_add_int(&said, "card", o->gpu);
	egs_flat_json_add_str(&said, "words", egs_gpu_user_text(o).msg);
	egs_flat_json_add_int(&said, "job", o->job);
	egs_flat_json_add_int(&said, "for", job);
	egs_flat_json_add_int(&said, "stays", stays);
	text = egs_flat_json_end(&said);
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

static bool is_still_open(const struct egs_node_gpus *cards, const char *node,
			  const struct egs_gpu_user *who)
{
	struct egs_gpu_user list[GPU_USERS_MAX];
	size_t n = egs_gpu_users_find(cards, node, list, GPU_USERS_MAX);

	for (size_t i = 0; i < n; i++)
		if (list[i].pid == who->pid && list[i].gpu == who->gpu)
			return true;
	return false;
}

/* Is it gone before long? */
static bool kill_and_wait(const struct egs_node_gpus *cards, const char *node,
			  const struct egs_gpu_user *o, int *looks)
{
	kill(o->pid, SIGKILL);
	while ((*looks)-- > 0) {
		if (!is_still_open(cards, node, o))
			return true;
		poll(NULL, 0, PAUSE_MS);
	}
	return false;
}

void egs_spank_kill_leftovers(spank_t sp, int dirs, const char *node,
			      uint32_t job)
{
	struct egs_gpu_user list[GPU_USERS_MAX];
	struct egs_node_gpus cards;
	int looks = CHECKS_MAX;
	uint64_t mine;
	size_t n;

	egs_node_gpus_read(&cards, NULL, node);
	mine = find_step_gpus(sp, &cards);
	n = mine ? egs_gpu_users_find(&cards, node, list, GPU_USERS_MAX) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct egs_gpu_user *o = &list[i];

		if (!(mine >> o->gpu & 1) || !o->job || o->job == job ||
		    !o->uid)
			continue;
		if (o->is_in_step || egs_node_has_job_steps(o->job))
			write_report(dirs, node, job, o, false);
		else if (!kill_and_wait(&cards, node, o, &looks))
			write_report(dirs, node, job, o, true);
		else
			slurm_info("egs: %s had GPU %u of job %u open and was "
				   "ended",
				   egs_gpu_user_text(o).msg, o->gpu, job);
	}
}
