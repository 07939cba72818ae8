/* requests.h - verbs of egs-policyd, for commands, jobs and nodes
 *
 * To add a verb, add a row in requests.c and a function in the file of its
 * subject.  Also add a case in t/4000-policyd-observe.t and a paragraph in
 * egsctl(1) or egs(1).
 */
#ifndef EGS_REQUESTS_REQUESTS_H
#define EGS_REQUESTS_REQUESTS_H

#include "common/base/text.h"
#include "policyd/daemon/daemon.h"
#include "policyd/requests/private_data.h"
#include "policyd/server/server.h"

/* The state of this room; struct egs_daemon has a pointer to it. */
struct egs_requests {
	char socket[4096 + 16]; /* RunDir/policyd.sock */
	struct egs_server *server;
	bool reloaded; /* the clients of reconfigure get their answer now */
	struct egs_nodes *nodes;
	struct egs_node_addresses *node_addresses;
	struct egs_gpu_samples *gpu_samples;
	struct egs_gpu_sums *gpu_sums;
	struct egs_predictor *predictor;
	struct egs_reclaims *reclaims;
	struct egs_remediate *remediate;
	struct egs_metrics_file *metrics;
	struct egs_rate_limit *rate_limit;	   /* of users' messages */
	struct egs_report_readers *report_readers; /* NULL: no report yet */
	struct egs_resizes *resizes;
	struct egs_resize_locks *resize_locks;
	struct egs_shrink_notice *shrinks;    /* an array of EGS_SHRINKS_MAX */
	struct egs_private_data private_data; /* as read last */
};

/* All parts, with NULL after the last; and each part. */
extern const struct egs_part *const egs_requests_parts[];
extern const struct egs_part egs_node_part;
extern const struct egs_part egs_node_addresses_part;
extern const struct egs_part egs_gpu_advice_part;
extern const struct egs_part egs_gpu_samples_part;
extern const struct egs_part egs_gpu_sums_part;
extern const struct egs_part egs_predictor_part;
extern const struct egs_part egs_reclaim_part;
extern const struct egs_part egs_remediate_part;
extern const struct egs_part egs_metrics_part;
extern const struct egs_part egs_private_data_part;
extern const struct egs_part egs_report_part;
extern const struct egs_part egs_resize_part;
extern const struct egs_part egs_resize_unlock_part;
extern const struct egs_part egs_server_part;
extern const struct egs_part egs_shrink_part;

/* The function of a verb, for struct egs_verb. */
typedef int egs_verb_fn(void *arg, const struct egs_peer *peer,
			const struct egs_msg *request, struct egs_msg *answer,
			struct egs_err *err);

egs_verb_fn egs_verb_ping;
egs_verb_fn egs_verb_show;
egs_verb_fn egs_verb_why;
egs_verb_fn egs_verb_resume;
egs_verb_fn egs_verb_preempt;
egs_verb_fn egs_verb_update;
egs_verb_fn egs_verb_abort; /* also of hold and release */
egs_verb_fn egs_verb_mode;
egs_verb_fn egs_verb_pause;
egs_verb_fn egs_verb_unpause;
egs_verb_fn egs_verb_report;
egs_verb_fn egs_verb_metrics;
egs_verb_fn egs_verb_shrink;
egs_verb_fn egs_verb_node_wait;
egs_verb_fn egs_verb_node_open;
egs_verb_fn egs_verb_node_unclean;
egs_verb_fn egs_verb_node_no_rundir;
egs_verb_fn egs_verb_node_gpus;
egs_verb_fn egs_verb_relay;

/* A request of this verb gets its answer (metrics_file.c). */
void egs_requests_count_verb(void *arg, const char *verb);

/* Handle the verb "show" for GPUs (show_gpus.c). */
egs_verb_fn egs_show_gpus;

/* Handle the verb "show" for the map of all GPUs (show_map.c) and for jobs that
 * wait (show_waiting.c).  Return 0, or -1 without memory.
 */
int egs_show_map(struct egs_daemon *d, const struct egs_peer *peer,
		 struct egs_msg *answer);
int egs_show_waiting(struct egs_daemon *d, const struct egs_peer *peer,
		     struct egs_msg *answer);

/* May 'uid' see the names of this job?  Its owner and operators may. */
bool egs_requests_may_see(const struct egs_daemon *d, uid_t uid,
			  const struct egs_job *j);

/* Returns "owned" (within quota) or "loan", also for a job that would start;
 * "-" for a job without tier or GPUs.
 */
const char *egs_requests_loan_name(const struct egs_daemon *d,
				   const struct egs_job *j);

/* Handle the verb "show" for a list of tables, "ping" among them
 * (show_list.c).  Returns 0, or -1 with 'err' set by the first that fails.
 */
int egs_show_list(struct egs_daemon *d, const struct egs_peer *peer,
		  const char *list, struct egs_msg *answer,
		  struct egs_err *err);

/* Handle the verb "update" for a node, with fenced=. */
int egs_requests_fence_node(struct egs_daemon *d, const struct egs_peer *peer,
			    const struct egs_msg *request,
			    struct egs_msg *answer, struct egs_err *err);

/* Show all records of a kind in egs.conf, with a row for each record. */
int egs_requests_show_record(const struct egs_daemon *d,
			     enum egs_conf_record_id record,
			     struct egs_msg *answer);

/* Returns -1 with 'err' set before the first complete poll, then 0. */
int egs_requests_check_synced(const struct egs_daemon *d, struct egs_err *err);

/* Read the job "12" or "12_3" of a request; '*task' of "12" is EGS_NO_TASK.
 * Returns -1 with 'err' set if it has another form.
 */
int egs_requests_read_job_id(const struct egs_msg *request, uint32_t *id,
			     uint32_t *task, struct egs_err *err);

/* Returns the job "12" or "12_3" of a request; NULL with 'err' set. */
const struct egs_job *egs_requests_find_job(const struct egs_daemon *d,
					    const struct egs_msg *request,
					    struct egs_err *err);

/* A job of 'uid' is shown to its owner and to operators.  Returns 0, or -1 with
 * 'err' set.
 */
int egs_requests_check_owner(const struct egs_daemon *d,
			     const struct egs_peer *peer, uint32_t job_id,
			     uid_t uid, struct egs_err *err);

/* The name of the user, if the user is an operator or the lead of the job's
 * team: a user who coordinates the job's account in Slurm.  Else NULL; the
 * second function returns NULL with 'err' set.
 */
const char *egs_requests_lead_name(const struct egs_daemon *d, uid_t uid,
				   const struct egs_job *j);
const char *egs_requests_require_lead(const struct egs_daemon *d, uid_t uid,
				      const struct egs_job *j,
				      struct egs_err *err);

/* Check that an operator may preempt or shrink this job.  The rules of the
 * policy apply to operators too.  Returns 0, or -1 with 'err' set.
 */
int egs_requests_check_preemptible(const struct egs_daemon *d,
				   const struct egs_job *j,
				   struct egs_err *err);

/* Preempt a job for 'who', an operator or a rule.  Returns 0, or -1 with 'err'
 * set if that is not allowed.
 */
int egs_requests_preempt_job(struct egs_daemon *d, const struct egs_job *j,
			     const char *who, const char *reason,
			     struct egs_err *err);

/* Returns the name of the operator, or "?".  The second function returns the
 * reason of a request in printable form.  Without a reason, or if the reason is
 * too long, it returns NULL with 'err' set.
 */
const char *egs_requests_caller_name(const struct egs_daemon *d,
				     const struct egs_peer *peer);
const char *egs_requests_read_reason(const struct egs_msg *request,
				     struct egs_err *clean,
				     struct egs_err *err);

/* Read a job from slurmctld, because of a message of 'uid'.  Nothing happens if
 * the user has caused too many reads: the next poll shows the job.
 */
void egs_requests_read_job(struct egs_daemon *d, uid_t uid, uint32_t job_id);

/* Why EGS does nothing to jobs of 'team' (-1: none): it observes all of them,
 * or the team.
 */
struct egs_text egs_requests_explain_observing(const struct egs_daemon *d,
					       int team);

/* Returns "observe" or "enforce". */
const char *egs_requests_mode_name(const struct egs_daemon *d);

#endif
