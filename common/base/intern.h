/* intern.h - each name once, known by a number
 *
 * Ten thousand jobs have a few dozen users and accounts between them.
 */
#ifndef EGS_BASE_INTERN_H
#define EGS_BASE_INTERN_H

#include <stdint.h>

/* All zero is an empty list. */
struct egs_names {
	char **name;
	uint32_t n, room;
	uint32_t *index; /* number by hash of the name, 0: none */
	uint32_t nindex;
};

/* The number of 'name', from 1; 0 for NULL, "" and when out of memory. */
uint32_t egs_names_add(struct egs_names *names, const char *name);

/* The number of a name that is there, 0 if it is not. */
uint32_t egs_names_find(const struct egs_names *names, const char *name);

/* The name of a number; "" for 0. */
const char *egs_names_get(const struct egs_names *names, uint32_t number);

/* Free what it holds. */
void egs_names_clear(struct egs_names *names);

#endif
