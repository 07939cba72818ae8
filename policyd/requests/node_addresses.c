/* node_addresses.c - where each node is, by what Slurm has for its NodeAddr */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/base/log.h"
#include "policyd/requests/node_addresses.h"

enum {
	AGAIN_S = 60, /* between two times, and the most that one takes */
};

struct egs_addresses {
	struct egs_address *list;
	size_t n;
	bool known;	 /* they were looked up once */
	bool in_doubt;	 /* somebody came from elsewhere */
	uint64_t sum;	 /* of the names that were looked up */
	egs_time_t at;	 /* and when */
	egs_time_t said; /* that somebody came from elsewhere */
	struct egs_aside aside;
	struct egs_watch *news;
};

struct egs_addresses *egs_addresses_new(void)
{
	struct egs_addresses *a = calloc(1, sizeof(*a));

	if (a)
		a->aside.fd = -1;
	return a;
}

static void stop(struct egs_addresses *a)
{
	egs_watch_free(a->news);
	a->news = NULL;
	egs_aside_end(&a->aside);
}

void egs_addresses_free(struct egs_addresses *a)
{
	if (!a)
		return;
	stop(a);
	free(a->list);
	free(a);
}

/* ---- in the child ---- */

struct found {
	struct egs_address *list;
	size_t n, room;
};

static int add(struct found *f, uint32_t node, const struct in6_addr *at)
{
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 256;
		struct egs_address *more =
			realloc(f->list, room * sizeof(*more));

		if (!more)
			return -1;
		f->list = more;
		f->room = room;
	}
	memset(&f->list[f->n], 0, sizeof(f->list[f->n]));
	f->list[f->n].node = node;
	f->list[f->n++].at = *at;
	return 0;
}

static bool is_ours(const struct ifaddrs *ours, const struct in6_addr *at)
{
	struct in6_addr own;

	for (; ours; ours = ours->ifa_next)
		if (ours->ifa_addr &&
		    egs_peer_address(ours->ifa_addr, &own) == 0 &&
		    memcmp(&own, at, sizeof(own)) == 0)
			return true;
	return egs_peer_is_loopback(at);
}

/* All that 'name' stands for; a name that nobody knows stands for nothing. */
static int add_name(struct found *f, uint32_t node, const char *name,
		    const struct ifaddrs *ours)
{
	const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL, *a;
	int rc = 0;

	if (getaddrinfo(name, NULL, &want, &list) != 0)
		return 0;
	for (a = list; a && rc == 0; a = a->ai_next) {
		struct in6_addr at;

		if (egs_peer_address(a->ai_addr, &at) < 0)
			continue;
		rc = add(f, node, &at);
		if (rc == 0 && is_ours(ours, &at))
			rc = add(f, node, &in6addr_loopback);
	}
	freeaddrinfo(list);
	return rc;
}

/* An array of struct egs_address, as bytes. */
static int look_up(const void *arg, char **bytes, size_t *len,
		   struct egs_err *err)
{
	const struct egs_world *world = arg;
	const egs_time_t end = egs_daemon_now() + AGAIN_S;
	const struct egs_known_node *node;
	struct found f = { NULL, 0, 0 };
	struct ifaddrs *ours = NULL;
	int rc = 0;

	if (getifaddrs(&ours) < 0)
		ours = NULL;
	for (uint32_t i = 0; rc == 0 && (node = egs_world_nodes(world, i)); i++)
		if (node->address && *node->address && egs_daemon_now() < end)
			rc = add_name(&f, i, node->address, ours);
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

static void on_news(void *arg, uint32_t events)
{
	struct egs_addresses *a = arg;
	struct egs_err err;
	int rc = egs_aside_read(&a->aside, &err);

	(void)events;
	if (rc > 0)
		return;
	if (rc < 0) {
		egs_warning("addresses of nodes: %s", err.msg);
	} else {
		free(a->list);
		a->list = (struct egs_address *)(void *)a->aside.bytes;
		a->n = a->aside.len / sizeof(*a->list);
		a->known = true;
		a->aside.bytes = NULL;
	}
	stop(a);
}

static uint64_t sum_names(const struct egs_world *world)
{
	uint64_t sum = UINT64_C(14695981039346656037);
	const struct egs_known_node *node;

	for (uint32_t i = 0; (node = egs_world_nodes(world, i)); i++) {
		const char *p = node->address ? node->address : "";

		do
			sum = (sum ^ (unsigned char)*p) *
			      UINT64_C(1099511628211);
		while (*p++);
	}
	return sum;
}

void egs_addresses_follow(struct egs_daemon *d)
{
	struct egs_addresses *a = d->addresses;
	uint64_t sum = sum_names(d->world);
	egs_time_t now = egs_daemon_now();
	struct egs_err err;

	if (a->news || (sum == a->sum && !a->in_doubt) ||
	    (sum == a->sum && now >= a->at && now - a->at < AGAIN_S))
		return;
	if (egs_aside_start(&a->aside, look_up, d->world, &err) == 0)
		a->news = egs_loop_fd(d->loop, a->aside.fd, EPOLLIN, on_news, a,
				      &err);
	if (!a->news) {
		egs_warning("addresses of nodes: %s", err.msg);
		stop(a);
		return;
	}
	a->sum = sum;
	a->at = now;
	a->in_doubt = false;
}

bool egs_addresses_have(const struct egs_address *list, size_t n, uint32_t node,
			const struct egs_peer *peer)
{
	for (size_t i = 0; i < n; i++) {
		const struct in6_addr *at = &list[i].at;

		if (list[i].node != node)
			continue;
		if (memcmp(at, &peer->at, sizeof(*at)) == 0 ||
		    (peer->here && egs_peer_is_loopback(at)))
			return true;
		/* Many a host calls itself 127.0.1.1. */
		if (!egs_peer_is_loopback(&peer->origin) &&
		    memcmp(at, &peer->origin, sizeof(*at)) == 0)
			return true;
	}
	return false;
}

static void say(struct egs_addresses *a, const char *words)
{
	egs_time_t now = egs_daemon_now();

	if (now >= a->said && now - a->said < AGAIN_S)
		return;
	a->said = now;
	egs_warning("%s", words);
}

int egs_addresses_check(struct egs_daemon *d, uint32_t node,
			const struct egs_peer *peer, struct egs_err *err)
{
	const struct egs_known_node *known = egs_world_nodes(d->world, node);
	struct egs_addresses *a = d->addresses;
	char at[INET6_ADDRSTRLEN] = "?";

	if (peer->local || egs_addresses_have(a->list, a->n, node, peer))
		return 0;
	if (!a->known) {
		egs_errf(err, "the addresses of nodes are not known yet");
		return EGS_VERB_AGAIN;
	}
	a->in_doubt = true;
	inet_ntop(AF_INET6, &peer->at, at, sizeof(at));
	egs_errf(err, "node %s: %s asks for it, which is not its NodeAddr=%s",
		 known->name, at, known->address ? known->address : "");
	say(a, err->msg);
	return EGS_VERB_AGAIN;
}
