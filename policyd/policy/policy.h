/* policy.h - the policy: events in, actions and answers out
 *
 *	struct egs_policy *p = egs_policy_new(conf);
 *	egs_policy_apply(p, &event, now);	for each event
 *	egs_policy_update(p, now);		loans, limits, deadlines
 *	act on egs_policy_actions(p, &n), then egs_policy_clear_actions(p)
 *	egs_policy_take_view(p, job_id, now, &row)	the row of one job
 *
 * Time is an argument and never runs backwards: an earlier 'now' counts as the
 * latest one.  The policy does not wait, read or print.
 *
 * States of a job that is preempted.  On an arrow: the event or condition, then
 * a slash and the action of the policy.
 *
 *	running
 *	   | PREEMPTING / RECORD_REQUEST
 *	   v              requester gone / WITHDRAW
 *	notice sent ------------------------------> withdrawing
 *	   |   |  ^                                      ^   |
 *	   |   |  +-- SAVED, any number                  |   | WITHDRAWN /
 *	   |   |                                         |   | RECORD_DEPARTURE
 *	   |   | deadline             AtDeadline=spare / |   v
 *	   |   +-----------> late -----------------------+  running
 *	   |                  |               WITHDRAW
 *	   | YIELDED /        | AtDeadline=requeue / REQUEUE
 *	   v REQUEUE          v AtDeadline=cancel / CANCEL, then ended
 *	yielded ---------> requeued
 *	        REQUEUED /    | requester starts or has a claim / RELEASE
 *	 RECORD_DEPARTURE     v
 *	                   pending -----------------------> running
 *	                           STARTED / RECORD_RESTART
 *
 * ENDED leads from every state to ended (RECORD_DEPARTURE).  An exit of a job
 * with a checkpoint counts as a yield, except after FINISHED.  If the
 * requeue after a yield gets lost, the policy repeats it at the deadline.
 */
#ifndef EGS_POLICY_POLICY_H
#define EGS_POLICY_POLICY_H

#include "common/conf/policy_conf.h"
#include "common/rules/claim.h"
#include "policyd/policy/event.h"
#include "policyd/policy/jobs.h"
#include "policyd/policy/why.h"

struct egs_policy;

/* A policy without jobs and nodes.  'conf' stays the caller's and must live
 * until the next EGS_EV_CONF or egs_policy_free().  NULL: out of memory.
 */
struct egs_policy *egs_policy_new(const struct egs_policy_conf *conf);
void egs_policy_free(struct egs_policy *p);

/* Apply one event.  An event of an unknown job adds the job if it brings facts
 * (UPDATED, STARTED).  Other events of unknown jobs, and events of an earlier
 * job with the same id, are ignored.  If a known id has another identity now,
 * the old job ends.  EGS_EV_CONF maps the teams, tiers and types of jobs and
 * nodes by name.  If the new configuration gives a job another team or tier,
 * the caller applies UPDATED for that job.  Returns 0, or -1 when out of
 * memory, with the policy unchanged.
 */
int egs_policy_apply(struct egs_policy *p, const struct egs_event *ev,
		     egs_time_t now);

/* Update loans, limits and deadlines after events; only what changed is
 * computed.  egs_policy_recompute_all() computes everything: usage decays, and
 * every job gets a new site factor.
 */
void egs_policy_update(struct egs_policy *p, egs_time_t now);
void egs_policy_recompute_all(struct egs_policy *p, egs_time_t now);

/* The actions since egs_policy_clear_actions(), oldest first; valid until the
 * next call that changes the policy.  rows_changed: the row of a job or a
 * number of a team has changed since then, and the rows must be published.
 * claims_changed: likewise for the claims.
 */
const struct egs_action *egs_policy_actions(const struct egs_policy *p,
					    size_t *n);
bool egs_policy_rows_changed(const struct egs_policy *p);
bool egs_policy_claims_changed(const struct egs_policy *p);
void egs_policy_clear_actions(struct egs_policy *p);

/* The job with this id, or NULL; the number of jobs; and each job by a slot
 * below egs_policy_nslots() (NULL: the slot is not used).
 */
const struct egs_job *egs_policy_job(const struct egs_policy *p,
				     uint32_t job_id);
uint32_t egs_policy_njobs(const struct egs_policy *p);
uint32_t egs_policy_nslots(const struct egs_policy *p);
const struct egs_job *egs_policy_slot(const struct egs_policy *p,
				      uint32_t slot);

/* The row of a job at 'now', of a pending job as if it had started.  -1: the
 * job is unknown.
 */
int egs_policy_take_view(const struct egs_policy *p, uint32_t job_id,
			 egs_time_t now, struct egs_take_view *row);

/* Why the job waits or runs, with the numbers.  -1: the job is unknown. */
int egs_policy_why(struct egs_policy *p, uint32_t job_id, egs_time_t now,
		   struct egs_why *why);

/* The jobs that a pending job would preempt if EGS enforced for all teams: up
 * to 'max' job ids into 'victim'. Returns how many there are, 0 when the job
 * fits, -1 when no set of victims helps, -2 when the job is unknown or memory
 * is out.
 */
int egs_policy_find_victims(struct egs_policy *p, uint32_t job_id,
			    egs_time_t now, uint32_t *victim, uint32_t max);

/* EGS only observes jobs of 'team' (-1: none), or enforces for them again. */
void egs_policy_set_team_observed(struct egs_policy *p, int team,
				  bool observed);

/* GPUs that the job requests on all nodes together. */
uint32_t egs_job_gpus_wanted(const struct egs_job *j);

/* Did EGS enforce when it gave the job its notice, and does the notice still
 * count?  Then the preemption ends by the rules, whatever the mode is now: the
 * job may be saving.
 */
bool egs_policy_is_notice_binding(const struct egs_job *j);

/* Pending jobs that are considered for GPUs of others, from the head of the
 * queue.  Fill 'job_id' with those that wait for GPUs now, in the order of the
 * queue.  Returns how many.
 */
#define EGS_QUEUE_HEADS_MAX 16
uint32_t egs_policy_list_waiting(const struct egs_policy *p,
				 uint32_t job_id[EGS_QUEUE_HEADS_MAX]);

/* A pending job may use only some nodes, by its partitions and its request:
 * 'bits' has a bit for each of the first 'n' nodes.  Idle GPUs may go to it
 * though other nodes have free ones.  Borrowed until the next update, which
 * forgets it.
 */
void egs_policy_set_usable(struct egs_policy *p, uint32_t job_id,
			   const uint64_t *bits, uint32_t n);

/* While EGS only observes: the job would be preempted for 'requester' (0: not
 * any more) and is no victim for other jobs.
 */
void egs_policy_set_observed(struct egs_policy *p, uint32_t job_id,
			     uint32_t requester);

/* The claims in force, valid until the next call that changes the policy. */
const struct egs_claim *egs_policy_claims(const struct egs_policy *p,
					  uint32_t *n);

/* Does the job have a claim? */
bool egs_policy_has_claim(const struct egs_policy *p, uint32_t job_id);

/* Time of the job to answer a request, in seconds: 1.5 times the longest of its
 * last saves, else 1.5 times its --save-time, else GraceNoAck; within the
 * limits of its tier.
 */
uint32_t egs_policy_answer_time(const struct egs_policy *p, uint32_t job_id);

/* Grace period of the job: the same, or 0 if the job cannot save. */
uint32_t egs_policy_grace(const struct egs_policy *p, uint32_t job_id);

/* Seconds after the grace period until Slurm requeues the job.  It is 0 if
 * Slurm does the same at the deadline as AtDeadline= of the tier.
 */
uint32_t egs_policy_slack(const struct egs_policy *p, uint32_t job_id);

/* Does an exit of this job before its deadline mean that it has saved and is to
 * be requeued?  If not, the exit is final.
 */
bool egs_policy_exit_requeues(const struct egs_policy *p, uint32_t job_id);

/* What happens to this job when it is preempted, how many GPU-seconds are lost,
 * and the cost by which victims are compared: the same and more, if the job
 * cannot be requeued.  EGS_FATE_NONE and 0 for an unmanaged job.
 */
enum egs_fate egs_policy_fate(const struct egs_policy *p, uint32_t job_id);
uint32_t egs_policy_lost_gpu_s(const struct egs_policy *p, uint32_t job_id);
uint32_t egs_policy_victim_cost(const struct egs_policy *p, uint32_t job_id);

/* GPUs of a type that a job of this team and tier could start within quota. */
uint32_t egs_policy_quota_left(const struct egs_policy *p, int team, int type,
			       int tier);

/* One team and GPU type in numbers. */
struct egs_quota_use {
	uint32_t quota;	   /* configured */
	uint32_t in_force; /* less its part of capacity that is down */
	uint32_t owned;
	uint32_t on_loan;
	uint32_t unmanaged; /* and of jobs whose first type is another */
	uint32_t idle;	    /* of the quota in force */
	uint32_t max_gpus;  /* MaxGpus=, EGS_UNLIMITED: none */
};
struct egs_quota_use egs_policy_quota_use(const struct egs_policy *p, int team,
					  int type);

/* GPUs of the team's quota that other teams have on loan, of 'capacity' GPUs of
 * the type.  A job on loan uses first what its own team leaves unused, then
 * GPUs that no team owns.  The rest is lent by all teams in proportion to what
 * they leave unused; the sum over teams is exact.
 */
uint32_t egs_policy_lent(const struct egs_policy *p, int team, int type,
			 uint32_t capacity);

/* State to hand to the policy of the next daemon: of a job by the first event
 * of the job, of a team and a row of Workload= by EGS_EV_USAGE.
 */
void egs_policy_job_history(const struct egs_job *job,
			    struct egs_job_history *past);
struct egs_usage_snapshot egs_policy_team_usage(const struct egs_policy *p,
						int team);
struct egs_usage_snapshot egs_policy_workload_usage(const struct egs_policy *p,
						    int workload);

/* Decayed normalised usage of a team at the last change. */
uint64_t egs_policy_decayed_usage(const struct egs_policy *p, int team);

#endif
