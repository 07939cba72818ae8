/* intern.c - a number for each name, and each name stored once */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hash.h"
#include "common/base/intern.h"

/* The bucket of 'name', or the empty bucket where it belongs. */
static uint32_t find_bucket(const struct egs_intern *names, const char *name)
{
	uint32_t mask = names->nindex - 1;
	uint32_t at = (uint32_t)egs_hash_text(EGS_HASH_START, name) & mask;

	while (names->index[at] &&
	       strcmp(names->name[names->index[at] - 1], name) != 0)
		at = (at + 1) & mask;
	return at;
}

static int grow_index(struct egs_intern *names)
{
	uint32_t size = names->nindex ? 2 * names->nindex : 64;
	uint32_t *index;

	if (2 * (names->count + 1) <= names->nindex)
		return 0;
	index = calloc(size, sizeof(*index));
	if (!index)
		return -1;
	free(names->index);
	names->index = index;
	names->nindex = size;
	for (uint32_t i = 0; i < names->count; i++)
		names->index[find_bucket(names, names->name[i])] = i + 1;
	return 0;
}

uint32_t egs_intern_add(struct egs_intern *names, const char *name)
{
	uint32_t at;
	char *copy;

	if (!name || !*name || grow_index(names) < 0 ||
	    egs_grow(&names->name, &names->room, names->count + 1) < 0)
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
	for (uint32_t i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
	free(names->index);
	memset(names, 0, sizeof(*names));
}
