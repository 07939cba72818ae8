/* node.c - what each node has to know of its jobs, and who waits for it
 *
 * A node is up to date if it has the sum over the jobs that run there and what
 * they are asked for.  So nothing is remembered of nodes: one that asks with
 * another sum is answered, whether it, we or the job is new.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/node.h"
#include "policyd/requests/node_addresses.h"
#include "policyd/requests/op_shrink.h"
#include "policyd/requests/resize.h"

#define SEQ_TEXT 24

/* Who runs where, from one change to the next. */
struct egs_nodes {
	bool stale, untold;
	uint32_t n;	 /* nodes */
	uint32_t *first; /* in 'slot', by node; n + 1 of them */
	uint32_t *slot;	 /* of the policy's jobs */
	uint64_t *sum;	 /* by node, 0 from 'n' on */
	uint64_t *told;	 /* the same when nodes were told last */
	uint32_t nodes_room, slots_room;
};

struct egs_nodes *egs_nodes_new(void)
{
	struct egs_nodes *nodes = calloc(1, sizeof(*nodes));

	if (nodes)
		nodes->stale = true;
	return nodes;
}

void egs_nodes_free(struct egs_nodes *nodes)
{
	if (!nodes)
		return;
	free(nodes->first);
	free(nodes->slot);
	free(nodes->sum);
	free(nodes->told);
	free(nodes);
}

/* ---- what a job is asked for ---- */

void egs_nodes_request(const struct egs_daemon *d, const struct egs_job *j,
		       struct egs_request *request)
{
	const struct egs_shrink *shrink = egs_shrink_find(d, j);

	*request = (struct egs_request){ .request = 0 };
	if (shrink && egs_daemon_enforces(d, j->facts.team)) {
		request->request = shrink->request;
		request->kind = EGS_REQUEST_SHRINK;
		request->gpus = shrink->gpus;
		request->deadline = shrink->deadline;
		egs_errf(&request->reason, "%s", shrink->reason);
		return;
	}
	if (!j->running || !j->asked || j->yielded || j->sparing ||
	    !egs_daemon_enforces(d, j->facts.team))
		return;
	request->request = j->request;
	request->kind = EGS_REQUEST_YIELD;
	request->deadline = j->deadline;
	request->reason = egs_daemon_wanted(d, j->asked_by);
}

/* ---- who runs where ---- */

static uint64_t mix(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * UINT64_C(1099511628211);
}

/* The sums of the jobs of a node are added up, so their order is nothing. */
static uint64_t sum_of(const struct egs_daemon *d, const struct egs_job *j)
{
	uint64_t sum = UINT64_C(14695981039346656037);
	struct egs_request r;

	egs_nodes_request(d, j, &r);
	sum = mix(sum, j->ident.job_id);
	sum = mix(sum, j->ident.uid);
	sum = mix(sum, j->ident.restarts);
	sum = mix(sum, r.request);
	sum = mix(sum, r.kind);
	sum = mix(sum, r.gpus);
	sum = mix(sum, egs_resize_look(d, j->ident.job_id));
	return mix(sum, (uint64_t)r.deadline);
}

static int more_nodes(struct egs_nodes *nodes, uint32_t n)
{
	uint32_t room = n + n / 4 + 64;
	uint32_t *first = calloc(room + 1, sizeof(*first));
	uint64_t *sum = calloc(room, sizeof(*sum));
	uint64_t *told = calloc(room, sizeof(*told));

	if (!first || !sum || !told) {
		free(first);
		free(sum);
		free(told);
		return -1;
	}
	if (nodes->nodes_room)
		memcpy(told, nodes->told, nodes->nodes_room * sizeof(*told));
	free(nodes->first);
	free(nodes->sum);
	free(nodes->told);
	nodes->first = first;
	nodes->sum = sum;
	nodes->told = told;
	nodes->nodes_room = room;
	return 0;
}

static int make_room(struct egs_nodes *nodes, uint32_t n, uint32_t parts)
{
	uint32_t *slot;

	if (n >= nodes->nodes_room && more_nodes(nodes, n) < 0)
		return -1;
	if (parts <= nodes->slots_room)
		return 0;
	slot = realloc(nodes->slot, (parts + 1024) * sizeof(*slot));
	if (!slot)
		return -1;
	nodes->slot = slot;
	nodes->slots_room = parts + 1024;
	return 0;
}

/* How many nodes and how many parts of jobs there are. */
static uint32_t measure(const struct egs_daemon *d, uint32_t *parts)
{
	uint32_t slots = egs_policy_slots(d->policy), n = 0, i, k;

	*parts = 0;
	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		if (!j || !j->running)
			continue;
		*parts += j->nparts;
		for (k = 0; k < j->nparts; k++)
			if (j->part[k].node >= n)
				n = j->part[k].node + 1;
	}
	return n;
}

/* Count, then put each slot where the count says. */
static void place_jobs(const struct egs_daemon *d, struct egs_nodes *nodes)
{
	uint32_t slots = egs_policy_slots(d->policy), i, k;

	for (i = 0; i < slots; i++) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		for (k = 0; j && j->running && k < j->nparts; k++) {
			nodes->first[j->part[k].node + 1]++;
			nodes->sum[j->part[k].node] += sum_of(d, j);
		}
	}
	for (i = 0; i < nodes->n; i++)
		nodes->first[i + 1] += nodes->first[i];
	for (i = slots; i-- > 0;) {
		const struct egs_job *j = egs_policy_slot(d->policy, i);

		for (k = 0; j && j->running && k < j->nparts; k++)
			nodes->slot[--nodes->first[j->part[k].node + 1]] = i;
	}
	/* Each now begins where the one before it ended. */
	memmove(nodes->first, nodes->first + 1,
		nodes->n * sizeof(*nodes->first));
}

static int look_around(struct egs_daemon *d)
{
	struct egs_nodes *nodes = d->nodes;
	uint32_t parts, n;

	if (!nodes->stale)
		return 0;
	n = measure(d, &parts);
	if (make_room(nodes, n, parts) < 0)
		return -1;
	nodes->n = n;
	memset(nodes->first, 0, (n + 1) * sizeof(*nodes->first));
	memset(nodes->sum, 0, nodes->nodes_room * sizeof(*nodes->sum));
	place_jobs(d, nodes);
	nodes->first[n] = parts;
	nodes->stale = false;
	nodes->untold = true;
	return 0;
}

void egs_nodes_changed(struct egs_daemon *d, const struct egs_ident *job)
{
	(void)job; /* a walk over all of them costs less than a list */
	d->nodes->stale = true;
}

/* ---- answers ---- */

static uint64_t key_of(int64_t node)
{
	return (uint64_t)node + 1;
}

void egs_nodes_tell(struct egs_daemon *d)
{
	struct egs_nodes *nodes = d->nodes;
	uint32_t i;

	if (!d->whole || look_around(d) < 0 || !nodes->untold)
		return;
	for (i = 0; i < nodes->nodes_room; i++) {
		if (nodes->sum[i] == nodes->told[i])
			continue;
		nodes->told[i] = nodes->sum[i];
		egs_server_wake(d->server, key_of(i));
	}
	nodes->untold = false;
}

static void add_row(const struct egs_daemon *d, const struct egs_job *j,
		    struct egs_msg *answer)
{
	struct egs_known known = { .program = "" };
	struct egs_request r;

	egs_nodes_request(d, j, &r);
	egs_world_known(d->world, j->ident.job_id, &known);
	egs_msg_row(answer);
	egs_msg_cell_int(answer, j->ident.job_id);
	egs_msg_cell_int(answer, j->ident.uid);
	egs_msg_cell_int(answer, j->ident.restarts);
	egs_msg_cell_int(answer, r.request);
	egs_msg_cell_int(answer, r.kind);
	egs_msg_cell_int(answer, r.gpus);
	egs_msg_cell_int(answer, r.deadline);
	egs_msg_cell(answer, r.reason.msg);
	egs_msg_cell_int(answer, egs_resize_look(d, j->ident.job_id));
	egs_msg_cell(answer, known.program);
}

static void answer_node(const struct egs_daemon *d, int64_t node,
			const char *seq, struct egs_msg *answer)
{
	static const char *const columns[EGS_NODE_COLUMNS] = {
		"JOB",	"UID",	    "RESTARTS", "REQUEST", "KIND",
		"GPUS", "DEADLINE", "REASON",	"LOOK",	   "PROGRAM",
	};
	const struct egs_nodes *nodes = d->nodes;
	uint32_t i;

	egs_msg_set_str(answer, "seq", seq);
	egs_msg_set_int(answer, "age", egs_daemon_now() - d->looked_at);
	egs_msg_columns(answer, columns, ARRAY_SIZE(columns));
	if (node >= nodes->n)
		return;
	for (i = nodes->first[node]; i < nodes->first[node + 1]; i++)
		add_row(d, egs_policy_slot(d->policy, nodes->slot[i]), answer);
}

int64_t egs_nodes_who(struct egs_daemon *d, const struct egs_peer *peer,
		      const struct egs_msg *request, struct egs_err *err)
{
	const char *name = egs_msg_str(request, "node");
	int64_t node;
	int rc;

	if (peer->uid != 0)
		return egs_errf(err, "only root of a node may ask for it");
	node = name ? egs_world_find_node(d->world, name) : -1;
	if (node < 0)
		return egs_errf(err, "node='%s' is no node of this cluster",
				egs_show(name).text);
	rc = egs_addresses_check(d, (uint32_t)node, peer, err);
	return rc < 0 ? rc : node;
}

int egs_verb_node_wait(void *arg, const struct egs_peer *peer,
		       const struct egs_msg *request, struct egs_msg *answer,
		       struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const char *has = egs_msg_str(request, "seq");
	int64_t wait_s = EGS_NODE_WAIT_S, node;
	char seq[SEQ_TEXT];

	if (egs_verbs_seen(d, err) < 0)
		return -1;
	node = egs_nodes_who(d, peer, request, err);
	if (node < 0)
		return (int)node;
	if (look_around(d) < 0)
		return egs_errf(err, "out of memory");
	snprintf(seq, sizeof(seq), "%016" PRIx64,
		 node < d->nodes->n ? d->nodes->sum[node] : 0);
	if (!has || strcmp(has, seq) != 0 || egs_server_is_last(d->server)) {
		answer_node(d, node, seq, answer);
		return 0;
	}
	egs_msg_int(request, "wait", &wait_s);
	if (wait_s < 1 || wait_s > EGS_NODE_WAIT_S)
		wait_s = EGS_NODE_WAIT_S;
	egs_server_hold(d->server, key_of(node), (uint32_t)wait_s * 1000);
	return EGS_VERB_LATER;
}
