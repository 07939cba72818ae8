/* cgroup2_preload.c - preloaded: hide cgroups v1 of a host with both versions
 *
 * Slurm's cgroup/v2 refuses to start if /proc/PID/cgroup names hierarchies of
 * v1, even if v2 has all that is needed: devices need programs in the kernel
 * and no controller.  A program that opens such a file gets only the line
 * "0::/...", or "0::/" if the group is outside of the namespace, as for the
 * first process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int open_fn(const char *path, int flags, ...);

static int is_cgroup(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(path, "/proc/", 6) == 0 && slash &&
	       strcmp(slash, "/cgroup") == 0;
}

static int only_second(int fd)
{
	char text[4096];
	ssize_t n = read(fd, text, sizeof(text) - 1);
	int out = memfd_create("cgroup", MFD_CLOEXEC);
	char *line;

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, "0::");
	if (line && strncmp(line, "0::/..", 6) == 0)
		strcpy(line, "0::/\n");
	if (out >= 0 && line && write(out, line, strcspn(line, "\n") + 1) > 0)
		lseek(out, 0, SEEK_SET);
	return out;
}

static int open_with(const char *name, const char *path, int flags, int mode)
{
	open_fn *real = (open_fn *)dlsym(RTLD_NEXT, name);
	int fd = real(path, flags, mode);

	return fd >= 0 && is_cgroup(path) ? only_second(fd) : fd;
}

static int mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, int) : 0;
}

int open(const char *file, int oflag, ...)
{
	va_list args;
	int mode;

	va_start(args, oflag);
	mode = mode_of(oflag, args);
	va_end(args);
	return open_with("open", file, oflag, mode);
}

int open64(const char *file, int oflag, ...)
{
	va_list args;
	int mode;

	va_start(args, oflag);
	mode = mode_of(oflag, args);
	va_end(args);
	return open_with("open64", file, oflag, mode);
}
