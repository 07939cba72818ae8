/* node_addresses.c - check that a request for a node comes from that node */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/base/array.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "policyd/requests/node_addresses.h"
#include "policyd/requests/requests.h"

enum {
	REFRESH_S = 60, /* pause between two lookups; limit of a lookup */
};

struct egs_node_addresses {
	struct egs_node_address *list;
	size_t n;
	bool resolved;		 /* at least one lookup is done */
	bool needs_refresh;	 /* a request came from an unknown address */
	uint64_t names_sum;	 /* checksum of the names of the last lookup */
	egs_time_t refreshed_at; /* time of the last lookup */
	egs_time_t warned_at;	 /* time of the last warning */
	struct egs_child child;
	struct egs_watch *watch;
};

static int init_addresses(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_node_addresses *a = calloc(1, sizeof(*a));

	if (!a)
		return egs_errf(err, "out of memory");
	a->child.fd = -1;
	d->requests->node_addresses = a;
	return 0;
}

static void stop_lookup(struct egs_node_addresses *a)
{
	egs_watch_free(a->watch);
	a->watch = NULL;
	egs_child_stop(&a->child);
}

static void free_addresses(struct egs_daemon *d)
{
	struct egs_node_addresses *a =
		d->requests ? d->requests->node_addresses : NULL;

	if (!a)
		return;
	stop_lookup(a);
	free(a->list);
	free(a);
}

/* ---- in the child ---- */

struct address_list {
	struct egs_node_address *list;
	size_t n, room;
};

static int add_address(struct address_list *f, uint32_t node,
		       const struct in6_addr *at)
{
	if (egs_grow(&f->list, &f->room, f->n + 1) < 0)
		return -1;
	f->list[f->n].node = node;
	f->list[f->n++].address = *at;
	return 0;
}

static bool is_own_address(const struct ifaddrs *ours,
			   const struct in6_addr *at)
{
	struct in6_addr own;

	for (; ours; ours = ours->ifa_next)
		if (ours->ifa_addr &&
		    egs_server_get_ip(ours->ifa_addr, &own) == 0 &&
		    memcmp(&own, at, sizeof(own)) == 0)
			return true;
	return egs_server_is_loopback(at);
}

/* Add all addresses of 'name'; an unknown name has none. */
static int resolve_name(struct address_list *f, uint32_t node, const char *name,
			const struct ifaddrs *ours)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL, *a;
	int rc = 0;

	if (getaddrinfo(name, NULL, &want, &list) != 0)
		return 0;
	for (a = list; a && rc == 0; a = a->ai_next) {
		struct in6_addr at;

		if (egs_server_get_ip(a->ai_addr, &at) < 0)
			continue;
		rc = add_address(f, node, &at);
		if (rc == 0 && is_own_address(ours, &at))
			rc = add_address(f, node, &in6addr_loopback);
	}
	freeaddrinfo(list);
	return rc;
}

/* Returns the bytes of an array of struct egs_node_address. */
static int resolve_nodes(const void *arg, char **bytes, size_t *len,
			 struct egs_err *err)
{
	const struct egs_cluster *cluster = arg;
	const egs_time_t end = egs_daemon_now() + REFRESH_S;
	const struct egs_node_info *node;
	struct address_list f = { NULL, 0, 0 };
	struct ifaddrs *ours = NULL;
	int rc = 0;

	if (getifaddrs(&ours) < 0)
		ours = NULL;
	for (uint32_t i = 0;
	     rc == 0 && (node = egs_cluster_get_node(cluster, i)); i++)
		if (node->address && *node->address && egs_daemon_now() < end)
			rc = resolve_name(&f, i, node->address, ours);
	freeifaddrs(ours);
	if (rc < 0) {
		free(f.list);
		return egs_errf(err, "out of memory");
	}
	*bytes = (char *)f.list;
	*len = f.n * sizeof(*f.list);
	return 0;
}

/* ---- in the daemon ---- */

static void on_resolved(void *arg, uint32_t events)
{
	struct egs_node_addresses *a = arg;
	struct egs_err err;
	int rc = egs_child_read(&a->child, &err);

	(void)events;
	if (rc > 0)
		return;
	if (rc < 0) {
		egs_log_warn("node addresses: %s", err.msg);
	} else {
		free(a->list);
		a->list = (struct egs_node_address *)(void *)a->child.bytes;
		a->n = a->child.len / sizeof(*a->list);
		a->resolved = true;
		a->child.bytes = NULL;
	}
	stop_lookup(a);
}

static uint64_t checksum_names(const struct egs_cluster *cluster)
{
	uint64_t sum = EGS_HASH_START;
	const struct egs_node_info *node;

	for (uint32_t i = 0; (node = egs_cluster_get_node(cluster, i)); i++)
		sum = egs_hash_text(sum, node->address);
	return sum;
}

/* After a poll: resolve the names of nodes if a name has changed, or after a
 * request from an unknown address.
 */
static void refresh_addresses(struct egs_daemon *d)
{
	struct egs_node_addresses *a = d->requests->node_addresses;
	uint64_t sum = checksum_names(d->cluster);
	egs_time_t now = egs_daemon_now();
	struct egs_err err;

	if (a->watch || (sum == a->names_sum && !a->needs_refresh) ||
	    (sum == a->names_sum && now >= a->refreshed_at &&
	     now - a->refreshed_at < REFRESH_S))
		return;
	if (egs_child_start(&a->child, resolve_nodes, d->cluster, &err) == 0)
		a->watch = egs_loop_add_fd(d->loop, a->child.fd, EPOLLIN,
					   on_resolved, a, &err);
	if (!a->watch) {
		egs_log_warn("node addresses: %s", err.msg);
		stop_lookup(a);
		return;
	}
	a->names_sum = sum;
	a->refreshed_at = now;
	a->needs_refresh = false;
}

bool egs_node_addresses_match(const struct egs_node_address *list, size_t n,
			      uint32_t node, const struct egs_peer *peer)
{
	for (size_t i = 0; i < n; i++) {
		const struct in6_addr *at = &list[i].address;

		if (list[i].node != node)
			continue;
		if (memcmp(at, &peer->address, sizeof(*at)) == 0 ||
		    (peer->same_host && egs_server_is_loopback(at)))
			return true;
		/* On many hosts munged reports 127.0.1.1. */
		if (!egs_server_is_loopback(&peer->cred_origin) &&
		    memcmp(at, &peer->cred_origin, sizeof(*at)) == 0)
			return true;
	}
	return false;
}

static void warn_rarely(struct egs_node_addresses *a, const char *text)
{
	egs_time_t now = egs_daemon_now();

	if (now >= a->warned_at && now - a->warned_at < REFRESH_S)
		return;
	a->warned_at = now;
	egs_log_warn("%s", text);
}

int egs_node_addresses_check(struct egs_daemon *d, uint32_t node,
			     const struct egs_peer *peer, struct egs_err *err)
{
	const struct egs_node_info *known =
		egs_cluster_get_node(d->cluster, node);
	struct egs_node_addresses *a = d->requests->node_addresses;
	char at[INET6_ADDRSTRLEN] = "?";

	if (peer->local || egs_node_addresses_match(a->list, a->n, node, peer))
		return 0;
	if (!a->resolved) {
		egs_errf(err, "the node addresses are not known yet");
		return EGS_REPLY_RETRY;
	}
	a->needs_refresh = true;
	inet_ntop(AF_INET6, &peer->address, at, sizeof(at));
	egs_errf(err, "node %s: request from %s, which is not its NodeAddr=%s",
		 known->name, at, known->address ? known->address : "");
	warn_rarely(a, err->msg);
	return EGS_REPLY_RETRY;
}

const struct egs_part egs_node_addresses_part = {
	.name = "node addresses",
	.init = init_addresses,
	.stop = free_addresses,
	.nodes_polled = refresh_addresses,
};
