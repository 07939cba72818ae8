/* intern.h - a number for each name, and each name stored once
 *
 * Ten thousand jobs share a few dozen users and accounts.  Users choose other
 * names freely, such as names of jobs, so the owner of a list drops unused
 * names from time to time:
 *
 *	if (egs_intern_begin_sweep(names)) {
 *		egs_intern_mark(names, job->name);	for each job
 *		egs_intern_end_sweep(names);
 *	}
 */
#ifndef EGS_BASE_INTERN_H
#define EGS_BASE_INTERN_H

#include <stdbool.h>
#include <stdint.h>

/* All zero is an empty list. */
struct egs_intern {
	char **name; /* by number - 1, NULL: the number is free */
	uint32_t count, room;
	uint32_t *index; /* numbers by hash of the name, 0: none */
	uint32_t nindex;
	uint32_t *free_numbers;
	uint32_t nfree, free_room;
	bool *marked;	/* by number - 1, during a sweep */
	uint32_t nkept; /* names after the last sweep */
};

/* The number of 'name', from 1; 0 for NULL, for "" and without memory. */
uint32_t egs_intern_add(struct egs_intern *names, const char *name);

/* The number of 'name', 0 if it has none. */
uint32_t egs_intern_find(const struct egs_intern *names, const char *name);

/* The name of a number; "" for 0. */
const char *egs_intern_get(const struct egs_intern *names, uint32_t number);

/* Begin to drop unused names; false if the list has not doubled since the last
 * time, or without memory.  Then mark the numbers in use, 0 is accepted, and
 * end.  Other numbers become free: new names get them.
 */
bool egs_intern_begin_sweep(struct egs_intern *names);
void egs_intern_mark(struct egs_intern *names, uint32_t number);
void egs_intern_end_sweep(struct egs_intern *names);

/* Free all names and make the list empty. */
void egs_intern_clear(struct egs_intern *names);

#endif
