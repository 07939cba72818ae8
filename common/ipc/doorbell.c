/* doorbell.c - the doorbell: plugins inside slurmctld tell the daemon to look
 * now
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ipc/doorbell.h"

static int address(const char *run_dir, struct sockaddr_un *at)
{
	int n;

	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(at->sun_path, sizeof(at->sun_path), "%s/doorbell",
		     run_dir);
	return n > 0 && (size_t)n < sizeof(at->sun_path) ? 0 : -1;
}

static int make_socket(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Nobody else may bind there: the daemon holds the lock of its StateDir. */
int egs_bell_hang(const char *run_dir, struct egs_err *err)
{
	struct sockaddr_un at;
	mode_t mask;
	int fd, rc;

	if (address(run_dir, &at) < 0)
		return egs_errf(err, "RunDir=%s: too long for a socket",
				run_dir);
	fd = make_socket();
	unlink(at.sun_path);
	mask = umask(0177);
	rc = bind(fd, (struct sockaddr *)&at, sizeof(at));
	umask(mask);
	if (fd >= 0 && rc == 0)
		return fd;
	egs_errf(err, "%s: %s", at.sun_path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static size_t size_of(uint32_t nparts)
{
	return offsetof(struct egs_bell_claim, part) +
	       nparts * sizeof(struct egs_bell_part);
}

static size_t length_of(const struct egs_bell *bell)
{
	return bell->what == EGS_BELL_WORDS ? sizeof(struct egs_bell_words)
					    : size_of(bell->nparts);
}

static int is_ring(const struct egs_bell *bell, size_t n)
{
	return n >= size_of(0) && bell->magic == EGS_BELL_MAGIC &&
	       bell->what < EGS_BELL_WHATS && bell->job_id &&
	       bell->nparts <= EGS_BELL_PARTS && n == length_of(bell);
}

int egs_bell_next(int fd, struct egs_bell_claim *got)
{
	ssize_t n;

	while ((n = recv(fd, got, sizeof(*got), MSG_DONTWAIT)) >= 0 ||
	       errno == EINTR) {
		if (n < 0 || !is_ring(&got->bell, (size_t)n))
			continue;
		for (uint32_t i = 0; i < got->bell.nparts; i++)
			got->part[i].node[EGS_TABLE_NAME - 1] = '\0';
		return 1;
	}
	return 0;
}

/* Two threads may both make the socket; one of the two is kept. */
static int socket_of(_Atomic int *fd)
{
	int have = atomic_load(fd), none = -1;

	if (have >= 0)
		return have;
	have = make_socket();
	if (have < 0 || atomic_compare_exchange_strong(fd, &none, have))
		return have;
	close(have);
	return none;
}

int egs_bell_ring(_Atomic int *fd, const char *run_dir,
		  const struct egs_bell *bell)
{
	struct sockaddr_un at;
	int out = socket_of(fd);

	if (out < 0 || address(run_dir, &at) < 0)
		return -1;
	return sendto(out, bell, length_of(bell), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (struct sockaddr *)&at, sizeof(at)) < 0
		       ? -1
		       : 0;
}
