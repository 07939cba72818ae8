/* intern.c - each name once, known by a number */
#include <stdlib.h>
#include <string.h>

#include "common/base/intern.h"

static uint32_t hash_name(const char *s)
{
	uint32_t h = 2166136261U;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619U;
	return h;
}

/* Where 'name' stands in the index, or the empty place where it belongs. */
static uint32_t find_bucket(const struct egs_intern *names, const char *name)
{
	uint32_t at = hash_name(name) & (names->nindex - 1);

	while (names->index[at] &&
	       strcmp(names->name[names->index[at] - 1], name) != 0)
		at = (at + 1) & (names->nindex - 1);
	return at;
}

static int grow_table(struct egs_intern *names)
{
	uint32_t room = names->room ? 2 * names->room : 32, i;
	uint32_t *index;
	char **name;

	if (names->count < names->room)
		return 0;
	name = realloc(names->name, room * sizeof(*name));
	if (!name)
		return -1;
	names->name = name;
	index = calloc(2 * (size_t)room, sizeof(*index));
	if (!index)
		return -1;
	free(names->index);
	names->index = index;
	names->nindex = 2 * room;
	names->room = room;
	for (i = 0; i < names->count; i++)
		names->index[find_bucket(names, names->name[i])] = i + 1;
	return 0;
}

uint32_t egs_intern_add(struct egs_intern *names, const char *name)
{
	uint32_t at;
	char *copy;

	if (!name || !*name || grow_table(names) < 0)
		return 0;
	at = find_bucket(names, name);
	if (names->index[at])
		return names->index[at];
	copy = strdup(name);
	if (!copy)
		return 0;
	names->name[names->count++] = copy;
	names->index[at] = names->count;
	return names->count;
}

uint32_t egs_intern_find(const struct egs_intern *names, const char *name)
{
	return names->nindex ? names->index[find_bucket(names, name)] : 0;
}

const char *egs_intern_get(const struct egs_intern *names, uint32_t number)
{
	return number && number <= names->count ? names->name[number - 1] : "";
}

void egs_intern_clear(struct egs_intern *names)
{
	uint32_t i;

	for (i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
	free(names->index);
	memset(names, 0, sizeof(*names));
}
