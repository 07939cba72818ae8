/* save_signal.c - the signal that tells a job to checkpoint: [B:]SIG[@SECS] */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/array.h"
#include "common/conf/values.h"
#include "common/hint/save_signal.h"

enum { LAST_SIGNAL = 64 }; /* the last real-time signal of Linux */

static const struct {
	const char *name;
	uint16_t number;
} signal_names[] = {
	{ "HUP", SIGHUP },     { "INT", SIGINT },   { "QUIT", SIGQUIT },
	{ "ABRT", SIGABRT },   { "KILL", SIGKILL }, { "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 },   { "ALRM", SIGALRM }, { "TERM", SIGTERM },
	{ "CONT", SIGCONT },   { "STOP", SIGSTOP }, { "TSTP", SIGTSTP },
	{ "TTIN", SIGTTIN },   { "TTOU", SIGTTOU }, { "URG", SIGURG },
	{ "XCPU", SIGXCPU },   { "XFSZ", SIGXFSZ }, { "PROF", SIGPROF },
	{ "WINCH", SIGWINCH }, { "PWR", SIGPWR },
};

/* The number of a signal, from a name with or without SIG, or a number; 0:
 * neither.
 */
static uint16_t parse_number(const char *text)
{
	const char *name = strncasecmp(text, "SIG", 3) ? text : text + 3;
	uint32_t number;

	for (size_t i = 0; i < ARRAY_SIZE(signal_names); i++)
		if (!strcasecmp(name, signal_names[i].name))
			return signal_names[i].number;
	if (egs_conf_read_number(text, &number, NULL) < 0 ||
	    number > LAST_SIGNAL)
		return 0;
	return (uint16_t)number;
}

int egs_save_signal_parse(const char *text, struct egs_save_signal *out,
			  struct egs_err *err)
{
	struct egs_save_signal new = { .to_batch_shell =
					       !strncasecmp(text, "B:", 2) };
	char name[EGS_CONF_VALUE_MAX + 1];
	const char *at;
	uint32_t before = 0;
	size_t len;

	text += new.to_batch_shell ? 2 : 0;
	len = strcspn(text, "@");
	at = text + len;
	if (len < sizeof(name)) {
		memcpy(name, text, len);
		name[len] = '\0';
		new.number = parse_number(name);
	}
	if (!new.number)
		return egs_errf(err, "is not a signal, which is [B:]SIG[@SECS] "
				     "such as B:USR1@60");
	if (*at && (egs_conf_read_number(at + 1, &before, NULL) < 0 ||
		    before > UINT16_MAX))
		return egs_errf(err,
				"has no number of seconds up to %d behind "
				"the '@'",
				UINT16_MAX);
	new.before_s = (uint16_t)before;
	*out = new;
	return 0;
}

void egs_save_signal_format(const struct egs_save_signal *signal, char *buf,
			    size_t size)
{
	char number[8], before[8] = "";
	const char *name = number;

	snprintf(number, sizeof(number), "%d", signal->number);
	for (size_t i = 0; i < ARRAY_SIZE(signal_names); i++)
		if (signal_names[i].number == signal->number)
			name = signal_names[i].name;
	if (signal->before_s)
		snprintf(before, sizeof(before), "@%d", signal->before_s);
	snprintf(buf, size, "%s%s%s", signal->to_batch_shell ? "B:" : "", name,
		 before);
}

bool egs_save_signal_can_catch(const struct egs_save_signal *signal)
{
	return signal->number != SIGKILL && signal->number != SIGSTOP;
}
