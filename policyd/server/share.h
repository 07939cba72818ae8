/* share.h - what each user may have of the server at one time
 *
 * Every connection belongs to a share: of its user, or of a stranger as long as
 * MUNGE has not named the user of a TCP client.  Strangers are told apart by
 * their address.  A stranger with a port below 1024 is root of some host and
 * most likely a node; those have larger shares, apart.  A share has its own
 * limits, so nobody uses up the room of others.
 *
 * A login host has many users and one address.  A client sends its credential
 * at once and in one piece, and must get through beside one that opens
 * connections without end.  So the first bytes of a connection are always read;
 * unfinished credentials make room before silent connections; and few
 * credentials wait for munged, because a client that is refused for now tries
 * again.
 */
#ifndef EGS_SERVER_SHARE_H
#define EGS_SERVER_SHARE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

enum egs_share_kind {
	EGS_SHARE_USER,
	EGS_SHARE_TRUSTED, /* root and operators */
	EGS_SHARE_STRANGER,
	EGS_SHARE_NODES, /* strangers with a port below 1024 */
	EGS_SHARE_KINDS
};

/* Limits of one share, and of all shares of its kind together. */
struct egs_share_limits {
	uint32_t conns, all_conns;
	uint32_t waiting;  /* credentials that wait for munged; 0: any number */
	uint32_t held;	   /* requests without an answer yet */
	uint32_t held_key; /* of these, for the same thing; 0: any number */
	uint32_t busy_pct; /* of the daemon's time; 0: any */
	size_t bytes, all_bytes; /* of requests */
	size_t unsent;		 /* bytes of answers */
};
extern const struct egs_share_limits egs_share_limits[EGS_SHARE_KINDS];

TAILQ_HEAD(egs_share_conns, egs_conn);

struct egs_share {
	enum egs_share_kind kind;
	struct egs_shares *all;
	struct egs_share_conns conns; /* longest inactive first */
	uint32_t nconns, nheld;
	uint32_t nwaiting;  /* of CONN_AUTH */
	uint32_t ndecoding; /* credentials that munged decodes */
	size_t bytes, unsent;
	int64_t busy_us; /* time of the daemon that is not paid back */
	uint64_t paid_ms;
};

struct egs_shares;

/* NULL: out of memory. */
struct egs_shares *egs_shares_new(void);
void egs_shares_free(struct egs_shares *all);

/* The share of a user, or of a stranger; NULL: out of memory.  It lives while
 * 'nconns' is not 0, and until egs_shares_prune() after that.
 */
struct egs_share *egs_shares_get_user(struct egs_shares *all, uid_t uid,
				      bool trusted);
struct egs_share *egs_shares_get_stranger(struct egs_shares *all,
					  const struct in6_addr *address,
					  bool privileged);

/* Free shares without connections, unless they have time to pay back.  Returns
 * the number of shares that are left.
 */
size_t egs_shares_prune(struct egs_shares *all, uint64_t now_ms);

/* Count a connection, or bytes of requests, more or less ('n' below 0). */
void egs_share_add_conn(struct egs_share *share, int n);
void egs_share_add_bytes(struct egs_share *share, ssize_t n);

/* Has the share, or its kind, no room for a connection or for 'n' bytes? */
bool egs_share_is_full(const struct egs_share *share);
bool egs_share_has_room(const struct egs_share *share, size_t n);

/* Charge the time of a request.  The second function returns whether the share
 * has used more than its part of the time and must pause.
 */
void egs_share_charge(struct egs_share *share, uint64_t us, uint64_t now_ms);
bool egs_share_must_pause(struct egs_share *share, uint64_t now_ms);

/* The share of a kind with the most connections; NULL: no connection. */
struct egs_share *egs_shares_find_largest(const struct egs_shares *all,
					  enum egs_share_kind kind);

#endif
