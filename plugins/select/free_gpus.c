/* free_gpus.c - nodes by the GPUs that nobody holds there */
#include <stdatomic.h>

#include "plugins/select/free_gpus.h"
#include "plugins/select/slurm_records.h"

/* Nodes with more free GPUs are as good as any; types that wait at once. */
enum { MOST = 64, VIEWS = 4 };

struct view {
	bitstr_t *with[MOST + 1]; /* nodes with so many, NULL: none */
	time_t at;
	uint64_t change;
	uint32_t type_id, most;
	int nodes;
};

static struct {
	_Atomic uint64_t change;
	struct view view[VIEWS];
	uint32_t next;
} self;

void egs_idle_changed(void)
{
	atomic_fetch_add(&self.change, 1);
}

static void put(struct view *v, const node_record_t *node, int index)
{
	uint32_t idle = egs_record_free(node, v->type_id);

	if (idle > MOST)
		idle = MOST;
	if (idle > v->most)
		v->most = idle;
	if (!v->with[idle])
		v->with[idle] = bit_alloc(v->nodes);
	bit_set(v->with[idle], index);
}

static void count(struct view *v)
{
	for (uint32_t i = 0; i <= v->most; i++)
		FREE_NULL_BITMAP(v->with[i]);
	v->most = 0;
	v->nodes = node_record_count;
	for (int i = 0; i < v->nodes; i++)
		if (node_record_table_ptr[i])
			put(v, node_record_table_ptr[i], i);
}

static struct view *view_of(uint32_t type_id)
{
	for (uint32_t i = 0; i < VIEWS; i++)
		if (self.view[i].type_id == type_id && self.view[i].at)
			return &self.view[i];
	return &self.view[self.next++ % VIEWS];
}

static const struct view *see(uint32_t type_id)
{
	struct view *v = view_of(type_id);
	uint64_t change = atomic_load(&self.change);
	time_t now = time(NULL);

	if (v->type_id == type_id && v->at == now && v->change == change &&
	    v->nodes == node_record_count)
		return v;
	v->type_id = type_id;
	v->at = now;
	v->change = change;
	count(v);
	return v;
}

bool egs_idle_keep_fullest(bitstr_t *nodes, uint32_t type_id, uint32_t gpus)
{
	const struct view *v = see(type_id);

	for (uint32_t i = gpus; i <= v->most; i++) {
		int before;

		if (!v->with[i] || !bit_overlap_any(nodes, v->with[i]))
			continue;
		before = bit_set_count(nodes);
		bit_and(nodes, v->with[i]);
		return bit_set_count(nodes) < before;
	}
	return false;
}
