/* node_addresses.h - check that a request for a node comes from that node
 *
 * MUNGE proves that the client is root, but not on which host.  So a request
 * for a node must come from an address of the node's NodeAddr.  Or the request
 * must have a credential of the node's munged, which includes the address of
 * its host.
 *
 * A child process resolves the names when nodes or their addresses change.  The
 * child also runs after a request from an unknown address, at most once in a
 * minute.
 */
#ifndef EGS_REQUESTS_NODE_ADDRESSES_H
#define EGS_REQUESTS_NODE_ADDRESSES_H

#include "policyd/daemon/daemon.h"
#include "policyd/server/server.h"

/* Returns 0 if 'peer' is on 'node'.  Returns EGS_REPLY_RETRY with 'err' set if
 * no known address shows that; the daemon may learn more addresses later.
 */
int egs_node_addresses_check(struct egs_daemon *d, uint32_t node,
			     const struct egs_peer *peer, struct egs_err *err);

/* An address of a node; IPv4 is mapped into IPv6.  A node on the daemon's own
 * host also has the address ::1.
 */
struct egs_node_address {
	uint32_t node;
	struct in6_addr address;
};

/* Returns whether 'peer' is at an address of 'node' in this list of 'n'. */
bool egs_node_addresses_match(const struct egs_node_address *list, size_t n,
			      uint32_t node, const struct egs_peer *peer);

#endif
