/* node_addresses.h - does a request for a node come from that node?
 *
 * MUNGE proves that root asks, but not on which host. A request for a node must
 * come from one of the node's addresses, by Slurm's NodeAddr, or carry a
 * credential of the node's munged, which writes the address of its host into
 * it.
 *
 * A child resolves the names when nodes or their addresses change, and after a
 * request from an unknown address, at most once in a minute.
 */
#ifndef EGS_REQUESTS_NODE_ADDRESSES_H
#define EGS_REQUESTS_NODE_ADDRESSES_H

#include "policyd/daemon/daemon.h"
#include "policyd/server/server.h"

/* Is 'peer' on 'node'? 0, or EGS_REPLY_RETRY with 'err' set: not by the
 * addresses that are known now.
 */
int egs_node_addresses_check(struct egs_daemon *d, uint32_t node,
			     const struct egs_peer *peer, struct egs_err *err);

/* One address of a node; IPv4 is mapped into IPv6.  After an address of the
 * daemon's own host comes ::1.
 */
struct egs_node_address {
	uint32_t node;
	struct in6_addr address;
};

/* Is 'peer' at one of these 'n' addresses of 'node'? */
bool egs_node_addresses_match(const struct egs_node_address *list, size_t n,
			      uint32_t node, const struct egs_peer *peer);

#endif
