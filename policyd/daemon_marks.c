/* daemon_marks.c - claims and nodes, for the plugins to read
 *
 * select/egs makes the claims and tells us by the doorbell; the policy keeps
 * them while they last, and slurmctld gets them back after a restart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>

#include "policyd/daemon.h"
#include "policyd/wire/log.h"

/* Slurm does not say for whom it asks a job to go; select/egs does. */
static void want(struct egs_daemon *d, uint32_t victim, uint32_t by)
{
	const struct egs_job *j = egs_policy_job(d->policy, victim);
	struct egs_event ev = { .kind = EGS_EV_WANTED, .by = by };

	if (!j)
		return;
	ev.job = j->ident;
	egs_policy_apply(d->policy, &ev, egs_daemon_now());
}

void egs_daemon_claimed(struct egs_daemon *d, const struct egs_bell_claim *got)
{
	const struct egs_bell *bell = &got->bell;
	const struct egs_job *j = egs_policy_job(d->policy, bell->job_id);
	struct egs_part part[EGS_BELL_PARTS];
	struct egs_event ev = { .kind = EGS_EV_CLAIMED,
				.part = part,
				.until = bell->expires,
				.priority = bell->priority };

	if (!j || j->running || (uint32_t)j->ident.submit != bell->submit)
		return;
	ev.job = j->ident;
	for (uint32_t i = 0; i < bell->nparts; i++) {
		const struct egs_bell_part *p = &got->part[i];
		int64_t node = egs_world_find_node(d->world, p->node);

		if (p->victim)
			want(d, p->victim, bell->job_id);
		if (node < 0)
			continue;
		part[ev.nparts++] = (struct egs_part){
			.node = (uint32_t)node,
			.gpus = p->gpus,
			.cores = p->cores,
			.mem_mb = p->mem_mb,
		};
	}
	egs_policy_apply(d->policy, &ev, egs_daemon_now());
	egs_daemon_settle(d);
}

static void put_claims(const struct egs_daemon *d, struct egs_table_marks *m)
{
	const struct egs_claim *c;
	uint32_t n;

	c = egs_policy_claims(d->policy, &n);
	for (uint32_t i = 0; i < n && m->nclaims < EGS_TABLE_CLAIMS; i++) {
		const struct egs_known_node *node =
			egs_world_nodes(d->world, c[i].node);
		const struct egs_job *j =
			egs_policy_job(d->policy, c[i].turn.job_id);
		struct egs_table_claim *to = &m->claim[m->nclaims];

		if (!node || !j || strlen(node->name) >= EGS_TABLE_NAME)
			continue;
		*to = (struct egs_table_claim){
			.job_id = c[i].turn.job_id,
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

/* Host lists are Slurm's, and nothing of this asks slurmctld. */
static uint32_t tiers_of(struct hostlist *const *hosts, const char *name)
{
	uint32_t tiers = 0;

	for (int r = 0; r < EGS_TIERS_MAX; r++)
		if (hosts[r] && slurm_hostlist_find(hosts[r], name) >= 0)
			tiers |= UINT32_C(1) << r;
	return tiers;
}

static void put_node(const struct egs_daemon *d, struct egs_table_marks *m,
		     struct hostlist *const *hosts, const char *name)
{
	struct egs_table_node *to = &m->node[m->nnodes];
	uint32_t tiers = tiers_of(hosts, name);
	bool fenced = egs_daemon_is_fenced(d, name);

	if ((!tiers && !fenced) || m->nnodes == EGS_TABLE_NODES ||
	    strlen(name) >= EGS_TABLE_NAME)
		return;
	*to = (struct egs_table_node){ .tiers = tiers,
				       .flags = fenced ? EGS_TABLE_FENCED : 0 };
	snprintf(to->name, sizeof(to->name), "%s", name);
	m->nnodes++;
}

static void put_nodes(const struct egs_daemon *d, struct egs_table_marks *m)
{
	const struct egs_policy_conf *c = egs_daemon_policy(d);
	struct hostlist *hosts[EGS_TIERS_MAX] = { NULL };
	const struct egs_known_node *node;

	for (int r = 0; r < c->ntiers; r++) {
		if (!c->tier[r].nodes)
			continue;
		hosts[r] = slurm_hostlist_create(c->tier[r].nodes);
		m->bound |= UINT32_C(1) << r;
		m->spill |= c->tier[r].spill ? UINT32_C(1) << r : 0;
	}
	for (uint32_t i = 0; (node = egs_world_nodes(d->world, i)); i++)
		put_node(d, m, hosts, node->name);
	for (int r = 0; r < c->ntiers; r++)
		if (hosts[r])
			slurm_hostlist_destroy(hosts[r]);
}

void egs_daemon_publish_marks(struct egs_daemon *d)
{
	struct egs_table_marks *m = calloc(1, sizeof(*m));

	if (!m) {
		egs_error("table: out of memory, marks not published");
		return;
	}
	put_claims(d, m);
	put_nodes(d, m);
	egs_table_publish_marks(d->table, m);
	d->marks_stale = false;
	free(m);
}
