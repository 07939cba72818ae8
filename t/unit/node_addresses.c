/* node_addresses.c - which addresses may ask for a node */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/node_addresses.h"
#include "t/lib/unit/tap.h"

static struct in6_addr address(const char *text)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct in6_addr at = in6addr_any;

	if (!text)
		return at;
	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		egs_server_get_ip((struct sockaddr *)(void *)&four, &at);
	else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
		egs_server_get_ip((struct sockaddr *)(void *)&six, &at);
	else
		exit(1);
	return at;
}

/* Node 1 has two addresses, node 2 one, node 3 is the daemon's own host, of
 * node 4 none is known.
 */
static const struct {
	uint32_t node;
	const char *at;
} places[] = {
	{ 1, "192.0.2.1" }, { 1, "2001:db8::1" }, { 2, "192.0.2.2" },
	{ 3, "192.0.2.3" }, { 3, "::1" },
};

static const struct {
	uint32_t node;
	const char *at, *origin;
	bool here, may;
	const char *what;
} rows[] = {
	{ 1, "192.0.2.1", NULL, false, true,
	  "an address of the node is accepted" },
	{ 1, "::ffff:192.0.2.1", NULL, false, true,
	  "an IPv4 address mapped into IPv6 is accepted" },
	{ 1, "2001:db8::1", NULL, false, true,
	  "the second address of the node is accepted" },
	{ 1, "192.0.2.2", "192.0.2.2", false, false,
	  "the address of another node is refused" },
	{ 1, "10.0.0.1", "192.0.2.1", false, true,
	  "a credential of the node's munged is accepted from another "
	  "network" },
	{ 1, "10.0.0.1", "127.0.1.1", false, false,
	  "a credential with a loopback address is refused" },
	{ 3, "10.0.0.1", "127.0.1.1", false, false,
	  "a loopback credential does not stand for the daemon's host" },
	{ 1, "127.0.0.1", "127.0.1.1", true, false,
	  "the daemon's host may not ask for another node" },
	{ 3, "127.0.0.1", "127.0.1.1", true, true,
	  "the daemon's host may ask for its own node" },
	{ 3, "192.0.2.3", NULL, true, true,
	  "the daemon's host may use the address of its node" },
	{ 4, "192.0.2.1", "192.0.2.1", false, false,
	  "an address is refused for a node without addresses" },
	{ 4, NULL, NULL, false, false,
	  "no address is refused for a node without addresses" },
};

int main(void)
{
	struct egs_node_address list[ARRAY_SIZE(places)];

	plan_none();
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		list[i] = (struct egs_node_address){ places[i].node,
						     address(places[i].at) };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct egs_peer peer = {
			.address = address(rows[i].at),
			.cred_origin = address(rows[i].origin),
			.same_host = rows[i].here,
		};

		is_int(egs_node_addresses_match(list, ARRAY_SIZE(list),
						rows[i].node, &peer),
		       rows[i].may, "node %u: %s", rows[i].node, rows[i].what);
	}
	return done_testing();
}
