/* share.c - the room of each user in the server */
#include <arpa/inet.h>
#include <string.h>

#include "policyd/server/share.h"
#include "t/lib/unit/tap.h"

enum { ALICE = 2001, DAVE = 2004, NOW = 1000000 };

static struct egs_shares *all;

static struct egs_share *get_user(uid_t uid)
{
	return egs_shares_get_user(all, uid, uid == 0);
}

static struct egs_share *get_stranger(const char *ip, bool privileged)
{
	struct in6_addr address;

	inet_pton(AF_INET6, ip, &address);
	return egs_shares_get_stranger(all, &address, privileged);
}

/* Add connections until the share is full. */
static int fill(struct egs_share *share)
{
	int n = 0;

	while (!egs_share_is_full(share)) {
		egs_share_add_conn(share, 1);
		n++;
	}
	return n;
}

static void empty(struct egs_share *share)
{
	egs_share_add_conn(share, -(int)share->nconns);
}

static void test_identity(void)
{
	ok(get_user(DAVE) == get_user(DAVE), "a user has one share");
	ok(get_user(DAVE) != get_user(ALICE), "two users have two shares");
	ok(get_user(0) != get_user(ALICE) &&
		   get_user(0)->kind == EGS_SHARE_TRUSTED,
	   "root has a share of its own");
	ok(get_stranger("::ffff:10.0.0.1", false) ==
		   get_stranger("::ffff:10.0.0.1", false),
	   "strangers of one address have one share");
	ok(get_stranger("::ffff:10.0.0.1", false) !=
		   get_stranger("::ffff:10.0.0.2", false),
	   "strangers of two addresses have two shares");
	ok(get_stranger("2001:db8::1", false) ==
		   get_stranger("2001:db8::2", false),
	   "strangers of one IPv6 network have one share");
	ok(get_stranger("::ffff:10.0.0.1", true)->kind == EGS_SHARE_NODES,
	   "a stranger with a port of root has the share of nodes");
}

static void test_conns(void)
{
	is_int(fill(get_user(DAVE)), 512, "a user has 512 connections");
	ok(!egs_share_is_full(get_user(ALICE)),
	   "another user has room for connections");
	is_int(fill(get_stranger("::ffff:10.0.0.1", false)), 1024,
	       "strangers of one address have 1024 connections");
	ok(!egs_share_is_full(get_stranger("::ffff:10.0.0.1", true)),
	   "nodes have room while strangers of their address have none");
	is_int(fill(get_stranger("::ffff:10.0.0.1", true)), 2048,
	       "ports of root of one address have 2048 connections");
	ok(!egs_share_is_full(get_stranger("::ffff:10.0.0.2", true)),
	   "other nodes have room when one address has used its own");
	empty(get_stranger("::ffff:10.0.0.1", true));
	is_int(fill(get_user(0)), 16384, "root has 16384 connections");
	for (uid_t uid = 5000; uid < 5100; uid++)
		fill(get_user(uid));
	ok(egs_share_is_full(get_user(ALICE)),
	   "all users together have a limit");
	ok(egs_shares_find_largest(all, EGS_SHARE_USER)->nconns == 512,
	   "the user with the most connections is found");
	for (uid_t uid = 5000; uid < 5100; uid++)
		empty(get_user(uid));
	empty(get_user(DAVE));
	empty(get_user(0));
	empty(get_stranger("::ffff:10.0.0.1", false));
	ok(!egs_shares_find_largest(all, EGS_SHARE_USER),
	   "no user is found without a connection");
}

static void test_bytes(void)
{
	struct egs_share *dave = get_user(DAVE);

	egs_share_add_bytes(dave, 2 << 20);
	ok(!egs_share_has_room(dave, 1), "a user has 2 MB for requests");
	ok(egs_share_has_room(get_user(ALICE), 65536),
	   "another user has room for requests");
	egs_share_add_bytes(dave, -(2 << 20));
	ok(egs_share_has_room(dave, 1), "room that was returned is free");
	for (int i = 0; i < 8; i++) {
		char ip[32];

		snprintf(ip, sizeof(ip), "::ffff:10.1.0.%d", i);
		egs_share_add_bytes(get_stranger(ip, false), 1 << 20);
	}
	ok(!egs_share_has_room(get_stranger("::ffff:10.2.0.1", false), 1),
	   "all strangers together have 8 MB for requests");
	ok(egs_share_has_room(get_stranger("::ffff:10.2.0.1", true), 1),
	   "nodes have room for requests when strangers have none");
}

static void test_time(void)
{
	struct egs_share *dave = get_user(DAVE), *root = get_user(0);

	egs_share_charge(dave, 400000, NOW);
	ok(!egs_share_must_pause(dave, NOW), "0.4 s of work is no reason to "
					     "pause");
	egs_share_charge(dave, 200000, NOW);
	ok(egs_share_must_pause(dave, NOW), "a user pauses after 0.6 s");
	egs_share_charge(root, 60000000, NOW);
	ok(!egs_share_must_pause(root, NOW), "root never pauses");
	ok(!egs_share_must_pause(get_user(ALICE), NOW),
	   "another user does not pause");
	ok(egs_shares_prune(all, NOW + 10) > 0 &&
		   egs_share_must_pause(get_user(DAVE), NOW + 10),
	   "a user who reconnects has the same time to pay back");
	ok(!egs_share_must_pause(get_user(DAVE), NOW + 500),
	   "a user pays back a quarter of the time that passes");
	is_int((intmax_t)egs_shares_prune(all, NOW + 60000), 0,
	       "shares without connections are freed");
}

int main(void)
{
	plan_none();
	all = egs_shares_new();
	test_identity();
	test_conns();
	test_bytes();
	test_time();
	egs_shares_free(all);
	return done_testing();
}
