/* daemon_marks.c - claims and nodes, for the plugins to read
 *
 * select/egs makes the claims and tells us by the doorbell; the policy keeps
 * them while they last, and slurmctld gets them back after a restart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policyd/daemon.h"
#include "policyd/wire/log.h"

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

void egs_daemon_publish_marks(struct egs_daemon *d)
{
	struct egs_table_marks *m = calloc(1, sizeof(*m));

	if (!m) {
		egs_error("table: out of memory, marks not published");
		return;
	}
	put_claims(d, m);
	egs_table_publish_marks(d->table, m);
	d->marks_stale = false;
	free(m);
}
