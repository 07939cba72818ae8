/* phase.c - egs phase, for eval "$(egs phase infer)" || exit
 *
 * And egs yield --gpus=N, which says what it keeps in the same way.
 *
 * The shell evaluates what is on stdout: lines "export X='...'", or "(exit N)"
 * when it failed, and nothing else.  Words are for stderr.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/egs/egs.h"

#define EXPORTS_MAX   32
#define POLL_MAX_MS   2000 /* at last; at first, */
#define POLL_FIRST_MS 200  /* GPUs that go are gone in a moment */
#define EXPORT_PREFIX "export:"

/* What the answer says. */
struct phase_answer {
	char *name[EXPORTS_MAX], *value[EXPORTS_MAX];
	int count;
	char phase[128];
	bool is_waiting; /* for GPUs */
};

static bool is_variable(const char *name)
{
	const char *c;

	for (c = name; isupper((unsigned char)*c) ||
		       isdigit((unsigned char)*c) || *c == '_';
	     c++)
		;
	return *name && !isdigit((unsigned char)*name) && !*c;
}

/* The variable that 'key' exports, or NULL.  Some of Slurm's are set only in
 * jobs that were asked for in certain words, and srun would take them for its
 * options in others.
 */
static const char *get_exported_name(const char *key)
{
	const char *name = NULL;

	if (strncmp(key, EXPORT_PREFIX, strlen(EXPORT_PREFIX)) == 0)
		name = key + strlen(EXPORT_PREFIX);
	else if (strncmp(key, "re" EXPORT_PREFIX, strlen("re" EXPORT_PREFIX)) ==
			 0 &&
		 getenv(key + strlen("re" EXPORT_PREFIX)))
		name = key + strlen("re" EXPORT_PREFIX);
	return name && is_variable(name) ? name : NULL;
}

static void store_value(void *arg, const char *key, const char *value)
{
	struct phase_answer *e = arg;
	const char *name;

	if (!value)
		return;
	if (strcmp(key, "phase") == 0)
		snprintf(e->phase, sizeof(e->phase), "%s", value);
	if (strcmp(key, "waits") == 0)
		e->is_waiting = strcmp(value, "true") == 0;
	if (strcmp(key, "message") == 0)
		fprintf(stderr, "egs: %s\n", value);
	name = get_exported_name(key);
	if (!name || e->count == EXPORTS_MAX)
		return;
	e->name[e->count] = strdup(name);
	e->value[e->count] = strdup(value);
	e->count += e->name[e->count] && e->value[e->count];
}

static void clear_answer(struct phase_answer *e)
{
	while (e->count-- > 0) {
		free(e->name[e->count]);
		free(e->value[e->count]);
	}
	*e = (struct phase_answer){ .count = 0 };
}

/* In single quotes nothing means anything but the quote itself. */
static void print_quoted(const char *value)
{
	putchar('\'');
	for (; *value; value++)
		if (*value == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*value);
	putchar('\'');
}

static void print_exports(const struct phase_answer *e)
{
	for (int i = 0; i < e->count; i++) {
		printf("export %s=", e->name[i]);
		print_quoted(e->value[i]);
		putchar('\n');
	}
}

/* 'wait' is "no" or NULL at first, "poll" while we wait, "cancel" when we stop.
 */
static int send_phase(const struct egs_cli *cli, const char *phase,
		      const char *wait, struct phase_answer *e,
		      struct egs_err *err)
{
	struct egs_job_request words;

	clear_answer(e);
	if (egs_job_request_begin(&words, cli->yield_notice ? "yield" : "phase",
				  err) < 0 ||
	    (cli->yield_notice &&
	     egs_cli_add_number(&words, "rank", cli->rank, err) < 0) ||
	    egs_cli_add_number(&words, "gpus", cli->gpus, err) < 0)
		return EGS_EXIT_REFUSED;
	if (cli->yield_notice)
		egs_flat_json_add_str(&words.json, "path", cli->path);
	if (cli->yield_notice && cli->yield_notice != UINT32_MAX)
		egs_flat_json_add_int(&words.json, "request",
				      cli->yield_notice);
	egs_flat_json_add_str(&words.json, "phase", phase);
	egs_flat_json_add_str(&words.json, "wait", wait);
	if (cli->keep_cores)
		egs_flat_json_add_int(&words.json, "keep-cores", 1);
	return egs_cli_send(cli, &words, false, store_value, e, err);
}

/* GPUs are on their way: ask now and then, until they are here. */
static int wait_for_gpus(const struct egs_cli *cli, const char *phase,
			 uint32_t seconds, struct phase_answer *e,
			 struct egs_err *err)
{
	int64_t end = egs_rundir_now_ms() + (int64_t)seconds * 1000;
	int pause = POLL_FIRST_MS, rc = EGS_EXIT_DONE;

	while (rc == EGS_EXIT_DONE && e->is_waiting) {
		if (egs_rundir_now_ms() >= end) {
			send_phase(cli, phase, "cancel", e, err);
			egs_errf(err,
				 "%s%s: no GPUs within %s; all is as it was",
				 cli->yield_notice ? "yield" : "phase ",
				 cli->yield_notice ? "" : phase, cli->timeout);
			return EGS_EXIT_TIMED_OUT;
		}
		egs_rundir_sleep_ms(pause);
		pause = 2 * pause < POLL_MAX_MS ? 2 * pause : POLL_MAX_MS;
		rc = send_phase(cli, phase, "poll", e, err);
		/* Nobody there for a moment is no reason to stop waiting. */
		if (rc == EGS_EXIT_UNREACHABLE) {
			e->is_waiting = true;
			rc = EGS_EXIT_DONE;
		}
	}
	return rc;
}

static int run_command(const struct egs_cli *cli, const struct phase_answer *e)
{
	struct egs_err err;

	for (int i = 0; i < e->count; i++)
		setenv(e->name[i], e->value[i], 1);
	execvp(cli->command[0], cli->command);
	egs_errf(&err, "%s cannot be run", cli->command[0]);
	return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
}

static int print_failure(const struct egs_cli *cli, const struct egs_err *err,
			 int rc)
{
	if (!cli->command)
		printf("(exit %d)\n", rc);
	return egs_cli_print_error(cli, err, rc);
}

int egs_cli_run_phase(const struct egs_cli *cli, const char *phase)
{
	struct phase_answer e = { .count = 0 };
	uint32_t seconds;
	struct egs_err err;
	int rc;

	if (egs_cli_parse_timeout(cli, &seconds, &err) < 0)
		return print_failure(cli, &err, EGS_EXIT_REFUSED);
	rc = send_phase(cli, phase, cli->no_wait ? "no" : NULL, &e, &err);
	if (rc == EGS_EXIT_DONE && !phase && !cli->command &&
	    !cli->yield_notice) {
		puts(e.phase);
	} else {
		if (rc == EGS_EXIT_DONE && e.is_waiting && !cli->no_wait)
			rc = wait_for_gpus(cli, phase, seconds, &e, &err);
		if (rc != EGS_EXIT_DONE)
			print_failure(cli, &err, rc);
		else if (cli->command && *cli->command)
			rc = run_command(cli, &e);
		else
			print_exports(&e);
	}
	clear_answer(&e);
	return rc;
}
