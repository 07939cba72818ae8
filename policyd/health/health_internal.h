/* health_internal.h - rules and cases; for the files of this room only
 *
 *	health.c	cases: when a condition holds, and what follows
 *	health_rules.c	rules, modes, earlier daemons, operators
 *	xid.c		classes of XIDs
 */
#ifndef EGS_HEALTH_HEALTH_INTERNAL_H
#define EGS_HEALTH_HEALTH_INTERNAL_H

#include "policyd/health/health.h"

enum {
	/* One for each rule of egs.conf, and those that only note. */
	EGS_HEALTH_RULES_MAX = EGS_RULES_MAX + EGS_ON_COUNT,
};

struct egs_health_rule {
	struct egs_rule conf;
	egs_time_t *used; /* when it did more than a note, oldest first */
	size_t nused, room;
};

struct egs_health_case {
	struct egs_health_case *next;
	int rule;
	uint32_t gpu, xid;
	uint32_t xids; /* how often the XID was seen */
	uint64_t session, holder;
	int64_t value;
	egs_time_t since;   /* it holds, or is gone */
	egs_time_t seen;    /* the last sample with a known value */
	bool gone;	    /* the condition does not hold any more */
	bool used_limit;    /* it counts for Limit= */
	bool observed;	    /* it was only recorded */
	uint32_t done;	    /* remedies that are not done again */
	uint32_t taken;	    /* of these: not ours any more */
	uint32_t held_back; /* remedies of a HOLD */
};

struct egs_health_node {
	struct egs_health_case *first;
	bool acted_on; /* it counts for RemediateMax= */
};

struct egs_health {
	struct egs_health_rule rule[EGS_HEALTH_RULES_MAX];
	int nrules;
	struct egs_health_node *node; /* by its number */
	uint32_t nnodes;
	uint32_t nacted_on, nodes_max;
	bool acting;
	struct egs_health_action *action;
	size_t nactions, action_room;
};

/* Add an action.  Without memory it is lost: the next sample finds the same. */
void egs_health_push_action(struct egs_health *h,
			    const struct egs_health_action *a);

/* A case as an action, with the remedies that are in force. */
struct egs_health_action
egs_health_make_action(const struct egs_health *h, uint32_t node,
		       const struct egs_health_case *c);

/* A node by its number; the first function adds it, or returns NULL without
 * memory, the second returns NULL if there is none.
 */
struct egs_health_node *egs_health_make_node(struct egs_health *h,
					     uint32_t node);
struct egs_health_node *egs_health_get_node(const struct egs_health *h,
					    uint32_t node);

/* Count the node for RemediateMax= after its cases have changed. */
void egs_health_count_node(struct egs_health *h, struct egs_health_node *node);

/* A case of a node; NULL: none, or no memory. */
struct egs_health_case *egs_health_find_case(const struct egs_health_node *node,
					     int rule, uint32_t gpu,
					     uint32_t xid);
struct egs_health_case *egs_health_add_case(struct egs_health_node *node,
					    int rule,
					    const struct egs_health_gpu *gpu,
					    uint32_t xid, egs_time_t now);

/* Undo a case and free it. */
void egs_health_end_case(struct egs_health *h, struct egs_health_node *node,
			 struct egs_health_case *c);

/* A rule did more than a note at 'at'. */
int egs_health_add_use(struct egs_health_rule *rule, egs_time_t at);

#endif
