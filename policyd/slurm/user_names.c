/* user_names.c - the names of users, each asked for every ten minutes */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/idmap.h"
#include "policyd/slurm/user_names.h"

static struct {
	struct egs_idmap uids; /* uid + 1, as 0 is none there */
	struct answer {
		char *name;
		time_t at;
	} * answer; /* by slot */
	uint32_t n;
} self;

static struct answer *answer_of(uint32_t uid)
{
	uint32_t slot =
		uid + 1 ? egs_idmap_add(&self.uids, uid + 1) : EGS_IDMAP_NONE;
	struct answer *more;

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

const char *egs_user_name(uint32_t uid, time_t now)
{
	struct answer *a = answer_of(uid);
	const struct passwd *pw;

	if (!a)
		return NULL;
	if (!a->at || now - a->at >= EGS_USERS_S || now < a->at) {
		pw = getpwuid(uid);
		free(a->name);
		a->name = pw ? strdup(pw->pw_name) : NULL;
		a->at = now;
	}
	return a->name;
}
