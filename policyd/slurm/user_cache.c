/* user_cache.c - names and groups of users, each read every ten minutes */
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/intern.h"
#include "policyd/slurm/user_cache.h"

enum { GROUPS_MAX = 256 };

/* The key of a name is ":UID", the key of groups is the name of the user: names
 * have no colon.
 */
static struct {
	struct egs_intern keys;
	struct cached_text {
		char *text;
		time_t fetched_at;
	} * entry; /* by number of the key - 1 */
	uint32_t room;
} self;

static char *fetch_name(const char *key)
{
	const struct passwd *pw = getpwuid((uid_t)strtoul(key + 1, NULL, 10));

	return pw ? strdup(pw->pw_name) : NULL;
}

/* "a,b"; groups without a name are left out. */
static char *format_groups(const gid_t *gid, int n)
{
	size_t used = 0, room = 0;
	char *list = NULL;

	for (int i = 0; i < n; i++) {
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

static struct cached_text *get_entry(const char *key)
{
	uint32_t number = egs_intern_add(&self.keys, key);

	if (!number || egs_grow(&self.entry, &self.room, number) < 0)
		return NULL;
	return &self.entry[number - 1];
}

static const char *get_text(const char *key, char *(*fetch)(const char *key),
			    time_t now)
{
	struct cached_text *e = get_entry(key);

	if (!e)
		return NULL;
	if (!e->fetched_at || now - e->fetched_at >= EGS_USER_CACHE_TTL_S ||
	    now < e->fetched_at) {
		free(e->text);
		e->text = fetch(key);
		e->fetched_at = now;
	}
	return e->text;
}

const char *egs_user_cache_name(uint32_t uid, time_t now)
{
	char key[16];

	snprintf(key, sizeof(key), ":%" PRIu32, uid);
	return get_text(key, fetch_name, now);
}

const char *egs_user_cache_groups(const char *user, time_t now)
{
	return get_text(user, fetch_groups, now);
}
