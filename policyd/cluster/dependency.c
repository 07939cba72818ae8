/* dependency.c - the jobs that a pending job depends on, as Slurm writes them
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/rules/identity.h"
#include "policyd/cluster/dependency.h"

static bool has_kind(const char *text, const char *kind)
{
	size_t n = strlen(kind);

	return strncmp(text, kind, n) == 0 && text[n] == ':';
}

/* Read "12", "12_3" or "12_*"; false: another form. */
static bool read_job(const char *text, struct egs_dependency *d)
{
	unsigned long long id, task = EGS_NO_TASK;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	id = strtoull(text, &end, 10);
	if (*end == '_' && isdigit((unsigned char)end[1]))
		task = strtoull(end + 1, &end, 10);
	d->job_id = (uint32_t)id;
	d->task = (uint32_t)task;
	return id > 0 && id <= UINT32_MAX && task <= EGS_NO_TASK;
}

bool egs_dependency_next(const char **text, struct egs_dependency *next)
{
	while (**text) {
		const char *kind = *text + strspn(*text, ",?");
		const char *end = kind + strcspn(kind, ",?");
		const char *colon = memchr(kind, ':', (size_t)(end - kind));

		*next = (struct egs_dependency){
			.needs_success = has_kind(kind, "afterok") ||
					 has_kind(kind, "aftercorr"),
			.is_by_task = has_kind(kind, "aftercorr"),
			.is_alternative = *end == '?' || (*text)[0] == '?',
		};
		*text = end;
		if (colon && read_job(colon + 1, next))
			return true;
	}
	return false;
}
