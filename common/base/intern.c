/* intern.c - each name once, known by a number */
#include <stdlib.h>
#include <string.h>

#include "common/base/intern.h"

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261U;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619U;
	return h;
}

/* Where 'name' stands in the index, or the empty place where it belongs. */
static uint32_t place(const struct egs_names *names, const char *name)
{
	uint32_t at = hash(name) & (names->nindex - 1);

	while (names->index[at] &&
	       strcmp(names->name[names->index[at] - 1], name) != 0)
		at = (at + 1) & (names->nindex - 1);
	return at;
}

static int grow(struct egs_names *names)
{
	uint32_t room = names->room ? 2 * names->room : 32, i;
	uint32_t *index;
	char **name;

	if (names->n < names->room)
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
	for (i = 0; i < names->n; i++)
		names->index[place(names, names->name[i])] = i + 1;
	return 0;
}

uint32_t egs_names_add(struct egs_names *names, const char *name)
{
	uint32_t at;
	char *copy;

	if (!name || !*name || grow(names) < 0)
		return 0;
	at = place(names, name);
	if (names->index[at])
		return names->index[at];
	copy = strdup(name);
	if (!copy)
		return 0;
	names->name[names->n++] = copy;
	names->index[at] = names->n;
	return names->n;
}

uint32_t egs_names_find(const struct egs_names *names, const char *name)
{
	return names->nindex ? names->index[place(names, name)] : 0;
}

const char *egs_names_get(const struct egs_names *names, uint32_t number)
{
	return number && number <= names->n ? names->name[number - 1] : "";
}

void egs_names_clear(struct egs_names *names)
{
	uint32_t i;

	for (i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names->name);
	free(names->index);
	memset(names, 0, sizeof(*names));
}
