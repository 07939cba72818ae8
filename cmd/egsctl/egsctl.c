/* egsctl.c - the command of operators
 *
 * To add a verb, write a function here, or in verbs.c if the daemon answers it.
 * Add a row to verbs[] and to verb_help[], a case to t/11*.t and a paragraph to
 * egsctl(1).
 */
#include <stdio.h>
#include <string.h>

#include "cmd/egsctl/ask_cluster.h"
#include "cmd/egsctl/call.h"
#include "cmd/egsctl/doctor.h"
#include "cmd/egsctl/egsctl.h"
#include "cmd/egsctl/top.h"
#include "cmd/egsctl/verbs.h"
#include "cmd/lib/options.h"
#include "cmd/lib/print_table.h"
#include "common/base/array.h"
#include "common/base/suggest.h"
#include "common/ipc/conf_msg.h"

/* The first sentences of each verb in egsctl(1). */
static const struct egs_verb_help verb_help[] = {
	{ "check", "check [FILE]",
	  "Checks the file, or the file of the site.\nNo daemon is needed.",
	  "egsctl check egs.conf.new" },
	{ "doctor", "doctor [--preflight] [FILE]",
	  "Checks the configuration of slurmctld, plugstack.conf and "
	  "egs.conf.\nEach line of the output begins with fine, worry, add or "
	  "change.",
	  "egsctl doctor --preflight" },
	{ "show",
	  "show config|tiers [-nP|--json] [--long|-o FIELDS] [FILE]\n"
	  "show jobs|teams|phases|workloads|nodes|gpus [-nP|--json] "
	  "[--long|-o FIELDS]\n"
	  "show map|waiting|preemptions|intents [-nP|--json] "
	  "[--long|-o FIELDS]",
	  "Prints what the daemon knows about them, as a table.\nThe page "
	  "egsctl(1) explains every column.",
	  "egsctl show teams -o team,quota,owned" },
	{ "top", "top [--once] [-d SECONDS] [--sort=wait|gpus|team]",
	  "Shows GPUs, teams, jobs that wait and preemptions, again and "
	  "again.\nThe page egsctl(1) explains the map and the keys.",
	  "egsctl top -d 5" },
	{ "metrics", "metrics",
	  "Prints the numbers of the daemon as Prometheus reads them.\nThe "
	  "page "
	  "egs-policyd(8) explains every metric.",
	  "egsctl metrics | grep egs_team_gpus" },
	{ "update", "update job=ID|node=NAME KEY=VALUE... --reason=TEXT",
	  "Changes the tier or the phase of a job, or fences a node.\nThe "
	  "reason is recorded, and shown to the owner of the job.",
	  "egsctl update job=81234 tier=prod --reason=\"release Friday\"" },
	{ "mode", "mode observe|enforce|file --reason=TEXT",
	  "Sets whether the daemon acts (enforce) or only records what it "
	  "would "
	  "do\n(observe).  This overrides the file; file ends the override.",
	  "egsctl mode enforce --reason=\"two weeks are over\"" },
	{ "preempt", "preempt JOB --reason=TEXT",
	  "Preempts a managed job that runs, as if another job needed its "
	  "GPUs.\nThe job gets the signal it declared, and is requeued when it "
	  "yields.",
	  "egsctl preempt 81300 --reason=maintenance" },
	{ "shrink", "shrink JOB --gpus=N --reason=TEXT",
	  "Asks a managed job that runs to continue with N of its GPUs.\n"
	  "egs.conf needs LiveResize=yes.",
	  "egsctl shrink 81300 --gpus=2 --reason=\"demo at noon\"" },
	{ "abort",
	  "abort job=ID|workload=NAME[/STAGE] --reason=TEXT [--dry-run] "
	  "[--yes]\n"
	  "      [--checkpoint=try|skip] [--requeue=no|hold] "
	  "[--dependents=cancel|keep]",
	  "Cancels jobs: a managed job that runs may checkpoint first.\nFor "
	  "the owner of the jobs, operators, and coordinators of their "
	  "account.",
	  "egsctl abort workload=fraud/retrain --dry-run" },
	{ "hold",
	  "hold job=ID|workload=NAME[/STAGE] --reason=TEXT [--dry-run] "
	  "[--yes]",
	  "Holds jobs that have not started, so that they do not "
	  "start.\negsctl release ends that.",
	  "egsctl hold workload=fraud --reason=\"bad labels\"" },
	{ "release",
	  "release job=ID|workload=NAME[/STAGE] --reason=TEXT [--dry-run] "
	  "[--yes]",
	  "Releases jobs that are held.\nOnly operators release jobs that an "
	  "operator holds.",
	  "egsctl release workload=fraud --reason=\"labels are right\"" },
	{ "pause", "pause --reason=TEXT",
	  "Stops all actions of the daemon, until egsctl unpause.",
	  "egsctl pause --reason=\"NFS incident\"" },
	{ "unpause", "unpause",
	  "Resumes the actions that egsctl pause has stopped.",
	  "egsctl unpause" },
	{ "reconfigure", "reconfigure",
	  "Makes the daemon read egs.conf again.\nIf the file has a mistake, "
	  "the old values stay in force.",
	  "egsctl check && egsctl reconfigure" },
	{ "ping", "ping",
	  "Prints the state of the daemon as lines of KEY=VALUE.",
	  "egsctl ping" },
};

/* A verb, or a subject of show, and the function that runs it. */
struct command {
	const char *name;
	int (*run)(const char *name, char **operands,
		   const struct egsctl_options *ctl);
};

int egsctl_print_error(const struct egs_err *err)
{
	fprintf(stderr, "egsctl: %s\n", err->msg);
	return EGSCTL_FAILED;
}

static void print_problems(const struct egs_conf_problems *problems,
			   const char *label)
{
	for (size_t i = 0; i < problems->stored; i++)
		fprintf(stderr, "%s%s\n", label, problems->list[i].err.msg);
	if (problems->count > problems->stored)
		fprintf(stderr, "and %zu more\n",
			problems->count - problems->stored);
}

/* Load the file that the operand names, or the site's.  NULL if it is refused,
 * with the problems printed.
 */
static struct egs_conf *load_conf(char **operands, const char **path)
{
	static struct egs_conf_problems problems;
	struct egs_conf *conf = NULL;
	struct egs_err err;

	*path = operands[0] ? operands[0] : EGS_SYSCONFDIR "/egs.conf";
	if (operands[0] && operands[1]) {
		egs_errf(&err, "'%s' is one operand too many",
			 egs_printable(operands[1]).text);
		egsctl_print_error(&err);
	} else if (egs_conf_load(&conf, *path, &problems) < 0) {
		print_problems(&problems, "");
	}
	return conf;
}

/* Print that a file is accepted, and what was not checked. */
static void print_accepted(const char *path,
			   const struct egs_policy_conf *policy,
			   const struct egs_judgement *judgement)
{
	struct egs_text text;

	egs_textf(&text,
		  "%s is fine: tiers %d, teams %d, phases %d, workloads %d, "
		  "GPU types %d",
		  path, policy->ntiers, policy->nteams, policy->nphases,
		  policy->nworkloads, policy->ntypes);
	printf("%s\n", text.text);
	if (*judgement->not_asked.text)
		printf("not checked, as Slurm did not tell: %s\n",
		       judgement->not_asked.text);
}

static int run_check(const char *name, char **operands,
		     const struct egsctl_options *ctl)
{
	static struct egs_judgement judgement;
	const char *path;
	struct egs_conf *conf = load_conf(operands, &path);

	(void)name;
	if (!conf)
		return EGSCTL_FAILED;
	egs_ask_judge(conf, ctl, &judgement);
	print_problems(&judgement.refused, "");
	print_problems(&judgement.warnings, "warning: ");
	if (!judgement.refused.count)
		print_accepted(path, egs_conf_policy(conf), &judgement);
	egs_conf_free(conf);
	return judgement.refused.count ? EGSCTL_FAILED : EGSCTL_DONE;
}

static int show_conf_file(const char *name, char **operands,
			  const struct egsctl_options *ctl,
			  int (*fill)(const struct egs_conf *,
				      struct egs_msg *))
{
	const char *path;
	struct egs_conf *conf = load_conf(operands, &path);
	struct egs_msg *table = conf ? egs_msg_new() : NULL;
	struct egs_err err = { "out of memory" };
	int rc = -1;

	if (!conf)
		return EGSCTL_FAILED;
	if (table && fill(conf, table) == 0)
		rc = egs_print_table(table, name, &ctl->style, &err);
	egs_msg_free(table);
	egs_conf_free(conf);
	return rc == 0 ? EGSCTL_DONE : egsctl_print_error(&err);
}

/* The values of a file, or without one the values of the daemon. */
static int show_config(const char *name, char **operands,
		       const struct egsctl_options *ctl)
{
	if (!operands[0])
		return egsctl_run_show(name, operands, ctl);
	return show_conf_file(name, operands, ctl, egs_show_conf_values);
}

static int show_tiers(const char *name, char **operands,
		      const struct egsctl_options *ctl)
{
	if (!operands[0])
		return egsctl_run_show(name, operands, ctl);
	return show_conf_file(name, operands, ctl, egs_show_conf_tiers);
}

/* Run the command that the first operand names; 'kind' is a noun for the name,
 * in a refusal.
 */
static int run_named(const struct command *commands, size_t count,
		     const char *kind, char **operands,
		     const struct egsctl_options *ctl)
{
	const char *names[24];
	struct egs_err why;
	struct egs_err err;

	for (size_t i = 0; i < count; i++) {
		if (operands[0] && strcmp(operands[0], commands[i].name) == 0)
			return commands[i].run(commands[i].name, operands + 1,
					       ctl);
		names[i] = commands[i].name;
	}
	if (operands[0]) {
		egs_err_unknown_name(operands[0], kind, names, count, &why);
		egs_errf(&err, "'%s' %s", egs_printable(operands[0]).text,
			 why.msg);
	} else {
		egs_errf(&err, "missing %s; see egsctl --help", kind);
	}
	return egsctl_print_error(&err);
}

static int run_show(const char *name, char **operands,
		    const struct egsctl_options *ctl)
{
	static const struct command subjects[] = {
		{ "config", show_config },
		{ "tiers", show_tiers },
		{ "jobs", egsctl_run_show },
		{ "teams", egsctl_run_show },
		{ "phases", egsctl_run_show },
		{ "workloads", egsctl_run_show },
		{ "nodes", egsctl_run_show },
		{ "gpus", egsctl_run_show },
		{ "intents", egsctl_run_show },
		{ "preemptions", egsctl_run_show },
		{ "map", egsctl_run_show },
		{ "waiting", egsctl_run_show },
	};

	(void)name;
	return run_named(subjects, ARRAY_SIZE(subjects), "subject", operands,
			 ctl);
}

static const struct command verbs[] = {
	{ "check", run_check },
	{ "doctor", egsctl_run_doctor },
	{ "show", run_show },
	{ "top", egsctl_run_top },
	{ "metrics", egsctl_run_metrics },
	{ "update", egsctl_run_update },
	{ "mode", egsctl_run_mode },
	{ "preempt", egsctl_run_job_verb },
	{ "shrink", egsctl_run_job_verb },
	{ "abort", egsctl_run_abort },
	{ "hold", egsctl_run_abort },
	{ "release", egsctl_run_abort },
	{ "pause", egsctl_run_with_reason },
	{ "unpause", egsctl_run_plain },
	{ "reconfigure", egsctl_run_plain },
	{ "ping", egsctl_run_plain },
};

int main(int argc, char **argv)
{
	struct egsctl_options ctl = { .timeout = "10" };
	struct egs_listing_style *style = &ctl.style;
	const struct egs_option rows[] = {
		{ 'n', "noheader", &style->no_header, NULL, NULL,
		  "print no header" },
		{ 'P', "parsable", &style->parsable, NULL, NULL,
		  "print | between columns" },
		{ 0, "json", &style->json, NULL, NULL, "print JSON" },
		{ 'o', "format", NULL, &style->fields, "FIELDS",
		  "print these columns" },
		{ 0, "long", &style->all, NULL, NULL,
		  "print all columns, and no text cut" },
		{ 0, "preflight", &ctl.preflight, NULL, NULL,
		  "doctor: EGS is not configured yet" },
		{ 0, "once", &ctl.once, NULL, NULL,
		  "top: print one picture and end" },
		{ 'd', "delay", NULL, &ctl.delay, "SECONDS",
		  "top: ask the daemon so often (2)" },
		{ 0, "sort", NULL, &ctl.sort, "KEY",
		  "top: by wait, gpus or team" },
		{ 0, "gpus", NULL, &ctl.gpus, "N",
		  "shrink: GPUs that the job keeps" },
		{ 0, "checkpoint", NULL, &ctl.checkpoint, "HOW",
		  "abort: try (the default) or skip" },
		{ 0, "requeue", NULL, &ctl.requeue, "HOW",
		  "abort: no (the default), or hold" },
		{ 0, "dependents", NULL, &ctl.dependents, "HOW",
		  "abort: cancel or keep jobs that cannot start then" },
		{ 0, "dry-run", &ctl.dry_run, NULL, NULL,
		  "abort, hold, release: only list the jobs" },
		{ 0, "yes", &ctl.yes, NULL, NULL,
		  "abort, hold, release: do not ask" },
		{ 0, "reason", NULL, &ctl.reason, "TEXT",
		  "the reason, which is recorded" },
		{ 0, "socket", NULL, &ctl.address, "PLACE",
		  "the daemon's PATH or HOST:PORT" },
		{ 'M', "cluster", NULL, &ctl.cluster, "NAME",
		  "the cluster of HOST:PORT" },
		{ 't', "timeout", NULL, &ctl.timeout, "SECONDS",
		  "longest wait for an answer" },
	};
	const struct egs_options options = { "egsctl", verb_help,
					     ARRAY_SIZE(verb_help), rows,
					     ARRAY_SIZE(rows) };
	struct egs_err err = { "" };

	switch (egs_options_read(&options, &argc, argv, &err)) {
	case EGS_OPTIONS_BAD:
		return egsctl_print_error(&err);
	case EGS_OPTIONS_DONE:
		return EGSCTL_DONE;
	default:
		return run_named(verbs, ARRAY_SIZE(verbs), "verb", argv, &ctl);
	}
}
