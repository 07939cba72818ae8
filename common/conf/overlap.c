/* overlap.c - a name that two lists claim
 *
 * Sorted, an entry "x*" stands before all that begins with x.  So one walk
 * does it, with a stack of the entries that match the current one.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/conf/overlap.h"

struct list_entry {
	const char *text;
	size_t len; /* without the '*' */
	bool glob;
	int owner;
};

static int compare_entries(const void *pa, const void *pb)
{
	const struct list_entry *a = pa;
	const struct list_entry *b = pb;
	int order = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

	if (order)
		return order;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	if (a->glob != b->glob)
		return a->glob ? -1 : 1;
	return (a->owner > b->owner) - (a->owner < b->owner);
}

static bool entry_matches(const struct list_entry *a,
			  const struct list_entry *b)
{
	return (a->glob ? a->len <= b->len : a->len == b->len) &&
	       memcmp(a->text, b->text, a->len) == 0;
}

/* Split 'list' into 'entries', or only count them if that is NULL. */
static size_t split_list(const char *list, int owner,
			 struct list_entry *entries)
{
	size_t count = 0;

	while (list && *list) {
		size_t len = strcspn(list, ",");
		bool glob = len && list[len - 1] == '*';

		if (entries)
			entries[count] = (struct list_entry){ list, len - glob,
							      glob, owner };
		count++;
		list += len + (list[len] == ',');
	}
	return count;
}

static void report_overlap(const struct list_entry *a,
			   const struct list_entry *b,
			   egs_conf_overlap_fn *found, void *arg)
{
	const struct list_entry *late = a->owner > b->owner ? a : b;
	const struct list_entry *early = late == a ? b : a;
	char name[EGS_PRINTABLE_MAX + 1];

	snprintf(name, sizeof(name), "%.*s", (int)(late->len + late->glob),
		 late->text);
	found(arg, name, late->owner, early->owner);
}

/* 'stack' has room for all entries. */
static void find_overlaps(const struct list_entry *entries, size_t count,
			  const struct list_entry **stack,
			  egs_conf_overlap_fn *found, void *arg)
{
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		const struct list_entry *entry = &entries[i];

		while (depth > 0 && !entry_matches(stack[depth - 1], entry))
			depth--;
		for (size_t d = depth; d > 0; d--) {
			if (stack[d - 1]->owner == entry->owner)
				continue;
			report_overlap(stack[d - 1], entry, found, arg);
			break;
		}
		stack[depth++] = entry;
	}
}

int egs_conf_find_overlaps(const char *const *lists, int count,
			   egs_conf_overlap_fn *found, void *arg)
{
	struct list_entry *entries;
	const struct list_entry **stack;
	size_t total = 0;
	size_t used = 0;

	for (int i = 0; i < count; i++)
		total += split_list(lists[i], i, NULL);
	entries = calloc(total + 1, sizeof(*entries));
	stack = calloc(total + 1, sizeof(const struct list_entry *));
	if (entries && stack) {
		for (int i = 0; i < count; i++)
			used += split_list(lists[i], i, entries + used);
		qsort(entries, used, sizeof(*entries), compare_entries);
		find_overlaps(entries, used, stack, found, arg);
	}
	free(stack);
	free(entries);
	return entries && stack ? 0 : -1;
}
