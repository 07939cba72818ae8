/* egs.c - main() of the command egs, and its calls of egs-policyd */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/egs/egs.h"
#include "cmd/lib/find_daemon.h"
#include "cmd/lib/print_clean.h"
#include "cmd/lib/print_table.h"
#include "common/base/array.h"
#include "common/ipc/client.h"

/* Print the history of the job, the newest entry first. */
static int print_log_entries(const struct egs_msg *answer)
{
	static const char *const before[] = { "", " ", " by ", ": " };
	size_t columns, rows, row, i;
	struct egs_err err;
	bool number;

	if (egs_msg_check_table(answer, &columns, &rows, &err) < 0 ||
	    columns != 4)
		return 0;
	for (row = 0; row < rows; row++) {
		for (i = 0; i < 4; i++)
			if (egs_print_clean(stdout, before[i]) < 0 ||
			    egs_print_clean(stdout,
					    egs_msg_get_cell(answer, row, i,
							     &number)) < 0)
				return -1;
		if (putchar('\n') < 0)
			return -1;
	}
	return 0;
}

/* The keys are those of the man page; a script must not parse sentences. */
static int print_json(struct egs_msg *answer)
{
	size_t len;
	const char *text = egs_msg_to_text(answer, &len);

	return text && printf("%.*s\n", (int)len, text) > 0 &&
			       fflush(stdout) == 0
		       ? 0
		       : -1;
}

static int print_why(const struct egs_msg *answer)
{
	static const struct {
		const char *key, *label;
	} lines[] = {
		{ "why", "" },
		{ "reason", "Slurm's reason: " },
		{ "estimate", "start: " },
		{ "end", "end: " },
		{ "run", "run time: " },
		{ "idle_gpus", "" },
		{ "saved", "checkpoint: " },
		{ "progress", "progress: " },
		{ "warning", "warning: " },
		{ "paused", "EGS is paused: " },
		{ "frozen", "" },
		{ "fenced", "" },
		{ "avoided", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *value = egs_msg_get_str(answer, lines[i].key);

		if (value &&
		    egs_print_clean_line(stdout, lines[i].label, value) < 0)
			return -1;
	}
	return print_log_entries(answer) < 0 || fflush(stdout) != 0 ? -1 : 0;
}

/* Call the daemon that the options name, or the site's daemon. */
static int call_daemon(const struct egs_cli *cli, const struct egs_msg *request,
		       struct egs_msg **answer, int timeout_ms,
		       struct egs_err *err)
{
	struct egs_daemon_addr address;
	struct egs_endpoint endpoint;
	int rc;

	if (!request)
		return egs_errf(err, "out of memory");
	if (egs_find_daemon(&address, cli->address, cli->cluster, &endpoint,
			    err) < 0)
		return EGS_CLIENT_UNREACHABLE;
	if (timeout_ms > EGS_CLI_TIMEOUT_MS)
		endpoint.hold_ms = (uint32_t)(timeout_ms - EGS_CLI_TIMEOUT_MS);
	rc = egs_client_call(&endpoint, request, answer, timeout_ms, err);
	return rc == EGS_CLIENT_FORGED ? EGS_CLIENT_UNREACHABLE : rc;
}

static int print_why_answer(const struct egs_cli *cli, struct egs_msg *answer)
{
	return cli->json ? print_json(answer) : print_why(answer);
}

static int print_gpus(const struct egs_cli *cli, struct egs_msg *answer)
{
	const struct egs_listing_style style = { .json = cli->json };
	const char *advice = egs_msg_get_str(answer, "advice");
	struct egs_err err;
	int rc = egs_print_table(answer, "gpus", &style, &err);

	if (rc < 0)
		return egs_cli_print_error(cli, &err, rc);
	return advice && !cli->json
		       ? egs_print_clean_line(stdout, "note: ", advice)
		       : 0;
}

/* Send a request about 'job', free it, and print the answer.  Returns the exit
 * code.
 */
static int ask_about_job(const struct egs_cli *cli, struct egs_msg *request,
			 const char *job,
			 int (*print)(const struct egs_cli *cli,
				      struct egs_msg *answer))
{
	struct egs_msg *answer = NULL;
	struct egs_err err;
	int rc;

	if (request)
		egs_msg_set_str(request, "job", job);
	rc = call_daemon(cli, request, &answer, EGS_CLI_TIMEOUT_MS, &err);
	if (rc < 0)
		egs_cli_print_error(cli, &err, rc);
	else
		rc = print(cli, answer);
	egs_msg_free(request);
	egs_msg_free(answer);
	return rc == EGS_CLIENT_UNREACHABLE ? EGS_EXIT_UNREACHABLE
	       : rc < 0			    ? EGS_EXIT_REFUSED
					    : EGS_EXIT_DONE;
}

static int show_why(const struct egs_cli *cli, const char *job)
{
	struct egs_msg *request = egs_msg_new();

	if (request)
		egs_msg_set_str(request, "verb", "why");
	return ask_about_job(cli, request, job, print_why_answer);
}

static int show_gpus(const struct egs_cli *cli, const char *job)
{
	struct egs_msg *request = egs_msg_new();

	if (request) {
		egs_msg_set_str(request, "verb", "show");
		egs_msg_set_str(request, "what", "gpus");
	}
	return ask_about_job(cli, request, job, print_gpus);
}

static int forward_value(void *arg, const char *key, const char *value)
{
	const struct egs_transport *how = arg;

	if (how->on_value)
		how->on_value(how->arg, key, value);
	return 0;
}

/* Result codes of client.h and job_request.h are the same. */
static int call_direct(const struct egs_transport *how, const char *text,
		       size_t len, int timeout_ms, struct egs_err *err)
{
	struct egs_msg *request =
		egs_msg_parse(text, len, EGS_MSG_REQUEST_MAX, err);
	struct egs_msg *answer = NULL;
	int rc = -1;

	if (request)
		rc = call_daemon(how->direct_arg, request, &answer, timeout_ms,
				 err);
	if (rc == 0)
		egs_msg_each(answer, forward_value, (void *)how);
	egs_msg_free(request);
	egs_msg_free(answer);
	return rc;
}

static void add_word(const char **argv, size_t *n, const char *option,
		     const char *value)
{
	if (!value)
		return;
	argv[(*n)++] = option;
	argv[(*n)++] = value;
}

/* A program of its own, so that egs in a job needs no HTTP library. */
static int run_web(const struct egs_cli *cli)
{
	const char *argv[8] = { "egs-web" };
	struct egs_err err;
	size_t n = 1;

	add_word(argv, &n, "--port", cli->port);
	add_word(argv, &n, "--socket", cli->address);
	add_word(argv, &n, "--cluster", cli->cluster);
	execv(EGS_LIBEXECDIR "/egs-web", (char *const *)argv);
	if (errno == ENOENT)
		egs_errf(&err, "this build of EGS has no page: it was built "
			       "without libmicrohttpd");
	else
		egs_errf(&err, EGS_LIBEXECDIR "/egs-web: %s", strerror(errno));
	return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
}

int main(int argc, char **argv)
{
	struct egs_cli cli = { .name = "egs",
			       .call_direct = call_direct,
			       .show_why = show_why,
			       .show_gpus = show_gpus,
			       .run_web = run_web };

	return egs_cli_main(&cli, argc, argv);
}
