/* idmap.c - job ids and names keep their numbers */
#include <stdlib.h>

#include "common/base/idmap.h"
#include "common/base/intern.h"
#include "t/lib/unit/tap.h"

enum { IDS = 5000, ROUNDS = 200000 };

/* Random adds and drops against a plain array. */
static void test_idmap(void)
{
	struct egs_idmap map = { .nslots = 0 };
	uint32_t *want = malloc(IDS * sizeof(*want));
	uint32_t id, wrong = 0, seed = 7, used = 0;

	for (uint32_t i = 0; i < IDS; i++)
		want[i] = EGS_IDMAP_NONE;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		seed = seed * 1103515245U + 12345U;
		id = (seed >> 8) % (IDS - 1) + 1;
		wrong += egs_idmap_find(&map, id) != want[id];
		if (want[id] == EGS_IDMAP_NONE) {
			want[id] = egs_idmap_add(&map, id);
			used++;
		} else if (seed & 0x40000000) {
			egs_idmap_drop(&map, id);
			want[id] = EGS_IDMAP_NONE;
			used--;
		}
	}
	for (id = 1; id < IDS; id++)
		wrong += egs_idmap_find(&map, id) != want[id];
	is_int(wrong, 0, "every id has its slot, and no other id has one");
	is_int(map.used, used, "ids in use are counted");
	ok(map.nslots < IDS, "slots of dropped ids are used again");
	egs_idmap_clear(&map);
	free(want);
}

static void test_names(void)
{
	struct egs_intern names = { .count = 0 };
	uint32_t alice = egs_intern_add(&names, "alice");
	char name[16];

	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "user%u", i);
		egs_intern_add(&names, name);
	}
	is_int(egs_intern_add(&names, "alice"), alice, "a name has one number");
	is_str(egs_intern_get(&names, alice), "alice", "a number has one name");
	is_int(names.count, 1001, "each name is stored once");
	is_str(egs_intern_get(&names, egs_intern_add(&names, NULL)), "",
	       "NULL has the empty name");
	egs_intern_clear(&names);
}

static void add_names(struct egs_intern *names, const char *prefix, uint32_t n)
{
	char name[32];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s-%u", prefix, i);
		egs_intern_add(names, name);
	}
}

static void test_sweep(void)
{
	struct egs_intern names = { .count = 0 };
	uint32_t alice, before;

	add_names(&names, "few", 100);
	ok(!egs_intern_begin_sweep(&names), "a short list is not swept");
	alice = egs_intern_add(&names, "alice");
	add_names(&names, "workload", 5000);
	ok(egs_intern_begin_sweep(&names), "a long list can be swept");
	egs_intern_mark(&names, alice);
	egs_intern_mark(&names, egs_intern_find(&names, "workload-7"));
	egs_intern_end_sweep(&names);
	is_int(egs_intern_find(&names, "alice"), alice,
	       "a name in use keeps its number");
	is_str(egs_intern_get(&names, egs_intern_find(&names, "workload-7")),
	       "workload-7", "a number in use keeps its name");
	is_int(egs_intern_find(&names, "workload-8"), 0,
	       "a name that is not in use is dropped");
	before = names.count;
	add_names(&names, "other", 4000);
	is_int(names.count, before,
	       "new names get the numbers of dropped ones");
	is_str(egs_intern_get(&names, egs_intern_find(&names, "other-3999")),
	       "other-3999", "a number that was free has its new name");
	egs_intern_clear(&names);
}

int main(void)
{
	plan_none();
	test_idmap();
	test_names();
	test_sweep();
	return done_testing();
}
