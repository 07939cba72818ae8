/* fdinfo.c - what the kernel says about an open file of another process */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/node/fdinfo.h"
#include "common/node/proc.h"

enum {
	HEAD_SIZE = 256, /* the first lines are of the kernel's making */
	TEXT_SIZE = 64 << 10,
	OPEN_AS_PATH = 010000000, /* O_PATH */
};

static ssize_t read_info(pid_t pid, const char *table, const char *number,
			 char *text, size_t size)
{
	char path[320];

	snprintf(path, sizeof(path), "%.*sfdinfo/%s",
		 (int)(strlen(table) - strlen("fd")), table, number);
	return egs_proc_read(pid, path, text, size);
}

/* The text after "KEY:", NULL: none. */
static const char *find_value(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? line + strlen(key) : NULL;
}

int egs_fdinfo_read(pid_t pid, const char *table, const char *number,
		    struct egs_fdinfo *info)
{
	char text[HEAD_SIZE];
	const char *flags, *inode;

	*info = (struct egs_fdinfo){ .inode = 0 };
	if (read_info(pid, table, number, text, sizeof(text)) < 0)
		return -1;
	flags = find_value(text, "flags:");
	inode = find_value(text, "\nino:");
	info->is_path = flags && strtoul(flags, NULL, 8) & OPEN_AS_PATH;
	info->inode = inode ? (ino_t)strtoull(inode, NULL, 10) : 0;
	return 0;
}

/* ---- files that hold others ---- */

/* "scm_fds: 2".  Before Linux 5.6 there is no such line. */
static bool holds_sent_files(const char *text)
{
	const char *value = find_value(text, "\nscm_fds:");

	return value && strtoul(value, NULL, 10) > 0;
}

/* "UserFiles:	3", and a line "    1: /dev/full" for each that is in use.  The
 * kernel leaves all that out while the ring is busy.
 */
static bool holds_registered_files(const char *text)
{
	const char *value = find_value(text, "\nUserFiles:");
	const char *line = value ? strchr(value, '\n') : NULL;

	if (!value)
		return true;
	for (; line && line[1] && strchr(" 0123456789", line[1]);
	     line = strchr(line + 1, '\n')) {
		const char *name = strchr(line, ':');

		if (name && strncmp(name, ": <none>", 8) != 0)
			return true;
	}
	return false;
}

static const struct holder {
	const char *link, *what;
	bool (*holds_files)(const char *text);
} holders[] = {
	{ "socket:[", "files in flight in a socket", holds_sent_files },
	{ "anon_inode:[io_uring]", "files registered with io_uring",
	  holds_registered_files },
};

int egs_fdinfo_holds_files(pid_t pid, const char *table, const char *number,
			   const char *link, const char **what)
{
	char text[TEXT_SIZE];
	const struct holder *holder = NULL;
	ssize_t n;

	for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
		if (strncmp(link, holders[i].link, strlen(holders[i].link)) ==
		    0)
			holder = &holders[i];
	if (!holder)
		return 0;
	n = read_info(pid, table, number, text, sizeof(text));
	if (n < 0)
		return -1;
	*what = holder->what;
	/* With locks on the file, a user makes the text as long as he likes. */
	return n == sizeof(text) - 1 || holder->holds_files(text);
}
