/* call.c - send a request to the daemon and print the answer */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/egsctl/call.h"
#include "cmd/lib/find_daemon.h"
#include "cmd/lib/print_clean.h"
#include "cmd/lib/print_table.h"
#include "common/ipc/client.h"

enum { TIMEOUT_MAX_S = 3600 };

static int parse_timeout(const char *text, int *ms, struct egs_err *err)
{
	char *end;
	long seconds = strtol(text, &end, 10);

	if (*end || end == text || seconds < 1 || seconds > TIMEOUT_MAX_S)
		return egs_errf(err,
				"--timeout=%s is not a number from 1 to %d",
				egs_printable(text).text, TIMEOUT_MAX_S);
	*ms = (int)seconds * 1000;
	return 0;
}

static int print_value(void *arg, const char *key, const char *value)
{
	struct egs_text text;

	(void)arg;
	if (!value || strcmp(key, "ok") == 0)
		return 0;
	/* A sentence for a person; the other keys are for scripts. */
	if (strcmp(key, "message") == 0)
		egs_textf(&text, "%s", value);
	else
		egs_textf(&text, "%s=%s", key, value);
	return printf("%s\n", text.text) < 0 ? -1 : 0;
}

int egsctl_print_answer(const struct egs_msg *answer, const char *name,
			const struct egs_listing_style *style,
			struct egs_err *err)
{
	size_t columns, rows, len;

	if (egs_msg_check_table(answer, &columns, &rows, NULL) == 0)
		return egs_print_table(answer, name, style, err);
	if (style->json)
		egs_print_clean_line(stdout, NULL,
				     egs_msg_to_text(answer, &len));
	else
		egs_msg_each(answer, print_value, NULL);
	if (fflush(stdout) != 0)
		return egs_errf(err, "the answer could not be written");
	return 0;
}

int egsctl_ask(const struct egs_msg *request, const struct egsctl_options *ctl,
	       struct egs_msg **answer, struct egs_err *err)
{
	struct egs_endpoint daemon;
	struct egs_daemon_addr addr;
	int ms = 0, rc;

	*answer = NULL;
	if (!request) {
		egs_errf(err, "out of memory");
		return EGSCTL_FAILED;
	}
	if (parse_timeout(ctl->timeout, &ms, err) < 0 ||
	    egs_find_daemon(&addr, ctl->address, ctl->cluster, &daemon, err) <
		    0)
		return EGSCTL_FAILED;
	rc = egs_client_call(&daemon, request, answer, ms, err);
	if (rc == 0)
		return EGSCTL_DONE;
	return rc == EGS_CLIENT_UNREACHABLE || rc == EGS_CLIENT_FORGED
		       ? EGSCTL_UNREACHABLE
		       : EGSCTL_FAILED;
}

int egsctl_call(const struct egs_msg *request, const char *name,
		const struct egsctl_options *ctl)
{
	struct egs_msg *answer;
	struct egs_err err;
	int code = egsctl_ask(request, ctl, &answer, &err);

	if (code == EGSCTL_DONE &&
	    egsctl_print_answer(answer, name, &ctl->style, &err) < 0)
		code = EGSCTL_FAILED;
	egs_msg_free(answer);
	if (code != EGSCTL_DONE)
		egsctl_print_error(&err);
	return code;
}
