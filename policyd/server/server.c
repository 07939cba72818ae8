/* server.c - sockets of the daemon: accept, expire and drop clients */
#include "egs_config.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "policyd/server/connection.h"

enum {
	ACCEPT_MAX = 32,
	BACKLOG = 4095,
	TIMEOUT_MS = 10000,
	BIND_TRIES = 20,
	BIND_PAUSE_MS = 100,
};

/* Sweep again after a tenth of the timeout of a client. */
static void schedule_sweep(struct egs_server *s)
{
	egs_timer_start(s->sweep_timer, s->conf.timeout_ms / 10 + 1);
}

static struct egs_conn *find_expired(const struct egs_conns *list,
				     uint64_t now_ms)
{
	struct egs_conn *conn;

	TAILQ_FOREACH(conn, list, link)
	if (conn->deadline_ms <= now_ms)
		return conn;
	return NULL;
}

/* Expiring a client may free others, so each search starts from the beginning.
 */
static void on_sweep(void *arg, uint32_t events)
{
	struct egs_server *s = arg;
	uint64_t now = egs_now_ms();
	struct egs_conn *conn;

	(void)events;
	while ((conn = find_expired(&s->conns, now)) ||
	       (conn = find_expired(&s->deferred, now)))
		egs_conn_expire(conn);
	egs_conn_auth_next(s);
	egs_watch_set_events(s->unix_watch, EPOLLIN);
	if (s->tcp_watch)
		egs_watch_set_events(s->tcp_watch, EPOLLIN);
	if (egs_shares_prune(s->shares, now))
		schedule_sweep(s);
}

static void on_pause_over(void *arg, uint32_t events)
{
	(void)events;
	egs_conn_resume_paused(arg);
}

/* The share that has the most connections, of ordinary users if possible. */
static struct egs_share *find_greediest(const struct egs_server *s)
{
	struct egs_share *user =
		egs_shares_find_largest(s->shares, EGS_SHARE_USER);
	struct egs_share *stranger =
		egs_shares_find_largest(s->shares, EGS_SHARE_STRANGER);

	if (user && stranger)
		return user->nconns > stranger->nconns ? user : stranger;
	if (user || stranger)
		return user ? user : stranger;
	user = egs_shares_find_largest(s->shares, EGS_SHARE_NODES);
	return user ? user
		    : egs_shares_find_largest(s->shares, EGS_SHARE_TRUSTED);
}

/* No file descriptor is left.  Drop a client, or stop listening until the next
 * sweep.
 */
static void handle_fd_limit(struct egs_server *s, struct egs_watch *listener)
{
	const struct egs_share *share = find_greediest(s);

	if (share) {
		egs_conn_free(TAILQ_FIRST(&share->conns));
		return;
	}
	egs_watch_set_events(listener, 0);
	schedule_sweep(s);
}

int egs_server_get_ip(const struct sockaddr *from, struct in6_addr *at)
{
	struct sockaddr_in four;
	struct sockaddr_in6 six;

	switch (from->sa_family) {
	case AF_INET:
		memcpy(&four, from, sizeof(four));
		egs_cred_map_ipv4(four.sin_addr.s_addr, at);
		return 0;
	case AF_INET6:
		memcpy(&six, from, sizeof(six));
		*at = six.sin6_addr;
		return 0;
	default:
		return -1;
	}
}

bool egs_server_is_loopback(const struct in6_addr *at)
{
	return IN6_IS_ADDR_LOOPBACK(at) ||
	       (IN6_IS_ADDR_V4MAPPED(at) && at->s6_addr[12] == 127);
}

/* An unknown address stays zero, which matches no node.  Returns whether the
 * client has a port that only root can have.
 */
static bool find_address(int fd, struct egs_peer *peer)
{
	union {
		struct sockaddr any;
		struct sockaddr_in6 six;
	} from, to;
	socklen_t from_len = sizeof(from), to_len = sizeof(to);
	struct in6_addr own;

	if (getpeername(fd, &from.any, &from_len) < 0 ||
	    getsockname(fd, &to.any, &to_len) < 0 ||
	    egs_server_get_ip(&from.any, &peer->address) < 0 ||
	    egs_server_get_ip(&to.any, &own) < 0)
		return false;
	peer->same_host = egs_server_is_loopback(&peer->address) ||
			  memcmp(&peer->address, &own, sizeof(own)) == 0;
	/* sin6_port is at the same offset as sin_port. */
	return ntohs(from.six.sin6_port) < IPPORT_RESERVED;
}

struct egs_share *egs_server_get_share(struct egs_server *server, uid_t uid)
{
	const struct egs_server_conf *conf = &server->conf;

	return egs_shares_get_user(server->shares, uid,
				   uid == 0 ||
					   (conf->is_operator &&
					    conf->is_operator(conf->arg, uid)));
}

/* Find out who the client is, and its share.  NULL: not known. */
static struct egs_share *identify_client(struct egs_server *s, int fd,
					 struct egs_peer *peer)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	bool privileged;

	if (!peer->local) {
		privileged = find_address(fd, peer);
		return egs_shares_get_stranger(s->shares, &peer->address,
					       privileged);
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return NULL;
	peer->uid = cred.uid;
	peer->gid = cred.gid;
	return egs_server_get_share(s, cred.uid);
}

static void accept_client(struct egs_server *s, int fd, bool local)
{
	struct egs_peer peer = { .uid = (uid_t)-1, .local = local };
	struct egs_share *share = identify_client(s, fd, &peer);

	if (!share || egs_conn_make_room(share) < 0) {
		close(fd);
		return;
	}
	if (s->nconns == 0)
		schedule_sweep(s);
	egs_conn_new(s, fd, &peer, share);
}

static void accept_clients(struct egs_server *s, int listener, bool local)
{
	for (int i = 0; i < ACCEPT_MAX; i++) {
		int fd = accept4(listener, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			accept_client(s, fd, local);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM)
			handle_fd_limit(s,
					local ? s->unix_watch : s->tcp_watch);
		return;
	}
}

static void on_unix(void *arg, uint32_t events)
{
	struct egs_server *s = arg;

	(void)events;
	accept_clients(s, s->unix_fd, true);
}

static void on_tcp(void *arg, uint32_t events)
{
	struct egs_server *s = arg;

	(void)events;
	accept_clients(s, s->tcp_fd, false);
}

/* Bind and listen.  Returns the descriptor, or -1 with errno set. */
static int listen_at(int family, const void *addr, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1, no = 0, why;

	if (fd < 0)
		return -1;
	if (family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (bind(fd, addr, size) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

/* The socket gets its name when it listens, so that no client finds it earlier
 * and is refused.
 */
static int listen_unix(struct egs_server *s, struct egs_err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int n = snprintf(addr.sun_path, sizeof(addr.sun_path), "%s.new",
			 s->conf.socket_path);

	if (n < 0 || n >= (int)sizeof(addr.sun_path))
		return egs_errf(err,
				"%s: the path of a socket is limited to %zu "
				"bytes",
				s->conf.socket_path, sizeof(addr.sun_path) - 5);
	unlink(addr.sun_path);
	s->unix_fd = listen_at(AF_UNIX, &addr, sizeof(addr));
	if (s->unix_fd < 0 || chmod(addr.sun_path, 0666) < 0 ||
	    rename(addr.sun_path, s->conf.socket_path) < 0) {
		egs_errf(err, "%s: %s", s->conf.socket_path, strerror(errno));
		unlink(addr.sun_path);
		return -1;
	}
	s->unix_watch =
		egs_loop_add_fd(s->loop, s->unix_fd, EPOLLIN, on_unix, s, err);
	return s->unix_watch ? 0 : -1;
}

/* IPv6 and IPv4, or IPv4 alone on a host without IPv6. */
static int open_port(int wanted)
{
	uint16_t port = wanted > 0 ? (uint16_t)wanted : 0;
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_addr = in6addr_any,
				    .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_ANY),
				    .sin_port = htons(port) };

	int fd = listen_at(AF_INET6, &six, sizeof(six));

	/* If someone has the port, IPv4 alone would leave IPv6 to them. */
	if (fd < 0 && errno != EADDRINUSE)
		fd = listen_at(AF_INET, &four, sizeof(four));
	return fd;
}

/* A child of an earlier daemon may hold the port for another moment. */
static int listen_tcp(struct egs_server *s, struct egs_err *err)
{
	for (int i = 0; i < BIND_TRIES; i++) {
		s->tcp_fd = open_port(s->conf.port);
		if (s->tcp_fd >= 0 || errno != EADDRINUSE)
			break;
		poll(NULL, 0, BIND_PAUSE_MS);
	}
	if (s->tcp_fd < 0)
		return egs_errf(
			err, "port %d: %s%s", s->conf.port, strerror(errno),
			errno == EADDRINUSE ? "; ss -ltnp shows by whom" : "");
	s->tcp_watch =
		egs_loop_add_fd(s->loop, s->tcp_fd, EPOLLIN, on_tcp, s, err);
	return s->tcp_watch ? 0 : -1;
}

/* One that cannot start now is started with the next question. */
static void start_helpers(struct egs_server *s)
{
	for (size_t i = 0; i < EGS_MUNGE_HELPERS; i++) {
		s->helper[i].fd = s->helper[i].child.fd = -1;
		s->helper[i].munge_socket = s->conf.munge_socket;
		if (s->conf.port)
			egs_munge_helper_start(&s->helper[i], NULL);
	}
}

struct egs_server *egs_server_new(struct egs_loop *loop,
				  const struct egs_server_conf *conf,
				  struct egs_err *err)
{
	struct egs_server *s = calloc(1, sizeof(*s));

	if (!s) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	s->loop = loop;
	s->conf = *conf;
	if (!s->conf.timeout_ms)
		s->conf.timeout_ms = TIMEOUT_MS;
	s->unix_fd = s->tcp_fd = -1;
	start_helpers(s);
	TAILQ_INIT(&s->conns);
	TAILQ_INIT(&s->deferred);
	s->seen_creds = egs_cred_seen_new();
	s->shares = egs_shares_new();
	s->cred_rates = egs_rate_limit_new();
	if (!s->seen_creds || !s->shares || !s->cred_rates)
		egs_errf(err, "out of memory");
	else if ((s->sweep_timer =
			  egs_loop_add_timer(loop, on_sweep, s, err)) &&
		 (s->pause_timer =
			  egs_loop_add_timer(loop, on_pause_over, s, err)) &&
		 (!conf->port || listen_tcp(s, err) == 0) &&
		 listen_unix(s, err) == 0)
		return s;
	egs_server_free(s);
	return NULL;
}

static void stop_listening(struct egs_watch *watch, int fd)
{
	egs_watch_free(watch);
	if (fd >= 0)
		close(fd);
}

void egs_server_free(struct egs_server *server)
{
	struct egs_conn *conn;

	if (!server)
		return;
	while ((conn = TAILQ_FIRST(&server->conns)) ||
	       (conn = TAILQ_FIRST(&server->deferred)))
		egs_conn_free(conn);
	for (size_t i = 0; i < EGS_MUNGE_HELPERS; i++)
		egs_munge_helper_stop(&server->helper[i]);
	if (server->unix_watch)
		unlink(server->conf.socket_path);
	stop_listening(server->unix_watch, server->unix_fd);
	stop_listening(server->tcp_watch, server->tcp_fd);
	egs_watch_free(server->sweep_timer);
	egs_watch_free(server->pause_timer);
	egs_shares_free(server->shares);
	egs_rate_limit_free(server->cred_rates);
	egs_cred_seen_free(server->seen_creds);
	free(server);
}

int egs_server_get_port(const struct egs_server *server)
{
	/* sin6_port is at the same offset as sin_port. */
	struct sockaddr_in6 addr = { .sin6_port = 0 };
	socklen_t len = sizeof(addr);

	if (server->tcp_fd < 0 ||
	    getsockname(server->tcp_fd, (struct sockaddr *)&addr, &len) < 0)
		return 0;
	return ntohs(addr.sin6_port);
}

void egs_server_defer(struct egs_server *server, uint64_t key, uint32_t ms)
{
	server->defer_key = key;
	server->defer_ms = ms;
}

bool egs_server_is_timed_out(const struct egs_server *server)
{
	return server->timed_out;
}

/* A deferred request with this key that was not served in this round. */
static struct egs_conn *find_to_wake(const struct egs_server *s, uint64_t key,
				     uint64_t round)
{
	struct egs_conn *conn;

	TAILQ_FOREACH(conn, &s->deferred, link)
	if (conn->wake_key == key && conn->wake_round < round)
		return conn;
	return NULL;
}

/* A verb may wake others, which changes the list and may free any of them: so
 * each search starts from the beginning.
 */
void egs_server_wake(struct egs_server *server, uint64_t key)
{
	uint64_t round = ++server->wake_round;
	struct egs_conn *conn;

	while ((conn = find_to_wake(server, key, round))) {
		conn->wake_round = round;
		egs_conn_retry(conn, false);
	}
}

bool egs_server_is_awaited(const struct egs_server *server, uint64_t key)
{
	return find_to_wake(server, key, UINT64_MAX) != NULL;
}

size_t egs_server_count_clients(const struct egs_server *server)
{
	return server->nconns;
}
