/* grow.c - growing arrays */
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"

enum { ROOM_MIN = 16 };

static size_t get_room(const void *room, size_t room_size)
{
	return room_size == sizeof(uint32_t) ? *(const uint32_t *)room
					     : *(const size_t *)room;
}

static void set_room(void *room, size_t room_size, size_t value)
{
	if (room_size == sizeof(uint32_t))
		*(uint32_t *)room = (uint32_t)value;
	else
		*(size_t *)room = value;
}

/* 'array' points to a pointer of any type, so it is copied and not cast. */
static int resize_array(void *array, size_t from, size_t to, size_t size)
{
	char *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = realloc(old, to * size);
	if (!grown)
		return -1;
	memset(grown + from * size, 0, (to - from) * size);
	memcpy(array, &grown, sizeof(grown));
	/* cppcheck-suppress memleak */
	return 0;
}

int egs_grow_any(void *array, void *room, size_t room_size, size_t want,
		 size_t size)
{
	const size_t most =
		room_size == sizeof(uint32_t) ? UINT32_MAX / 2 : SIZE_MAX;
	size_t old_room = get_room(room, room_size);
	size_t new_room = old_room + old_room / 4;

	if (want <= old_room)
		return 0;
	if (new_room < ROOM_MIN)
		new_room = ROOM_MIN;
	if (new_room < want)
		new_room = want;
	if (want > most || new_room > SIZE_MAX / size ||
	    resize_array(array, old_room, new_room, size) < 0)
		return -1;
	set_room(room, room_size, new_room);
	return 0;
}
