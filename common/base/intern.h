/* intern.h - a number for each name, and each name stored once
 *
 * Ten thousand jobs share a few dozen users and accounts.
 */
#ifndef EGS_BASE_INTERN_H
#define EGS_BASE_INTERN_H

#include <stdint.h>

/* All zero is an empty list. */
struct egs_intern {
	char **name;
	uint32_t count, room;
	uint32_t *index; /* numbers by hash of the name, 0: none */
	uint32_t nindex;
};

/* The number of 'name', from 1; 0 for NULL, for "" and without memory. */
uint32_t egs_intern_add(struct egs_intern *names, const char *name);

/* The number of 'name', 0 if it has none. */
uint32_t egs_intern_find(const struct egs_intern *names, const char *name);

/* The name of a number; "" for 0. */
const char *egs_intern_get(const struct egs_intern *names, uint32_t number);

/* Free all names and make the list empty. */
void egs_intern_clear(struct egs_intern *names);

#endif
