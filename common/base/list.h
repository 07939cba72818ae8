/* list.h - elements of "a,b,c", as Slurm and egs.conf write lists */
#ifndef EGS_BASE_LIST_H
#define EGS_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* The next element of '*list', '*len' bytes long and not terminated.  NULL at
 * the end, or if '*list' is NULL.  Moves '*list' behind the element.
 *
 *	while ((name = egs_list_next(&list, &len)))
 *		add_name(name, len);
 *
 * "a,,b" has an empty element in the middle; "a," has one element.
 */
const char *egs_list_next(const char **list, size_t *len);

/* Is 'name' an element of 'list'?  Upper and lower case differ.  NULL is an
 * empty list.
 */
bool egs_list_has(const char *list, const char *name);

/* The same, where upper and lower case are the same, as to Slurm. */
bool egs_list_has_word(const char *list, const char *word);

#endif
