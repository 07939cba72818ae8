/* kill-at-write.c - preloaded: kill a program between two of its writes
 *
 *	cc -shared -fPIC -o kill-at-write.so kill-at-write.c
 *	DIE_AT=17 LD_PRELOAD=$PWD/kill-at-write.so PROGRAM
 *
 * PROGRAM is killed in place of its 17th write, sync or truncation of a file or
 * a socket.  Programs that it starts are not killed.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static long left;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("DIE_AT");

	left = at ? atol(at) : 0;
	unsetenv("LD_PRELOAD");
}

static void count(void)
{
	if (left && --left == 0)
		kill(getpid(), SIGKILL);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	count();
	return syscall(SYS_write, fd, buf, n);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t offset)
{
	count();
	return syscall(SYS_pwrite64, fd, buf, n, offset);
}

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	count();
	return syscall(SYS_sendto, fd, buf, n, flags, NULL, 0);
}

int fsync(int fd)
{
	count();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fildes)
{
	count();
	return (int)syscall(SYS_fdatasync, fildes);
}

int ftruncate64(int fd, off64_t length)
{
	count();
	return (int)syscall(SYS_ftruncate, fd, length);
}
