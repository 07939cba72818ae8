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

#define EXPORTS_MAX 32
#define POLL_MS	    2000 /* at last; at first, */
#define HURRY_MS    200	 /* GPUs that go are gone in a moment */
#define PREFIX	    "export:"

/* What the answer says. */
struct entered {
	char *name[EXPORTS_MAX], *value[EXPORTS_MAX];
	int count;
	char phase[128];
	bool waits; /* for GPUs */
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
static const char *variable(const char *key)
{
	const char *name = NULL;

	if (strncmp(key, PREFIX, strlen(PREFIX)) == 0)
		name = key + strlen(PREFIX);
	else if (strncmp(key, "re" PREFIX, strlen("re" PREFIX)) == 0 &&
		 getenv(key + strlen("re" PREFIX)))
		name = key + strlen("re" PREFIX);
	return name && is_variable(name) ? name : NULL;
}

static void take(void *arg, const char *key, const char *value)
{
	struct entered *e = arg;
	const char *name;

	if (!value)
		return;
	if (strcmp(key, "phase") == 0)
		snprintf(e->phase, sizeof(e->phase), "%s", value);
	if (strcmp(key, "waits") == 0)
		e->waits = strcmp(value, "true") == 0;
	if (strcmp(key, "message") == 0)
		fprintf(stderr, "egs: %s\n", value);
	name = variable(key);
	if (!name || e->count == EXPORTS_MAX)
		return;
	e->name[e->count] = strdup(name);
	e->value[e->count] = strdup(value);
	e->count += e->name[e->count] && e->value[e->count];
}

static void forget(struct entered *e)
{
	while (e->count-- > 0) {
		free(e->name[e->count]);
		free(e->value[e->count]);
	}
	*e = (struct entered){ .count = 0 };
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

static void print_exports(const struct entered *e)
{
	for (int i = 0; i < e->count; i++) {
		printf("export %s=", e->name[i]);
		print_quoted(e->value[i]);
		putchar('\n');
	}
}

/* 'wait' is "no" or NULL at first, "poll" while we wait, "cancel" when we stop.
 */
static int ask(const struct egs_cli *cli, const char *phase, const char *wait,
	       struct entered *e, struct egs_err *err)
{
	struct egs_words words;

	forget(e);
	if (egs_words_begin(&words, cli->yields ? "yield" : "phase", err) < 0 ||
	    (cli->yields &&
	     egs_cli_number(&words, "rank", cli->rank, err) < 0) ||
	    egs_cli_number(&words, "gpus", cli->gpus, err) < 0)
		return EGS_REFUSED;
	if (cli->yields)
		egs_flat_str(&words.flat, "path", cli->path);
	if (cli->yields && cli->yields != UINT32_MAX)
		egs_flat_int(&words.flat, "request", cli->yields);
	egs_flat_str(&words.flat, "phase", phase);
	egs_flat_str(&words.flat, "wait", wait);
	if (cli->keep_cores)
		egs_flat_int(&words.flat, "keep-cores", 1);
	return egs_cli_say(cli, &words, false, take, e, err);
}

/* GPUs are on their way: ask now and then, until they are here. */
static int wait_for_gpus(const struct egs_cli *cli, const char *phase,
			 uint32_t seconds, struct entered *e,
			 struct egs_err *err)
{
	int64_t end = egs_road_now() + (int64_t)seconds * 1000;
	int pause = HURRY_MS, rc = EGS_DONE;

	while (rc == EGS_DONE && e->waits) {
		if (egs_road_now() >= end) {
			ask(cli, phase, "cancel", e, err);
			egs_errf(err,
				 "%s%s: no GPUs within %s; all is as it was",
				 cli->yields ? "yield" : "phase ",
				 cli->yields ? "" : phase, cli->timeout);
			return EGS_TIMED_OUT;
		}
		egs_road_sleep(pause);
		pause = 2 * pause < POLL_MS ? 2 * pause : POLL_MS;
		rc = ask(cli, phase, "poll", e, err);
		/* Nobody there for a moment is no reason to stop waiting. */
		if (rc == EGS_UNREACHABLE) {
			e->waits = true;
			rc = EGS_DONE;
		}
	}
	return rc;
}

static int run_command(const struct egs_cli *cli, const struct entered *e)
{
	struct egs_err err;

	for (int i = 0; i < e->count; i++)
		setenv(e->name[i], e->value[i], 1);
	execvp(cli->command[0], cli->command);
	egs_errf(&err, "%s cannot be run", cli->command[0]);
	return egs_cli_complain(cli, &err, EGS_REFUSED);
}

static int failed(const struct egs_cli *cli, const struct egs_err *err, int rc)
{
	if (!cli->command)
		printf("(exit %d)\n", rc);
	return egs_cli_complain(cli, err, rc);
}

int egs_cli_phase(const struct egs_cli *cli, const char *phase)
{
	struct entered e = { .count = 0 };
	uint32_t seconds;
	struct egs_err err;
	int rc;

	if (egs_cli_timeout(cli, &seconds, &err) < 0)
		return failed(cli, &err, EGS_REFUSED);
	rc = ask(cli, phase, cli->no_wait ? "no" : NULL, &e, &err);
	if (rc == EGS_DONE && !phase && !cli->command && !cli->yields) {
		puts(e.phase);
	} else {
		if (rc == EGS_DONE && e.waits && !cli->no_wait)
			rc = wait_for_gpus(cli, phase, seconds, &e, &err);
		if (rc != EGS_DONE)
			failed(cli, &err, rc);
		else if (cli->command && *cli->command)
			rc = run_command(cli, &e);
		else
			print_exports(&e);
	}
	forget(&e);
	return rc;
}
