/* array.c - growing arrays */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

enum { ROOM_MIN = 16 };

/* 'array' points to a pointer of any type, so it is copied and not cast. */
int egs_grow_size(void *array, size_t *room, size_t want, size_t size)
{
	size_t new_room = *room + *room / 4;
	char *old, *grown;

	if (want <= *room)
		return 0;
	if (new_room < ROOM_MIN)
		new_room = ROOM_MIN;
	if (new_room < want)
		new_room = want;
	if (new_room > SIZE_MAX / size)
		return -1;
	memcpy(&old, array, sizeof(old));
	grown = realloc(old, new_room * size);
	if (!grown)
		return -1;
	memset(grown + *room * size, 0, (new_room - *room) * size);
	memcpy(array, &grown, sizeof(grown));
	*room = new_room;
	/* cppcheck-suppress memleak */
	return 0;
}

int egs_grow_u32(void *array, uint32_t *room, size_t want, size_t size)
{
	size_t new_room = *room;

	if (want > UINT32_MAX / 2 ||
	    egs_grow_size(array, &new_room, want, size) < 0)
		return -1;
	*room = (uint32_t)new_room;
	return 0;
}
