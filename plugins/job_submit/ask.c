/* ask.c - options of spank_egs, from the environment that carries them
 *
 * No Slurm in here: t/unit/ask.c feeds it what a hostile client might.
 */
#include <string.h>

#include "plugins/job_submit/ask.h"

/* slurm-22.05 plugstack.h:49 and plugstack.c:1400 make the name. */
static const char prefix[] = "_SLURM_SPANK_OPTION_egs_";

/* The key's name as a hint has it: Slurm writes '_' for '-' in options.
 * 'typed' ends at its '=', or with the string.  Returns its value.
 */
static const char *split(char key[EGS_NAME_MAX + 1], const char *typed)
{
	size_t len = strcspn(typed, "=");
	size_t kept = len < EGS_NAME_MAX ? len : EGS_NAME_MAX;

	for (size_t i = 0; i < kept; i++)
		key[i] = typed[i] == '_' ? '-' : typed[i];
	key[kept] = '\0';
	return typed[len] ? typed + len + 1 : "";
}

static int read_one(struct egs_hint *hint, const char *var, struct egs_err *err)
{
	char key[EGS_NAME_MAX + 1];
	const char *value;

	if (!var || strncmp(var, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	value = split(key, var + sizeof(prefix) - 1);
	return egs_hint_set(hint, key, value, NULL, err);
}

int egs_ask_read(struct egs_hint *hint, char *const *env, size_t count,
		 struct egs_err *err)
{
	struct egs_hint new = { 0 };

	for (size_t i = 0; env && i < count; i++)
		if (read_one(&new, env[i], err) < 0)
			return -1;
	*hint = new;
	return 0;
}
