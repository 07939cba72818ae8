/* node_marks.c - what the daemon says of nodes, as bitmaps */
#include <stdlib.h>

#include "plugins/select/node_marks.h"
#include "plugins/shared/decisions.h"

/* In force while 'seq' is that of the table, and the nodes are the same. */
static struct {
	uint64_t seq;
	time_t configured;
	int nodes;
	bool any;
	struct egs_node_marks marks;
	struct egs_table_marks *copy;
} self;

static void clear_node_sets(struct egs_node_sets *homes)
{
	for (size_t i = 0; i < 32; i++)
		FREE_NULL_BITMAP(homes->nodes[i]);
	homes->sets = (struct egs_table_own_nodes){ 0 };
}

static void set_node_bit(bitstr_t **nodes, uint32_t index)
{
	if (!*nodes)
		*nodes = bit_alloc(node_record_count);
	bit_set(*nodes, (bitoff_t)index);
}

static void mark_node_sets(struct egs_node_sets *homes, uint32_t which,
			   uint32_t index)
{
	for (uint32_t i = 0; i < 32; i++)
		if (which & UINT32_C(1) << i)
			set_node_bit(&homes->nodes[i], index);
}

static void mark_node(const struct egs_table_node *from)
{
	const node_record_t *node = find_node_record((char *)from->name);

	if (!node || node->index >= (uint32_t)node_record_count)
		return;
	mark_node_sets(&self.marks.tiers, from->tiers, node->index);
	mark_node_sets(&self.marks.phases, from->phases, node->index);
	if (from->flags & EGS_TABLE_FENCED)
		set_node_bit(&self.marks.fenced, node->index);
}

/* False: not now. */
static bool read_marks(void)
{
	if (!self.copy)
		self.copy = malloc(sizeof(*self.copy));
	if (!self.copy || !egs_decisions_get_marks(self.copy))
		return false;
	self.marks.tiers.sets = self.copy->tiers;
	self.marks.phases.sets = self.copy->phases;
	for (uint32_t i = 0; i < self.copy->nnodes; i++)
		mark_node(&self.copy->node[i]);
	return true;
}

static void refresh_marks(uint64_t seq)
{
	clear_node_sets(&self.marks.tiers);
	clear_node_sets(&self.marks.phases);
	FREE_NULL_BITMAP(self.marks.fenced);
	self.nodes = node_record_count;
	self.configured = slurm_conf.last_update;
	self.seq = !seq || read_marks() ? seq : 0;
	self.any = self.marks.fenced || self.marks.tiers.sets.has_nodes ||
		   self.marks.phases.sets.has_nodes;
}

const struct egs_node_marks *egs_node_marks_get(void)
{
	uint64_t seq = egs_decisions_marks_seq();

	if (seq != self.seq || node_record_count != self.nodes ||
	    slurm_conf.last_update != self.configured)
		refresh_marks(seq);
	return self.any ? &self.marks : NULL;
}
