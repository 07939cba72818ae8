/* idmap.h - a small number, the slot, for each job id
 *
 * An id keeps its slot until the id is dropped; then another id may get the
 * slot.  Slots are dense, so arrays can be indexed by them.
 */
#ifndef EGS_BASE_IDMAP_H
#define EGS_BASE_IDMAP_H

#include <stdint.h>

#define EGS_IDMAP_NONE UINT32_MAX

/* All zero is an empty map. */
struct egs_idmap {
	uint32_t *index; /* slot + 1 by hash of the id, 0: none */
	uint32_t nindex; /* a power of two */
	uint32_t *id;	 /* by slot, 0: not used */
	uint32_t nslots, room, used;
	uint32_t *free_slots;
	uint32_t nfree, free_room;
};

/* The slot of 'id', or EGS_IDMAP_NONE.  An id is never 0. */
uint32_t egs_idmap_find(const struct egs_idmap *map, uint32_t id);

/* The slot of 'id', a new one if it has none; EGS_IDMAP_NONE without memory. */
uint32_t egs_idmap_add(struct egs_idmap *map, uint32_t id);

void egs_idmap_drop(struct egs_idmap *map, uint32_t id);

/* Free the map's memory and make it empty. */
void egs_idmap_clear(struct egs_idmap *map);

#endif
