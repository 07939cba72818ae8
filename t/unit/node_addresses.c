/* node_addresses.c - who asks in the name of a node, and from where */
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
	{ 1, "192.0.2.1", NULL, false, true, "its address" },
	{ 1, "::ffff:192.0.2.1", NULL, false, true, "the same, mapped" },
	{ 1, "2001:db8::1", NULL, false, true, "its other address" },
	{ 1, "192.0.2.2", "192.0.2.2", false, false, "that of another node" },
	{ 1, "10.0.0.1", "192.0.2.1", false, true,
	  "another network, but a credential of its munged" },
	{ 1, "10.0.0.1", "127.0.1.1", false, false,
	  "a munged that does not know where it is" },
	{ 3, "10.0.0.1", "127.0.1.1", false, false,
	  "which does not make it the daemon's host" },
	{ 1, "127.0.0.1", "127.0.1.1", true, false,
	  "the daemon's host is not any node" },
	{ 3, "127.0.0.1", "127.0.1.1", true, true, "but one" },
	{ 3, "192.0.2.3", NULL, true, true, "also by its name" },
	{ 4, "192.0.2.1", "192.0.2.1", false, false,
	  "who is nowhere cannot be asked from" },
	{ 4, NULL, NULL, false, false, "nor by who comes from nowhere" },
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
