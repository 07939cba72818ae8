/* hint_sources.h - read the hint of a job from all of its sources */
#ifndef EGS_JOB_SUBMIT_HINT_SOURCES_H
#define EGS_JOB_SUBMIT_HINT_SOURCES_H

#include <stddef.h>

#include "common/base/err.h"
#include "common/hint/hint.h"

/* The sources of a hint, the strongest first.  A client may send anything: each
 * pointer, and each string of an array, may be NULL.
 */
struct egs_hint_sources {
	/* The options of spank_egs as Slurm sends them: variables
	 * _SLURM_SPANK_OPTION_egs_KEY=VALUE among others.  Single options
	 * override --egs.  If an option occurs twice, the last one counts.
	 */
	char *const *spank;
	size_t nspank;
	/* The environment of the job.  EGS_HINT has the grammar of --egs and
	 * is for REST and other clients without SPANK.
	 */
	char *const *env;
	size_t nenv;
	/* --comment may have {"egs":{"phase":"train"}}.  Text that is not JSON
	 * or has no "egs" is an ordinary comment.
	 */
	const char *comment;
};

/* Read all sources into '*hint'.  A weaker source adds keys that the stronger
 * ones lack.  If sources differ, 'note' gets a sentence, else it is "". Returns
 * 0, with an empty hint if no source has one, or -1 with 'err' set and '*hint'
 * left as it was: a key or a value is refused.
 */
int egs_hint_sources_read(struct egs_hint *hint,
			  const struct egs_hint_sources *sources,
			  const struct egs_hint_site *site,
			  struct egs_err *note, struct egs_err *err);

/* Is 'var' a variable with a hint?  The job does not get such variables. */
bool egs_hint_sources_is_var(const char *var);

/* Write the variable that gives 'hint' to spank_egs on the node. */
#define EGS_HINT_VAR_MAX (sizeof("_SLURM_SPANK_OPTION_egs_egs=") + EGS_HINT_MAX)
void egs_hint_sources_format(const struct egs_hint *hint,
			     char buf[EGS_HINT_VAR_MAX]);

#endif
