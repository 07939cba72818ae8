/* egs.h - the command egs: its options and verbs
 *
 * The command is built twice.  egs (egs.c) calls egs-policyd if the run
 * directory has no answer.  egs-static (egs-static.c) is for containers: it
 * uses only the run directory and needs no library.
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

	/* Values of options, NULL: not given. */
	const char *address, *cluster;
	const char *path, *step, *rank, *gpus, *timeout, *port;
	bool no_wait, keep_cores, json;
	/* egs yield --gpus=N: the notice it answers, UINT32_MAX: unknown.  0:
	 * this is egs phase.
	 */
	uint32_t yield_notice;
	char **command; /* the words after "--", NULL: none */
	/* Only in egs, not in egs-static: the direct way (job_request.h), and
	 * "egs why", "egs gpu" and "egs web", which return an exit
	 * code.
	 */
	int (*call_direct)(const struct egs_transport *how, const char *text,
			   size_t len, int timeout_ms, struct egs_err *err);
	int (*show_why)(const struct egs_cli *cli, const char *job);
	int (*show_gpus)(const struct egs_cli *cli, const char *job);
	int (*run_web)(const struct egs_cli *cli);
};

/* Run the command.  Returns the exit code of the process. */
int egs_cli_main(struct egs_cli *cli, int argc, char **argv);

/* How a message of the command is sent; 'fn' is called for each value of the
 * answer.
 */
struct egs_transport egs_cli_transport(const struct egs_cli *cli,
				       egs_flat_json_fn *fn, void *arg);

/* The exit code for a result of egs_job_request_send(). */
int egs_cli_exit_code(int rc);

/* Print "egs: REASON" and return 'code'. */
int egs_cli_print_error(const struct egs_cli *cli, const struct egs_err *err,
			int code);

/* Add the number of an option, if the option was given.  Returns 0, or -1 with
 * 'err' set.
 */
int egs_cli_add_number(struct egs_job_request *request, const char *key,
		       const char *text, struct egs_err *err);

/* Seconds of --timeout, UINT32_MAX without it.  Returns 0, or -1 with 'err'
 * set.
 */
int egs_cli_parse_timeout(const struct egs_cli *cli, uint32_t *seconds,
			  struct egs_err *err);

/* phase.c: egs phase [P] */
int egs_cli_run_phase(const struct egs_cli *cli, const char *phase);

#endif
