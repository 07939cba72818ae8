/* proc.c - read files of /proc/PID */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/node/proc.h"

static const char *root = "/proc";

void egs_proc_set_root(const char *path)
{
	root = path ? path : "/proc";
}

void egs_proc_path(char path[EGS_PROC_PATH_MAX], pid_t pid, const char *name)
{
	if (pid)
		snprintf(path, EGS_PROC_PATH_MAX, "%s/%ld/%s", root, (long)pid,
			 name);
	else
		snprintf(path, EGS_PROC_PATH_MAX, "%s/%s", root, name);
}

ssize_t egs_proc_read(pid_t pid, const char *name, char *text, size_t size)
{
	char path[EGS_PROC_PATH_MAX];
	ssize_t n = -1;
	int fd, error;

	egs_proc_path(path, pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = egs_read_all(fd, text, size - 1);
		error = errno;
		close(fd);
		errno = error;
	}
	text[n > 0 ? n : 0] = '\0';
	return n;
}

ssize_t egs_proc_readlink(pid_t pid, const char *name, char *text, size_t size)
{
	char path[EGS_PROC_PATH_MAX];
	ssize_t n;

	egs_proc_path(path, pid, name);
	n = readlink(path, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

bool egs_proc_is_gone(int error)
{
	return error == ENOENT || error == ESRCH;
}

int egs_proc_fail(pid_t pid, const char *name, struct egs_err *err)
{
	if (egs_proc_is_gone(errno))
		return 0;
	return egs_errf(err, "cannot read %s/%ld/%s: %s", root, (long)pid, name,
			strerror(errno));
}

/* ---- stat and status ---- */

/* Skip 'n' fields of "S 1 12 ...". */
static const char *skip_fields(const char *text, int n)
{
	while (n-- > 0 && *text) {
		text += strcspn(text, " ");
		text += *text == ' ';
	}
	return text;
}

/* The name in parentheses may have any character in it, so the fields begin
 * after the last parenthesis: state, parent, and so on (proc(5)).
 */
int egs_proc_stat(pid_t pid, struct egs_proc_stat *stat)
{
	char text[1024];
	const char *end;

	if (egs_proc_read(pid, "stat", text, sizeof(text)) < 0)
		return -1;
	end = strrchr(text, ')');
	if (!end || end[1] != ' ') {
		errno = ESRCH;
		return -1;
	}
	*stat = (struct egs_proc_stat){
		.state = end[2],
		.parent = (pid_t)strtol(skip_fields(end + 2, 1), NULL, 10),
		.threads =
			(uint32_t)strtoul(skip_fields(end + 2, 17), NULL, 10),
		.start = strtoull(skip_fields(end + 2, 19), NULL, 10),
	};
	return 0;
}

pid_t egs_proc_parent(pid_t pid)
{
	struct egs_proc_stat stat;

	return egs_proc_stat(pid, &stat) == 0 ? stat.parent : 0;
}

int egs_proc_uid(pid_t pid, uid_t *uid)
{
	char text[4096];
	const char *line;

	if (egs_proc_read(pid, "status", text, sizeof(text)) < 0)
		return -1;
	line = strstr(text, "\nUid:\t");
	if (!line) {
		errno = ESRCH;
		return -1;
	}
	*uid = (uid_t)strtoul(line + strlen("\nUid:\t"), NULL, 10);
	return 0;
}

void egs_proc_command(pid_t pid, char *command, size_t size)
{
	egs_proc_read(pid, "comm", command, size);
	command[strcspn(command, "\n")] = '\0';
	for (; *command; command++)
		if (!isalnum((unsigned char)*command) &&
		    !strchr("._-+:/", *command))
			*command = '?';
}

/* ---- all processes ---- */

int egs_proc_each(int (*fn)(void *arg, pid_t pid), void *arg,
		  struct egs_err *err)
{
	DIR *all = opendir(root);
	const struct dirent *entry;
	int rc = 0;

	if (!all)
		return egs_errf(err, "cannot read %s: %s", root,
				strerror(errno));
	while (rc == 0 && (entry = readdir(all)))
		if (isdigit((unsigned char)entry->d_name[0]))
			rc = fn(arg, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(all);
	return rc;
}

const char *egs_proc_find_env(const char *env, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = env; at < env + len; at += strlen(at) + 1)
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return at + n + 1;
	return NULL;
}
