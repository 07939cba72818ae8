/* list.c - elements of "a,b,c" */
#include <string.h>
#include <strings.h>

#include "common/base/list.h"

const char *egs_list_next(const char **list, size_t *len)
{
	const char *element = *list;

	if (!element || !*element)
		return NULL;
	*len = strcspn(element, ",");
	*list = element + *len + (element[*len] == ',');
	return element;
}

bool egs_list_has(const char *list, const char *name)
{
	const size_t name_len = strlen(name);
	const char *element;
	size_t len;

	while ((element = egs_list_next(&list, &len)))
		if (len == name_len && memcmp(element, name, len) == 0)
			return true;
	return false;
}

bool egs_list_has_word(const char *list, const char *word)
{
	const size_t word_len = strlen(word);
	const char *element;
	size_t len;

	while ((element = egs_list_next(&list, &len)))
		if (len == word_len && strncasecmp(element, word, len) == 0)
			return true;
	return false;
}
