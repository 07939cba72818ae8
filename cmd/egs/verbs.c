/* verbs.c - the verbs of the command egs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/egs/egs.h"
#include "cmd/lib/options.h"
#include "cmd/lib/print_clean.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/base/suggest.h"
#include "common/conf/values.h"

enum {
	/* Interval of requests to egs-policyd without a run directory. */
	NOTICE_POLL_MS = 2000,
	PPM_MAX = 1000000,
};

int egs_cli_print_error(const struct egs_cli *cli, const struct egs_err *err,
			int code)
{
	fprintf(stderr, "%s: %s\n", cli->name, err->msg);
	return code;
}

struct egs_transport egs_cli_transport(const struct egs_cli *cli,
				       egs_flat_json_fn *fn, void *arg)
{
	return (struct egs_transport){
		.dir = egs_rundir_path(),
		.call_direct = cli->call_direct,
		.direct_arg = (void *)cli,
		.timeout_ms = EGS_CLI_TIMEOUT_MS,
		.on_value = fn,
		.arg = arg,
	};
}

int egs_cli_exit_code(int rc)
{
	switch (rc) {
	case 0:
		return EGS_EXIT_DONE;
	case EGS_REQUEST_NO_ANSWER:
		return EGS_EXIT_UNREACHABLE;
	default:
		return EGS_EXIT_REFUSED;
	}
}

int egs_cli_add_number(struct egs_job_request *request, const char *key,
		       const char *text, struct egs_err *err)
{
	long long n;
	char *end;

	if (!text)
		return 0;
	n = strtoll(text, &end, 10);
	if (!*text || *end || n < 0)
		return egs_errf(err, "--%s=%s is not a number", key,
				egs_printable(text).text);
	egs_flat_json_add_int(&request->json, key, n);
	return 0;
}

int egs_cli_parse_timeout(const struct egs_cli *cli, uint32_t *seconds,
			  struct egs_err *err)
{
	struct egs_err why;

	*seconds = UINT32_MAX;
	if (!cli->timeout ||
	    egs_conf_read_seconds(cli->timeout, seconds, &why) == 0)
		return 0;
	return egs_errf(err, "--timeout=%s %s",
			egs_printable(cli->timeout).text, why.msg);
}

/* ---- messages ---- */

static int send_request(const struct egs_cli *cli,
			struct egs_job_request *request, bool report)
{
	struct egs_transport how = egs_cli_transport(cli, NULL, NULL);
	struct egs_err err;
	int rc;

	how.is_report = report;
	rc = egs_cli_exit_code(egs_job_request_send(request, &how, &err));
	return rc == EGS_EXIT_DONE ? rc : egs_cli_print_error(cli, &err, rc);
}

static int run_saved(const struct egs_cli *cli, const char *operand)
{
	struct egs_job_request request;
	struct egs_err err;

	(void)operand;
	if (egs_job_request_begin(&request, "saved", &err) < 0 ||
	    egs_cli_add_number(&request, "step", cli->step, &err) < 0)
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	egs_flat_json_add_str(&request.json, "path", cli->path);
	return send_request(cli, &request, true);
}

/* The job keeps some GPUs; the command prints which. */
static int yield_some_gpus(const struct egs_cli *cli, uint32_t notice)
{
	struct egs_cli some = *cli;

	some.yield_notice = notice ? notice : UINT32_MAX;
	return egs_cli_run_phase(&some, NULL);
}

static int run_yield(const struct egs_cli *cli, const char *operand)
{
	uint32_t notice = egs_job_request_open_notice(egs_rundir_path());
	int64_t rank = egs_job_request_rank();
	struct egs_job_request request;
	struct egs_err err;

	(void)operand;
	if (cli->gpus)
		return yield_some_gpus(cli, notice);
	if (egs_job_request_begin(&request, "yield", &err) < 0 ||
	    egs_cli_add_number(&request, "rank", cli->rank, &err) < 0)
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	egs_flat_json_add_str(&request.json, "path", cli->path);
	if (!cli->rank && rank >= 0)
		egs_flat_json_add_int(&request.json, "rank", rank);
	if (notice)
		egs_flat_json_add_int(&request.json, "request", notice);
	return send_request(cli, &request, false);
}

static int run_finished(const struct egs_cli *cli, const char *operand)
{
	struct egs_job_request request;
	struct egs_err err;

	(void)operand;
	if (egs_job_request_begin(&request, "finished", &err) < 0)
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	return send_request(cli, &request, true);
}

static int run_progress(const struct egs_cli *cli, const char *operand)
{
	double done = -1;
	char *end = NULL;
	struct egs_job_request request;
	struct egs_err err;

	if (operand)
		done = strtod(operand, &end);
	if (!operand || *end || !(done >= 0 && done <= 1)) {
		egs_errf(&err, "progress is a number from 0 to 1: egs "
			       "progress 0.4");
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	}
	if (egs_job_request_begin(&request, "progress", &err) < 0)
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	egs_flat_json_add_int(&request.json, "ppm",
			      (int64_t)(done * PPM_MAX + 0.5));
	return send_request(cli, &request, true);
}

static int run_phase(const struct egs_cli *cli, const char *operand)
{
	return egs_cli_run_phase(cli, operand);
}

/* ---- preemption notices ---- */

/* The notice, as the lines of the file 'request'. */
struct open_notice {
	unsigned long number;
	char lines[1024];
};

static void append_line(void *arg, const char *key, const char *value)
{
	struct open_notice *r = arg;
	size_t used = strlen(r->lines);

	if (!value || strcmp(key, "ok") == 0)
		return;
	if (strcmp(key, "request") == 0)
		r->number = strtoul(value, NULL, 10);
	snprintf(r->lines + used, sizeof(r->lines) - used, "%s=%s\n",
		 egs_printable(key).text, egs_printable(value).text);
}

static void fill_from_flag(const struct egs_rundir_flag *flag,
			   struct open_notice *r)
{
	bool shrink = flag->kind == EGS_NOTICE_SHRINK;

	r->number = flag->notice;
	snprintf(r->lines, sizeof(r->lines),
		 "request=%lu\nkind=%s\ngpus=%lu\ndeadline=%lld\n", r->number,
		 shrink ? "shrink" : "yield", (unsigned long)flag->gpus,
		 (long long)flag->deadline);
}

/* Read the notice from the flag, or ask egs-policyd.  EGS_EXIT_DONE, or
 * EGS_EXIT_UNREACHABLE with 'err' set.
 */
static int read_notice(const struct egs_cli *cli, struct open_notice *r,
		       struct egs_err *err)
{
	const struct egs_transport how = egs_cli_transport(cli, append_line, r);
	const char *dir = egs_rundir_path();
	struct egs_job_request request;
	struct egs_rundir_flag flag;

	*r = (struct open_notice){ .number = 0 };
	if (dir && egs_rundir_read_flag(dir, &flag)) {
		fill_from_flag(&flag, r);
		return EGS_EXIT_DONE;
	}
	if (egs_job_request_begin(&request, "request", err) < 0)
		return EGS_EXIT_UNREACHABLE;
	return egs_job_request_send(&request, &how, err) == 0
		       ? EGS_EXIT_DONE
		       : EGS_EXIT_UNREACHABLE;
}

static int run_should_yield(const struct egs_cli *cli, const char *operand)
{
	struct open_notice r;
	struct egs_err err;

	(void)operand;
	if (read_notice(cli, &r, &err) != EGS_EXIT_DONE)
		return egs_cli_print_error(cli, &err, EGS_EXIT_UNREACHABLE);
	return r.number && !strstr(r.lines, "kind=shrink") ? EGS_EXIT_DONE
							   : EGS_EXIT_REFUSED;
}

/* Wait 'ms' for a notice, by the flag if there is one; else sleep. */
static int wait_for_notice(const struct egs_cli *cli, struct open_notice *r,
			   int ms, struct egs_err *err)
{
	const char *dir = egs_rundir_path();
	struct egs_rundir_flag flag;
	int rc = read_notice(cli, r, err);

	if (rc != EGS_EXIT_DONE || r->number)
		return rc;
	if (dir && egs_rundir_wait_notice(dir, &flag, ms))
		fill_from_flag(&flag, r);
	else if (!dir)
		egs_rundir_sleep_ms(ms);
	return EGS_EXIT_DONE;
}

static int run_wait_request(const struct egs_cli *cli, const char *operand)
{
	struct open_notice r = { .number = 0 };
	int64_t end, left = NOTICE_POLL_MS;
	uint32_t seconds;
	struct egs_err err;

	(void)operand;
	if (egs_cli_parse_timeout(cli, &seconds, &err) < 0)
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	end = (int64_t)egs_now_ms() + (int64_t)seconds * 1000;
	while (left > 0 && !r.number) {
		if (wait_for_notice(cli, &r,
				    left < NOTICE_POLL_MS ? (int)left
							  : NOTICE_POLL_MS,
				    &err) != EGS_EXIT_DONE)
			return egs_cli_print_error(cli, &err,
						   EGS_EXIT_UNREACHABLE);
		if (seconds != UINT32_MAX)
			left = end - (int64_t)egs_now_ms();
	}
	fputs(r.number ? r.lines : "", stdout);
	return r.number ? EGS_EXIT_DONE : EGS_EXIT_TIMED_OUT;
}

/* ---- why ---- */

static void print_reason(void *arg, const char *key, const char *value)
{
	(void)arg;
	if (value && strcmp(key, "why") == 0)
		egs_print_clean_line(stdout, NULL, value);
	if (value && strcmp(key, "estimate") == 0)
		egs_print_clean_line(stdout, "start: ", value);
	if (value && strcmp(key, "end") == 0)
		egs_print_clean_line(stdout, "end: ", value);
	if (value && strcmp(key, "run") == 0)
		egs_print_clean_line(stdout, "run time: ", value);
	if (value && strcmp(key, "idle_gpus") == 0)
		egs_print_clean_line(stdout, NULL, value);
}

static int run_why(const struct egs_cli *cli, const char *operand)
{
	const struct egs_transport how =
		egs_cli_transport(cli, print_reason, NULL);
	const char *job = operand ? operand : getenv("SLURM_JOB_ID");
	struct egs_job_request request;
	struct egs_err err;
	int rc;

	if (!job) {
		egs_errf(&err, "which job is missing: egs why JOBID");
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	}
	if (cli->show_why)
		return cli->show_why(cli, job);
	if (operand || cli->json) {
		egs_errf(&err, "egs-static answers only for its own job and in "
			       "words: use egs why without arguments");
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	}
	if (egs_job_request_begin(&request, "why", &err) < 0)
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	rc = egs_cli_exit_code(egs_job_request_send(&request, &how, &err));
	return rc == EGS_EXIT_DONE ? rc : egs_cli_print_error(cli, &err, rc);
}

/* ---- gpu ---- */

static int run_gpu(const struct egs_cli *cli, const char *operand)
{
	const char *job = operand ? operand : getenv("SLURM_JOB_ID");
	struct egs_err err;

	if (job && cli->show_gpus)
		return cli->show_gpus(cli, job);
	if (!job)
		egs_errf(&err, "which job is missing: egs gpu JOBID");
	else
		egs_errf(&err, "egs-static cannot show GPUs: use egs gpu on "
			       "the node or a login host");
	return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
}

/* ---- web ---- */

static int run_web(const struct egs_cli *cli, const char *operand)
{
	struct egs_err err;

	(void)operand;
	if (cli->run_web)
		return cli->run_web(cli);
	egs_errf(&err, "egs-static cannot serve the page: use egs web on a "
		       "login host");
	return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
}

/* ---- table of verbs ---- */

static const struct {
	const char *name;
	int (*fn)(const struct egs_cli *cli, const char *operand);
	bool has_operand;
} verbs[] = {
	{ "phase", run_phase, true },
	{ "saved", run_saved, false },
	{ "yield", run_yield, false },
	{ "finished", run_finished, false },
	{ "should-yield", run_should_yield, false },
	{ "wait-request", run_wait_request, false },
	{ "progress", run_progress, true },
	{ "why", run_why, true },
	{ "gpu", run_gpu, true },
	{ "web", run_web, false },
};

/* The first sentences of each verb in egs(1). */
static const struct egs_verb_help verb_help[] = {
	{ "phase",
	  "phase [PHASE [--gpus=N] [--keep-cores] [--no-wait|--timeout=TIME]] "
	  "[-- CMD]",
	  "The job enters PHASE: prep, train, eval, infer, retrain, or one "
	  "that "
	  "the site\nhas added.  It gives back the GPUs that PHASE does not "
	  "need, or waits for more.",
	  "eval \"$(egs phase infer)\" || exit" },
	{ "saved", "saved [--path=PATH] [--step=N]",
	  "Reports a checkpoint that is complete and durable.\nLess work is "
	  "lost if the job is preempted.",
	  "egs saved --path=last.pt --step=4000" },
	{ "yield", "yield [--path=PATH] [--rank=R] [--gpus=N]",
	  "Reports that the whole job has checkpointed: EGS takes its GPUs "
	  "now.\nIt is valid only for the open notice.",
	  "trap 'save; egs yield --path=last.pt; exit 99' USR1" },
	{ "finished", "finished",
	  "Reports that the work is done: the next exit is final, also after a "
	  "notice.",
	  "egs finished; exit 0" },
	{ "should-yield", "should-yield",
	  "Exits with 0 if the job has a notice to yield, with 1 if not, with "
	  "2 "
	  "if that\nis unknown.  It reads one file.",
	  "if egs should-yield; then save; egs yield; exit 99; fi" },
	{ "wait-request", "wait-request [--timeout=TIME]",
	  "Waits for a notice and prints it; exits with 3 after the timeout.",
	  "egs wait-request --timeout=10m && touch stop" },
	{ "progress", "progress 0.4",
	  "Reports the part of the work that is done, from 0 to 1.",
	  "egs progress 0.4" },
	{ "why", "why [--json] [JOBID]",
	  "Explains in one sentence why a job runs or waits: the rule, the job "
	  "that holds\nthe GPUs, and the quota of its team.",
	  "egs why 81234" },
	{ "gpu", "gpu [--json] [JOBID]",
	  "Shows what each GPU of a job does: how busy it is, memory, power, "
	  "temperature,\nand a note in words.",
	  "egs gpu 81234" },
	{ "web", "web [--port=N]",
	  "Serves a page that shows the cluster now: GPUs, teams, who waits "
	  "and why.\nIt prints the address, which only you know, and ends with "
	  "Ctrl-C.",
	  "egs web" },
};

static int run_verb(const struct egs_cli *cli, int argc, char **argv)
{
	const char *names[ARRAY_SIZE(verbs)];
	struct egs_err err, what;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		names[i] = verbs[i].name;
		if (argc == 0 || strcmp(argv[0], verbs[i].name) != 0)
			continue;
		if (argc <= 1 + verbs[i].has_operand)
			return verbs[i].fn(cli, argv[1]);
		egs_errf(&err, "'%s' is one operand too many",
			 egs_printable(argv[1 + verbs[i].has_operand]).text);
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	}
	if (argc == 0) {
		egs_errf(&err,
			 "no verb given: egs saved, egs why, ... (egs --help)");
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	}
	egs_err_unknown_name(argv[0], "verb", names, ARRAY_SIZE(names), &what);
	egs_errf(&err, "'%s' %s", egs_printable(argv[0]).text, what.msg);
	return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
}

/* The words after "--" are a command of the user. */
static int split_command(struct egs_cli *cli, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			argv[i] = NULL;
			cli->command = argv + i + 1;
			return i;
		}
	return argc;
}

int egs_cli_main(struct egs_cli *cli, int argc, char **argv)
{
	const struct egs_option rows[] = {
		{ 0, "path", NULL, &cli->path, "PATH",
		  "saved, yield: path of the checkpoint" },
		{ 0, "step", NULL, &cli->step, "N",
		  "saved: training step of the checkpoint" },
		{ 0, "rank", NULL, &cli->rank, "R",
		  "yield: rank of this process, with acks=N" },
		{ 0, "gpus", NULL, &cli->gpus, "N",
		  "phase, yield: number of GPUs" },
		{ 0, "timeout", NULL, &cli->timeout, "TIME",
		  "phase, wait-request: wait at most TIME, as 2h" },
		{ 0, "keep-cores", &cli->keep_cores, NULL, NULL,
		  "phase: give back GPUs and keep all cores" },
		{ 0, "no-wait", &cli->no_wait, NULL, NULL,
		  "phase: do not wait for GPUs" },
		{ 0, "json", &cli->json, NULL, NULL, "why, gpu: print JSON" },
		{ 0, "port", NULL, &cli->port, "N",
		  "web: port on the loopback address (any)" },
		{ 0, "socket", NULL, &cli->address, "PLACE",
		  "the daemon's PATH or HOST:PORT" },
		{ 'M', "cluster", NULL, &cli->cluster, "NAME",
		  "the cluster of HOST:PORT" },
	};
	const struct egs_options options = { cli->name, verb_help,
					     ARRAY_SIZE(verb_help), rows,
					     ARRAY_SIZE(rows) };
	struct egs_err err;

	argc = split_command(cli, argc, argv);
	switch (egs_options_read(&options, &argc, argv, &err)) {
	case EGS_OPTIONS_DONE:
		return EGS_EXIT_DONE;
	case EGS_OPTIONS_BAD:
		return egs_cli_print_error(cli, &err, EGS_EXIT_REFUSED);
	default:
		return run_verb(cli, argc, argv);
	}
}
