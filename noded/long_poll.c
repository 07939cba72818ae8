/* long_poll.c - what egs-policyd tells of the jobs of this node */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/ipc/node_columns.h"
#include "noded/noded.h"

enum {
	/* Beyond what egs-policyd is asked to wait. */
	ANSWER_MS = 10000,
	/* While a directory may have to go soon. */
	SHORT_WAIT_S = 5,
	/* Two answers are so far apart at least. */
	PAUSE_MS = 100,
};

void egs_noded_wait(struct egs_noded *noded)
{
	int wait_s = noded->leftovers ? SHORT_WAIT_S : EGS_NODE_WAIT_S;
	struct egs_msg *request = egs_msg_new();

	if (!request) {
		egs_timer_in(noded->ask_again, egs_noded_backoff_ms(1));
		return;
	}
	egs_msg_set_str(request, "verb", "node-wait");
	egs_msg_set_str(request, "node", noded->node);
	egs_msg_set_str(request, "seq", noded->seq);
	egs_msg_set_int(request, "wait", wait_s);
	noded->asked_s = egs_noded_now_s();
	egs_talk_ask(&noded->wait, request, wait_s * 1000 + ANSWER_MS);
	egs_msg_free(request);
}

static int64_t cell(const struct egs_msg *answer, size_t row,
		    enum egs_node_column column)
{
	const char *text;
	bool number;

	text = egs_msg_get_cell(answer, row, column, &number);
	return strtoll(text, NULL, 10);
}

static void read_row(const struct egs_msg *answer, size_t row,
		     struct egs_told *told)
{
	bool number;

	told->job = (uint32_t)cell(answer, row, EGS_NODE_JOB);
	told->uid = (uid_t)cell(answer, row, EGS_NODE_UID);
	told->restarts = (uint32_t)cell(answer, row, EGS_NODE_RESTARTS);
	told->request = (struct egs_rundir_request){
		.request = (uint32_t)cell(answer, row, EGS_NODE_REQUEST),
		.kind = (uint32_t)cell(answer, row, EGS_NODE_KIND),
		.gpus = (uint32_t)cell(answer, row, EGS_NODE_GPUS),
		.deadline = cell(answer, row, EGS_NODE_DEADLINE),
	};
	told->look = (uint32_t)cell(answer, row, EGS_NODE_LOOK);
	egs_errf(&told->reason, "%s",
		 egs_msg_get_cell(answer, row, EGS_NODE_REASON, &number));
	snprintf(told->program, sizeof(told->program), "%s",
		 egs_msg_get_cell(answer, row, EGS_NODE_PROGRAM, &number));
}

/* Take the answer over as a whole, or not at all. */
static int take(struct egs_noded *noded, const struct egs_msg *answer,
		struct egs_err *err)
{
	const char *seq = egs_msg_str(answer, "seq");
	struct egs_told *told;
	size_t columns, rows, i;
	int64_t age = 0;

	if (!seq || !egs_msg_int(answer, "age", &age) ||
	    egs_msg_table(answer, &columns, &rows, err) < 0 ||
	    columns < EGS_NODE_COLUMNS)
		return egs_errf(err, "the answer of egs-policyd is none");
	told = calloc(rows + 1, sizeof(*told));
	if (!told)
		return egs_errf(err, "out of memory");
	for (i = 0; i < rows; i++)
		read_row(answer, i, &told[i]);
	free(noded->told);
	noded->told = told;
	noded->ntold = rows;
	noded->told_at_s = noded->asked_s - age;
	noded->is_told = true;
	snprintf(noded->seq, sizeof(noded->seq), "%s", seq);
	return 0;
}

static void fail(struct egs_noded *noded, int rc, const struct egs_err *err)
{
	if (!noded->away)
		egs_warning("%s; what jobs say is kept until then", err->msg);
	noded->away = true;
	if (rc == EGS_CLIENT_UNREACHABLE)
		egs_noded_next_host(noded);
	egs_timer_in(noded->ask_again, egs_noded_backoff_ms(++noded->failures));
}

void egs_noded_waited(struct egs_noded *noded, int rc,
		      const struct egs_msg *answer, const struct egs_err *err)
{
	struct egs_err why;

	if (rc == 0)
		rc = take(noded, answer, &why);
	else
		why = *err;
	if (rc < 0) {
		fail(noded, rc, &why);
		return;
	}
	if (noded->away)
		egs_info("egs-policyd at %s: answers again", noded->at);
	noded->away = false;
	noded->failures = 0;
	egs_noded_look_open(noded);
	egs_noded_follow(noded);
	egs_noded_relay(noded);
	egs_timer_in(noded->ask_again, PAUSE_MS);
}
