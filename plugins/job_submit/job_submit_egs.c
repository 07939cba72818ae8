/* job_submit_egs.c - check submissions and updates inside slurmctld
 *
 * Nothing from a client is trusted: the plugin parses the hint again and stamps
 * the job.  It runs under slurmctld's locks: no waiting, and no socket except
 * the doorbell.  A job without a hint that no rule of egs.conf manages is not
 * changed.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "common/base/err.h"
#include "common/conf/conf.h"
#include "common/hint/hint.h"
#include "common/hint/stamp.h"
#include "plugins/compat/compat.h"
#include "plugins/compat/gres.h"
#include "plugins/job_submit/check.h"
#include "plugins/job_submit/conf_cache.h"
#include "plugins/job_submit/daemon_update.h"
#include "plugins/job_submit/hint_sources.h"
#include "plugins/job_submit/job_desc.h"
#include "plugins/job_submit/resize.h"
#include "plugins/shared/db_index.h"
#include "plugins/shared/decisions.h"
#include "plugins/shared/job_stamp.h"
#include "plugins/shared/layout.h"
#include "plugins/shared/ring.h"

EGS_PLUGIN("EGS hints of jobs", "job_submit/egs");

int init(void)
{
	egs_conf_cache_start();
	egs_decisions_init_if_conf(plugin_type);
	return SLURM_SUCCESS;
}

/* Since 25.05 slurmctld ignores the result. */
int fini(void)
{
	egs_conf_cache_stop();
	return SLURM_SUCCESS;
}

static void append_message(char **err_msg, const char *sentence)
{
	if (!err_msg || !*sentence)
		return;
	if (*err_msg)
		xstrcat(*err_msg, "\n");
	xstrfmtcat(*err_msg, "egs: %s", sentence);
}

/* The user sees the sentence, and then "Access/permission denied". */
static int refuse_submission(const struct egs_err *why, char **err_msg)
{
	append_message(err_msg, why->msg);
	return ESLURM_ACCESS_DENIED;
}

static int make_nonce(uint64_t *nonce, struct egs_err *err)
{
	ssize_t got = getrandom(nonce, sizeof(*nonce), GRND_NONBLOCK);

	if (got == sizeof(*nonce))
		return 0;
	return egs_errf(err, "cannot make a random id for the job: %s",
			got < 0 ? strerror(errno) : "too short");
}

static int put_stamp(char **comment, const struct egs_stamp *stamp,
		     struct egs_err *err)
{
	if (egs_job_stamp_put(comment, stamp) < 0)
		return egs_errf(err, "out of memory");
	return 0;
}

/* One submission; not on the stack (hint_sources.c). */
struct submission {
	job_desc_msg_t *desc;
	const struct egs_policy_conf *conf; /* NULL: no egs.conf */
	struct egs_stamp stamp;
	struct egs_check_input input;
	struct egs_check_result result;
	struct egs_err hint_conflict; /* sources that differ, or "" */
	struct egs_err warning;
	struct egs_err err; /* reason of the refusal */
};

static bool is_managed(const struct submission *s)
{
	return s->conf && s->result.assignment.tier >= 0;
}

static bool is_enforced(const struct submission *s)
{
	return is_managed(s) && s->result.mode == EGS_MODE_ENFORCE;
}

/* May a group of its user, which only the daemon knows, put the job under a
 * limit?  Then the job has a stamp and waits until the daemon has read it.
 */
static bool waits_for_groups(const struct submission *s)
{
	return s->conf && s->result.limited;
}

/* Is the job made ready for preemption?  In observe mode no job is changed; if
 * the mode changes while the job runs, it is made ready when it is preempted
 * (plugins/shared/make_ready.h).  While no daemon runs, the mode of egs.conf is
 * the best guess.
 */
static bool needs_preparation(const struct submission *s)
{
	enum egs_mode mode =
		s->result.mode ? s->result.mode : s->result.file_mode;

	return is_managed(s) && mode == EGS_MODE_ENFORCE;
}

/* Why the job is accepted although a rule refuses it. */
static struct egs_text explain_acceptance(const struct submission *s)
{
	int team = s->result.assignment.team;
	struct egs_text why;

	if (!s->result.mode)
		egs_textf(&why, "egs-policyd does not run");
	else if (team >= 0 &&
		 egs_decisions_mode(s->conf, -1) == EGS_MODE_ENFORCE)
		egs_textf(&why, "EGS only observes team %s",
			  s->conf->team[team].name);
	else
		egs_textf(&why, "EGS only observes");
	return why;
}

static int read_hint(struct submission *s, struct egs_err *err)
{
	const char *names[EGS_PHASES_MAX];
	struct egs_hint_site site = { .phases = names };
	struct egs_hint_sources ask = egs_job_desc_hint_sources(s->desc);

	if (s->conf)
		site.nphases = egs_conf_list_phases(s->conf, names);
	if (egs_hint_sources_read(&s->stamp.hint, &ask, &site,
				  &s->hint_conflict, err) < 0)
		return -1;
	s->stamp.own_signal = egs_job_desc_signal(s->desc);
	if (!strcmp(s->stamp.hint.ckpt, "signal") &&
	    !s->stamp.own_signal.number)
		return egs_errf(err, "--ckpt=signal needs --signal; or use "
				     "--ckpt=signal:SIG");
	return 0;
}

/* Would a rule of egs.conf only warn, whatever the job requests? */
static bool is_only_warned(struct submission *s)
{
	struct egs_err err;

	if (!s->conf)
		return false;
	egs_job_desc_check_input(s->desc, NULL, egs_check_needs_user(s->conf),
				 &s->input);
	s->input.find_mode = egs_decisions_mode;
	egs_check_job(s->conf, &s->input, &s->result, &err);
	return s->result.mode != EGS_MODE_ENFORCE;
}

/* If EGS does not enforce, an invalid hint is dropped with a warning.
 * (spank_egs in sbatch does not know the mode and refuses it.)
 */
static int read_hint_or_warn(struct submission *s, struct egs_err *err)
{
	if (read_hint(s, err) == 0)
		return 0;
	if (!is_only_warned(s))
		return -1;
	s->stamp.hint = (struct egs_hint){ 0 };
	s->stamp.own_signal = egs_job_desc_signal(s->desc);
	s->hint_conflict.msg[0] = '\0';
	egs_errf(&s->warning,
		 "warning: %s; %s, so the job is accepted without a hint",
		 err->msg, explain_acceptance(s).text);
	return 0;
}

/* If EGS does not enforce, the user gets a warning instead of a refusal. */
static int check_policy(struct submission *s, struct egs_err *err)
{
	struct egs_check_input *request = &s->input;

	if (!s->conf)
		return 0;
	egs_job_desc_check_input(s->desc, NULL, egs_check_needs_user(s->conf),
				 request);
	request->hint = s->stamp.hint;
	request->can_checkpoint =
		egs_hint_can_save(&s->stamp.hint, &s->stamp.own_signal);
	request->quota_left = egs_decisions_quota_left;
	request->find_mode = egs_decisions_mode;
	if (egs_check_job(s->conf, request, &s->result, err) == 0)
		return 0;
	if (s->result.mode == EGS_MODE_ENFORCE)
		return -1;
	egs_errf(&s->warning, "warning: %s; %s, so the job is accepted",
		 err->msg, explain_acceptance(s).text);
	return 0;
}

/* The node of a prepared job also gets a tier that comes from a rule. */
static void set_node_hint(struct submission *s)
{
	struct egs_hint hint = s->stamp.hint;

	if (needs_preparation(s) && !*hint.tier)
		snprintf(hint.tier, sizeof(hint.tier), "%s",
			 s->conf->tier[s->result.assignment.tier].name);
	egs_job_desc_set_hint(s->desc, &hint);
}

static int rewrite_desc(struct submission *s, struct egs_err *err)
{
	if (egs_hint_is_empty(&s->stamp.hint) && !is_managed(s) &&
	    !waits_for_groups(s))
		return 0;
	if (is_enforced(s) && s->result.adjusted_gpus != EGS_GPUS_UNCHANGED &&
	    egs_job_desc_set_gpus(s->desc, s->result.adjusted_gpus, err) < 0)
		return -1;
	s->stamp.limited = s->conf && s->result.limited;
	s->stamp.helper_for = egs_stamp_read(s->desc->admin_comment).helper_for;
	if (make_nonce(&s->stamp.nonce, err) < 0 ||
	    put_stamp(&s->desc->admin_comment, &s->stamp, err) < 0)
		return -1;
	set_node_hint(s);
	if (needs_preparation(s))
		egs_job_desc_set_defaults(s->desc, &s->stamp.hint,
					  &s->stamp.own_signal);
	return 0;
}

static int process_submission(struct submission *s, struct egs_err *err)
{
	if (read_hint_or_warn(s, err) < 0 || check_policy(s, err) < 0)
		return -1;
	return rewrite_desc(s, err);
}

/* Append notes for the user, unless the hint has "quiet". */
static void append_notes(const struct submission *s, char **err_msg)
{
	struct egs_text unused;

	if (*s->stamp.hint.quiet)
		return;
	append_message(err_msg, s->hint_conflict.msg);
	append_message(err_msg, s->result.note.msg);
	egs_hint_list_unused(&s->stamp.hint, &unused);
	if (!*unused.text)
		return;
	egs_textf(&unused,
		  "reserved for a later version and ignored by this one: %s",
		  unused.text);
	append_message(err_msg, unused.text);
}

/* A submission has no record yet, so the oldest job tells.  slurmctld has its
 * lock for jobs here, and no lock of the list.
 */
static bool is_layout_ours(void)
{
	const job_record_t *oldest = list_peek(job_list);

	return !oldest || egs_layout_is_ours(oldest);
}

int job_submit(job_desc_msg_t *desc, uint32_t uid, char **err_msg)
{
	struct submission *s;
	int rc;

	(void)uid;
	if (!is_layout_ours())
		return SLURM_SUCCESS;
	s = xmalloc(sizeof(*s));
	s->desc = desc;
	s->conf = egs_conf_cache_lock();
	rc = process_submission(s, &s->err);
	egs_conf_cache_unlock();
	if (rc < 0) {
		rc = refuse_submission(&s->err, err_msg);
	} else {
		append_message(err_msg, s->warning.msg);
		append_notes(s, err_msg);
	}
	xfree(s);
	return rc;
}

/* Would the job be accepted if it were submitted with this update?  '*limited':
 * with the update a limit of its team or tier counts at its start.
 */
static int check_update(const job_desc_msg_t *desc, const job_record_t *job,
			const struct egs_stamp *stamp, bool *limited,
			struct egs_err *err)
{
	const struct egs_policy_conf *rules;
	struct egs_check_result verdict;
	int rc = 0;

	*limited = false;
	if (!egs_job_desc_needs_check(desc, job))
		return 0;
	rules = egs_conf_cache_lock();
	if (rules) {
		struct egs_check_input request;

		egs_job_desc_check_input(desc, job, egs_check_needs_user(rules),
					 &request);
		request.hint = stamp->hint;
		request.can_checkpoint =
			egs_hint_can_save(&stamp->hint, &stamp->own_signal);
		request.find_mode = egs_decisions_mode;
		rc = egs_check_job(rules, &request, &verdict, err);
		*limited = verdict.limited;
		if (verdict.mode != EGS_MODE_ENFORCE)
			rc = 0;
	}
	egs_conf_cache_unlock();
	return rc;
}

/* 22.05 cannot return a sentence to the user.  So the log has it, too, and the
 * daemon gets it for 'egs why'.
 */
static int refuse_update(const job_record_t *job, uint32_t uid,
			 const struct egs_err *why, char **err_msg)
{
	struct egs_doorbell_refusal refusal = {
		.msg = { .event = EGS_DOORBELL_REFUSED, .job_id = job->job_id }
	};

	info("egs: JobId=%u: update by uid %u: %s", job->job_id, uid, why->msg);
	snprintf(refusal.reason, sizeof(refusal.reason), "%s", why->msg);
	if (uid == job->user_id || uid == slurm_conf.slurm_user_id)
		egs_ring_send(egs_decisions_run_dir(), &refusal.msg);
	append_message(err_msg, why->msg);
	return ESLURM_ACCESS_DENIED;
}

/* Do the rules of egs.conf manage the job, and does EGS enforce them? */
static bool is_managed_by_rules(const struct egs_policy_conf *rules,
				const job_desc_msg_t *desc,
				const job_record_t *job)
{
	struct egs_check_input request;
	struct egs_check_result verdict;
	struct egs_err err;

	egs_job_desc_check_input(desc, job, egs_check_needs_user(rules),
				 &request);
	request.hint = egs_stamp_read(job->admin_comment).hint;
	request.find_mode = egs_decisions_mode;
	egs_check_job(rules, &request, &verdict, &err);
	return verdict.assignment.tier >= 0 && verdict.mode == EGS_MODE_ENFORCE;
}

/* Other jobs cannot be resized, as without EGS.  The daemon may not have
 * published a new job yet, and only the daemon knows the groups of a user.
 */
static bool is_resizable(const job_desc_msg_t *desc, const job_record_t *job)
{
	const struct egs_policy_conf *rules = egs_conf_cache_lock();
	struct egs_table_job row;
	bool resizable = rules && rules->live_resize &&
			 (egs_decision_get(job, &row) ||
			  is_managed_by_rules(rules, desc, job));

	egs_conf_cache_unlock();
	return resizable;
}

/* Slurm answers a request of a user as without EGS unless the job can be
 * resized.  A command is never stored.
 */
static bool is_resize(const job_desc_msg_t *desc, const job_record_t *job)
{
	return egs_resize_request_is_set(desc, job) &&
	       (egs_resize_command_is_set(desc->admin_comment) ||
		is_resizable(desc, job));
}

static int refuse_resize(const job_record_t *job, struct egs_err *err)
{
	egs_errf(err,
		 "job %u: not resized: LiveResize=no, the job is not managed, "
		 "or EGS only observes",
		 job->job_id);
	return EGS_ESLURM_NOT_LIVE;
}

/* slurmctld itself repeats an update that must wait for slurmdbd. */
static int resize_running_job(job_desc_msg_t *desc, job_record_t *job,
			      uint32_t uid, char **err_msg)
{
	struct egs_err err;
	int rc = is_resizable(desc, job)
			 ? egs_submit_resize(desc, job, uid, &err)
			 : refuse_resize(job, &err);

	if (rc != SLURM_SUCCESS && rc != EGS_ESLURM_TRY_AGAIN)
		refuse_update(job, uid, &err, err_msg);
	return rc;
}

/* The daemon updates a pending job after a decision about it.  Run the
 * scheduler now, as after the end of a job, and not some seconds later: at most
 * once a second, and not if the site has "defer".
 */
static void wake_scheduler(void)
{
	static _Atomic time_t last;
	time_t now = time(NULL);

	if (atomic_exchange(&last, now) != now &&
	    !xstrcasestr(slurm_conf.sched_params, "defer"))
		schedule(false); /* only wakes the scheduler */
}

/* Updates by SlurmUser come from the daemon, which needs no ring.  A job with a
 * new begin time no longer waits for Slurm's requeue delay: clear "departed".
 */
static void notify_after_update(const job_desc_msg_t *desc, job_record_t *job,
				uint32_t uid)
{
	if (uid != slurm_conf.slurm_user_id)
		egs_ring_job(egs_decisions_run_dir(), job->job_id,
			     EGS_DOORBELL_MODIFY);
	else if (IS_JOB_PENDING(job))
		wake_scheduler();
	if (uid == slurm_conf.slurm_user_id || uid == 0)
		egs_daemon_update_resume_info(desc, job);
	if (desc->begin_time && (uid == job->user_id || validate_operator(uid)))
		egs_job_stamp_set_departed(job, false);
}

/* A new AdminComment from an operator replaces the text, not the stamp.  Only
 * "next=" and "helper=" can change, by a stamp that has the nonce of the job,
 * as egs-policyd sends it.
 */
static int keep_stamp(job_desc_msg_t *desc, struct egs_stamp *stamp,
		      struct egs_err *err)
{
	struct egs_stamp sent = egs_stamp_read(desc->admin_comment);

	if (sent.nonce == stamp->nonce) {
		stamp->next_gpus = sent.next_gpus;
		stamp->helper_for = sent.helper_for;
	}
	if (desc->begin_time)
		stamp->departed = false;
	return put_stamp(&desc->admin_comment, stamp, err);
}

/* Slurm's own change of nodes needs the number of the job's record, too. */
static bool must_wait_for_record(const job_desc_msg_t *desc,
				 const job_record_t *job)
{
	return job->resize_time && IS_JOB_RUNNING(job) &&
	       (desc->req_nodes || desc->min_nodes != NO_VAL) &&
	       !egs_db_index_is_ready(job);
}

/* The daemon has to decide again before the job starts.  It knows about its own
 * updates.
 */
static void mark_changed(job_record_t *job, uint32_t uid,
			 struct egs_stamp *stamp)
{
	struct timespec now;

	if (uid == slurm_conf.slurm_user_id || !IS_JOB_PENDING(job))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	stamp->limited = true;
	stamp->changed_us =
		(uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	egs_job_stamp_put(&job->admin_comment, stamp);
}

/* An update must not get around what is refused at submission. */
static int process_update(job_desc_msg_t *desc, job_record_t *job, uint32_t uid,
			  char **err_msg)
{
	struct egs_stamp stamp = { .nonce = 0 };
	bool stamped, limited, refused;
	struct egs_err err;

	if (is_resize(desc, job))
		return resize_running_job(desc, job, uid, err_msg);
	if (must_wait_for_record(desc, job))
		return EGS_ESLURM_TRY_AGAIN;
	stamped = egs_stamp_find(job->admin_comment, &stamp) == 0;
	refused = check_update(desc, job, &stamp, &limited, &err) < 0;
	if (validate_operator(uid))
		egs_daemon_update_apply(job);
	else if (refused)
		return refuse_update(job, uid, &err, err_msg);
	if (limited)
		mark_changed(job, uid, &stamp);
	if ((stamped || limited) && desc->admin_comment &&
	    keep_stamp(desc, &stamp, &err) < 0)
		return refuse_update(job, uid, &err, err_msg);
	return SLURM_SUCCESS;
}

/* Ring the doorbell last.  Otherwise the daemon would wake up and compete with
 * the rest of the work under slurmctld's locks.
 */
int job_modify(EGS_JOB_MODIFY_PARAMS)
{
	int rc;

	if (!job || !egs_layout_is_ours(job))
		return SLURM_SUCCESS;
	rc = process_update(desc, job, uid, EGS_JOB_MODIFY_ERR_MSG);
	if (rc == SLURM_SUCCESS)
		notify_after_update(desc, job, uid);
	return rc;
}
