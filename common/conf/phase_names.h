/* phase_names.h - the phases that every site has, and other words for them
 *
 * egs.conf and hints accept the same words: both look here.
 */
#ifndef EGS_CONF_PHASE_NAMES_H
#define EGS_CONF_PHASE_NAMES_H

/* A word that is accepted and the one it stands for. */
struct egs_alias {
	const char *typed;
	const char *means;
};

enum { EGS_PHASE_NAMES = 16 };

/* The canonical names first: there both words are the same. */
extern const struct egs_alias egs_phase_names[EGS_PHASE_NAMES];

/* The phase that 'typed' stands for, upper or lower case, or NULL. */
const char *egs_phase_names_find(const char *typed);

#endif
