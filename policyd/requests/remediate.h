/* remediate.h - carry out what the rules about GPUs decide
 *
 *	remediate.c		samples to policyd/health, its actions to rows
 *				of the store and to the cluster
 *	remediate_rows.c	the rows, and how a new daemon reads them
 *	remediate_drain.c	drains of nodes, by the worker
 *	remediate_run.c		programs of rules
 *	remediate_cap.c		power limits of GPUs, by the answers to nodes
 *	remediate_text.c	what is wrong and what is done, in words
 *
 * Rows of the store are written before anything is done.  A new daemon reads
 * the rows that are open, and continues there.  Nothing is judged while EGS is
 * paused, slurmctld does not answer, or the store fails.
 */
#ifndef EGS_REQUESTS_REMEDIATE_H
#define EGS_REQUESTS_REMEDIATE_H

#include "policyd/health/health.h"
#include "policyd/requests/gpu_samples.h"
#include "policyd/requests/requests.h"

struct egs_drain_order;
struct egs_run_order;

struct egs_remediate {
	struct egs_health *health;
	bool restored; /* rows of an earlier daemon are in 'health' */
	/* Before it was judged, the node was fenced, and not by a rule. */
	bool fenced_by_others;
	struct egs_drain_order *order;
	size_t norders, order_room;
	struct egs_program program; /* of the first of 'run' */
	struct egs_run_order *run;
	size_t nruns, run_room;
};

/* A node has sent samples. */
void egs_remediate_judge(struct egs_daemon *d, uint32_t node);

/* An operator, or egs-noded, has changed the fence of a node: a fence of ours
 * is not ours any more.
 */
void egs_remediate_lose_fence(struct egs_daemon *d, const char *node);

/* Append what rules have done about a GPU, or about any GPU of the node
 * (EGS_REMEDIATE_ANY), to 'note'.
 */
#define EGS_REMEDIATE_ANY UINT32_MAX
void egs_remediate_note(const struct egs_daemon *d, uint32_t node, uint32_t gpu,
			struct egs_text *note);

/* ---- remediate_rows.c ---- */

/* Write the rows of an action, in a transaction that stays open. */
int egs_remediate_write_rows(struct egs_daemon *d,
			     const struct egs_health_action *a,
			     struct egs_err *err);

/* Read the rows of an earlier daemon. */
int egs_remediate_read_rows(struct egs_daemon *d, struct egs_err *err);

/* The remedy of this action, which began in the last hour, has ended so: set
 * the outcome of its row.  A failure is logged.
 */
void egs_remediate_answer(struct egs_daemon *d,
			  const struct egs_health_action *a,
			  enum egs_remedy remedy, const char *outcome);

/* Seconds of a clock that is never set: steps of the machine's clock must not
 * make a condition old.
 */
egs_time_t egs_remediate_steady_s(void);

/* A run of a job as one number, 0: none; and the job of an action, NULL: it
 * does not run any more.
 */
uint64_t egs_remediate_make_holder(const struct egs_identity *job);
const struct egs_job *
egs_remediate_find_holder(const struct egs_daemon *d,
			  const struct egs_health_action *a);

/* The name of a node, "" if it is unknown. */
const char *egs_remediate_node_name(const struct egs_daemon *d, uint32_t node);

/* The number of cases of a node that have one of these remedies in force. */
uint32_t egs_remediate_count(const struct egs_daemon *d, uint32_t node,
			     uint32_t remedies);

/* Does this action end the last drain of the node? */
bool egs_remediate_must_undrain(const struct egs_daemon *d,
				const struct egs_health_action *a);

/* ---- remediate_drain.c ---- */

/* Drain a node, or undo that.  The answer of Slurm goes to the store. */
void egs_remediate_order_drain(struct egs_daemon *d, const char *node,
			       bool undo, const char *reason);

/* Once a second: send orders that wait. */
void egs_remediate_send_orders(struct egs_daemon *d);

/* Slurm has answered an order. */
void egs_remediate_drained(struct egs_daemon *d,
			   const struct egs_drain_params *params,
			   enum egs_drain_outcome outcome, const char *text);

/* ---- remediate_cap.c ---- */

/* Tell a node that has sent samples which GPUs are to have lower power limits.
 */
void egs_remediate_answer_caps(const struct egs_daemon *d, uint32_t node,
			       struct egs_msg *answer);

/* The node tells in 'request' which limits are in force; 'last' has what it
 * told before and gets the new text.
 */
void egs_remediate_note_caps(struct egs_daemon *d, uint32_t node,
			     const struct egs_msg *request,
			     struct egs_text *last);

/* ---- remediate_run.c ---- */

/* Run the program of a rule with this warning, when its turn comes. */
void egs_remediate_order_run(struct egs_daemon *d,
			     const struct egs_health_action *a,
			     const struct egs_warning *warning);

/* Once a second: look after the program, and start the next. */
void egs_remediate_run_next(struct egs_daemon *d);

/* Kill the program and forget what waits. */
void egs_remediate_free_runs(struct egs_remediate *r);

/* ---- remediate_text.c ---- */

/* The rule of an action; NULL: it only notes, or egs.conf has it no more. */
const struct egs_rule *egs_remediate_find_rule(const struct egs_daemon *d,
					       const char *name);

/* "GPU 3 of n1: temperature 91 C, more than 85 for 5m". */
const char *egs_remediate_sentence(const struct egs_daemon *d,
				   const struct egs_health_action *a,
				   struct egs_text *text);

/* "egs: GPU 3 temperature 91 C", the reason of a drain. */
const char *egs_remediate_drain_reason(const struct egs_health_action *a,
				       struct egs_text *text);

/* Why a remedy is held back: "Limit=2/hour of rule hot is reached". */
const char *egs_remediate_bound(const struct egs_daemon *d,
				const struct egs_health_action *a,
				struct egs_text *text);

#endif
