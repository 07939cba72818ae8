/* admin_tag.c - remarks of ours in a job's AdminComment, beside its stamp */
#include <string.h>

#include "common/hint/admin_tag.h"

const char *egs_admin_tag_find(const char *comment, const char *mark)
{
	const char *word = comment;

	while (word && (word = strstr(word, mark))) {
		if (word == comment || word[-1] == ' ')
			return word;
		word++;
	}
	return NULL;
}

void egs_admin_tag_remove(char *comment, const char *mark)
{
	const char *found = egs_admin_tag_find(comment, mark);
	size_t len = found ? strcspn(found, " ") : 0;
	char *word = comment;

	if (!found)
		return;
	word += found - comment;
	if (word > comment) {
		word--;
		len++;
	} else if (word[len] == ' ') {
		len++;
	}
	memmove(word, word + len, strlen(word + len) + 1);
}
