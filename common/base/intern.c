/* intern.c - a number for each name, and each name stored once */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hash.h"
#include "common/base/intern.h"

/* A shorter list is not worth a sweep. */
enum { SWEEP_MIN = 1024 };

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

static void fill_index(struct egs_intern *names)
{
	memset(names->index, 0, names->nindex * sizeof(*names->index));
	for (uint32_t i = 0; i < names->count; i++)
		if (names->name[i])
			names->index[find_bucket(names, names->name[i])] =
				i + 1;
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
	fill_index(names);
	return 0;
}

uint32_t egs_intern_add(struct egs_intern *names, const char *name)
{
	uint32_t at, number;
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
	number = names->nfree ? names->free_numbers[--names->nfree]
			      : ++names->count;
	names->name[number - 1] = copy;
	names->index[at] = number;
	return number;
}

uint32_t egs_intern_find(const struct egs_intern *names, const char *name)
{
	return names->nindex ? names->index[find_bucket(names, name)] : 0;
}

const char *egs_intern_get(const struct egs_intern *names, uint32_t number)
{
	const char *name = number && number <= names->count
				   ? names->name[number - 1]
				   : NULL;

	return name ? name : "";
}

bool egs_intern_begin_sweep(struct egs_intern *names)
{
	uint32_t live = names->count - names->nfree;

	if (live < SWEEP_MIN || live / 2 < names->nkept ||
	    egs_grow(&names->free_numbers, &names->free_room, names->count) < 0)
		return false;
	names->marked = calloc(names->count, sizeof(*names->marked));
	return names->marked != NULL;
}

void egs_intern_mark(struct egs_intern *names, uint32_t number)
{
	if (number && number <= names->count)
		names->marked[number - 1] = true;
}

void egs_intern_end_sweep(struct egs_intern *names)
{
	for (uint32_t i = 0; i < names->count; i++) {
		if (names->marked[i] || !names->name[i])
			continue;
		free(names->name[i]);
		names->name[i] = NULL;
		names->free_numbers[names->nfree++] = i + 1;
	}
	free(names->marked);
	names->marked = NULL;
	names->nkept = names->count - names->nfree;
	fill_index(names);
}

void egs_intern_clear(struct egs_intern *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		free(names->name[i]);
	free(names->name);
	free(names->index);
	free(names->free_numbers);
	memset(names, 0, sizeof(*names));
}
