/* doorbell.c - plugins inside slurmctld send events to the daemon */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/ipc/doorbell.h"

static int make_address(const char *run_dir, struct sockaddr_un *at)
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

/* An existing socket is stale: this daemon holds the lock of its StateDir. */
int egs_doorbell_listen(const char *run_dir, struct egs_err *err)
{
	struct sockaddr_un at;
	mode_t mask;
	int fd, rc;

	if (make_address(run_dir, &at) < 0)
		return egs_errf(
			err, "RunDir=%s is too long for the path of a socket",
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

static size_t get_claim_size(uint32_t nparts)
{
	return offsetof(struct egs_doorbell_claim, part) +
	       nparts * sizeof(struct egs_doorbell_part);
}

static size_t get_msg_size(const struct egs_doorbell_msg *msg)
{
	return msg->event == EGS_DOORBELL_REFUSED
		       ? sizeof(struct egs_doorbell_refusal)
		       : get_claim_size(msg->nparts);
}

static int is_valid_msg(const struct egs_doorbell_msg *msg, size_t n)
{
	return n >= get_claim_size(0) && msg->magic == EGS_DOORBELL_MAGIC &&
	       msg->event < EGS_DOORBELL_EVENT_COUNT && msg->job_id &&
	       msg->nparts <= EGS_DOORBELL_PARTS_MAX && n == get_msg_size(msg);
}

int egs_doorbell_read(int fd, struct egs_doorbell_claim *got)
{
	ssize_t n;

	while ((n = recv(fd, got, sizeof(*got), MSG_DONTWAIT)) >= 0 ||
	       errno == EINTR) {
		if (n < 0 || !is_valid_msg(&got->msg, (size_t)n))
			continue;
		for (uint32_t i = 0; i < got->msg.nparts; i++)
			got->part[i].node[EGS_TABLE_NAME_SIZE - 1] = '\0';
		return 1;
	}
	return 0;
}

/* Two threads may both make a socket; then the second one is closed. */
static int get_socket(_Atomic int *fd)
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

int egs_doorbell_ring(_Atomic int *fd, const char *run_dir,
		      const struct egs_doorbell_msg *msg)
{
	struct sockaddr_un at;
	int out = get_socket(fd);

	if (out < 0 || make_address(run_dir, &at) < 0)
		return -1;
	return sendto(out, msg, get_msg_size(msg), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (struct sockaddr *)&at, sizeof(at)) < 0
		       ? -1
		       : 0;
}
