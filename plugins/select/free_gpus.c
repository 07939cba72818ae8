/* free_gpus.c - nodes by their number of free GPUs */
#include <stdatomic.h>

#include "plugins/select/free_gpus.h"
#include "plugins/select/slurm_records.h"

/* Larger numbers of free GPUs count as the maximum; types cached at once. */
enum { FREE_GPUS_MAX = 64, VIEWS_MAX = 4 };

struct free_gpus_view {
	bitstr_t *nodes_with[FREE_GPUS_MAX + 1]; /* NULL: none */
	time_t counted_at;
	uint64_t change;
	uint32_t type_id, max_free;
	int nnodes;
};

static struct {
	_Atomic uint64_t change;
	struct free_gpus_view view[VIEWS_MAX];
	uint32_t next;
} self;

void egs_free_gpus_invalidate(void)
{
	atomic_fetch_add(&self.change, 1);
}

static void add_node(struct free_gpus_view *v, const node_record_t *node,
		     int index)
{
	uint32_t idle = egs_slurm_records_free_gpus(node, v->type_id);

	if (idle > FREE_GPUS_MAX)
		idle = FREE_GPUS_MAX;
	if (idle > v->max_free)
		v->max_free = idle;
	if (!v->nodes_with[idle])
		v->nodes_with[idle] = bit_alloc(v->nnodes);
	bit_set(v->nodes_with[idle], index);
}

static void count_free_gpus(struct free_gpus_view *v)
{
	for (uint32_t i = 0; i <= v->max_free; i++)
		FREE_NULL_BITMAP(v->nodes_with[i]);
	v->max_free = 0;
	v->nnodes = node_record_count;
	for (int i = 0; i < v->nnodes; i++)
		if (node_record_table_ptr[i])
			add_node(v, node_record_table_ptr[i], i);
}

static struct free_gpus_view *find_view(uint32_t type_id)
{
	for (uint32_t i = 0; i < VIEWS_MAX; i++)
		if (self.view[i].type_id == type_id && self.view[i].counted_at)
			return &self.view[i];
	return &self.view[self.next++ % VIEWS_MAX];
}

static const struct free_gpus_view *get_current_view(uint32_t type_id)
{
	struct free_gpus_view *v = find_view(type_id);
	uint64_t change = atomic_load(&self.change);
	time_t now = time(NULL);

	if (v->type_id == type_id && v->counted_at == now &&
	    v->change == change && v->nnodes == node_record_count)
		return v;
	v->type_id = type_id;
	v->counted_at = now;
	v->change = change;
	count_free_gpus(v);
	return v;
}

bool egs_free_gpus_best_fit(bitstr_t *nodes, uint32_t type_id, uint32_t gpus)
{
	const struct free_gpus_view *v = get_current_view(type_id);

	for (uint32_t i = gpus; i <= v->max_free; i++) {
		int before;

		if (!v->nodes_with[i] ||
		    !bit_overlap_any(nodes, v->nodes_with[i]))
			continue;
		before = bit_set_count(nodes);
		bit_and(nodes, v->nodes_with[i]);
		return bit_set_count(nodes) < before;
	}
	return false;
}
