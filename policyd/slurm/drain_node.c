/* drain_node.c - drain a node, and undo that if the drain is still ours */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policyd/slurm/compat.h"
#include "policyd/slurm/drain_node.h"

static bool is_ours(const node_info_t *node)
{
	return node->reason && strncmp(node->reason, EGS_DRAIN_PREFIX,
				       strlen(EGS_DRAIN_PREFIX)) == 0;
}

static enum egs_drain_outcome fail_call(char text[EGS_DRAIN_TEXT_MAX])
{
	snprintf(text, EGS_DRAIN_TEXT_MAX, "%s", slurm_strerror(errno));
	return EGS_DRAIN_FAILED;
}

/* The reason is needed for a drain only. */
static enum egs_drain_outcome set_state(const struct egs_drain_params *params,
					uint32_t state,
					char text[EGS_DRAIN_TEXT_MAX])
{
	struct egs_drain_params copy = *params; /* libslurm takes no constant */
	update_node_msg_t msg;

	slurm_init_update_node_msg(&msg);
	msg.node_names = copy.node;
	msg.node_state = state;
	msg.reason = params->undo ? NULL : copy.reason;
	return slurm_update_node(&msg) == SLURM_SUCCESS ? EGS_DRAIN_DONE
							: fail_call(text);
}

static enum egs_drain_outcome change_node(const struct egs_drain_params *params,
					  const node_info_t *node,
					  char text[EGS_DRAIN_TEXT_MAX])
{
	bool drained = node->node_state & NODE_STATE_DRAIN;
	bool down = (node->node_state & NODE_STATE_BASE) == NODE_STATE_DOWN;
	bool reason = node->reason && *node->reason;

	snprintf(text, EGS_DRAIN_TEXT_MAX, "%s", reason ? node->reason : "");
	if (params->undo && (!drained || !is_ours(node)))
		return EGS_DRAIN_OTHERS;
	if (!params->undo && drained)
		return is_ours(node) ? EGS_DRAIN_DONE : EGS_DRAIN_OTHERS;
	if (!params->undo && down && reason)
		return EGS_DRAIN_OTHERS;
	return set_state(params,
			 params->undo ? NODE_STATE_UNDRAIN : NODE_STATE_DRAIN,
			 text);
}

enum egs_drain_outcome
egs_slurm_drain_node(const struct egs_drain_params *params,
		     char text[EGS_DRAIN_TEXT_MAX])
{
	struct egs_drain_params copy = *params;
	enum egs_drain_outcome outcome = EGS_DRAIN_OTHERS;
	node_info_msg_t *msg = NULL;

	snprintf(text, EGS_DRAIN_TEXT_MAX, "the node is gone");
	if (slurm_load_node_single(&msg, copy.node, SHOW_ALL | SHOW_DETAIL) !=
	    SLURM_SUCCESS)
		return fail_call(text);
	for (uint32_t i = 0; i < msg->record_count; i++)
		if (msg->node_array[i].name &&
		    strcmp(msg->node_array[i].name, params->node) == 0)
			outcome =
				change_node(params, &msg->node_array[i], text);
	slurm_free_node_info_msg(msg);
	return outcome;
}
