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

enum { OPENERS_MAX = 256, LOOKS = 50, PAUSE_MS = 20 };

/* The GPUs of the step, as bits of 'cards': Slurm names them by the numbers of
 * their files.
 */
static uint64_t find_cards(spank_t sp, const struct egs_cards *cards)
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
			    strtoul(word, NULL, 10) == cards->number[i])
				bits |= UINT64_C(1) << i;
	return bits;
}

/* egs-noded takes the file away when egs-policyd has heard of it. */
static void report(int dirs, const char *node, uint32_t job,
		   const struct egs_opener *o, bool stays)
{
	struct egs_flat said = { .len = 0 };
	char name[64], hidden[sizeof(name) + 8];
	const char *text;
	bool written;
	int fd;

	egs_flat_str(&said, "verb", "node-unclean");
	egs_flat_str(&said, "node", node);
	egs_flat_int(&said, "card", o->card);
	egs_flat_str(&said, "words", egs_opener_words(o).msg);
	egs_flat_int(&said, "job", o->job);
	egs_flat_int(&said, "for", job);
	egs_flat_int(&said, "stays", stays);
	text = egs_flat_end(&said);
	snprintf(name, sizeof(name), EGS_RUNDIRS_UNCLEAN "%" PRIu32 "-%ld-%u",
		 job, (long)o->pid, o->card);
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

static bool is_there(const struct egs_cards *cards, const char *node,
		     const struct egs_opener *who)
{
	struct egs_opener list[OPENERS_MAX];
	size_t n = egs_cards_openers(cards, node, list, OPENERS_MAX);

	for (size_t i = 0; i < n; i++)
		if (list[i].pid == who->pid && list[i].card == who->card)
			return true;
	return false;
}

/* Is it gone before long? */
static bool end(const struct egs_cards *cards, const char *node,
		const struct egs_opener *o, int *looks)
{
	kill(o->pid, SIGKILL);
	while ((*looks)-- > 0) {
		if (!is_there(cards, node, o))
			return true;
		poll(NULL, 0, PAUSE_MS);
	}
	return false;
}

void egs_node_clean(spank_t sp, int dirs, const char *node, uint32_t job)
{
	struct egs_opener list[OPENERS_MAX];
	struct egs_cards cards;
	int looks = LOOKS;
	uint64_t mine;
	size_t n;

	egs_cards_read(&cards, NULL, node);
	mine = find_cards(sp, &cards);
	n = mine ? egs_cards_openers(&cards, node, list, OPENERS_MAX) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct egs_opener *o = &list[i];

		if (!(mine >> o->card & 1) || !o->job || o->job == job ||
		    !o->uid)
			continue;
		if (o->is_in_step || egs_job_has_steps(o->job))
			report(dirs, node, job, o, false);
		else if (!end(&cards, node, o, &looks))
			report(dirs, node, job, o, true);
		else
			slurm_info("egs: %s had GPU %u of job %u open and was "
				   "ended",
				   egs_opener_words(o).msg, o->card, job);
	}
}
