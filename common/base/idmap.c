/* idmap.c - a small number, the slot, for each job id */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/idmap.h"

static uint32_t hash_id(const struct egs_idmap *map, uint32_t id)
{
	return (id * UINT32_C(2654435761)) & (map->nindex - 1);
}

/* The bucket of 'id', or the empty bucket where it belongs. */
static uint32_t find_bucket(const struct egs_idmap *map, uint32_t id)
{
	uint32_t at = hash_id(map, id);

	while (map->index[at] && map->id[map->index[at] - 1] != id)
		at = (at + 1) & (map->nindex - 1);
	return at;
}

uint32_t egs_idmap_find(const struct egs_idmap *map, uint32_t id)
{
	uint32_t at;

	if (!map->nindex)
		return EGS_IDMAP_NONE;
	at = find_bucket(map, id);
	return map->index[at] ? map->index[at] - 1 : EGS_IDMAP_NONE;
}

static int grow_index(struct egs_idmap *map)
{
	uint32_t size = map->nindex ? 2 * map->nindex : 64;
	uint32_t *index;

	if (2 * (map->used + 1) <= map->nindex)
		return 0;
	index = calloc(size, sizeof(*index));
	if (!index)
		return -1;
	free(map->index);
	map->index = index;
	map->nindex = size;
	for (uint32_t i = 0; i < map->nslots; i++)
		if (map->id[i])
			map->index[find_bucket(map, map->id[i])] = i + 1;
	return 0;
}

/* 'free_slots' has room for all slots, so dropping an id never fails. */
static int grow_slots(struct egs_idmap *map)
{
	uint32_t want = map->nslots + !map->nfree;

	if (egs_grow(&map->id, &map->room, want) < 0 ||
	    egs_grow(&map->free_slots, &map->free_room, want) < 0)
		return -1;
	return 0;
}

uint32_t egs_idmap_add(struct egs_idmap *map, uint32_t id)
{
	uint32_t slot = egs_idmap_find(map, id);

	if (slot != EGS_IDMAP_NONE)
		return slot;
	if (grow_index(map) < 0 || grow_slots(map) < 0)
		return EGS_IDMAP_NONE;
	slot = map->nfree ? map->free_slots[--map->nfree] : map->nslots++;
	map->id[slot] = id;
	map->index[find_bucket(map, id)] = slot + 1;
	map->used++;
	return slot;
}

/* Move entries behind the gap up.  Otherwise a search would stop at the gap. */
static void close_gap(struct egs_idmap *map, uint32_t gap)
{
	const uint32_t mask = map->nindex - 1;
	uint32_t at = gap;

	for (;;) {
		uint32_t from;

		at = (at + 1) & mask;
		if (!map->index[at])
			return;
		from = hash_id(map, map->id[map->index[at] - 1]);
		if (((at - from) & mask) < ((at - gap) & mask))
			continue;
		map->index[gap] = map->index[at];
		map->index[at] = 0;
		gap = at;
	}
}

void egs_idmap_drop(struct egs_idmap *map, uint32_t id)
{
	uint32_t slot = egs_idmap_find(map, id), at;

	if (slot == EGS_IDMAP_NONE)
		return;
	at = find_bucket(map, id);
	map->index[at] = 0;
	close_gap(map, at);
	map->id[slot] = 0;
	map->free_slots[map->nfree++] = slot;
	map->used--;
}

void egs_idmap_clear(struct egs_idmap *map)
{
	free(map->index);
	free(map->id);
	free(map->free_slots);
	memset(map, 0, sizeof(*map));
}
