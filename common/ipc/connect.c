/* connect.c - connect to the daemon, within a deadline */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/ipc/connect.h"

enum {
	/* Ports for clients of root, as NFS uses them. */
	PORT_MIN = 665,
	PORTS = 1024 - PORT_MIN,
};

int egs_connect_wait_fd(int fd, short events, uint64_t deadline_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	uint64_t now = egs_now_ms();
	int rc;

	do {
		if (now >= deadline_ms) {
			errno = ETIMEDOUT;
			return -1;
		}
		rc = poll(&p, 1, (int)(deadline_ms - now));
		now = egs_now_ms();
	} while (rc == 0 || (rc < 0 && errno == EINTR));
	return rc > 0 ? 0 : -1;
}

static int connect_in_time(int fd, const struct sockaddr *addr, socklen_t size,
			   uint64_t deadline_ms)
{
	socklen_t len = sizeof(int);
	int why = 0;

	if (connect(fd, addr, size) == 0)
		return 0;
	/* A Unix socket with a full queue returns EAGAIN, and poll() cannot
	 * wait for it.
	 */
	while (errno == EAGAIN && egs_now_ms() < deadline_ms) {
		poll(NULL, 0, 20);
		if (connect(fd, addr, size) == 0)
			return 0;
	}
	if (errno != EINPROGRESS ||
	    egs_connect_wait_fd(fd, POLLOUT, deadline_ms) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) < 0)
		return -1;
	errno = why;
	return why ? -1 : 0;
}

/* Take a port that only root can have.  egs-policyd then serves this client
 * before those that may be anybody.  Other ports work, too.
 */
static void bind_privileged(int fd, int family)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	int first = (int)(egs_now_us() % PORTS), rc = -1;

	for (int i = 0; i < PORTS && rc < 0; i++) {
		uint16_t port = (uint16_t)(PORT_MIN + (first + i) % PORTS);

		six.sin6_port = four.sin_port = htons(port);
		rc = family == AF_INET6
			     ? bind(fd, (struct sockaddr *)&six, sizeof(six))
			     : bind(fd, (struct sockaddr *)&four, sizeof(four));
		if (rc < 0 && errno != EADDRINUSE)
			return;
	}
}

static int try_connect(int family, const struct sockaddr *addr, socklen_t size,
		       bool privileged, uint64_t deadline_ms)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int why;

	if (fd >= 0 && privileged)
		bind_privileged(fd, family);
	if (fd >= 0 && connect_in_time(fd, addr, size, deadline_ms) == 0)
		return fd;
	why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return -1;
}

/* The last connection from a port may not be forgotten yet. */
static int connect_socket(int family, const struct sockaddr *addr,
			  socklen_t size, uint64_t deadline_ms)
{
	bool privileged = family != AF_UNIX && geteuid() == 0;
	int fd = try_connect(family, addr, size, privileged, deadline_ms);

	if (fd < 0 && privileged &&
	    (errno == EADDRNOTAVAIL || errno == EADDRINUSE))
		fd = try_connect(family, addr, size, false, deadline_ms);
	return fd;
}

int egs_connect_unix(const char *path, uint64_t deadline_ms)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(addr.sun_path, path, strlen(path) + 1);
	return connect_socket(AF_UNIX, (struct sockaddr *)&addr, sizeof(addr),
			      deadline_ms);
}

/* Notice within seconds that the host is gone, also while the daemon holds its
 * answer.
 */
static void set_keepalive(int fd)
{
	static const struct {
		int level, option, value;
	} rows[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 4 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 2 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		setsockopt(fd, rows[i].level, rows[i].option, &rows[i].value,
			   sizeof(rows[i].value));
}

/* Try any address of the host. */
int egs_connect_host(const char *at, size_t len, uint64_t deadline_ms,
		     struct egs_err *err)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char host[256], *colon;
	int fd = -1, rc;

	snprintf(host, sizeof(host), "%.*s", (int)len, at);
	colon = strrchr(host, ':');
	if (!colon || len >= sizeof(host))
		return egs_errf(err, "the address is not HOST:PORT");
	*colon = '\0';
	if (*host == '[' && colon[-1] == ']')
		colon[-1] = '\0';
	rc = getaddrinfo(host + (*host == '['), colon + 1, &want, &list);
	if (rc != 0)
		return egs_errf(err, "%s", gai_strerror(rc));
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next)
		fd = connect_socket(a->ai_family, a->ai_addr, a->ai_addrlen,
				    deadline_ms);
	if (fd < 0)
		egs_errf(err, "%s", strerror(errno));
	else
		set_keepalive(fd);
	freeaddrinfo(list);
	return fd;
}
