/* fdinfo.c - what the kernel says about an open file of another process */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

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

/* Linux has a row for each place of the table until this version, then only for
 * places in use.
 */
enum { ROWS_FOR_ALL = 6013 };

/* "    1: /dev/full".  A name may have a line break in it, so a row that looks
 * like an empty place, or like the address of a buffer, may follow any other.
 */
static bool has_file_row(const char *line, bool *is_row)
{
	size_t digits;

	line += strspn(line, " ");
	digits = strspn(line, "0123456789");
	*is_row = digits && strncmp(line + digits, ": ", 2) == 0;
	line += digits + 2;
	return *is_row && strncmp(line, "<none>\n", 7) != 0 &&
	       strncmp(line, "0x", 2) != 0;
}

/* "UserFiles:	3", and rows.  The kernel leaves out the rows, or all that,
 * while the ring is busy.
 */
bool egs_fdinfo_has_registered(const char *text, unsigned kernel)
{
	const char *value = find_value(text, "\nUserFiles:"), *line;
	bool is_row = false, has_rows = false;

	if (!value)
		return true;
	for (line = strchr(value, '\n'); line; line = strchr(line, '\n')) {
		if (has_file_row(++line, &is_row))
			return true;
		has_rows |= is_row;
	}
	return strtoul(value, NULL, 10) > 0 && !has_rows &&
	       kernel <= ROWS_FOR_ALL;
}

static unsigned read_kernel(void)
{
	struct utsname kernel;
	unsigned major = 0, minor = 0;

	if (uname(&kernel) < 0 ||
	    sscanf(kernel.release, "%u.%u", &major, &minor) != 2)
		return 0;
	return major * 1000 + minor;
}

static bool holds_registered_files(const char *text)
{
	return egs_fdinfo_has_registered(text, read_kernel());
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
