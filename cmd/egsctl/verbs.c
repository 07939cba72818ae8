/* verbs.c - the verbs of egsctl that the daemon answers
 *
 * A verb builds its request, and call.h sends it.  The daemon checks values and
 * permissions.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/egsctl/call.h"
#include "cmd/egsctl/verbs.h"
#include "cmd/lib/print_clean.h"
#include "common/base/array.h"

static int refuse_operand(const char *operand, struct egs_err *err)
{
	return egs_errf(err, "'%s' is one operand too many",
			egs_printable(operand).text);
}

/* A request for 'verb', with the reason if there is one. */
static struct egs_msg *new_request(const char *verb,
				   const struct egsctl_options *ctl)
{
	struct egs_msg *request = egs_msg_new();

	if (request) {
		egs_msg_set_str(request, "verb", verb);
		egs_msg_set_str(request, "reason", ctl->reason);
	}
	return request;
}

/* Send 'request', unless 'err' is set, and free it.  Returns the exit code. */
static int send_request(struct egs_msg *request, const char *name,
			const struct egsctl_options *ctl,
			const struct egs_err *err)
{
	int code = *err->msg ? egsctl_print_error(err)
			     : egsctl_call(request, name, ctl);

	egs_msg_free(request);
	return code;
}

static void require_reason(const char *verb, const struct egsctl_options *ctl,
			   struct egs_err *err)
{
	if (!*err->msg && (!ctl->reason || !*ctl->reason))
		egs_errf(err, "%s needs a reason: --reason=TEXT", verb);
}

int egsctl_run_show(const char *name, char **operands,
		    const struct egsctl_options *ctl)
{
	struct egs_msg *request = new_request("show", ctl);
	struct egs_err err = { "" };

	if (operands[0])
		refuse_operand(operands[0], &err);
	if (request)
		egs_msg_set_str(request, "what", name);
	return send_request(request, name, ctl, &err);
}

/* Accept keys as scontrol writes them: any case, JobId=81234. */
static const char *normalize_key(char *key)
{
	for (char *c = key; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (strcmp(key, "jobid") == 0)
		return "job";
	return strcmp(key, "nodename") == 0 ? "node" : key;
}

/* Add KEY=VALUE.  A key is refused if it is given twice or the request already
 * has it.
 */
static int set_pair(struct egs_msg *request, char *pair, struct egs_err *err)
{
	char *equals = strchr(pair, '=');
	const char *key;

	if (!equals || equals == pair)
		return egs_errf(err, "'%s' is not KEY=VALUE",
				egs_printable(pair).text);
	*equals = '\0';
	key = normalize_key(pair);
	if (egs_msg_get_str(request, key))
		return egs_errf(err, "'%s' is given twice",
				egs_printable(key).text);
	egs_msg_set_str(request, key, equals + 1);
	return 0;
}

int egsctl_run_update(const char *name, char **operands,
		      const struct egsctl_options *ctl)
{
	struct egs_msg *request = new_request(name, ctl);
	struct egs_err err = { "" };

	for (int i = 0; request && operands[i] && !*err.msg; i++)
		set_pair(request, operands[i], &err);
	if (request && !*err.msg && !egs_msg_get_str(request, "job") &&
	    !egs_msg_get_str(request, "node"))
		egs_errf(&err, "update needs job=ID or node=NAME");
	require_reason(name, ctl, &err);
	return send_request(request, name, ctl, &err);
}

/* Lines of text, cleaned one by one. */
static int print_lines(const char *text)
{
	char *copy = strdup(text), *rest = copy, *line;
	int rc = copy ? 0 : -1;

	while (rc == 0 && (line = strsep(&rest, "\n")) && rest)
		rc = egs_print_clean_line(stdout, NULL, line);
	free(copy);
	return rc < 0 || fflush(stdout) != 0 ? -1 : 0;
}

int egsctl_run_metrics(const char *name, char **operands,
		       const struct egsctl_options *ctl)
{
	struct egs_msg *request = new_request(name, ctl), *answer = NULL;
	struct egs_err err = { "" };
	const char *text;
	int code;

	if (operands[0]) {
		refuse_operand(operands[0], &err);
		return send_request(request, name, ctl, &err);
	}
	code = egsctl_ask(request, ctl, &answer, &err);
	text = answer ? egs_msg_get_str(answer, "text") : NULL;
	if (code == EGSCTL_DONE && (!text || print_lines(text) < 0)) {
		egs_errf(&err, "the answer could not be written");
		code = EGSCTL_FAILED;
	}
	if (code != EGSCTL_DONE)
		egsctl_print_error(&err);
	egs_msg_free(request);
	egs_msg_free(answer);
	return code;
}

int egsctl_run_mode(const char *name, char **operands,
		    const struct egsctl_options *ctl)
{
	struct egs_msg *request = new_request(name, ctl);
	struct egs_err err = { "" };

	if (!operands[0])
		egs_errf(&err, "mode needs observe, enforce or file");
	else if (operands[1])
		refuse_operand(operands[1], &err);
	require_reason(name, ctl, &err);
	if (request)
		egs_msg_set_str(request, "mode", operands[0]);
	return send_request(request, name, ctl, &err);
}

int egsctl_run_job_verb(const char *name, char **operands,
			const struct egsctl_options *ctl)
{
	struct egs_msg *request = new_request(name, ctl);
	struct egs_err err = { "" };

	if (!operands[0])
		egs_errf(&err, "%s needs a job id", name);
	else if (operands[1])
		refuse_operand(operands[1], &err);
	if (!*err.msg && strcmp(name, "shrink") == 0 && !ctl->gpus)
		egs_errf(&err, "shrink needs the number of GPUs that the job "
			       "keeps: --gpus=N");
	require_reason(name, ctl, &err);
	if (request) {
		egs_msg_set_str(request, "job", operands[0]);
		egs_msg_set_str(request, "gpus", ctl->gpus);
	}
	return send_request(request, name, ctl, &err);
}

/* ---- abort, hold and release ---- */

/* What a user can do without the daemon. */
static void suggest_command(const struct egs_msg *request, const char *name,
			    const struct egsctl_options *ctl)
{
	static const char *const commands[][2] = {
		{ "abort", "scancel" },
		{ "hold", "scontrol hold" },
		{ "release", "scontrol release" },
	};
	const char *job = egs_msg_get_str(request, "job");
	const char *command = "scontrol requeuehold";
	bool hold = ctl->requeue && strcmp(ctl->requeue, "hold") == 0 &&
		    strcmp(name, "abort") == 0;
	struct egs_text text;

	for (size_t i = 0; !hold && i < ARRAY_SIZE(commands); i++)
		if (strcmp(name, commands[i][0]) == 0)
			command = commands[i][1];
	if (!job)
		return;
	egs_textf(&text,
		  "egsctl: without egs-policyd, and without a checkpoint: "
		  "%s %s",
		  command, job);
	fprintf(stderr, "%s\n", text.text);
}

static bool read_yes(const char *name)
{
	char line[16];

	fprintf(stderr, "%s these jobs? [y/N] ", name);
	return fgets(line, sizeof(line), stdin) &&
	       (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
}

/* Print the jobs and ask.  'request' then leaves out jobs that are submitted
 * after the list was made.
 */
static int confirm_request(struct egs_msg *request, const char *name,
			   const struct egsctl_options *ctl)
{
	struct egs_msg *answer = NULL;
	struct egs_err err;
	int64_t as_of = 0;
	int code;

	egs_msg_set_bool(request, "dry_run", true);
	code = egsctl_ask(request, ctl, &answer, &err);
	egs_msg_set_bool(request, "dry_run", false);
	if (code == EGSCTL_DONE &&
	    (egsctl_print_answer(answer, name, &ctl->style, &err) < 0 ||
	     !egs_msg_get_int(answer, "as_of", &as_of)))
		code = EGSCTL_FAILED;
	egs_msg_set_int(request, "as_of", as_of);
	egs_msg_free(answer);
	if (code != EGSCTL_DONE) {
		egsctl_print_error(&err);
	} else if (!read_yes(name)) {
		egs_errf(&err, "nothing is done");
		code = egsctl_print_error(&err);
	}
	return code;
}

static struct egs_msg *new_abort_request(const char *name, char **operands,
					 const struct egsctl_options *ctl,
					 struct egs_err *err)
{
	struct egs_msg *request = new_request(name, ctl);

	for (int i = 0; request && operands[i] && !*err->msg; i++)
		set_pair(request, operands[i], err);
	if (!request)
		return NULL;
	if (!*err->msg && !egs_msg_get_str(request, "job") &&
	    !egs_msg_get_str(request, "workload"))
		egs_errf(err, "%s needs job=ID or workload=NAME", name);
	egs_msg_set_str(request, "checkpoint", ctl->checkpoint);
	egs_msg_set_str(request, "requeue", ctl->requeue);
	egs_msg_set_str(request, "dependents", ctl->dependents);
	egs_msg_set_bool(request, "dry_run", ctl->dry_run);
	if (!ctl->dry_run)
		require_reason(name, ctl, err);
	return request;
}

int egsctl_run_abort(const char *name, char **operands,
		     const struct egsctl_options *ctl)
{
	struct egs_err err = { "" };
	struct egs_msg *request = new_abort_request(name, operands, ctl, &err);
	bool ask = !ctl->yes && !ctl->dry_run && isatty(STDIN_FILENO) &&
		   isatty(STDERR_FILENO);
	int code = EGSCTL_DONE;

	if (request && !*err.msg && ask)
		code = confirm_request(request, name, ctl);
	if (code == EGSCTL_DONE)
		code = *err.msg ? egsctl_print_error(&err)
				: egsctl_call(request, name, ctl);
	if (code == EGSCTL_UNREACHABLE && request)
		suggest_command(request, name, ctl);
	egs_msg_free(request);
	return code;
}

int egsctl_run_plain(const char *name, char **operands,
		     const struct egsctl_options *ctl)
{
	struct egs_err err = { "" };

	if (operands[0])
		refuse_operand(operands[0], &err);
	return send_request(new_request(name, ctl), name, ctl, &err);
}

int egsctl_run_with_reason(const char *name, char **operands,
			   const struct egsctl_options *ctl)
{
	struct egs_err err = { "" };

	if (operands[0])
		refuse_operand(operands[0], &err);
	require_reason(name, ctl, &err);
	return send_request(new_request(name, ctl), name, ctl, &err);
}
