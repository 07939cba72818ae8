/* hint_sources.h - what the client asked for, as slurmctld receives it */
#ifndef EGS_JOB_SUBMIT_HINT_SOURCES_H
#define EGS_JOB_SUBMIT_HINT_SOURCES_H

#include <stddef.h>

#include "common/base/err.h"
#include "common/hint/hint.h"

/* The roads on which a hint comes, the strongest first.  A client may send
 * anything: each of these, and each string of an array, may be NULL.
 */
struct egs_hint_sources {
	/* The options of spank_egs, as Slurm sends them: variables
	 * _SLURM_SPANK_OPTION_egs_KEY=VALUE among others.  Options by name go
	 * before --egs; of one that comes twice the last one counts.
	 */
	char *const *spank;
	size_t nspank;
	/* The environment of the job, where EGS_HINT has the grammar of
	 * --egs, for REST and other clients without SPANK.
	 */
	char *const *env;
	size_t nenv;
	/* --comment, where {"egs":{"phase":"train"}} says the same.  What is
	 * not JSON, or has no "egs", is a comment and nothing else.
	 */
	const char *comment;
};

/* Read all roads into '*hint'.  A weaker one adds keys that the stronger ones
 * lack; where they differ, 'note' gets a sentence, else it is "".  Returns 0,
 * with an empty hint where nothing was asked, or -1 with 'err' set and '*hint'
 * left as it was: a key or a value is refused.
 */
int egs_hint_sources_read(struct egs_hint *hint,
			  const struct egs_hint_sources *ask,
			  const struct egs_hint_site *site,
			  struct egs_err *note, struct egs_err *err);

/* Is 'var' a variable that carries a hint, by one road or another?  Such are
 * not handed on to the job.
 */
bool egs_hint_sources_is_var(const char *var);

/* The variable that tells spank_egs on the node what 'hint' is. */
#define EGS_HINT_VAR_MAX (sizeof("_SLURM_SPANK_OPTION_egs_egs=") + EGS_HINT_MAX)
void egs_hint_sources_format(const struct egs_hint *hint,
			     char buf[EGS_HINT_VAR_MAX]);

#endif
