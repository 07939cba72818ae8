/* hint_sources.c - read the hint of a job from all of its sources
 *
 * This file does not need Slurm: t/unit/hint_sources.c plays a hostile client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hint/comment_json.h"
#include "plugins/job_submit/hint_sources.h"

/* The names are made in slurm-22.05 plugstack.h:49 and plugstack.c:1400. */
#define SPANK_PREFIX "_SLURM_SPANK_OPTION_egs_"
#define HINT_PREFIX  "EGS_HINT="

static bool starts_with(const char *text, const char *with)
{
	return text && !strncmp(text, with, strlen(with));
}

/* Split the option 'typed' into the key of a hint and its value, which is
 * returned.  Slurm writes '_' for '-' in options, and a site may prefix options
 * with "egs-".
 */
static const char *split_option(char key[EGS_HINT_VALUE_MAX + 1],
				const char *typed)
{
	size_t len, kept;

	if (starts_with(typed, "egs_"))
		typed += 4;
	len = strcspn(typed, "=");
	kept = len < EGS_HINT_VALUE_MAX ? len : EGS_HINT_VALUE_MAX;
	for (size_t i = 0; i < kept; i++)
		key[i] = typed[i] == '_' ? '-' : typed[i];
	key[kept] = '\0';
	return typed[len] ? typed + len + 1 : "";
}

/* Read one option: --egs into '*from_egs', any other into '*from_options'. */
static int read_option(struct egs_hint *from_options, struct egs_hint *from_egs,
		       const char *var, const struct egs_hint_site *site,
		       struct egs_err *err)
{
	char key[EGS_HINT_VALUE_MAX + 1];
	const char *value;

	if (!starts_with(var, SPANK_PREFIX))
		return 0;
	value = split_option(key, var + sizeof(SPANK_PREFIX) - 1);
	if (strcmp(key, "egs") != 0)
		return egs_hint_set(from_options, key, value, site, err);
	memset(from_egs, 0, sizeof(*from_egs));
	return egs_hint_parse(from_egs, value, site, err);
}

/* The hint of each source, and its differences from the sources before.  Not on
 * the stack: slurmctld has a thread for each submission.  When a thread ends,
 * the C library unmaps what it used of its stack beyond 16 kB, and that
 * interrupts all other processors.
 */
struct source_hints {
	struct egs_hint from_options, from_egs, from_env, from_comment;
	struct egs_text differences[3];
};

static int read_options(struct source_hints *r,
			const struct egs_hint_sources *sources,
			const struct egs_hint_site *site, struct egs_err *err)
{
	for (size_t i = 0; sources->spank && i < sources->nspank; i++)
		if (read_option(&r->from_options, &r->from_egs,
				sources->spank[i], site, err) < 0)
			return -1;
	return 0;
}

static int read_env(struct egs_hint *hint,
		    const struct egs_hint_sources *sources,
		    const struct egs_hint_site *site, struct egs_err *err)
{
	for (size_t i = 0; sources->env && i < sources->nenv; i++)
		if (starts_with(sources->env[i], HINT_PREFIX) &&
		    egs_hint_parse(hint,
				   sources->env[i] + sizeof(HINT_PREFIX) - 1,
				   site, err) < 0)
			return egs_errf(err, "EGS_HINT: %s", err->msg);
	return 0;
}

static int read_sources(struct source_hints *r,
			const struct egs_hint_sources *sources,
			const struct egs_hint_site *site, struct egs_err *err)
{
	if (read_options(r, sources, site, err) < 0 ||
	    read_env(&r->from_env, sources, site, err) < 0 ||
	    egs_comment_json_read(&r->from_comment, sources->comment, site,
				  err) < 0)
		return -1;
	egs_hint_merge(&r->from_options, &r->from_egs, &r->differences[0]);
	egs_hint_merge(&r->from_options, &r->from_env, &r->differences[1]);
	egs_hint_merge(&r->from_options, &r->from_comment, &r->differences[2]);
	return 0;
}

static void note_differences(const struct egs_text differ[3],
			     struct egs_err *note)
{
	note->msg[0] = '\0';
	if (*differ[0].text)
		egs_errf(note,
			 "--egs differs from an option in %s; the option is "
			 "used",
			 differ[0].text);
	else if (*differ[1].text)
		egs_errf(note,
			 "EGS_HINT differs from the options in %s; the options "
			 "are used",
			 differ[1].text);
	else if (*differ[2].text)
		egs_errf(note,
			 "--comment differs from the other hints in %s; "
			 "--comment is ignored",
			 differ[2].text);
}

int egs_hint_sources_read(struct egs_hint *hint,
			  const struct egs_hint_sources *sources,
			  const struct egs_hint_site *site,
			  struct egs_err *note, struct egs_err *err)
{
	struct source_hints *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return egs_errf(err, "out of memory");
	rc = read_sources(r, sources, site, err);
	if (rc == 0) {
		note_differences(r->differences, note);
		*hint = r->from_options;
	}
	free(r);
	return rc;
}

bool egs_hint_sources_is_var(const char *var)
{
	return starts_with(var, SPANK_PREFIX) ||
	       starts_with(var, "SLURM_SPANK_" SPANK_PREFIX) ||
	       starts_with(var, HINT_PREFIX);
}

void egs_hint_sources_format(const struct egs_hint *hint,
			     char buf[EGS_HINT_VAR_MAX])
{
	char text[EGS_HINT_MAX + 1];

	egs_hint_format(hint, text, sizeof(text));
	snprintf(buf, EGS_HINT_VAR_MAX, SPANK_PREFIX "egs=%s", text);
}
