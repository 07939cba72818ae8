/* again.c - what a job that runs again is told */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/wire/again.h"

void egs_again_write(const struct egs_again *again, char text[EGS_AGAIN_MAX])
{
	snprintf(text, EGS_AGAIN_MAX, EGS_AGAIN_ENV "=%" PRIu32 "\n%s\n%s",
		 again->restarts, again->path, again->story.msg);
}

int egs_again_read(struct egs_again *again, const char *value)
{
	struct egs_again new = { 0 };
	unsigned long restarts;
	const char *path, *story;
	char *end;

	restarts = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end != '\n' ||
	    restarts > UINT32_MAX)
		return -1;
	path = end + 1;
	story = strchr(path, '\n');
	if (!story || story - path > EGS_AGAIN_PATH_MAX)
		return -1;
	new.restarts = (uint32_t)restarts;
	memcpy(new.path, path, (size_t)(story - path));
	egs_errf(&new.story, "%s", story + 1);
	*again = new;
	return 0;
}
