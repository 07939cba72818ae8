/* node_addresses.h - where each node is, by what Slurm has for its NodeAddr
 *
 * MUNGE says that root asks, not of which host.  What is asked in the name of a
 * node has to come from there: over a connection from one of its addresses, or
 * with a credential that its own munged has made, as munged writes the address
 * of its host into it.
 *
 * Names are looked up aside, when nodes or their addresses change and when
 * somebody comes from elsewhere, but not more often than once in a minute.
 */
#ifndef EGS_REQUESTS_NODE_ADDRESSES_H
#define EGS_REQUESTS_NODE_ADDRESSES_H

#include "policyd/daemon/daemon.h"
#include "policyd/server/server.h"

/* Does 'peer' ask from 'node'?  0, or EGS_REPLY_RETRY with 'err' set: it does
 * not, as far as we know now.
 */
int egs_node_addresses_check(struct egs_daemon *d, uint32_t node,
			     const struct egs_peer *peer, struct egs_err *err);

/* One address of a node; IPv4 is mapped into IPv6.  An address of the daemon's
 * own host is followed by ::1.
 */
struct egs_node_address {
	uint32_t node;
	struct in6_addr address;
};

/* Is one of these 'n' where 'peer' asks from? */
bool egs_node_addresses_match(const struct egs_node_address *list, size_t n,
			      uint32_t node, const struct egs_peer *peer);

#endif
