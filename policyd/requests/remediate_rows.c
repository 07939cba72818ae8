/* remediate_rows.c - what rules do about GPUs, to the store and back */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/conf/remedies.h"
#include "policyd/requests/remediate.h"
#include "policyd/store/remediation.h"

/* The longest period of Limit=. */
enum { LIMIT_MAX_S = 86400 };

static const char *const subjects[EGS_ON_COUNT] = {
	[EGS_ON_RECOVERY] = "recovery", [EGS_ON_XID] = "xid",
	[EGS_ON_ECC] = "ecc",		[EGS_ON_TEMPERATURE] = "temperature",
	[EGS_ON_POWER] = "power",	[EGS_ON_SLOWDOWN] = "slowdown",
	[EGS_ON_MEMORY] = "memory",
};

/* Steps of the machine's clock must not make a condition old. */
egs_time_t egs_remediate_steady_s(void)
{
	return (egs_time_t)(egs_now_ms() / 1000);
}

/* A run of a job as one number; 0: none. */
uint64_t egs_remediate_make_holder(const struct egs_identity *job)
{
	return job->job_id ? (uint64_t)job->job_id << 32 | job->restarts : 0;
}

static enum egs_rule_on find_subject(const char *name)
{
	size_t i = ARRAY_SIZE(subjects) - 1;

	while (i > 0 && strcmp(subjects[i], name) != 0)
		i--;
	return (enum egs_rule_on)i;
}

const char *egs_remediate_node_name(const struct egs_daemon *d, uint32_t node)
{
	const struct egs_node_info *info =
		egs_cluster_get_node(d->cluster, node);

	return info ? info->name : "";
}

/* Count the cases of a node that have one of these remedies in force. */
struct remedy_count {
	uint32_t remedies, n;
};

static void count_case(void *arg, const struct egs_health_action *done)
{
	struct remedy_count *count = arg;

	count->n += (done->remedies & count->remedies) && !done->observed;
}

uint32_t egs_remediate_count(const struct egs_daemon *d, uint32_t node,
			     uint32_t remedies)
{
	struct remedy_count count = { .remedies = remedies };

	egs_health_each_case(d->requests->remediate->health, node, count_case,
			     &count);
	return count.n;
}

static const char *choose_outcome(const struct egs_daemon *d,
				  const struct egs_health_action *a,
				  enum egs_remedy remedy)
{
	if (a->kind == EGS_HEALTH_HOLD)
		return EGS_REMEDIATION_HELD;
	if (remedy == EGS_REMEDY_NOTE)
		return EGS_REMEDIATION_DONE;
	if (a->observed)
		return EGS_REMEDIATION_WOULD;
	if (remedy & (EGS_REMEDY_DRAIN | EGS_REMEDY_MOVE | EGS_REMEDY_CAP |
		      EGS_REMEDY_RUN))
		return EGS_REMEDIATION_SENT;
	if (remedy == EGS_REMEDY_FENCE &&
	    d->requests->remediate->fenced_by_others)
		return EGS_REMEDIATION_OPERATOR;
	return EGS_REMEDIATION_DONE;
}

static struct egs_remediation make_row(const struct egs_daemon *d,
				       const struct egs_health_action *a,
				       enum egs_remedy remedy)
{
	return (struct egs_remediation){
		.at = egs_daemon_now(),
		.rule = a->rule,
		.node = egs_remediate_node_name(d, a->node),
		.gpu = a->gpu,
		.subject = subjects[a->on],
		.xid = a->xid,
		.value = a->value,
		.remedy = egs_remedies_name(remedy),
		.session = a->session,
		.holder = a->holder,
	};
}

/* The job that had the GPU when the case began, if it still runs. */
const struct egs_job *
egs_remediate_find_holder(const struct egs_daemon *d,
			  const struct egs_health_action *a)
{
	const struct egs_job *j =
		egs_policy_job(d->policy, (uint32_t)(a->holder >> 32));

	return j && egs_remediate_make_holder(&j->ident) == a->holder ? j
								      : NULL;
}

/* ---- the job of a row ---- */

struct row_job {
	struct egs_identity ident; /* job_id 0: none */
	char text[EGS_JOB_TEXT_SIZE];
	char user[EGS_NAME_SIZE];
};

static void set_running_job(const struct egs_daemon *d, const struct egs_job *j,
			    struct row_job *job)
{
	struct egs_job_info known = { .user = "" };

	egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
	egs_daemon_format_job_id(d, &j->ident, job->text);
	snprintf(job->user, sizeof(job->user), "%s", known.user);
	job->ident = j->ident;
}

static void set_ended_job(void *arg, const struct egs_job_run *run,
			  const char *user)
{
	struct row_job *job = arg;

	job->ident = (struct egs_identity){ .job_id = run->job_id,
					    .nonce = run->nonce };
	snprintf(job->user, sizeof(job->user), "%s", user);
	if (run->array_job_id && run->task != EGS_NO_TASK)
		snprintf(job->text, sizeof(job->text), "%" PRIu32 "_%" PRIu32,
			 run->array_job_id, run->task);
	else
		snprintf(job->text, sizeof(job->text), "%" PRIu32, run->job_id);
}

/* A program that fails often ends its job before the next sample. */
static int find_row_job(struct egs_daemon *d, const struct egs_health_action *a,
			struct row_job *job, struct egs_err *err)
{
	const struct egs_job *j = egs_remediate_find_holder(d, a);

	*job = (struct row_job){ .text = "" };
	if (j)
		set_running_job(d, j, job);
	if (j || !a->holder)
		return 0;
	return egs_daemon_check_store(
		d,
		egs_remediation_find_run(d->store, (uint32_t)(a->holder >> 32),
					 (uint32_t)a->holder, set_ended_job,
					 job, err),
		err);
}

static int note_on_job(struct egs_daemon *d, const struct egs_identity *job,
		       const struct egs_health_action *a, const char *sentence,
		       struct egs_err *err)
{
	struct egs_text who;

	egs_textf(&who, "rule %s", a->rule);
	return egs_daemon_log_event(d, job, "gpu", who.text, sentence, err);
}

static int write_begin(struct egs_daemon *d, const struct egs_health_action *a,
		       enum egs_remedy remedy, struct egs_err *err)
{
	struct egs_remediation row = make_row(d, a, remedy);
	struct egs_text sentence, bound;
	struct row_job job;

	if (find_row_job(d, a, &job, err) < 0)
		return -1;
	egs_remediate_sentence(d, a, &sentence);
	if (a->kind == EGS_HEALTH_HOLD)
		egs_text_append(&sentence, "; %s",
				egs_remediate_bound(d, a, &bound));
	row.job_id = job.ident.job_id;
	row.job_text = job.text;
	row.user = job.user;
	row.reason = sentence.text;
	row.outcome = choose_outcome(d, a, remedy);
	if (strcmp(row.outcome, EGS_REMEDIATION_OPERATOR) == 0)
		egs_health_drop(d->requests->remediate->health, a->node,
				remedy);
	if (job.ident.job_id && remedy == EGS_REMEDY_NOTE &&
	    note_on_job(d, &job.ident, a, sentence.text, err) < 0)
		return -1;
	return egs_daemon_check_store(
		d, egs_remediation_add(d->store, &row, err), err);
}

/* End the row, unless the remedy is to be undone by Slurm first. */
static int write_end(struct egs_daemon *d, const struct egs_health_action *a,
		     enum egs_remedy remedy, const char *why,
		     struct egs_err *err)
{
	struct egs_remediation row = make_row(d, a, remedy);

	row.undone_at = row.at;
	row.undone = why;
	return egs_daemon_check_store(
		d, egs_remediation_end(d->store, &row, err), err);
}

/* Does this action undo the last drain of the node? */
bool egs_remediate_must_undrain(const struct egs_daemon *d,
				const struct egs_health_action *a)
{
	return a->kind == EGS_HEALTH_UNDO && !a->observed &&
	       a->remedies & EGS_REMEDY_DRAIN &&
	       !egs_remediate_count(d, a->node, EGS_REMEDY_DRAIN);
}

static int write_undrain(struct egs_daemon *d,
			 const struct egs_health_action *a, struct egs_err *err)
{
	static const char *const from[] = { EGS_REMEDIATION_SENT,
					    EGS_REMEDIATION_DONE };
	const char *node = egs_remediate_node_name(d, a->node);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(from); i++)
		rc = egs_daemon_check_store(
			d,
			egs_remediation_settle(
				d->store, node,
				egs_remedies_name(EGS_REMEDY_DRAIN), from[i],
				EGS_REMEDIATION_UNDOING, err),
			err);
	return rc;
}

int egs_remediate_write_rows(struct egs_daemon *d,
			     const struct egs_health_action *a,
			     struct egs_err *err)
{
	bool undo = a->kind == EGS_HEALTH_UNDO;
	uint32_t remedies = undo ? a->ended : a->remedies;
	int rc = egs_daemon_begin(d, err);

	if (rc == 0 && egs_remediate_must_undrain(d, a))
		rc = write_undrain(d, a, err);
	for (uint32_t bit = 1; rc == 0 && bit && bit <= remedies; bit <<= 1) {
		if (!(remedies & bit))
			continue;
		rc = write_end(d, a, (enum egs_remedy)bit,
			       undo ? "the reason is gone" : "", err);
		if (rc == 0 && !undo)
			rc = write_begin(d, a, (enum egs_remedy)bit, err);
	}
	return rc;
}

void egs_remediate_answer(struct egs_daemon *d,
			  const struct egs_health_action *a,
			  enum egs_remedy remedy, const char *outcome)
{
	struct egs_remediation row = make_row(d, a, remedy);
	struct egs_err err;

	row.outcome = outcome;
	if (egs_daemon_begin(d, &err) == 0 &&
	    egs_daemon_check_store(
		    d, egs_remediation_answer(d->store, &row, &err), &err) == 0)
		egs_daemon_commit(d, &err);
}

/* ---- an earlier daemon ---- */

struct restored_rows {
	struct egs_daemon *d;
	struct egs_text last_use; /* the last one that counted for Limit= */
};

static bool has_outcome(const struct egs_remediation *row, const char *outcome)
{
	return strcmp(row->outcome, outcome) == 0;
}

static void restore_case(struct egs_daemon *d,
			 const struct egs_remediation *row, uint32_t node)
{
	struct egs_health_action saved = {
		.kind = has_outcome(row, EGS_REMEDIATION_HELD) ? EGS_HEALTH_HOLD
			: has_outcome(row, EGS_REMEDIATION_OPERATOR)
				? EGS_HEALTH_UNDO
				: EGS_HEALTH_DO,
		.on = find_subject(row->subject),
		.node = node,
		.gpu = row->gpu,
		.xid = row->xid,
		.value = row->value,
		.session = row->session,
		.holder = row->holder,
		.remedies = egs_remedies_find(row->remedy),
		.observed = has_outcome(row, EGS_REMEDIATION_WOULD),
	};
	struct egs_text reason;
	struct egs_err err;

	snprintf(saved.rule, sizeof(saved.rule), "%s", row->rule);
	egs_health_restore(d->requests->remediate->health, &saved,
			   egs_remediate_steady_s());
	if (saved.kind == EGS_HEALTH_DO && !saved.observed &&
	    saved.remedies & EGS_REMEDY_AVOIDS)
		egs_daemon_avoid_node(d, row->node, true, &err);
	if (saved.remedies == EGS_REMEDY_DRAIN &&
	    has_outcome(row, EGS_REMEDIATION_SENT))
		egs_remediate_order_drain(
			d, row->node, false,
			egs_remediate_drain_reason(&saved, &reason));
}

/* Remedies that began together are one use of the rule's Limit=. */
static void restore_use(struct restored_rows *in,
			const struct egs_remediation *row)
{
	struct egs_text key;

	if (has_outcome(row, EGS_REMEDIATION_HELD) ||
	    egs_remedies_find(row->remedy) == EGS_REMEDY_NOTE)
		return;
	egs_textf(&key, "%s %s %" PRIu32 " %" PRIu32 " %" PRId64, row->rule,
		  row->node, row->gpu, row->xid, row->at);
	if (strcmp(key.text, in->last_use.text) != 0)
		egs_health_restore_use(in->d->requests->remediate->health,
				       row->rule, egs_daemon_now() - row->at,
				       egs_remediate_steady_s());
	in->last_use = key;
}

static void restore_row(void *arg, const struct egs_remediation *row)
{
	struct restored_rows *in = arg;
	struct egs_daemon *d = in->d;
	int64_t node = egs_cluster_find_node(d->cluster, row->node);

	if (row->at >= egs_daemon_now() - LIMIT_MAX_S)
		restore_use(in, row);
	if (row->undone_at || node < 0)
		return;
	if (has_outcome(row, EGS_REMEDIATION_UNDOING))
		egs_remediate_order_drain(d, row->node, true, "");
	else
		restore_case(d, row, (uint32_t)node);
}

int egs_remediate_read_rows(struct egs_daemon *d, struct egs_err *err)
{
	struct restored_rows in = { .d = d };

	return egs_daemon_check_store(
		d,
		egs_remediation_each(d->store, egs_daemon_now() - LIMIT_MAX_S,
				     restore_row, &in, err),
		err);
}
