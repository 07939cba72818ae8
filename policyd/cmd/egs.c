/* egs.c - what users ask of EGS, in a job or beside it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/cmd/options.h"
#include "policyd/cmd/place.h"
#include "policyd/core/array.h"
#include "policyd/wire/client.h"

#define TIMEOUT_MS 10000

enum {
	DONE = 0,
	REFUSED = 1,
	UNREACHABLE = 2,
};

/* What the options say of it; NULL: that of the site. */
struct daemon {
	const char *at;
	const char *cluster;
};

/* What was done about it, the newest first. */
static int print_deeds(const struct egs_msg *answer)
{
	size_t columns, rows, row, i;
	struct egs_err err;
	bool number;

	if (egs_msg_table(answer, &columns, &rows, &err) < 0 || columns != 4)
		return 0;
	for (row = 0; row < rows; row++) {
		const char *cell[4];

		for (i = 0; i < 4; i++)
			cell[i] = egs_msg_get_cell(answer, row, i, &number);
		if (printf("%s %s by %s: %s\n", cell[0], cell[1], cell[2],
			   cell[3]) < 0)
			return -1;
	}
	return 0;
}

static int print_why(const struct egs_msg *answer)
{
	const char *estimate = egs_msg_str(answer, "estimate");
	const char *paused = egs_msg_str(answer, "paused");
	const char *frozen = egs_msg_str(answer, "frozen");
	const char *why = egs_msg_str(answer, "why");

	if (printf("%s\n", why ? why : "no reason was given") < 0)
		return -1;
	if (estimate && printf("start: %s\n", estimate) < 0)
		return -1;
	if (paused && printf("EGS is paused: %s\n", paused) < 0)
		return -1;
	if (frozen && printf("%s\n", frozen) < 0)
		return -1;
	return print_deeds(answer) < 0 || fflush(stdout) != 0 ? -1 : 0;
}

static int ask(const struct daemon *daemon, const char *job)
{
	struct egs_place place;
	struct egs_where where;
	struct egs_msg *request = egs_msg_new(), *answer = NULL;
	struct egs_err err;
	int rc;

	if (!request) {
		fputs("egs: out of memory\n", stderr);
		return REFUSED;
	}
	egs_msg_set_str(request, "verb", "why");
	egs_msg_set_str(request, "job", job);
	rc = egs_place_find(&place, daemon->at, daemon->cluster, &where, &err);
	if (rc == 0)
		rc = egs_client_call(&where, request, &answer, TIMEOUT_MS,
				     &err);
	if (rc < 0)
		fprintf(stderr, "egs: %s\n", err.msg);
	else
		rc = print_why(answer);
	egs_msg_free(request);
	egs_msg_free(answer);
	return rc == EGS_CLIENT_UNREACHABLE ? UNREACHABLE
	       : rc < 0			    ? REFUSED
					    : DONE;
}

static int why(const struct daemon *daemon, int argc, char **argv)
{
	const char *job = argc > 1 ? argv[1] : getenv("SLURM_JOB_ID");

	if (argc > 2 || !job) {
		fprintf(stderr, "egs: say which job: egs why JOBID\n");
		return REFUSED;
	}
	return ask(daemon, job);
}

int main(int argc, char **argv)
{
	struct daemon daemon = { NULL, NULL };
	const struct egs_option rows[] = {
		{ 0, "socket", NULL, &daemon.at, "PLACE",
		  "the daemon's PATH or HOST:PORT" },
		{ 'M', "cluster", NULL, &daemon.cluster, "NAME",
		  "the cluster of HOST:PORT" },
	};
	const struct egs_options options = { "egs", "why [JOBID]\n", rows,
					     ARRAY_SIZE(rows) };
	struct egs_err err;

	switch (egs_options_read(&options, &argc, argv, &err)) {
	case EGS_OPTIONS_DONE:
		return DONE;
	case EGS_OPTIONS_BAD:
		fprintf(stderr, "egs: %s\n", err.msg);
		return REFUSED;
	default:
		break;
	}
	if (argc > 0 && strcmp(argv[0], "why") == 0)
		return why(&daemon, argc, argv);
	fprintf(stderr, "egs: say what: egs why [JOBID] (egs --help)\n");
	return REFUSED;
}
