/* preempt.c - preempt/egs makes no system call, and answers within 100 ns
 *
 * usage: preempt	prints TAP
 * usage: preempt bench	prints the time for one pair with 20,000 jobs; exits 1
 *			if that is over the limit
 * usage: preempt more	prints TAP; job records are those of another Slurm, with
 *			a member more before the details; with "less", a
 *			member less
 * usage: preempt FILE	FILE is Slurm's preempt/qos.  Prints "asked" if
 *			preempt/egs calls it for unmanaged jobs, else "not
 *			asked"; likewise for suspended and for managed jobs
 */
#include "t/slurm/records.h"

#include "t/lib/unit/tap.h"

#define JOBS	 20000
#define TAKERS	 200
#define LIMIT_NS 100.0

static struct {
	job_record_t *job[JOBS + 1];
	uint32_t yes, seen;
} all;

/* As slurmctld has it for plugins. */
job_record_t *find_job_record(uint32_t job_id)
{
	return job_id <= JOBS ? all.job[job_id] : NULL;
}

static void make_jobs(void)
{
	for (uint32_t id = 1; id <= JOBS; id++)
		all.job[id] = make_job(id, id % 2 ? JOB_PENDING : JOB_RUNNING);
}

/* Visit jobs as Slurm does for a pending job: each running job is a possible
 * victim.
 */
static void each_job(uint32_t taker, bool ask)
{
	for (uint32_t id = 1; id <= JOBS; id++) {
		job_record_t *job = all.job[id];

		if (job->het_job_id || !IS_JOB_RUNNING(job))
			continue;
		all.seen += job->job_id;
		if (ask)
			all.yes += preempt_p_preemptable(job, all.job[taker]);
	}
}

static void one_taker(uint32_t taker)
{
	each_job(taker, true);
}

/* A job on loan may preempt no other job on loan. */
static void weak_taker(void)
{
	each_job(2, true);
}

static void ask_pairs(void)
{
	one_taker(1);
	one_taker(JOBS - 1);
	weak_taker();
}

#if EGS_PREEMPT_GETTERS

static void ask_data(void)
{
	for (uint32_t id = 1; id <= JOBS; id++) {
		preempt_p_get_mode(all.job[id]);
		preempt_p_get_prio(all.job[id]);
	}
}

static void ask_grace(void)
{
	preempt_p_get_grace_time(all.job[2]);
}

#else

static void ask_data(void)
{
	uint32_t data;

	for (uint32_t id = 1; id <= JOBS; id++) {
		preempt_p_get_data(all.job[id], PREEMPT_DATA_MODE, &data);
		preempt_p_get_data(all.job[id], PREEMPT_DATA_PRIO, &data);
		preempt_p_get_data(all.job[id], PREEMPT_DATA_ENABLED, &data);
	}
}

static void ask_grace(void)
{
	uint32_t grace;

	preempt_p_get_data(all.job[2], PREEMPT_DATA_GRACE_TIME, &grace);
}

#endif

static void ask_system(void)
{
	getppid();
}

/* Publish again: now job 3 runs, in a weaker tier than the jobs on loan. */
static void republish(void)
{
	struct egs_table_job *row = calloc(JOBS, sizeof(*row));

	for (uint32_t i = 0; i < JOBS; i++)
		row[i] = make_row(i + 1);
	row[2] = make_row(2);
	row[2].job_id = 3;
	row[2].tier = 2;
	all.job[3]->job_state = JOB_RUNNING;
	egs_table_publish(place.table, row, JOBS, time(NULL));
	free(row);
}

/* The mode in which Slurm would preempt the job. */
static uint16_t mode_of(job_record_t *job)
{
	uint16_t mode = PREEMPT_MODE_OFF;

#if EGS_PREEMPT_GETTERS
	mode = preempt_p_get_mode(job);
#else
	preempt_p_get_data(job, PREEMPT_DATA_MODE, &mode);
#endif
	return mode;
}

/* The rows of three jobs say requeue.  Job 2 is being preempted.  Job 4 was
 * preempted after the daemon stopped.  The preemption of job 6 was withdrawn.
 */
static void without_daemon(void)
{
	struct egs_table_job row[] = { make_row(2), make_row(4), make_row(6) };

	slurm_conf.preempt_mode = PREEMPT_MODE_CANCEL;
	row[0].fate_and_flags |= EGS_TABLE_PREEMPT_REQUESTED;
	row[2].fate_and_flags |= EGS_TABLE_PREEMPT_REQUESTED;
	egs_table_publish(place.table, row, 3, time(NULL));
	all.job[2]->preempt_time = all.job[4]->preempt_time = time(NULL);
	egs_table_close(place.table);
	place.table = NULL;
	is_int(mode_of(all.job[2]), PREEMPT_MODE_REQUEUE,
	       "a job being preempted keeps its mode while the daemon is down");
	is_int(mode_of(all.job[4]), PREEMPT_MODE_CANCEL,
	       "a job preempted while the daemon is down has Slurm's mode");
	is_int(mode_of(all.job[6]), PREEMPT_MODE_CANCEL,
	       "a job whose preemption was withdrawn has Slurm's mode");
	all.job[2]->details->submit_time++;
	is_int(mode_of(all.job[2]), PREEMPT_MODE_CANCEL,
	       "another job with the same id has Slurm's mode");
}

/* Slurm stores PreemptMode=OFF of a QOS as 0, as it stores none. */
static void switched_off(void)
{
	part_record_t part = { .preempt_mode = PREEMPT_MODE_OFF };
	slurmdb_qos_rec_t qos = { .preempt_mode = PREEMPT_MODE_OFF };
	job_record_t *job = all.job[2];

	job->part_ptr = &part;
	ok(!preempt_p_preemptable(job, all.job[1]),
	   "PreemptMode=OFF of a partition protects a managed job");
	part.preempt_mode = NO_VAL16;
	ok(preempt_p_preemptable(job, all.job[1]),
	   "a partition without PreemptMode does not protect a job");
	job->part_ptr = NULL;
	job->qos_ptr = &qos;
	ok(preempt_p_preemptable(job, all.job[1]),
	   "a QOS without PreemptMode does not protect a job");
	job->qos_ptr = NULL;
}

static int test(void)
{
	plan_none();
	if (!can_be_quiet()) {
		printf("1..0 # SKIP no seccomp filters here\n");
		return EXIT_SUCCESS;
	}
	one_taker(1);
	is_int(all.yes, JOBS / 2, "a strong job may preempt all jobs on loan");
	weak_taker();
	is_int(all.yes, JOBS / 2, "a weak job may preempt no job");
	switched_off();
	republish();
	weak_taker();
	is_int(all.yes, JOBS / 2 + 1, "a weak job may preempt a weaker one");
	ok(!is_quiet(ask_system, false), "the test notices a system call");
	ok(is_quiet(ask_pairs, false), "preemptable makes no system call");
	ok(is_quiet(ask_data, false),
	   "get_data of a victim makes no system call");
	ok(!is_quiet(ask_grace, false), "the grace period begins with a ring");
	ok(is_quiet(ask_grace, true),
	   "the ring of a grace period does not block");
	without_daemon();
	return done_testing();
}

/* Nanoseconds for each running job; half of the jobs run. */
static double look(uint32_t first, bool ask)
{
	double start;

	each_job(first, ask);
	start = cpu_seconds();
	for (uint32_t i = 0; i < TAKERS; i++)
		each_job(2 * i + first, ask);
	return 1e9 * (cpu_seconds() - start) / TAKERS / (JOBS / 2.0);
}

static bool result(const char *what, double ns)
{
	printf("%-42s %7.1f  limit %-5.0f %s\n", what, ns, LIMIT_NS,
	       ns <= LIMIT_NS ? "met" : "MISSED");
	return ns <= LIMIT_NS;
}

/* The walk over all jobs is Slurm's own cost, so subtract it. */
static int bench(void)
{
	double walk = look(1, false);
	bool good = result("preemptable with 20,000 jobs, ns",
			   look(1, true) - walk);

	good &= result("the same if no job can be preempted",
		       look(2, true) - walk);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void say(const char *what, job_record_t *victim, job_record_t *taker)
{
	printf("%s%s\n", what,
	       preempt_p_preemptable(victim, taker) ? "asked" : "not asked");
}

/* The base is a preempt/qos that allows every preemption. */
static int ask_base(void)
{
	job_record_t *one = make_job(JOBS + 1, JOB_RUNNING);
	job_record_t *two = make_job(JOBS + 2, JOB_PENDING);
	job_record_t *stopped = make_job(JOBS + 3, JOB_SUSPENDED);

	say("", one, two);
	say("ours takes: ", one, all.job[1]);
	say("ours on loan takes: ", one, all.job[2]);
	say("suspended: ", stopped, two);
	say("ours takes from suspended: ", stopped, all.job[1]);
	say("both ours, the weaker takes: ", all.job[4], all.job[2]);
	all.job[4]->job_state = JOB_SUSPENDED;
	say("both ours, suspended: ", all.job[4], all.job[1]);
	say("ours is suspended: ", all.job[4], two);
	return EXIT_SUCCESS;
}

/* Move the members from the details on, as in another source of Slurm. */
static job_record_t *make_other_record(uint32_t id, ptrdiff_t shift)
{
	job_record_t *job = make_job(id, JOB_PENDING);
	char *other = calloc(1, sizeof(*job) + sizeof(void *));
	size_t at = offsetof(job_record_t, details);

	memcpy(other, job, at);
	memcpy(other + (ptrdiff_t)at + shift, (char *)job + at,
	       sizeof(*job) - at);
	free(job);
	return (job_record_t *)other;
}

static int test_other_records(ptrdiff_t shift)
{
	job_record_t *strong = make_other_record(1, shift);

	plan_none();
	slurm_conf.preempt_mode = PREEMPT_MODE_CANCEL;
	for (uint32_t i = 0; i < 30; i++)
		mode_of(strong);
	ok(!preempt_p_preemptable(all.job[2], strong),
	   "a job of another Slurm preempts as on stock Slurm");
	ok(!preempt_p_preemptable(all.job[2], all.job[3]),
	   "after records of another Slurm no record is read");
	is_int(mode_of(all.job[2]), PREEMPT_MODE_CANCEL,
	       "a victim in another Slurm has Slurm's mode");
	free(strong);
	return done_testing();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool base = strchr(what, '/');
	int rc = EXIT_FAILURE;

	if (make_place(JOBS, base ? "PreemptBase=preempt/qos\n" : "") == 0 &&
	    (!base || symlink(what, "preempt_qos.so") == 0) &&
	    init() == SLURM_SUCCESS) {
		make_jobs();
		if (base)
			rc = ask_base();
		else if (!strcmp(what, "more") || !strcmp(what, "less"))
			rc = test_other_records(*what == 'm' ? 8 : -8);
		else
			rc = *what ? bench() : test();
	}
	remove_place();
	return rc;
}
