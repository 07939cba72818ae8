/* grow.h - growing arrays, and counts that stop at zero
 *
 * These functions are pure: they use memory and nothing else.  So the policy
 * and its rules may call them.
 */
#ifndef EGS_BASE_GROW_H
#define EGS_BASE_GROW_H

#include <stddef.h>
#include <stdint.h>

/* Make a malloc'ed array hold at least 'want' elements.
 *
 *	if (egs_grow(&list->item, &list->room, list->count + 1) < 0)
 *		return -1;
 *	list->item[list->count++] = item;
 *
 * 'array' is the address of the pointer, which is NULL for an empty array.
 * 'room' is the address of the number of elements that fit: a size_t or a
 * uint32_t.  The array grows by a quarter or more, and new elements are zero.
 * Returns 0, or -1 without memory, with array and room as they were.
 */
#define egs_grow(array, room, want)                            \
	egs_grow_any((array), (room), sizeof(*(room)), (want), \
		     sizeof(**(array)))

int egs_grow_any(void *array, void *room, size_t room_size, size_t want,
		 size_t size);

/* a - b, or 0 if 'b' is larger. */
static inline uint32_t egs_sub(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

#endif
