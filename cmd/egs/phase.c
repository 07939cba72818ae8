/* phase.c - egs phase, for eval "$(egs phase infer)" || exit
 *
 * The file also runs egs yield --gpus=N, which prints the remaining GPUs in the
 * same way.
 *
 * The shell evaluates stdout: lines "export X='...'", or "(exit N)" after a
 * failure, and nothing else.  Messages for the user are on stderr.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/egs/egs.h"
#include "common/base/array.h"
#include "common/base/clock.h"

#define EXPORTS_MAX   32
#define HOLD_MS	      (EGS_JOB_HOLD_S * INT64_C(1000))
#define RETRY_MS      1000
#define EXPORT_PREFIX "export:"

/* Values of the answer. */
struct phase_answer {
	char *name[EXPORTS_MAX], *value[EXPORTS_MAX];
	int count;
	struct egs_text phase;
	bool is_waiting;	/* for GPUs */
	bool has_news;		/* egs-noded wants the message again */
	struct egs_err message; /* printed last */
};

/* Variables that an answer may set.  The shell of the job evaluates them: a
 * name such as PATH or LD_PRELOAD must never come from an answer.
 */
static bool is_exportable(const char *name)
{
	static const char *const names[] = {
		"EGS_PHASE",	       "CUDA_VISIBLE_DEVICES",
		"GPU_DEVICE_ORDINAL",  "ROCR_VISIBLE_DEVICES",
		"SLURM_CPUS_ON_NODE",  "SLURM_CPUS_PER_TASK",
		"SLURM_GPUS",	       "SLURM_GPUS_ON_NODE",
		"SLURM_GPUS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE",
		"SLURM_JOB_GPUS",      "SLURM_JOB_NODELIST",
		"SLURM_JOB_NUM_NODES", "SLURM_MEM_PER_NODE",
		"SLURM_NNODES",	       "SLURM_NODELIST",
		"SLURM_TRES_PER_TASK",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* The variable that 'key' exports, or NULL.  Slurm sets some variables only in
 * jobs with certain options.  In other jobs srun would read them as its own
 * options, so "reexport:" changes only variables that are set.
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
	return name && is_exportable(name) ? name : NULL;
}

/* A message that is sent again may get the same answer again. */
static void print_message(struct phase_answer *answer, const char *text)
{
	struct egs_err before = answer->message;

	egs_errf(&answer->message, "%s", text);
	if (strcmp(answer->message.msg, before.msg) != 0)
		fprintf(stderr, "egs: %s\n", answer->message.msg);
}

static void store_value(void *arg, const char *key, const char *value)
{
	struct phase_answer *answer = arg;
	const char *name;

	if (!value)
		return;
	if (strcmp(key, "phase") == 0)
		egs_textf(&answer->phase, "%s", value);
	if (strcmp(key, "waits") == 0)
		answer->is_waiting = strcmp(value, "true") == 0;
	if (strcmp(key, "news") == 0)
		answer->has_news = strcmp(value, "true") == 0;
	if (strcmp(key, "message") == 0)
		print_message(answer, value);
	name = get_exported_name(key);
	if (!name || answer->count == EXPORTS_MAX)
		return;
	answer->name[answer->count] = strdup(name);
	answer->value[answer->count] = strdup(value);
	if (!answer->name[answer->count] || !answer->value[answer->count])
		return;
	egs_make_printable(answer->value[answer->count]);
	answer->count++;
}

static void clear_answer(struct phase_answer *answer)
{
	while (answer->count-- > 0) {
		free(answer->name[answer->count]);
		free(answer->value[answer->count]);
	}
	*answer = (struct phase_answer){ .message = answer->message };
}

/* In single quotes only the quote itself is special. */
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

static void print_exports(const struct phase_answer *answer)
{
	for (int i = 0; i < answer->count; i++) {
		printf("export %s=", answer->name[i]);
		print_quoted(answer->value[i]);
		putchar('\n');
	}
}

/* A message that is sent again, with the same id, until it is answered. */
struct phase_call {
	const struct egs_cli *cli;
	const char *phase;
	struct egs_job_request request;
	struct phase_answer *answer;
	int64_t end_ms; /* of the wait */
};

static int64_t now_ms(void)
{
	return (int64_t)egs_now_ms();
}

/* How long egs-policyd may hold the message: "wait", rounded up.  0: the time
 * is over.
 */
static int seconds_to_hold(const struct phase_call *call)
{
	int64_t left = call->end_ms - now_ms();

	return left <= 0	 ? 0
	       : left >= HOLD_MS ? EGS_JOB_HOLD_S
				 : (int)(left + 999) / 1000;
}

static int write_request(struct phase_call *call, struct egs_err *err)
{
	const struct egs_cli *cli = call->cli;
	const char *verb = cli->yield_notice ? "yield" : "phase";
	struct egs_job_request *request = &call->request;

	if (*request->id)
		egs_job_request_repeat(request, verb);
	else if (egs_job_request_begin(request, verb, err) < 0)
		return -1;
	if ((cli->yield_notice &&
	     egs_cli_add_number(request, "rank", cli->rank, err) < 0) ||
	    egs_cli_add_number(request, "gpus", cli->gpus, err) < 0)
		return -1;
	if (cli->yield_notice)
		egs_flat_json_add_str(&request->json, "path", cli->path);
	if (cli->yield_notice && cli->yield_notice != UINT32_MAX)
		egs_flat_json_add_int(&request->json, "request",
				      cli->yield_notice);
	egs_flat_json_add_str(&request->json, "phase", call->phase);
	if (!cli->no_wait)
		egs_flat_json_add_int(&request->json, "wait",
				      seconds_to_hold(call));
	if (cli->keep_cores)
		egs_flat_json_add_int(&request->json, "keep-cores", 1);
	return 0;
}

/* 'held_ms' is how long egs-policyd may hold the answer. */
static int send_phase(struct phase_call *call, int held_ms, struct egs_err *err)
{
	struct egs_transport how =
		egs_cli_transport(call->cli, store_value, call->answer);

	clear_answer(call->answer);
	if (write_request(call, err) < 0)
		return EGS_EXIT_REFUSED;
	how.timeout_ms += held_ms;
	return egs_cli_exit_code(
		egs_job_request_send(&call->request, &how, err));
}

/* Wait until egs-noded delivers another answer; then, or after some time, send
 * the message again.
 */
static int wait_and_send(struct phase_call *call, struct egs_err *err)
{
	const struct egs_transport how =
		egs_cli_transport(call->cli, store_value, call->answer);
	int rc = EGS_REQUEST_NONE_YET;

	if (!call->answer->has_news) {
		clear_answer(call->answer);
		rc = egs_job_request_receive(&call->request, &how,
					     seconds_to_hold(call) * 1000, err);
	}
	return rc == EGS_REQUEST_NONE_YET
		       ? send_phase(call, seconds_to_hold(call) * 1000, err)
		       : egs_cli_exit_code(rc);
}

/* The time is over.  With wait=0, egs-policyd cancels what is not done. */
static int end_wait(struct phase_call *call, struct egs_err *err)
{
	const struct egs_cli *cli = call->cli;
	int rc = send_phase(call, 0, err);

	if (rc == EGS_EXIT_REFUSED ||
	    (rc == EGS_EXIT_DONE && !call->answer->is_waiting))
		return rc;
	egs_errf(err, "%s%s: no GPUs within %s; nothing has changed",
		 cli->yield_notice ? "yield" : "phase ",
		 cli->yield_notice ? "" : call->phase, cli->timeout);
	return EGS_EXIT_TIMED_OUT;
}

static int wait_for_gpus(struct phase_call *call, struct egs_err *err)
{
	int rc = EGS_EXIT_DONE;

	while (rc == EGS_EXIT_DONE && call->answer->is_waiting) {
		if (now_ms() >= call->end_ms)
			return end_wait(call, err);
		rc = wait_and_send(call, err);
		/* A daemon may be restarting: continue to wait. */
		if (rc == EGS_EXIT_UNREACHABLE) {
			call->answer->is_waiting = true;
			rc = EGS_EXIT_DONE;
			egs_rundir_sleep_ms(RETRY_MS);
		}
	}
	return rc;
}

static int run_command(const struct egs_cli *cli,
		       const struct phase_answer *answer)
{
	struct egs_err err;

	for (int i = 0; i < answer->count; i++)
		setenv(answer->name[i], answer->value[i], 1);
	execvp(cli->command[0], cli->command);
	egs_errf(&err, "%s cannot be run: %s", cli->command[0],
		 strerror(errno));
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
	struct phase_answer answer = { .count = 0 };
	struct phase_call call = { .cli = cli,
				   .phase = phase,
				   .answer = &answer };
	uint32_t seconds;
	struct egs_err err;
	int rc;

	if (egs_cli_parse_timeout(cli, &seconds, &err) < 0)
		return print_failure(cli, &err, EGS_EXIT_REFUSED);
	call.end_ms = now_ms() + (int64_t)seconds * 1000;
	rc = send_phase(&call, 0, &err);
	if (rc == EGS_EXIT_DONE && !phase && !cli->command &&
	    !cli->yield_notice) {
		puts(answer.phase.text);
	} else {
		if (rc == EGS_EXIT_DONE && answer.is_waiting && !cli->no_wait)
			rc = wait_for_gpus(&call, &err);
		if (rc != EGS_EXIT_DONE)
			print_failure(cli, &err, rc);
		else if (cli->command && *cli->command)
			rc = run_command(cli, &answer);
		else
			print_exports(&answer);
	}
	clear_answer(&answer);
	return rc;
}
