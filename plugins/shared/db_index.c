/* db_index.c - the number of a job's record in slurmdbd */
#include "plugins/shared/db_index.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "plugins/compat/dbd.h"

#if EGS_DBD_NUMBERS_RECORDS

/* No record has this number.  slurmctld sends a requeued job without a number
 * to slurmdbd again, and waits under its locks (22.05 job_mgr.c:16058).
 */
#define NO_RECORD (NO_VAL64 - 1)

enum { QUESTIONS_MAX = 8 };

/* A job as slurmdbd gets it.  All texts are copies: slurmctld changes its
 * records while the thread waits.
 */
struct question {
	job_record_t job;
	__typeof__(*((job_record_t *)0)->details) details;
};

static const size_t job_texts[] = {
	offsetof(job_record_t, account),
	offsetof(job_record_t, container),
	offsetof(job_record_t, name),
	offsetof(job_record_t, nodes),
	offsetof(job_record_t, partition),
	offsetof(job_record_t, tres_alloc_str),
	offsetof(job_record_t, tres_req_str),
	offsetof(job_record_t, mcs_label),
	offsetof(job_record_t, wckey),
	offsetof(job_record_t, gres_used),
};

static const size_t detail_texts[] = {
	offsetof(struct question, details.features),
	offsetof(struct question, details.features_use),
	offsetof(struct question, details.work_dir),
	offsetof(struct question, details.submit_line),
	offsetof(struct question, details.env_hash),
	offsetof(struct question, details.script_hash),
};

static atomic_int questions;

static char **get_text(void *record, size_t offset)
{
	return (char **)((char *)record + offset);
}

static void copy_texts(void *record, const size_t *offsets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char **text = get_text(record, offsets[i]);

		*text = xstrdup(*text);
	}
}

static void free_texts(void *record, const size_t *offsets, size_t count)
{
	for (size_t i = 0; i < count; i++)
		xfree(*get_text(record, offsets[i]));
}

/* With JOB_RESIZING slurmdbd finds the record by the time of the resize, and
 * the accounting plugin waits for the answer.
 */
static struct question *make_question(const job_record_t *job)
{
	struct question *q = xmalloc(sizeof(*q));

	q->job = *job;
	q->details = *job->details;
	q->job.details = &q->details;
	q->job.array_recs = NULL;
	q->job.db_index = 0;
	if (job->part_ptr)
		q->job.partition = job->part_ptr->name;
	q->job.part_ptr = NULL;
	if (job->resize_time)
		q->job.job_state |= JOB_RESIZING;
	copy_texts(&q->job, job_texts, ARRAY_SIZE(job_texts));
	copy_texts(q, detail_texts, ARRAY_SIZE(detail_texts));
	return q;
}

static void free_question(struct question *q)
{
	free_texts(&q->job, job_texts, ARRAY_SIZE(job_texts));
	free_texts(q, detail_texts, ARRAY_SIZE(detail_texts));
	xfree(q);
}

static bool is_number(uint64_t index)
{
	return index && index != NO_VAL64 && index != NO_RECORD;
}

/* A requeued job has another submit time, a resized job another resize time. */
static bool is_same_record(const job_record_t *job, const struct question *q)
{
	return job->details &&
	       job->details->submit_time == q->details.submit_time &&
	       (job->db_index == NO_RECORD ||
		(!is_number(job->db_index) &&
		 job->resize_time == q->job.resize_time));
}

static void store_answer(const struct question *q)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK };
	job_record_t *job;

	lock_slurmctld(locks);
	job = find_job_record(q->job.job_id);
	if (job && is_same_record(job, q))
		job->db_index = q->job.db_index;
	unlock_slurmctld(locks);
}

static void *ask_slurmdbd(void *arg)
{
	struct question *q = arg;

	jobacct_storage_g_job_start(NULL, &q->job);
	if (is_number(q->job.db_index))
		store_answer(q);
	free_question(q);
	atomic_fetch_sub(&questions, 1);
	return NULL;
}

static void start_thread(struct question *q)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, ask_slurmdbd, q);
	pthread_attr_destroy(&attr);
	if (rc) {
		free_question(q);
		atomic_fetch_sub(&questions, 1);
	}
}

/* If slurmdbd hangs, its questions wait; the next update asks again. */
static void ask_for_number(const job_record_t *job)
{
	if (atomic_fetch_add(&questions, 1) < QUESTIONS_MAX)
		start_thread(make_question(job));
	else
		atomic_fetch_sub(&questions, 1);
}

static bool is_accounted(const job_record_t *job)
{
	return job->details && slurm_with_slurmdbd() &&
	       !(slurm_conf.accounting_storage_enforce &
		 ACCOUNTING_ENFORCE_NO_JOBS);
}

/* slurmdbd tells the records of a job apart by the second they begin. */
bool egs_db_index_is_ready(const job_record_t *job)
{
	time_t now = time(NULL);

	if (!is_accounted(job))
		return true;
	if (job->resize_time >= now || job->details->submit_time >= now)
		return false;
	if (is_number(job->db_index))
		return true;
	ask_for_number(job);
	return false;
}

static void give_up_number(job_record_t *job)
{
	if (!is_accounted(job) || is_number(job->db_index))
		return;
	ask_for_number(job);
	job->db_index = NO_RECORD;
}

#else

bool egs_db_index_is_ready(const job_record_t *job)
{
	(void)job;
	return true;
}

static void give_up_number(job_record_t *job)
{
	(void)job;
}

#endif

void egs_db_index_end_run(job_record_t *job)
{
	if (!job->resize_time)
		return;
	give_up_number(job);
	job->resize_time = 0;
	job->billable_tres = (double)NO_VAL;
}
