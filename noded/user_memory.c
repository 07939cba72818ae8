/* user_memory.c - the memory that a user's processes have on this node */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noded/user_memory.h"

/* The number after 'key' in a text like that of /proc/PID/status, or 0. */
static unsigned long read_value(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	return line ? strtoul(line + strlen(key), NULL, 10) : 0;
}

/* Memory in kB of the process, if it is the user's.  The owner of the file
 * would not do: it is root if the process does not allow core dumps.
 */
static unsigned long read_process_kb(const char *pid, uid_t uid)
{
	char path[300], status[4096];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(status, 1, sizeof(status) - 1, f);
		fclose(f);
	}
	status[n] = '\0';
	if (!strstr(status, "\nUid:") || read_value(status, "\nUid:") != uid)
		return 0;
	return read_value(status, "\nVmRSS:");
}

uint32_t egs_user_memory_mb(uid_t uid)
{
	DIR *proc = opendir("/proc");
	unsigned long kb = 0;
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			kb += read_process_kb(entry->d_name, uid);
	if (proc)
		closedir(proc);
	return (uint32_t)((kb + 1023) / 1024);
}
