/* server.h - the daemon's door: a Unix socket, and TCP with MUNGE
 *
 * Each packet (wire/packet.h) is a request, answered in the same order.  Who
 * asks is told by the kernel on the Unix socket and by MUNGE on TCP.  A verb is
 * a row in a table.
 *
 * A client may be slow, silent or hostile: it holds nothing but its own
 * connection, and that only for some seconds.
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

/* Who asks; 'local': on the Unix socket.  The others have an address, and that
 * of the munged which has made their credential; IPv4 is mapped into IPv6.
 */
struct egs_peer {
	uid_t uid;
	gid_t gid;
	bool local;
	bool same_host; /* over TCP, but from this very host */
	struct in6_addr address, cred_origin;
};

/* The address of 'from': 0, or -1 if it is none of IP. */
int egs_server_get_ip(const struct sockaddr *from, struct in6_addr *at);

bool egs_server_is_loopback(const struct in6_addr *at);

enum egs_role {
	EGS_ROLE_ANYONE,
	EGS_ROLE_OPERATOR, /* root, and whom is_operator() knows */
};

/* 'fn' fills 'answer' and returns 0, or returns -1 with the sentence the client
 * gets in 'err', EGS_REPLY_RETRY likewise if the same request may be answered
 * otherwise in a second, or EGS_REPLY_DEFERRED (see below).  It must not block.
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
	int port;		 /* 0: no TCP; EGS_PORT_ANY: any free one */
	/* EGS_CRED_AUDIENCE_PREFIX and the cluster's name.  The caller may
	 * change the text; while it is "" nobody is served over TCP.
	 */
	const char *audience;
	const char *munge_socket; /* its socket; NULL: the one of the host */
	uint32_t timeout_ms;	  /* with a client; 0: 10 s */
	const struct egs_verb *verbs;
	size_t nverbs;
	void *arg; /* of the calls */
	bool (*is_operator)(void *arg, uid_t uid);
	/* Something the person on call should know. */
	void (*warn)(void *arg, const char *what);
};

/* Listen.  A socket that is left at 'path' is replaced: the caller knows that
 * no other daemon runs.  NULL with 'err' set on failure.
 */
struct egs_server *egs_server_new(struct egs_loop *loop,
				  const struct egs_server_conf *conf,
				  struct egs_err *err);

/* A verb that has no answer yet calls egs_server_defer() and returns
 * EGS_REPLY_DEFERRED.  It is called again with the same request whenever
 * egs_server_wake() names its 'key', and when 'ms' are over: then
 * egs_server_is_timed_out() is true and it has to answer.  A client that leaves
 * is forgotten.
 */
void egs_server_defer(struct egs_server *server, uint64_t key, uint32_t ms);
bool egs_server_is_timed_out(const struct egs_server *server);
void egs_server_wake(struct egs_server *server, uint64_t key);

/* Drops all clients and removes the socket. */
void egs_server_free(struct egs_server *server);

/* The port that is listened on, 0 for none; and how many clients there are. */
int egs_server_get_port(const struct egs_server *server);
size_t egs_server_count_clients(const struct egs_server *server);

#endif
