/* node.c - answer node-wait: the jobs of each node and their notices
 *
 * The daemon computes a checksum over the jobs of each node and their notices.
 * A node sends the checksum of its last answer, and gets a new answer at once
 * if the checksums differ.  So the daemon stores no state of nodes, and a
 * restart of the node or of the daemon needs no special case.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hash.h"
#include "policyd/requests/node.h"
#include "policyd/requests/node_addresses.h"
#include "policyd/requests/op_shrink.h"
#include "policyd/requests/resize.h"
#include "policyd/requests/resize_unlock.h"

#define SEQ_TEXT_SIZE 24

/* Index of jobs by node; rebuilt after a change. */
struct egs_nodes {
	bool outdated, unsent;
	uint32_t nnodes;
	uint32_t *first_slot; /* index into 'slot', by node; has nnodes + 1
				 entries */
	uint32_t *slot;	      /* slots of the policy's jobs, sorted by node */
	uint64_t *sum;	      /* checksum by node; 0 from 'nnodes' on */
	uint64_t *sent_sum;   /* 'sum' at the last wake of the nodes */
	uint32_t nodes_room, slots_room;
};

static int init_nodes(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_nodes *nodes = calloc(1, sizeof(*nodes));

	if (!nodes)
		return egs_errf(err, "out of memory");
	nodes->outdated = true;
	d->requests->nodes = nodes;
	return 0;
}

static void free_nodes(struct egs_daemon *d)
{
	struct egs_nodes *nodes = d->requests ? d->requests->nodes : NULL;

	if (!nodes)
		return;
	free(nodes->first_slot);
	free(nodes->slot);
	free(nodes->sum);
	free(nodes->sent_sum);
	free(nodes);
}

/* ---- notices ---- */

void egs_nodes_get_notice(const struct egs_daemon *d, const struct egs_job *j,
			  struct egs_job_notice *request)
{
	const struct egs_shrink_notice *shrink = egs_op_shrink_find(d, j);

	*request = (struct egs_job_notice){ .number = 0 };
	if (shrink && egs_daemon_is_enforcing(d, j->facts.team)) {
		request->number = shrink->number;
		request->kind = EGS_NOTICE_SHRINK;
		request->gpus = shrink->gpus;
		request->deadline = shrink->deadline;
		egs_errf(&request->reason, "%s", shrink->reason);
		return;
	}
	if (!j->running || !j->preempting || j->yielded || j->withdrawing ||
	    !egs_daemon_is_enforcing(d, j->facts.team))
		return;
	request->number = j->request_no;
	request->kind = EGS_NOTICE_YIELD;
	request->deadline = j->deadline;
}

void egs_nodes_get_reason(struct egs_daemon *d, const struct egs_job *j,
			  struct egs_job_notice *notice)
{
	if (notice->number && notice->kind == EGS_NOTICE_YIELD)
		notice->reason = egs_daemon_notice_reason(d, j);
}

/* ---- jobs by node ---- */

/* The checksum of a node is the sum over its jobs, so their order does not
 * matter.
 */
static uint64_t checksum_job(const struct egs_daemon *d,
			     const struct egs_job *j, uint64_t gpu_set)
{
	uint64_t sum = EGS_HASH_START;
	struct egs_job_notice r;

	egs_nodes_get_notice(d, j, &r);
	sum = egs_hash_u64(sum, j->ident.job_id);
	sum = egs_hash_u64(sum, j->ident.uid);
	sum = egs_hash_u64(sum, j->ident.restarts);
	sum = egs_hash_u64(sum, r.number);
	sum = egs_hash_u64(sum, r.kind);
	sum = egs_hash_u64(sum, r.gpus);
	sum = egs_hash_u64(sum, egs_resize_gpu_scan(d, j->ident.job_id));
	sum = egs_hash_u64(sum, egs_resize_news(d, j->ident.job_id));
	sum = egs_hash_u64(sum, gpu_set);
	return egs_hash_u64(sum, (uint64_t)r.deadline);
}

static int grow_nodes(struct egs_nodes *nodes, uint32_t n)
{
	uint32_t room = n + n / 4 + 64;
	uint32_t *first = calloc(room + 1, sizeof(*first));
	uint64_t *sum = calloc(room, sizeof(*sum));
	uint64_t *sent = calloc(room, sizeof(*sent));

	if (!first || !sum || !sent) {
		free(first);
		free(sum);
		free(sent);
		return -1;
	}
	if (nodes->nodes_room)
		memcpy(sent, nodes->sent_sum,
		       nodes->nodes_room * sizeof(*sent));
	free(nodes->first_slot);
	free(nodes->sum);
	free(nodes->sent_sum);
	nodes->first_slot = first;
	nodes->sum = sum;
	nodes->sent_sum = sent;
	nodes->nodes_room = room;
	return 0;
}

static int grow_lists(struct egs_nodes *nodes, uint32_t n, uint32_t parts)
{
	if (n >= nodes->nodes_room && grow_nodes(nodes, n) < 0)
		return -1;
	return egs_grow(&nodes->slot, &nodes->slots_room, parts);
}

/* Returns the number of nodes; 'parts' is the number of (job, node) pairs. */
static uint32_t count_parts(const struct egs_daemon *d, uint32_t *parts)
{
	uint32_t slots = egs_policy_nslots(d->policy), n = 0, i, k;

	*parts = 0;
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (!j || !j->running)
			continue;
		*parts += j->nallocs;
		for (k = 0; k < j->nallocs; k++)
			if (j->alloc[k].node >= n)
				n = j->alloc[k].node + 1;
	}
	return n;
}

/* A counting sort of the slots by node. */
static void index_jobs(const struct egs_daemon *d, struct egs_nodes *nodes)
{
	uint32_t slots = egs_policy_nslots(d->policy), i, k;

	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		for (k = 0; j && j->running && k < j->nallocs; k++) {
			nodes->first_slot[j->alloc[k].node + 1]++;
			nodes->sum[j->alloc[k].node] +=
				checksum_job(d, j, j->alloc[k].gpu_set);
		}
	}
	for (i = 0; i < nodes->nnodes; i++)
		nodes->first_slot[i + 1] += nodes->first_slot[i];
	for (i = slots; i-- > 0;) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		for (k = 0; j && j->running && k < j->nallocs; k++)
			nodes->slot[--nodes->first_slot[j->alloc[k].node + 1]] =
				i;
	}
	/* first_slot[n + 1] is now the start of node n. */
	memmove(nodes->first_slot, nodes->first_slot + 1,
		nodes->nnodes * sizeof(*nodes->first_slot));
}

static int update_index(struct egs_daemon *d)
{
	struct egs_nodes *nodes = d->requests->nodes;
	uint32_t parts, n;

	if (!nodes->outdated)
		return 0;
	n = count_parts(d, &parts);
	if (grow_lists(nodes, n, parts) < 0)
		return -1;
	nodes->nnodes = n;
	memset(nodes->first_slot, 0, (n + 1) * sizeof(*nodes->first_slot));
	memset(nodes->sum, 0, nodes->nodes_room * sizeof(*nodes->sum));
	index_jobs(d, nodes);
	nodes->first_slot[n] = parts;
	nodes->outdated = false;
	nodes->unsent = true;
	return 0;
}

/* The GPUs of a job on a node as bits. */
static uint64_t get_gpu_set(const struct egs_job *j, uint32_t node)
{
	for (uint32_t i = 0; i < j->nallocs; i++)
		if (j->alloc[i].node == node)
			return j->alloc[i].gpu_set;
	return 0;
}

const struct egs_job *egs_nodes_find_gpu_job(struct egs_daemon *d,
					     uint32_t node, uint32_t gpu)
{
	const struct egs_nodes *nodes = d->requests->nodes;

	if (update_index(d) < 0 || node >= nodes->nnodes)
		return NULL;
	for (uint32_t i = nodes->first_slot[node];
	     i < nodes->first_slot[node + 1]; i++) {
		const struct egs_job *j =
			egs_policy_slot(d->policy, nodes->slot[i]);

		if (j && gpu < 64 && get_gpu_set(j, node) >> gpu & 1)
			return j;
	}
	return NULL;
}

void egs_nodes_mark_changed(struct egs_daemon *d)
{
	d->requests->nodes->outdated = true;
}

/* ---- answers ---- */

static uint64_t wait_key(int64_t node)
{
	return (uint64_t)node + 1;
}

void egs_nodes_wake(struct egs_daemon *d)
{
	struct egs_nodes *nodes = d->requests->nodes;

	if (!d->synced || update_index(d) < 0 || !nodes->unsent)
		return;
	for (uint32_t i = 0; i < nodes->nodes_room; i++) {
		if (nodes->sum[i] == nodes->sent_sum[i])
			continue;
		nodes->sent_sum[i] = nodes->sum[i];
		egs_server_wake(d->requests->server, wait_key(i));
	}
	nodes->unsent = false;
}

static void add_row(struct egs_daemon *d, const struct egs_job *j,
		    uint32_t node, struct egs_msg *answer)
{
	struct egs_job_info known = { .save_program = "" };
	struct egs_job_notice r;
	struct egs_text gpu_set;

	egs_nodes_get_notice(d, j, &r);
	egs_nodes_get_reason(d, j, &r);
	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	egs_msg_add_row(answer);
	egs_msg_add_cell_int(answer, j->ident.job_id);
	egs_msg_add_cell_int(answer, j->ident.uid);
	egs_msg_add_cell_int(answer, j->ident.restarts);
	egs_msg_add_cell_int(answer, r.number);
	egs_msg_add_cell_int(answer, r.kind);
	egs_msg_add_cell_int(answer, r.gpus);
	egs_msg_add_cell_int(answer, r.deadline);
	egs_msg_add_cell(answer, r.reason.msg);
	egs_msg_add_cell_int(answer, egs_resize_gpu_scan(d, j->ident.job_id));
	egs_msg_add_cell_int(answer, *known.save_program != '\0');
	egs_msg_add_cell_int(answer, egs_resize_news(d, j->ident.job_id));
	egs_msg_add_cell(answer,
			 egs_textf(&gpu_set, "%" PRIx64, get_gpu_set(j, node)));
	egs_msg_add_cell_int(answer, j->started);
}

static void answer_node(struct egs_daemon *d, int64_t node, const char *seq,
			struct egs_msg *answer)
{
	static const char *const columns[EGS_NODE_COL_COUNT] = {
		"JOB",	"UID",	    "RESTARTS", "REQUEST", "KIND",
		"GPUS", "DEADLINE", "REASON",	"LOOK",	   "SAVER",
		"NEWS", "GPUSET",   "START",
	};
	const struct egs_nodes *nodes = d->requests->nodes;

	egs_msg_set_str(answer, "seq", seq);
	egs_msg_set_int(answer, "now", egs_daemon_now());
	egs_msg_set_int(answer, "age", egs_daemon_now() - d->polled_at);
	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	if (node >= nodes->nnodes)
		return;
	for (uint32_t i = nodes->first_slot[node];
	     i < nodes->first_slot[node + 1]; i++)
		add_row(d, egs_policy_slot(d->policy, nodes->slot[i]),
			(uint32_t)node, answer);
}

int64_t egs_nodes_identify(struct egs_daemon *d, const struct egs_peer *peer,
			   const struct egs_msg *request, struct egs_err *err)
{
	const char *name = egs_msg_get_str(request, "node");
	int64_t node;
	int rc;

	if (peer->uid != 0)
		return egs_errf(err, "only root may ask for a node");
	node = name ? egs_cluster_find_node(d->cluster, name) : -1;
	if (node < 0)
		return egs_errf(err, "node='%s' is not a node of this cluster",
				egs_printable(name).text);
	rc = egs_node_addresses_check(d, (uint32_t)node, peer, err);
	return rc < 0 ? rc : node;
}

int egs_verb_node_wait(void *arg, const struct egs_peer *peer,
		       const struct egs_msg *request, struct egs_msg *answer,
		       struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const char *has = egs_msg_get_str(request, "seq");
	int64_t wait_s = EGS_NODE_LONG_POLL_S, node;
	char seq[SEQ_TEXT_SIZE];

	if (egs_requests_check_synced(d, err) < 0)
		return -1;
	node = egs_nodes_identify(d, peer, request, err);
	if (node < 0)
		return (int)node;
	if (update_index(d) < 0)
		return egs_errf(err, "out of memory");
	snprintf(seq, sizeof(seq), "%016" PRIx64,
		 node < d->requests->nodes->nnodes
			 ? d->requests->nodes->sum[node]
			 : 0);
	if (!has || strcmp(has, seq) != 0 ||
	    egs_server_is_timed_out(d->requests->server)) {
		answer_node(d, node, seq, answer);
		return 0;
	}
	egs_resize_unlock_confirm(d, (uint32_t)node);
	egs_msg_get_int(request, "wait", &wait_s);
	if (wait_s < 1 || wait_s > EGS_NODE_LONG_POLL_S)
		wait_s = EGS_NODE_LONG_POLL_S;
	egs_server_defer(d->requests->server, wait_key(node),
			 (uint32_t)wait_s * 1000);
	return EGS_REPLY_DEFERRED;
}

const struct egs_part egs_node_part = {
	.name = "nodes",
	.init = init_nodes,
	.stop = free_nodes,
	.jobs_changed = egs_nodes_mark_changed,
	.updated = egs_nodes_wake,
};
