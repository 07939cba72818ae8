/* health.h - rules about GPUs: samples in, remedies out
 *
 * Pure: no clock, no I/O.  The caller gives the time, in seconds of a clock
 * that is never set, and carries the actions out.
 *
 * A case is a rule whose condition holds on a GPU (for On=xid: and one number).
 *
 *	holds for For=	EGS_HEALTH_DO with the remedies of the rule, once
 *	may not act	EGS_HEALTH_HOLD, once, with the limit that is reached;
 *			EGS_HEALTH_DO follows when the limit allows it
 *	gone for For=	EGS_HEALTH_UNDO with all that was done; the case ends
 *
 * An unknown value neither begins nor ends anything.  A time without samples
 * does not count: For= begins again.
 *
 * An XID holds from the moment in which it was reported.  It is gone when
 * egs-noded has started anew, as it does after a reset or a reboot, and the
 * driver then has no complaint about the GPU.  If the driver cannot tell, a
 * fence or a drain stays until an operator lifts it: a driver that hung has
 * started anew, too.  The class of an XID limits what is done (xid.h).
 *
 * Limit= of a rule bounds how often it does more than a note.  RemediateMax=
 * bounds the nodes on which remedies of any rule are in force.
 *
 * Without a rule for recovery, xid or ecc there is a rule "default" for it,
 * which only notes.
 */
#ifndef EGS_HEALTH_HEALTH_H
#define EGS_HEALTH_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/conf/policy_conf.h"

struct egs_health;

/* An XID of a GPU, and how often egs-noded has seen it since it started. */
struct egs_health_xid {
	uint32_t number, count;
	uint64_t holder; /* of the GPU when the last one came, 0: none */
};

#define EGS_HEALTH_UNKNOWN INT64_C(-1)

/* Values of EGS_ON_RECOVERY, the first of them with NVML's numbers. */
enum {
	EGS_HEALTH_FINE,
	EGS_HEALTH_RESET,
	EGS_HEALTH_REBOOT,
	EGS_HEALTH_DRAIN_P2P,
	EGS_HEALTH_DRAIN_AND_RESET,
	EGS_HEALTH_LOST,
	EGS_HEALTH_MISSING,
};

/* A sample of a GPU, as rules see it. */
struct egs_health_gpu {
	uint32_t node, gpu;
	uint32_t interval_s; /* between two samples */
	uint64_t session;    /* another number: egs-noded has started anew */
	uint64_t holder;     /* the run of a job that has the GPU, 0: none */
	bool node_up;	     /* neither drained, down nor fenced */
	/* By enum egs_rule_on, in the unit of Above=; of RECOVERY and SLOWDOWN
	 * more than 0 is bad.  XID is not used.  EGS_HEALTH_UNKNOWN: unknown.
	 */
	int64_t value[EGS_ON_COUNT];
	const struct egs_health_xid *xid;
	size_t nxids;
};

enum egs_health_kind {
	EGS_HEALTH_DO,
	EGS_HEALTH_HOLD,
	EGS_HEALTH_UNDO,
};

enum egs_health_bound {
	EGS_HEALTH_LIMIT, /* Limit= of the rule */
	EGS_HEALTH_MAX,	  /* RemediateMax= */
};

struct egs_health_action {
	enum egs_health_kind kind;
	char rule[EGS_NAME_SIZE];
	enum egs_rule_on on;
	uint32_t node, gpu;
	uint32_t xid; /* 0: none */
	int64_t value;
	uint64_t session, holder; /* when the case began */
	uint32_t remedies;	  /* bits of enum egs_remedy */
	uint32_t ended; /* UNDO: also those that were not done, or not ours */
	enum egs_health_bound bound; /* HOLD */
	bool observed;		     /* nothing must happen, or has happened */
};

/* NULL without memory; _free(NULL) is allowed. */
struct egs_health *egs_health_new(void);
void egs_health_free(struct egs_health *health);

/* Use the rules of 'conf', which are copied.  Cases of rules that are gone, or
 * look at something else now, are undone.
 */
void egs_health_set_rules(struct egs_health *health,
			  const struct egs_policy_conf *conf);

/* The most nodes on which remedies may be in force: 'percent' of 'nodes',
 * rounded down, but one of them if 'percent' is not 0.
 */
void egs_health_set_max(struct egs_health *health, uint32_t percent,
			uint32_t nodes);

/* Does the daemon act?  If not, actions are 'observed'.  When it begins to act,
 * observed cases end, and what still holds begins again.
 */
void egs_health_set_acting(struct egs_health *health, bool acting);

/* Judge a sample.  Returns 0, or -1 without memory: the next sample tries
 * again.
 */
int egs_health_add_sample(struct egs_health *health,
			  const struct egs_health_gpu *gpu, egs_time_t now);

/* Continue a case of an earlier daemon, which did (DO) or held back (HOLD) the
 * remedies, or has lost them to an operator (UNDO).  Call it again for further
 * remedies of the case.  A case whose rule is gone is undone.
 */
int egs_health_restore(struct egs_health *health,
		       const struct egs_health_action *saved, egs_time_t now);

/* A rule did more than a note 'age_s' ago, for Limit=. */
int egs_health_restore_use(struct egs_health *health, const char *name,
			   egs_time_t age_s, egs_time_t now);

/* An operator has taken these remedies on a node over: forget that they are
 * ours.
 */
void egs_health_drop(struct egs_health *health, uint32_t number,
		     uint32_t remedies);

/* The actions since the last clear, borrowed until the next call. */
const struct egs_health_action *
egs_health_actions(const struct egs_health *health, size_t *n);
void egs_health_clear_actions(struct egs_health *health);

/* Call 'fn' for the remedies in force on a node, as a DO for each case. */
void egs_health_each_case(const struct egs_health *health, uint32_t number,
			  void (*fn)(void *arg,
				     const struct egs_health_action *done),
			  void *arg);

/* What is wrong: "XID 79", "temperature 91 C".  Returns 'text->text'. */
const char *egs_health_describe(enum egs_rule_on on, int64_t value,
				uint32_t xid, struct egs_text *text);

#endif
