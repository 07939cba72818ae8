/* proc.c - read files of /proc/PID */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/node/proc.h"

ssize_t egs_proc_read(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = egs_read_all(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* The parent is the second field after the name in parentheses.  The name may
 * have any character in it, so search for the last parenthesis.
 */
pid_t egs_proc_parent(pid_t pid)
{
	char text[512];
	const char *end;

	egs_proc_read(pid, "stat", text, sizeof(text));
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

const char *egs_proc_find_env(const char *env, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = env; at < env + len; at += strlen(at) + 1)
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return at + n + 1;
	return NULL;
}
