/* resume_info.c - what a restarted job is told */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hint/resume_info.h"

void egs_resume_info_format(const struct egs_resume_info *info,
			    char text[EGS_RESUME_INFO_MAX])
{
	snprintf(text, EGS_RESUME_INFO_MAX,
		 EGS_RESUME_INFO_ENV "=%" PRIu32 "\n%s\n%s\n%s", info->restarts,
		 info->path, info->phase, info->message.msg);
}

/* Copy a line of at most 'max' characters.  Returns the text after it, or NULL.
 */
static const char *copy_line(const char *line, char *to, size_t max)
{
	size_t len = strcspn(line, "\n");

	if (!line[len] || len > max)
		return NULL;
	memcpy(to, line, len);
	return line + len + 1;
}

int egs_resume_info_parse(struct egs_resume_info *info, const char *value)
{
	struct egs_resume_info new = { 0 };
	unsigned long restarts;
	const char *rest;
	char *end;

	restarts = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end != '\n' ||
	    restarts > UINT32_MAX)
		return -1;
	rest = copy_line(end + 1, new.path, EGS_RESUME_INFO_PATH_MAX);
	if (rest)
		rest = copy_line(rest, new.phase, EGS_RESUME_INFO_PHASE_MAX);
	if (!rest)
		return -1;
	new.restarts = (uint32_t)restarts;
	egs_errf(&new.message, "%s", rest);
	*info = new;
	return 0;
}
