/* share.c - what each user may have of the server at one time */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hash.h"
#include "common/base/idmap.h"
#include "policyd/server/share.h"

/* Time that a share may use at once, before it pauses. */
#define BUSY_MAX_US 500000

const struct egs_share_limits egs_share_limits[EGS_SHARE_KINDS] = {
	[EGS_SHARE_USER] = { .conns = 512,
			     .all_conns = 8192,
			     .held = 256,
			     .held_key = 8,
			     .bytes = 2 << 20,
			     .all_bytes = 64 << 20,
			     .unsent = 16 << 20,
			     .busy_pct = 25 },
	[EGS_SHARE_TRUSTED] = { .conns = 16384,
				.all_conns = 32768,
				.held = 16384,
				.bytes = 64 << 20,
				.all_bytes = 128 << 20,
				.unsent = 64 << 20 },
	[EGS_SHARE_STRANGER] = { .conns = 1024,
				 .all_conns = 4096,
				 .waiting = 64,
				 .bytes = 2 << 20,
				 .all_bytes = 8 << 20,
				 .unsent = 1 << 20,
				 .busy_pct = 25 },
	[EGS_SHARE_NODES] = { .conns = 2048,
			      .all_conns = 16384,
			      .bytes = 8 << 20,
			      .all_bytes = 64 << 20,
			      .unsent = 16 << 20 },
};

struct egs_shares {
	/* One share for each key: a uid and its kind, or an address. */
	struct share_list {
		struct egs_idmap keys;
		struct egs_share **share; /* by slot of 'keys' */
		uint32_t room;
	} list[EGS_SHARE_KINDS];
	uint32_t nconns[EGS_SHARE_KINDS]; /* of all shares of a kind */
	size_t bytes[EGS_SHARE_KINDS];
};

struct egs_shares *egs_shares_new(void)
{
	return calloc(1, sizeof(struct egs_shares));
}

void egs_shares_free(struct egs_shares *all)
{
	for (int k = 0; all && k < EGS_SHARE_KINDS; k++) {
		struct share_list *list = &all->list[k];

		for (uint32_t i = 0; i < list->keys.nslots; i++)
			if (list->keys.id[i])
				free(list->share[i]);
		egs_idmap_clear(&list->keys);
		free(list->share);
	}
	free(all);
}

/* The keys of a map are not 0, so they are one more; uid -1 is no user. */
static struct egs_share *get_share(struct egs_shares *all,
				   enum egs_share_kind kind, uint32_t key)
{
	struct share_list *list = &all->list[kind];
	uint32_t id = key == UINT32_MAX ? key : key + 1;
	uint32_t slot = egs_idmap_find(&list->keys, id);
	struct egs_share *share;

	if (slot != EGS_IDMAP_NONE)
		return list->share[slot];
	share = calloc(1, sizeof(*share));
	slot = share ? egs_idmap_add(&list->keys, id) : EGS_IDMAP_NONE;
	if (slot == EGS_IDMAP_NONE ||
	    /* NOLINTNEXTLINE(bugprone-sizeof-expression) a list of pointers */
	    egs_grow(&list->share, &list->room, slot + 1) < 0) {
		egs_idmap_drop(&list->keys, id);
		free(share);
		return NULL;
	}
	share->kind = kind;
	share->all = all;
	TAILQ_INIT(&share->conns);
	list->share[slot] = share;
	return share;
}

struct egs_share *egs_shares_get_user(struct egs_shares *all, uid_t uid,
				      bool trusted)
{
	return get_share(all, trusted ? EGS_SHARE_TRUSTED : EGS_SHARE_USER,
			 uid);
}

/* A host has one IPv4 address, or all IPv6 addresses of a network of 64 bits.
 */
struct egs_share *egs_shares_get_stranger(struct egs_shares *all,
					  const struct in6_addr *address,
					  bool privileged)
{
	size_t len = IN6_IS_ADDR_V4MAPPED(address) ? sizeof(*address) : 8;
	uint64_t sum = egs_hash(EGS_HASH_START, address, len);

	return get_share(all, privileged ? EGS_SHARE_NODES : EGS_SHARE_STRANGER,
			 (uint32_t)(sum ^ sum >> 32));
}

static void pay_back(struct egs_share *share, uint64_t now_ms)
{
	uint32_t pct = egs_share_limits[share->kind].busy_pct;

	share->busy_us -= (int64_t)(now_ms - share->paid_ms) * 10 * pct;
	if (share->busy_us < 0)
		share->busy_us = 0;
	share->paid_ms = now_ms;
}

size_t egs_shares_prune(struct egs_shares *all, uint64_t now_ms)
{
	size_t left = 0;

	for (int k = 0; k < EGS_SHARE_KINDS; k++) {
		struct share_list *list = &all->list[k];

		for (uint32_t i = 0; i < list->keys.nslots; i++) {
			if (!list->keys.id[i])
				continue;
			pay_back(list->share[i], now_ms);
			if (list->share[i]->nconns || list->share[i]->busy_us) {
				left++;
				continue;
			}
			free(list->share[i]);
			egs_idmap_drop(&list->keys, list->keys.id[i]);
		}
	}
	return left;
}

void egs_share_add_conn(struct egs_share *share, int n)
{
	share->nconns += (uint32_t)n;
	share->all->nconns[share->kind] += (uint32_t)n;
}

void egs_share_add_bytes(struct egs_share *share, ssize_t n)
{
	share->bytes += (size_t)n;
	share->all->bytes[share->kind] += (size_t)n;
}

bool egs_share_is_full(const struct egs_share *share)
{
	const struct egs_share_limits *limits = &egs_share_limits[share->kind];

	return share->nconns >= limits->conns ||
	       share->all->nconns[share->kind] >= limits->all_conns;
}

bool egs_share_has_room(const struct egs_share *share, size_t n)
{
	const struct egs_share_limits *limits = &egs_share_limits[share->kind];

	return share->bytes + n <= limits->bytes &&
	       share->all->bytes[share->kind] + n <= limits->all_bytes;
}

void egs_share_charge(struct egs_share *share, uint64_t us, uint64_t now_ms)
{
	if (!egs_share_limits[share->kind].busy_pct)
		return;
	pay_back(share, now_ms);
	share->busy_us += (int64_t)us;
}

bool egs_share_must_pause(struct egs_share *share, uint64_t now_ms)
{
	if (!share->busy_us)
		return false;
	pay_back(share, now_ms);
	return share->busy_us > BUSY_MAX_US;
}

struct egs_share *egs_shares_find_largest(const struct egs_shares *all,
					  enum egs_share_kind kind)
{
	const struct share_list *list = &all->list[kind];
	struct egs_share *largest = NULL;

	for (uint32_t i = 0; i < list->keys.nslots; i++)
		if (list->keys.id[i] && list->share[i]->nconns &&
		    (!largest || list->share[i]->nconns > largest->nconns))
			largest = list->share[i];
	return largest;
}
