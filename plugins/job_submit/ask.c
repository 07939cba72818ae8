/* ask.c - a hint, from whatever road it comes on
 *
 * No Slurm in here: t/unit/ask.c feeds it what a hostile client might.
 */
#include <stdio.h>
#include <string.h>

#include "plugins/job_submit/ask.h"
#include "plugins/job_submit/comment.h"

/* slurm-22.05 plugstack.h:49 and plugstack.c:1400 make the name. */
#define PREFIX "_SLURM_SPANK_OPTION_egs_"
#define HINT   "EGS_HINT="

static bool starts(const char *text, const char *with)
{
	return text && !strncmp(text, with, strlen(with));
}

/* The key's name as a hint has it: Slurm writes '_' for '-' in options, and a
 * site may have put "egs-" in front.  'typed' ends at its '=', or with the
 * string.  Returns its value.
 */
static const char *split(char key[EGS_NAME_MAX + 1], const char *typed)
{
	size_t len, kept;

	if (starts(typed, "egs_"))
		typed += 4;
	len = strcspn(typed, "=");
	kept = len < EGS_NAME_MAX ? len : EGS_NAME_MAX;
	for (size_t i = 0; i < kept; i++)
		key[i] = typed[i] == '_' ? '-' : typed[i];
	key[kept] = '\0';
	return typed[len] ? typed + len + 1 : "";
}

/* One option: '*whole' is what --egs says, '*named' all others. */
static int read_option(struct egs_hint *named, struct egs_hint *whole,
		       const char *var, const struct egs_hint_site *site,
		       struct egs_err *err)
{
	struct egs_hint new = { 0 };
	char key[EGS_NAME_MAX + 1];
	const char *value;

	if (!starts(var, PREFIX))
		return 0;
	value = split(key, var + sizeof(PREFIX) - 1);
	if (strcmp(key, "egs") != 0)
		return egs_hint_set(named, key, value, site, err);
	if (egs_hint_parse(&new, value, site, err) < 0)
		return -1;
	*whole = new;
	return 0;
}

static int read_options(struct egs_hint *hint, const struct egs_ask *ask,
			const struct egs_hint_site *site, struct egs_err *note,
			struct egs_err *err)
{
	struct egs_hint whole = { 0 };

	for (size_t i = 0; ask->spank && i < ask->nspank; i++)
		if (read_option(hint, &whole, ask->spank[i], site, err) < 0)
			return -1;
	egs_hint_fill(hint, &whole, note);
	return 0;
}

static int read_env(struct egs_hint *hint, const struct egs_ask *ask,
		    const struct egs_hint_site *site, struct egs_err *err)
{
	for (size_t i = 0; ask->env && i < ask->nenv; i++)
		if (starts(ask->env[i], HINT) &&
		    egs_hint_parse(hint, ask->env[i] + sizeof(HINT) - 1, site,
				   err) < 0)
			return egs_errf(err, "EGS_HINT: %s", err->msg);
	return 0;
}

int egs_ask_read(struct egs_hint *hint, const struct egs_ask *ask,
		 const struct egs_hint_site *site, struct egs_err *note,
		 struct egs_err *err)
{
	struct egs_hint new = { 0 }, env = { 0 }, comment = { 0 };
	struct egs_err differ[3];

	if (read_options(&new, ask, site, &differ[0], err) < 0 ||
	    read_env(&env, ask, site, err) < 0 ||
	    egs_comment_read(&comment, ask->comment, site, err) < 0)
		return -1;
	egs_hint_fill(&new, &env, &differ[1]);
	egs_hint_fill(&new, &comment, &differ[2]);
	note->msg[0] = '\0';
	if (*differ[0].msg)
		egs_errf(note,
			 "--egs and an option of its own differ in %s; "
			 "the option counts",
			 differ[0].msg);
	else if (*differ[1].msg)
		egs_errf(note,
			 "EGS_HINT and the options differ in %s; the "
			 "options count",
			 differ[1].msg);
	else if (*differ[2].msg)
		egs_errf(note,
			 "--comment and what is stronger differ in %s; "
			 "the comment does not count",
			 differ[2].msg);
	*hint = new;
	return 0;
}

bool egs_ask_carries(const char *var)
{
	return starts(var, PREFIX) || starts(var, "SLURM_SPANK_" PREFIX) ||
	       starts(var, HINT);
}

void egs_ask_tell(const struct egs_hint *hint, char buf[EGS_ASK_TELL_MAX])
{
	char text[EGS_HINT_MAX + 1];

	egs_hint_format(hint, text, sizeof(text));
	snprintf(buf, EGS_ASK_TELL_MAX, PREFIX "egs=%s", text);
}
