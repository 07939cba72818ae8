/* policy.h - the policy: events in, actions and verdicts out
 *
 *	struct egs_policy *p = egs_policy_new(conf);
 *	egs_policy_apply(p, &event, now);	as many as there are
 *	egs_policy_update(p, now);		loans and limits follow
 *	act on egs_policy_actions(p, &n), then egs_policy_clear_actions(p)
 *	egs_policy_take_view(p, job_id, now, &row)	the answer for one job
 *
 * Time is an argument and never runs backwards inside: an earlier 'now' is
 * taken as the latest one seen.  Nothing here waits, reads or prints.
 */
#ifndef EGS_POLICY_POLICY_H
#define EGS_POLICY_POLICY_H

#include "common/conf/policy_conf.h"
#include "common/rules/claim.h"
#include "policyd/policy/event.h"
#include "policyd/policy/jobs.h"
#include "policyd/policy/why.h"

struct egs_policy;

/* A policy that knows no job and no node.  'conf' stays the caller's and
 * must live until the next EGS_EV_CONF or the end.  NULL: out of memory.
 */
struct egs_policy *egs_policy_new(const struct egs_policy_conf *conf);
void egs_policy_free(struct egs_policy *p);

/* Take note of one event.  An event of a job nobody knows makes it known if it
 * brings facts (JOB, STARTED), else it is ignored, and so is one of an
 * earlier job with the same id.  A job of another identity under a known
 * id closes the old one.  After EGS_EV_CONF jobs and nodes keep their teams,
 * tiers and types by name; report those whose names now mean something else.
 * Returns 0, or -1 when out of memory, with everything as it was.
 */
int egs_policy_apply(struct egs_policy *p, const struct egs_event *ev,
		     egs_time_t now);

/* Let loans, limits and deadlines follow what was applied: only what changed
 * is looked at.  egs_policy_recompute_all() looks at all: usage decays, and
 * every job gets its site factor anew.
 */
void egs_policy_update(struct egs_policy *p, egs_time_t now);
void egs_policy_recompute_all(struct egs_policy *p, egs_time_t now);

/* The actions since the last drain, oldest first; valid until the next call
 * that changes the policy.  egs_policy_rows_changed(): since then the row of a
 * job or the numbers of a team have changed, so publish the rows;
 * egs_policy_claims_changed(): publish the claims.
 */
const struct egs_action *egs_policy_actions(const struct egs_policy *p,
					    size_t *n);
bool egs_policy_rows_changed(const struct egs_policy *p);
bool egs_policy_claims_changed(const struct egs_policy *p);
void egs_policy_clear_actions(struct egs_policy *p);

/* The job with this id, or NULL; and the number of jobs, and each of them
 * by a number below egs_policy_nslots() (NULL: nobody there).
 */
const struct egs_job *egs_policy_job(const struct egs_policy *p,
				     uint32_t job_id);
uint32_t egs_policy_njobs(const struct egs_policy *p);
uint32_t egs_policy_nslots(const struct egs_policy *p);
const struct egs_job *egs_policy_slot(const struct egs_policy *p,
				      uint32_t slot);

/* The row of a job at 'now', a pending one as if it had started.  -1: nobody
 * knows it.
 */
int egs_policy_take_view(const struct egs_policy *p, uint32_t job_id,
			 egs_time_t now, struct egs_take_view *row);

/* Why the job is where it is, with the numbers.  -1: nobody knows it. */
int egs_policy_why(struct egs_policy *p, uint32_t job_id, egs_time_t now,
		   struct egs_why *why);

/* Whom P (pending) would take from: up to 'max' job ids into 'victim'.
 * Returns how many there are, 0 when P fits, -1 when nothing helps, -2 when
 * nobody knows P or memory is out.
 */
int egs_policy_find_victims(struct egs_policy *p, uint32_t job_id,
			    egs_time_t now, uint32_t *victim, uint32_t max);

/* The claims in force, valid until the next call that changes the policy. */
const struct egs_claim *egs_policy_claims(const struct egs_policy *p,
					  uint32_t *n);

/* Has this job a claim? */
bool egs_policy_has_claim(const struct egs_policy *p, uint32_t job_id);

/* Seconds this job gets to save: 1.5 times the longest of its last saves,
 * or its --save-time, or GraceNoAck, inside the limits of its tier.
 */
uint32_t egs_policy_grace(const struct egs_policy *p, uint32_t job_id);

/* And so many more before Slurm ends it, which would requeue it: 0 unless its
 * tier has something else done at the deadline.
 */
uint32_t egs_policy_slack(const struct egs_policy *p, uint32_t job_id);

/* Does an exit of this job before its deadline mean that it has saved and
 * comes back?  Else the exit is an end.
 */
bool egs_policy_exit_requeues(const struct egs_policy *p, uint32_t job_id);

/* What becomes of this job as a victim, and the GPU-seconds that are lost
 * with it; SPARE and 0 for one that is not managed.
 */
enum egs_fate egs_policy_fate(const struct egs_policy *p, uint32_t job_id);
uint32_t egs_policy_victim_cost(const struct egs_policy *p, uint32_t job_id);

/* How many GPUs of a type a job of this team and tier would own that started
 * now.
 */
uint32_t egs_policy_quota_left(const struct egs_policy *p, int team, int type,
			       int tier);

/* One team and GPU type in numbers. */
struct egs_quota_use {
	uint32_t quota;	   /* configured */
	uint32_t in_force; /* less capacity lost */
	uint32_t owned;
	uint32_t on_loan;
	uint32_t unmanaged;
	uint32_t idle; /* of the quota in force: what others may borrow */
};
struct egs_quota_use egs_policy_quota_use(const struct egs_policy *p, int team,
					  int type);

/* What the next policy should be told of this job, this team and this row of
 * Workload=: by the event that makes the job known, and by EGS_EV_USAGE.
 */
void egs_policy_job_history(const struct egs_job *job,
			    struct egs_job_history *past);
struct egs_usage_snapshot egs_policy_team_usage(const struct egs_policy *p,
						int team);
struct egs_usage_snapshot egs_policy_workload_usage(const struct egs_policy *p,
						    int workload);

/* Decayed normalised usage of a team, as of the last pass. */
uint64_t egs_policy_decayed_usage(const struct egs_policy *p, int team);

#endif
