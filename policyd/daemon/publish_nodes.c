/* publish_nodes.c - write claims and nodes into the decision table
 *
 * select/egs makes claims and rings the doorbell with them.  The policy stores
 * claims until they expire.  After a restart of slurmctld, select/egs reads
 * them from the table.  A new daemon reads them from the table of the last
 * daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hostlist.h"
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

/* Slurm does not name the requester of a preemption; select/egs does. */
static void set_requester(struct egs_daemon *d, uint32_t victim, uint32_t by)
{
	const struct egs_job *j = egs_policy_job(d->policy, victim);
	struct egs_event ev = { .kind = EGS_EV_CHOSEN_VICTIM, .requester = by };

	if (!j)
		return;
	ev.job = j->ident;
	egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

static void apply_claim(struct egs_daemon *d, const struct egs_job *j,
			struct egs_event *ev)
{
	ev->kind = EGS_EV_CLAIMED;
	ev->job = j->ident;
	if (ev->nallocs)
		egs_policy_apply(d->policy, ev, egs_daemon_now());
}

static bool is_waiting(const struct egs_job *j, uint32_t submit)
{
	return j && !j->running && (uint32_t)j->ident.submit == submit;
}

void egs_daemon_add_claim(struct egs_daemon *d,
			  const struct egs_doorbell_claim *claim)
{
	const struct egs_doorbell_msg *bell = &claim->msg;
	const struct egs_job *j = egs_policy_job(d->policy, bell->job_id);
	struct egs_node_alloc part[EGS_DOORBELL_PARTS_MAX];
	struct egs_event ev = { .alloc = part,
				.until = bell->expires,
				.priority = bell->priority };

	if (!is_waiting(j, bell->submit))
		return;
	for (uint32_t i = 0; i < bell->nparts; i++) {
		const struct egs_doorbell_part *p = &claim->part[i];
		int64_t node = egs_cluster_find_node(d->cluster, p->node);

		if (p->victim)
			set_requester(d, p->victim, bell->job_id);
		if (node < 0)
			continue;
		part[ev.nallocs++] = (struct egs_node_alloc){
			.node = (uint32_t)node,
			.gpus = p->gpus,
			.cores = p->cores,
			.mem_mb = p->mem_mb,
		};
	}
	apply_claim(d, j, &ev);
	egs_daemon_update(d);
}

/* Restore all claims of the job that owns the first of these. */
static void restore_job_claims(struct egs_daemon *d,
			       const struct egs_table_claim *first,
			       const struct egs_table_claim *end)
{
	const struct egs_job *j = egs_policy_job(d->policy, first->job_id);
	struct egs_node_alloc part[EGS_DOORBELL_PARTS_MAX];
	struct egs_event ev = { .alloc = part, .until = first->expires };

	if (!is_waiting(j, first->submit) || j->facts.not_schedulable ||
	    egs_policy_has_claim(d->policy, first->job_id))
		return;
	for (; first < end && ev.nallocs < EGS_DOORBELL_PARTS_MAX; first++) {
		int64_t node = egs_cluster_find_node(d->cluster, first->node);

		if (first->job_id != j->ident.job_id || node < 0)
			continue;
		part[ev.nallocs++] = (struct egs_node_alloc){
			.node = (uint32_t)node,
			.gpus = first->gpus,
			.cores = first->cores,
			.mem_mb = first->mem_mb,
		};
	}
	apply_claim(d, j, &ev);
}

void egs_daemon_restore_claims(struct egs_daemon *d)
{
	struct egs_table_marks *m = malloc(sizeof(*m));
	char path[sizeof(d->run_dir) + 16];
	struct egs_table *t;
	struct egs_err err;

	snprintf(path, sizeof(path), "%s/table", d->run_dir);
	t = m ? egs_table_open(path, &err) : NULL;
	if (t && egs_table_read_marks(t, m))
		for (uint32_t i = 0; i < m->nclaims; i++)
			restore_job_claims(d, &m->claim[i],
					   &m->claim[m->nclaims]);
	egs_table_free(t);
	free(m);
}

static void put_claims(const struct egs_daemon *d, struct egs_table_marks *m)
{
	const struct egs_claim *c;
	uint32_t n;

	c = egs_policy_claims(d->policy, &n);
	for (uint32_t i = 0; i < n && m->nclaims < EGS_TABLE_CLAIMS_MAX; i++) {
		const struct egs_node_info *node =
			egs_cluster_get_node(d->cluster, c[i].node);
		const struct egs_job *j =
			egs_policy_job(d->policy, c[i].position.job_id);
		struct egs_table_claim *to = &m->claim[m->nclaims];

		if (!node || !j || strlen(node->name) >= EGS_TABLE_NAME_SIZE)
			continue;
		*to = (struct egs_table_claim){
			.job_id = c[i].position.job_id,
			.submit = (uint32_t)j->ident.submit,
			.expires = (uint32_t)c[i].expires,
			.gpus = c[i].gpus,
			.cores = c[i].cores,
			.mem_mb = c[i].mem_mb,
		};
		snprintf(to->node, sizeof(to->node), "%s", node->name);
		m->nclaims++;
	}
}

/* The Nodes= of all tiers, or of all phases. */
struct published_sets {
	const char *nodes[EGS_PHASES_MAX]; /* NULL: all */
	int n;
};

static void add_set(struct published_sets *sets, int i, const char *nodes,
		    bool spill, struct egs_table_own_nodes *to)
{
	sets->n = i + 1;
	if (!nodes)
		return;
	sets->nodes[i] = nodes;
	to->has_nodes |= UINT32_C(1) << i;
	to->may_spill |= spill ? UINT32_C(1) << i : 0;
}

/* The sets that include this node, as bits. */
static uint32_t find_sets(const struct published_sets *sets, const char *name)
{
	uint32_t with = 0;

	for (int i = 0; i < sets->n; i++)
		if (sets->nodes[i] && egs_hostlist_has(sets->nodes[i], name))
			with |= UINT32_C(1) << i;
	return with;
}

static void put_node(const struct egs_daemon *d, struct egs_table_marks *m,
		     const struct published_sets *tiers,
		     const struct published_sets *phases, const char *name)
{
	struct egs_table_node node = {
		.tiers = find_sets(tiers, name),
		.phases = find_sets(phases, name),
		.flags = egs_daemon_is_fenced(d, name) ||
					 egs_daemon_is_avoided(d, name)
				 ? EGS_TABLE_FENCED
				 : 0,
	};

	if ((!node.tiers && !node.phases && !node.flags) ||
	    m->nnodes == EGS_TABLE_NODES_MAX ||
	    strlen(name) >= EGS_TABLE_NAME_SIZE)
		return;
	snprintf(node.name, sizeof(node.name), "%s", name);
	m->node[m->nnodes++] = node;
}

static void put_nodes(const struct egs_daemon *d, struct egs_table_marks *m)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct published_sets tiers = { .n = 0 }, phases = { .n = 0 };
	const struct egs_node_info *node;

	for (int i = 0; i < c->ntiers; i++)
		add_set(&tiers, i, c->tier[i].nodes, c->tier[i].spill,
			&m->tiers);
	for (int i = 0; i < c->nphases; i++)
		add_set(&phases, i, c->phase[i].nodes, c->phase[i].spill,
			&m->phases);
	for (uint32_t i = 0; (node = egs_cluster_get_node(d->cluster, i)); i++)
		put_node(d, m, &tiers, &phases, node->name);
}

void egs_daemon_publish_nodes(struct egs_daemon *d)
{
	struct egs_table_marks *m = calloc(1, sizeof(*m));

	if (!m) {
		egs_log_error("table: out of memory; claims and nodes are not "
			      "published");
		return;
	}
	put_claims(d, m);
	put_nodes(d, m);
	egs_table_publish_marks(d->table, m);
	d->changed &= ~EGS_CHANGED_NODES;
	free(m);
}
