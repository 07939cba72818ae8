/* report_gpu_users.c - who has GPUs open: egs-policyd asks, or spank_egs has
 * found out
 *
 * A walk through /proc takes its time, so it is done aside.  Looks are numbered
 * by egs-policyd and answered in that order; one is under way at a time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "common/node/gpus.h"
#include "noded/noded.h"

enum { OPENERS_MAX = 4096, ANSWER_MS = 10000 };

struct looking {
	const char *node;
	uint32_t job, look;
	uid_t uid;
};

/* Who belongs to no job, but to its user, may well be of it. */
static bool is_of(const struct egs_opener *o, const struct looking *l)
{
	return o->job == l->job || (!o->job && o->uid && o->uid == l->uid);
}

/* For each GPU the first process of the job that has it open. */
static void add_rows(struct egs_msg *said, const struct looking *l)
{
	static const char *const columns[] = { "CARD", "WORDS" };
	struct egs_opener *list = calloc(OPENERS_MAX, sizeof(*list));
	struct egs_cards cards;
	uint64_t seen = 0;
	size_t n = 0;

	egs_cards_read(&cards, NULL, l->node);
	if (list) {
		n = egs_cards_openers(&cards, l->node, list, OPENERS_MAX);
		n = egs_cards_driver(&cards, l->node, list, n, OPENERS_MAX);
	}
	egs_msg_columns(said, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < n; i++) {
		if (!is_of(&list[i], l) || seen >> list[i].card & 1)
			continue;
		seen |= UINT64_C(1) << list[i].card;
		egs_msg_row(said);
		egs_msg_cell_int(said, list[i].card);
		egs_msg_cell(said, egs_opener_words(&list[i]).msg);
	}
	free(list);
}

static int look(const void *arg, char **bytes, size_t *len, struct egs_err *err)
{
	const struct looking *l = arg;
	struct egs_msg *said = egs_msg_new();
	const char *text;

	if (said) {
		egs_msg_set_str(said, "verb", "node-open");
		egs_msg_set_str(said, "node", l->node);
		egs_msg_set_int(said, "job", l->job);
		egs_msg_set_int(said, "look", l->look);
		add_rows(said, l);
	}
	text = said ? egs_msg_text(said, len) : NULL;
	*bytes = text ? strdup(text) : NULL;
	egs_msg_free(said);
	return *bytes ? 0 : egs_errf(err, "out of memory");
}

static void on_looked(void *arg, uint32_t events)
{
	struct egs_noded *noded = arg;
	struct egs_msg *said = NULL;
	struct egs_err err;
	int rc = egs_aside_read(&noded->looking, &err);

	(void)events;
	if (rc > 0)
		return;
	if (rc == 0)
		said = egs_msg_parse(noded->looking.bytes, noded->looking.len,
				     EGS_REQUEST_MAX, &err);
	egs_watch_free(noded->looked);
	noded->looked = NULL;
	egs_aside_end(&noded->looking);
	if (said)
		egs_talk_ask(&noded->open, said, ANSWER_MS);
	else
		egs_warning("a look at GPUs failed: %s", err.msg);
	egs_msg_free(said);
}

void egs_noded_look_open(struct egs_noded *noded)
{
	const struct egs_told *next = NULL;
	struct looking l = { .node = noded->node };

	if (noded->looked || noded->open.busy)
		return;
	for (size_t i = 0; i < noded->ntold; i++)
		if (noded->told[i].look > noded->look_done &&
		    (!next || noded->told[i].look < next->look))
			next = &noded->told[i];
	if (!next)
		return;
	l.job = next->job;
	l.uid = next->uid;
	l.look = noded->look = next->look;
	if (egs_aside_start(&noded->looking, look, &l, NULL) < 0)
		return;
	noded->looked = egs_loop_fd(noded->loop, noded->looking.fd, EPOLLIN,
				    on_looked, noded, NULL);
	if (!noded->looked)
		egs_aside_end(&noded->looking);
}

/* What nobody heard is looked at anew: it is old by then. */
void egs_noded_said_open(struct egs_noded *noded, int rc,
			 const struct egs_msg *answer,
			 const struct egs_err *err)
{
	(void)answer;
	if (rc < 0 && rc != EGS_CLIENT_UNREACHABLE)
		egs_info("egs-policyd does not want to know who has GPUs "
			 "open: %s",
			 err->msg);
	if (*noded->unclean) {
		if (rc != EGS_CLIENT_UNREACHABLE)
			unlinkat(noded->dirs, noded->unclean, 0);
		noded->unclean[0] = '\0';
	} else if (rc != EGS_CLIENT_UNREACHABLE) {
		noded->look_done = noded->look;
	}
	if (rc != EGS_CLIENT_UNREACHABLE)
		egs_noded_look_open(noded);
}

void egs_noded_unclean(struct egs_noded *noded, const char *name)
{
	int fd = openat(noded->dirs, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[2 * EGS_ERR_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct egs_msg *said = NULL;
	struct egs_err err;

	if (fd >= 0)
		close(fd);
	if (n < 0 || noded->looked || noded->open.busy || noded->away)
		return; /* the next scan sees it */
	said = egs_msg_parse(text, (size_t)n, sizeof(text), &err);
	if (!said) {
		unlinkat(noded->dirs, name, 0);
		return;
	}
	snprintf(noded->unclean, sizeof(noded->unclean), "%s", name);
	egs_talk_ask(&noded->open, said, ANSWER_MS);
	egs_msg_free(said);
}
