/* user_groups.c - the groups of users, each asked for every ten minutes
 *
 * The directory behind getgrouplist() may be far away and slow; ten thousand
 * jobs belong to a few dozen users.
 */
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/intern.h"
#include "policyd/slurm/user_groups.h"

enum { GROUPS_MAX = 256 };

static struct {
	struct egs_intern users;
	struct cached_groups {
		char *list;
		time_t fetched_at;
	} * answer; /* by number of the user - 1 */
	uint32_t n;
} self;

/* "a,b" of so many group ids; those without a name are left out. */
static char *format_groups(const gid_t *gid, int n)
{
	size_t used = 0, room = 0;
	char *list = NULL;
	int i;

	for (i = 0; i < n; i++) {
		const struct group *g = getgrgid(gid[i]);
		size_t len = g ? strlen(g->gr_name) : 0;

		if (!g)
			continue;
		if (used + len + 2 > room) {
			char *more = realloc(list, room = 2 * room + len + 64);

			if (!more)
				break;
			list = more;
		}
		if (used)
			list[used++] = ',';
		memcpy(list + used, g->gr_name, len + 1);
		used += len;
	}
	return list;
}

static char *fetch_groups(const char *user)
{
	const struct passwd *pw = getpwnam(user);
	gid_t gid[GROUPS_MAX];
	int n = GROUPS_MAX;

	if (!pw)
		return NULL;
	if (getgrouplist(user, pw->pw_gid, gid, &n) < 0)
		n = GROUPS_MAX;
	return format_groups(gid, n);
}

static struct cached_groups *get_entry(const char *user)
{
	uint32_t number = egs_intern_add(&self.users, user);

	if (!number)
		return NULL;
	if (number > self.n) {
		struct cached_groups *more =
			realloc(self.answer, (number + 15) * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + self.n, 0,
		       (number + 15 - self.n) * sizeof(*more));
		self.answer = more;
		self.n = number + 15;
	}
	return &self.answer[number - 1];
}

const char *egs_user_groups_get(const char *user, time_t now)
{
	struct cached_groups *a = get_entry(user);

	if (!a)
		return NULL;
	if (!a->fetched_at || now - a->fetched_at >= EGS_USER_GROUPS_TTL_S ||
	    now < a->fetched_at) {
		free(a->list);
		a->list = fetch_groups(user);
		a->fetched_at = now;
	}
	return a->list;
}
