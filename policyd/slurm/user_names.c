/* user_names.c - the names of users, each asked for every ten minutes */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/idmap.h"
#include "policyd/slurm/user_names.h"

static struct {
	struct egs_idmap uids; /* uid + 1, as 0 is none there */
	struct cached_name {
		char *name;
		time_t fetched_at;
	} * answer; /* by slot */
	uint32_t n;
} self;

static struct cached_name *get_entry(uint32_t uid)
{
	uint32_t slot =
		uid + 1 ? egs_idmap_add(&self.uids, uid + 1) : EGS_IDMAP_NONE;
	struct cached_name *more;

	if (slot == EGS_IDMAP_NONE)
		return NULL;
	if (slot < self.n)
		return &self.answer[slot];
	more = realloc(self.answer, (slot + 16) * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + self.n, 0, (slot + 16 - self.n) * sizeof(*more));
	self.answer = more;
	self.n = slot + 16;
	return &self.answer[slot];
}

const char *egs_user_names_get(uint32_t uid, time_t now)
{
	struct cached_name *a = get_entry(uid);
	const struct passwd *pw;

	if (!a)
		return NULL;
	if (!a->fetched_at || now - a->fetched_at >= EGS_USER_NAMES_TTL_S ||
	    now < a->fetched_at) {
		pw = getpwuid(uid);
		free(a->name);
		a->name = pw ? strdup(pw->pw_name) : NULL;
		a->fetched_at = now;
	}
	return a->name;
}
