/* server.h - requests to the daemon: a Unix socket, and TCP with MUNGE
 *
 * Each packet (common/ipc/packet.h) is a request; answers have the same order.
 * The user is known from the kernel on the Unix socket, and from MUNGE on TCP.
 * A verb is a row in a table.
 *
 * A client may be slow, silent or hostile.  It can block only its own
 * connection, and only for some seconds.
 */
#ifndef EGS_SERVER_SERVER_H
#define EGS_SERVER_SERVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "common/base/loop.h"
#include "common/ipc/msg.h"

struct egs_server;

/* The client of a request.  'local': on the Unix socket.  A TCP client has its
 * own address and the address of the munged that encoded its credential.  IPv4
 * is mapped into IPv6.
 */
struct egs_peer {
	uid_t uid;
	gid_t gid;
	bool local;
	bool same_host; /* over TCP, from this host */
	struct in6_addr address, cred_origin;
};

/* The IP address of 'from': 0, or -1 if it has none. */
int egs_server_get_ip(const struct sockaddr *from, struct in6_addr *at);

bool egs_server_is_loopback(const struct in6_addr *at);

enum egs_role {
	EGS_ROLE_ANYONE,
	EGS_ROLE_VIEWER,   /* anyone; it only reads, so see 'asks_for' */
	EGS_ROLE_OPERATOR, /* root, and the users of is_operator() */
};

/* 'fn' fills 'answer' and returns 0, or returns -1 with 'err' set for the
 * client.  EGS_REPLY_RETRY is a refusal too; the same request may succeed in a
 * second.  EGS_REPLY_DEFERRED: see egs_server_defer().  'fn' must not block.
 */
struct egs_verb {
	const char *name;
	enum egs_role role;
	int (*fn)(void *arg, const struct egs_peer *peer,
		  const struct egs_msg *request, struct egs_msg *answer,
		  struct egs_err *err);
};

#define EGS_REPLY_RETRY	   (-2)
#define EGS_REPLY_DEFERRED 1

#define EGS_PORT_ANY (-1)

/* All strings and the table must outlive the server. */
struct egs_server_conf {
	const char *socket_path; /* of the Unix socket */
	int port;		 /* 0: no TCP; EGS_PORT_ANY: any free port */
	/* EGS_CRED_AUDIENCE_PREFIX and the name of the cluster.  The caller
	 * may change the text; while it is "", TCP clients are refused.
	 */
	const char *audience;
	const char *munge_socket; /* NULL: the socket of the host */
	uint32_t timeout_ms;	  /* of a client; 0: 10 s */
	const struct egs_verb *verbs;
	size_t nverbs;
	void *arg; /* of all callbacks */
	bool (*is_operator)(void *arg, uid_t uid);
	/* A request of this verb gets its answer; may be NULL. */
	void (*answered)(void *arg, const char *verb);
	/* May a local client with this uid ask for other users?  A request with
	 * "viewer": UID is answered as to that user, who is never root.  NULL:
	 * no.
	 */
	bool (*asks_for)(void *arg, uid_t uid);
	/* A problem that an administrator should know. */
	void (*warn)(void *arg, const char *message);
};

/* Listen.  An old socket is replaced: the caller knows that no other daemon
 * runs.  NULL with 'err' set on failure.
 */
struct egs_server *egs_server_new(struct egs_loop *loop,
				  const struct egs_server_conf *conf,
				  struct egs_err *err);

/* A verb that has no answer yet calls egs_server_defer() and returns
 * EGS_REPLY_DEFERRED.  It is called again with the same request whenever
 * egs_server_wake() names its 'key', and after 'ms'.  Then
 * egs_server_is_timed_out() is true and the verb must answer.  The request of a
 * client that hangs up is dropped.
 */
void egs_server_defer(struct egs_server *server, uint64_t key, uint32_t ms);
bool egs_server_is_timed_out(const struct egs_server *server);
void egs_server_wake(struct egs_server *server, uint64_t key);

/* Does a client wait for this key? */
bool egs_server_is_awaited(const struct egs_server *server, uint64_t key);

/* Drop all clients and remove the socket. */
void egs_server_free(struct egs_server *server);

/* The TCP port, 0: none; and the number of clients. */
int egs_server_get_port(const struct egs_server *server);
size_t egs_server_count_clients(const struct egs_server *server);

#endif
