/* hang.c - preloaded: stat() of an egs.conf hangs, as on a dead file server
 *
 *	cc -shared -fPIC -o hang.so hang.c
 *	HANG=FILE LD_PRELOAD=$PWD/hang.so PROGRAM
 *
 * stat() of a path that ends with "/egs.conf" returns only when there is no
 * FILE.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int hang_stat(const char *path, struct stat *buf) __asm__("stat");

int hang_stat(const char *path, struct stat *buf)
{
	const char *file = getenv("HANG"), *name = strrchr(path, '/');

	while (file && name && strcmp(name, "/egs.conf") == 0 &&
	       access(file, F_OK) == 0)
		usleep(100000);
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, buf, 0);
}
