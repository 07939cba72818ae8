/* egs.h - the command egs: its options, roads and verbs
 *
 * It is built twice.  egs (egs.c) calls egs-policyd where the run directory
 * does not answer; egs-static (egs-static.c) is for containers, has the run
 * directory alone and needs no library.
 */
#ifndef EGS_EGS_EGS_H
#define EGS_EGS_EGS_H

#include "common/ipc/job_request.h"

/* Exit codes. */
enum {
	EGS_EXIT_DONE = 0,
	EGS_EXIT_REFUSED = 1,
	EGS_EXIT_UNREACHABLE = 2,
	EGS_EXIT_TIMED_OUT = 3,
};

/* How long a command waits for the answer to a message. */
#define EGS_CLI_TIMEOUT_MS 10000

struct egs_cli {
	const char *name; /* of the command */
	/* What the options say; NULL: nothing. */
	const char *address, *cluster;
	const char *path, *step, *rank, *gpus, *timeout;
	bool no_wait, keep_cores;
	/* egs yield --gpus=N: the request it answers, UINT32_MAX if that is
	 * not known here; 0: it is egs phase.
	 */
	uint32_t yield_notice;
	char **command; /* what stands behind "--", NULL: nothing */
	/* Of egs alone: the direct road, see job_request.h, and "egs why" by
	 * it, an exit code.
	 */
	int (*call_direct)(const struct egs_transport *how, const char *text,
			   size_t len, int timeout_ms, struct egs_err *err);
	int (*show_why)(const struct egs_cli *cli, const char *job);
};

/* All of the command but its roads; the exit code of the process. */
int egs_cli_main(struct egs_cli *cli, int argc, char **argv);

/* How a message of the command is sent; 'fn' is called for each value of the
 * answer.
 */
struct egs_transport egs_cli_transport(const struct egs_cli *cli,
				       egs_flat_json_fn *fn, void *arg);

/* The exit code for a result of egs_job_request_send(). */
int egs_cli_exit_code(int rc);

/* Print "egs: ..." and return 'code'. */
int egs_cli_print_error(const struct egs_cli *cli, const struct egs_err *err,
			int code);

/* A number of an option, if it was given.  0, or -1 with 'err' set. */
int egs_cli_add_number(struct egs_job_request *request, const char *key,
		       const char *text, struct egs_err *err);

/* Seconds of --timeout, UINT32_MAX if there is none.  0, or -1. */
int egs_cli_parse_timeout(const struct egs_cli *cli, uint32_t *seconds,
			  struct egs_err *err);

/* phase.c: egs phase [P] */
int egs_cli_run_phase(const struct egs_cli *cli, const char *phase);

#endif
