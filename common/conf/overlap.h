/* overlap.h - a name that two lists claim */
#ifndef EGS_CONF_OVERLAP_H
#define EGS_CONF_OVERLAP_H

#include <stddef.h>

/* 'entry' of list 'owner' is in list 'other' too, or matches what is. */
typedef void egs_conf_overlap_fn(void *arg, const char *entry, int owner,
				 int other);

/* Call 'found' for the entries that two of 'lists' share, and give the later
 * list as the owner.  An entry "x*" stands for all that begins with x; a NULL
 * list is empty.  Takes the time of a sort, whatever the lists.  Returns 0, or
 * -1 when out of memory.
 */
int egs_conf_find_overlaps(const char *const *lists, int count,
			   egs_conf_overlap_fn *found, void *arg);

#endif
