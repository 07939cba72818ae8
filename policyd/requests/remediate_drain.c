/* remediate_drain.c - drain nodes by the worker, and undo that
 *
 * An order is sent again until slurmctld has answered.  The rows of a drain are
 * EGS_REMEDIATION_SENT or EGS_REMEDIATION_UNDOING until then, so a new daemon
 * orders it again.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/grow.h"
#include "common/base/log.h"
#include "common/conf/remedies.h"
#include "policyd/requests/remediate.h"
#include "policyd/store/remediation.h"

enum { RETRY_MS = 10000 };

struct egs_drain_order {
	struct egs_drain_params params;
	uint64_t due_ms;
	bool sent;
	bool failed; /* the failure is logged */
};

static struct egs_drain_order *find_order(struct egs_remediate *r,
					  const char *node)
{
	for (size_t i = 0; i < r->norders; i++)
		if (strcmp(r->order[i].params.node, node) == 0)
			return &r->order[i];
	return NULL;
}

/* The last order of a node counts. */
void egs_remediate_order_drain(struct egs_daemon *d, const char *node,
			       bool undo, const char *reason)
{
	struct egs_remediate *r = d->requests->remediate;
	struct egs_drain_order *order = find_order(r, node);

	if (!order) {
		if (egs_grow(&r->order, &r->order_room, r->norders + 1) < 0) {
			egs_log_error("node %s: out of memory; it is not %s",
				      node, undo ? "undrained" : "drained");
			return;
		}
		order = &r->order[r->norders++];
	}
	*order = (struct egs_drain_order){ .params.undo = undo };
	snprintf(order->params.node, sizeof(order->params.node), "%s", node);
	snprintf(order->params.reason, sizeof(order->params.reason), "%s",
		 reason);
	egs_remediate_send_orders(d);
}

/* What a rule did is undone in observe mode, too. */
static bool may_send(const struct egs_daemon *d,
		     const struct egs_drain_order *order)
{
	return !d->slurmctld_down && !d->paused &&
	       (order->params.undo || egs_daemon_is_enforcing(d, -1));
}

void egs_remediate_send_orders(struct egs_daemon *d)
{
	struct egs_remediate *r = d->requests->remediate;
	uint64_t now = egs_now_ms();

	for (size_t i = 0; i < r->norders; i++) {
		struct egs_drain_order *order = &r->order[i];

		if (order->sent || order->due_ms > now || !may_send(d, order))
			continue;
		order->sent = true;
		egs_worker_drain(d->worker, &order->params);
	}
}

static void retry_order(struct egs_drain_order *order, const char *why)
{
	if (!order->failed)
		egs_log_warn("node %s: not %s yet: %s", order->params.node,
			     order->params.undo ? "undrained" : "drained", why);
	order->failed = true;
	order->sent = false;
	order->due_ms = egs_now_ms() + RETRY_MS;
}

static int save_answer(struct egs_daemon *d,
		       const struct egs_drain_params *params, bool others,
		       const char *text, struct egs_err *err)
{
	const char *remedy = egs_remedies_name(EGS_REMEDY_DRAIN);
	struct egs_text why = { "the reason is gone" };

	if (others)
		egs_textf(&why, "an operator has changed the node: %s",
			  *text ? text : "it is not drained");
	if (params->undo)
		return egs_remediation_undone(d->store, params->node, remedy,
					      egs_daemon_now(), why.text, err);
	return egs_remediation_settle(
		d->store, params->node, remedy, EGS_REMEDIATION_SENT,
		others ? EGS_REMEDIATION_OPERATOR : EGS_REMEDIATION_DONE, err);
}

static void log_answer(const struct egs_drain_params *params, bool others,
		       const char *text)
{
	if (others)
		egs_log_info("node %s: left as it is, %s", params->node,
			     *text ? text : "not drained");
	else if (params->undo)
		egs_log_info("node %s: undrained, the reason is gone",
			     params->node);
	else
		egs_log_info("node %s: drained, %s", params->node,
			     params->reason);
}

void egs_remediate_drained(struct egs_daemon *d,
			   const struct egs_drain_params *params,
			   enum egs_drain_outcome outcome, const char *text)
{
	struct egs_remediate *r = d->requests->remediate;
	struct egs_drain_order *order = find_order(r, params->node);
	int64_t node = egs_cluster_find_node(d->cluster, params->node);
	bool others = outcome == EGS_DRAIN_OTHERS;
	struct egs_err err;

	if (!order || !order->sent || order->params.undo != params->undo)
		return; /* another order has replaced it */
	if (outcome == EGS_DRAIN_FAILED) {
		retry_order(order, text);
		return;
	}
	if (egs_daemon_begin(d, &err) < 0 ||
	    egs_daemon_check_store(
		    d, save_answer(d, params, others, text, &err), &err) < 0 ||
	    egs_daemon_commit(d, &err) < 0) {
		retry_order(order, err.msg);
		return;
	}
	log_answer(params, others, text);
	if (others && !params->undo && node >= 0)
		egs_health_drop(r->health, (uint32_t)node, EGS_REMEDY_DRAIN);
	*order = r->order[--r->norders];
	egs_daemon_poll_in(d, 0);
}
