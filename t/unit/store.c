/* store.c - committed state is on disk, whenever the daemon is killed */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policyd/store/store_messages.h"
#include "t/lib/unit/tap.h"

static char dir[] = "/tmp/egs-store-XXXXXX";
static char path[sizeof(dir) + 8];
static struct egs_err err;
static bool hopeless;

static struct egs_store *reopen(struct egs_store *s)
{
	egs_store_close(s);
	err.msg[0] = '\0';
	return egs_store_open(path, &hopeless, &err);
}

static struct egs_saved_job last;
static int count;

static void on_job(void *arg, const struct egs_saved_job *job)
{
	(void)arg;
	last = *job;
	count++;
}

static int count_jobs(struct egs_store *s)
{
	count = 0;
	egs_store_job_each(s, on_job, NULL, &err);
	return count;
}

static struct egs_saved_job make_job(uint32_t id)
{
	return (struct egs_saved_job){
		.job = { .nonce = UINT64_MAX - id,
			 .job_id = id,
			 .uid = 2001,
			 .array_task = EGS_NO_TASK,
			 .submit = 1000 },
		.history = { .first_submitted = 900,
			     .queued_at = 1000,
			     .started = 1100,
			     .loan_since = 1200,
			     .saved_at = 1300,
			     .deadline = 1400,
			     .budget_from = 1500,
			     .waited_s = 100,
			     .requester = 9,
			     .request_no = 3,
			     .preemptions = 2,
			     .save_s = { 30, UINT16_MAX, 50, UINT16_MAX },
			     .preempting = true },
		.owned = true,
		.phase = "infer",
	};
}

static void save_job(struct egs_store *s, const struct egs_saved_job *k)
{
	egs_store_begin(s, &err);
	egs_store_job_save(s, k, &err);
	egs_store_commit(s, &err);
}

static void test_jobs(struct egs_store **s)
{
	struct egs_saved_job k = make_job(7), other = make_job(7);

	save_job(*s, &k);
	k.job.restarts = 2;
	k.job.submit = 2000;
	save_job(*s, &k);
	*s = reopen(*s);
	is_int(count_jobs(*s), 1, "a job requeued twice is one job");
	is_int(last.job.restarts, 2,
	       "a requeued job has its latest restart count");
	ok(last.job.nonce == k.job.nonce && last.owned,
	   "a saved job keeps its nonce and whether it was owned");
	is_str(last.phase, "infer", "a saved job keeps its phase");
	is_int(last.history.restarts, 2,
	       "the history of a job has the restart count of the job");
	is_int(last.history.loan_since, 1200,
	       "a saved job keeps the start of its loan");
	is_int(last.history.first_submitted, 900,
	       "a saved job keeps when it was first submitted");
	ok(memcmp(last.history.save_s, k.history.save_s,
		  sizeof(k.history.save_s)) == 0,
	   "a saved job keeps its save times");
	ok(last.history.preempting && last.history.requester == 9 &&
		   last.history.deadline == 1400,
	   "a saved job keeps its preemption, requester and deadline");

	other.job.nonce = 5;
	memset(other.phase, 0, sizeof(other.phase));
	memcpy(other.phase, "a", 1);
	save_job(*s, &other);
	is_int(count_jobs(*s), 2,
	       "a job with the same id and another nonce is another job");
	ok(memcmp(last.phase, other.phase, sizeof(last.phase)) == 0,
	   "a job has nothing of the phase of the job before it");
	egs_store_begin(*s, &err);
	egs_store_job_delete(*s, &k.job, &err);
	egs_store_commit(*s, &err);
	is_int(count_jobs(*s), 1, "a deleted job is gone");
	is_int((intmax_t)last.job.nonce, 5,
	       "deleting a job keeps another job with its id");
}

static void test_values(struct egs_store **s)
{
	char value[64];

	egs_store_begin(*s, &err);
	egs_store_set(*s, "paused", "NFS incident", &err);
	egs_store_commit(*s, &err);
	egs_store_begin(*s, &err);
	egs_store_set(*s, "paused", "forgotten", &err);
	*s = reopen(*s); /* without a commit */
	egs_store_get(*s, "paused", value, sizeof(value), &err);
	is_str(value, "NFS incident", "a value that was not committed is lost");
	egs_store_begin(*s, &err);
	egs_store_set(*s, "paused", NULL, &err);
	egs_store_commit(*s, &err);
	egs_store_get(*s, "paused", value, sizeof(value), &err);
	is_str(value, "", "a value can be removed");
}

static char got_text[128];

static void on_intent(void *arg, const struct egs_intent *i)
{
	(void)arg;
	count++;
	snprintf(got_text, sizeof(got_text), "%s %u: %s", i->action, i->job_id,
		 i->reason);
}

static void on_entry(void *arg, const struct egs_log_entry *d)
{
	(void)arg;
	count++;
	snprintf(got_text, sizeof(got_text), "%s by %s", d->event, d->actor);
}

static void test_intents(struct egs_store **s)
{
	struct egs_intent a = { .at = 10, .job_id = 7, .action = "requeue" };
	struct egs_intent b = a;

	b.reason = "its quota is recalled";
	egs_store_begin(*s, &err);
	egs_store_intent_add(*s, &a, &err);
	egs_store_intent_add(*s, &b, &err);
	egs_store_intent_done(*s, a.id, "done", 11, &err);
	egs_store_commit(*s, &err);
	*s = reopen(*s);
	count = 0;
	egs_store_intent_each(*s, on_intent, NULL, &err);
	is_int(count, 1, "after a restart only the open intent is listed");
	is_str(got_text, "requeue 7: its quota is recalled",
	       "an open intent has its action and reason");
}

static void test_log(struct egs_store **s)
{
	struct egs_log_entry d = {
		.at = 10, .job_id = 7, .event = "asked", .actor = "policy"
	};
	struct egs_identity job = { .job_id = 7 };

	egs_store_begin(*s, &err);
	egs_store_log_add(*s, &d, &err);
	d.event = "requeued";
	d.at = 500;
	egs_store_log_add(*s, &d, &err);
	egs_store_commit(*s, &err);
	count = 0;
	egs_store_log_each(*s, &job, 0, 1, on_entry, NULL, &err);
	ok(count == 1 && !strcmp(got_text, "requeued by policy"),
	   "the newest log entry comes first");
	count = 0;
	egs_store_log_each(*s, &job, 11, 10, on_entry, NULL, &err);
	is_int(count, 1,
	       "log entries before a job was submitted are not its own");
	job.nonce = 6;
	count = 0;
	egs_store_log_each(*s, &job, 0, 10, on_entry, NULL, &err);
	is_int(count, 0,
	       "log entries of another job with the same id are not its own");
	egs_store_prune(*s, 100, &err);
	count = 0;
	egs_store_log_each(*s, NULL, 0, 10, on_entry, NULL, &err);
	is_int(count, 1, "pruning deletes old log entries");
}

static void on_report(void *arg, const struct egs_log_entry *e)
{
	int *sum = arg;

	count++;
	*sum += (int)e->reports;
	snprintf(got_text, sizeof(got_text), "%s", e->event);
}

/* A job that reports without end. */
static void test_reports(struct egs_store **s)
{
	struct egs_log_entry e = { .at = 1000,
				   .job_id = 8,
				   .event = "phase eval",
				   .actor = "alice",
				   .reports = 1 };
	struct egs_identity job = { .job_id = 8 };
	int sum = 0;

	egs_store_begin(*s, &err);
	for (int i = 0; i < 1000; i++, e.at++)
		egs_store_log_add(*s, &e, &err);
	e.reports = 0;
	e.event = "asked";
	egs_store_log_add(*s, &e, &err);
	egs_store_commit(*s, &err);
	count = 0;
	egs_store_log_each(*s, &job, 0, 2000, on_report, &sum, &err);
	is_int(count, EGS_LOG_REPORTS_MAX + 1,
	       "the log has the last reports of a job, and all other entries");
	is_int(sum, 1000, "no report of a job is lost from the count");
	is_str(got_text, "901 reports",
	       "the oldest entry of a job counts its earlier reports");
}

static void test_answers(struct egs_store **s)
{
	struct egs_identity job = { .job_id = 9 };
	char id[EGS_MESSAGE_ID_LEN + 1], *answer;
	int kept = 0, newest = 0;

	egs_store_begin(*s, &err);
	for (int i = 0; i < 3000; i++) {
		snprintf(id, sizeof(id), "%016x", (unsigned)i);
		egs_store_answer_set(*s, &job, id, "{}", i, &err);
	}
	egs_store_commit(*s, &err);
	for (int i = 0; i < 3000; i++) {
		snprintf(id, sizeof(id), "%016x", (unsigned)i);
		egs_store_answer_get(*s, &job, id, &answer, &err);
		kept += answer != NULL;
		newest = answer ? i : newest;
		free(answer);
	}
	is_int(kept, EGS_ANSWERS_MAX, "a job has its last answers stored");
	is_int(newest, 2999, "the newest answer is stored");
	egs_store_begin(*s, &err);
	egs_store_job_delete(*s, &job, &err);
	egs_store_commit(*s, &err);
	egs_store_answer_get(*s, &job, id, &answer, &err);
	ok(!answer, "the answers to a job that has ended are deleted");
	free(answer);
}

/* Write 'mib' MiB into the log of SQLite. */
static void write_mib(struct egs_store *s, int mib)
{
	static char big[64 << 10];

	memset(big, 'x', sizeof(big) - 1);
	for (int i = 0; i < mib * 16; i++) {
		egs_store_begin(s, &err);
		egs_store_set(s, "big", big, &err);
		egs_store_commit(s, &err);
		big[i % 1000] ^= 1;
	}
}

/* A report, in another process, that reads an old state. */
static sqlite3 *begin_report(void)
{
	sqlite3 *db = NULL;

	sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
	sqlite3_exec(db, "BEGIN; SELECT count(*) FROM value", NULL, NULL, NULL);
	return db;
}

static void test_wal(struct egs_store **s)
{
	sqlite3 *first, *second;

	first = begin_report();
	write_mib(*s, 8);
	ok(egs_store_trim_wal(*s) > EGS_STORE_WAL_SHORT,
	   "the WAL stays long while a report reads an old state");
	second = begin_report();
	sqlite3_close(first);
	write_mib(*s, 8);
	ok(egs_store_trim_wal(*s) > EGS_STORE_WAL_LONG,
	   "overlapping reports let the WAL grow");
	sqlite3_close(second);
	is_int(egs_store_trim_wal(*s), 0,
	       "the WAL is cut to nothing when no report reads");
	write_mib(*s, 12);
	ok(egs_store_trim_wal(*s) <= EGS_STORE_WAL_SHORT,
	   "the WAL stays short without reports");
	egs_store_begin(*s, &err);
	egs_store_set(*s, "big", NULL, &err);
	egs_store_commit(*s, &err);
}

static void on_usage(void *arg, const struct egs_saved_usage *u)
{
	*(struct egs_usage_snapshot *)arg = u->tally;
}

static void test_usage(struct egs_store **s)
{
	struct egs_saved_usage u = { .team = "fraud",
				     .tally = { 1000, UINT64_C(1) << 62, 77 } };
	struct egs_usage_snapshot was = { 0 };

	egs_store_begin(*s, &err);
	egs_store_usage_save(*s, &u, &err);
	egs_store_commit(*s, &err);
	*s = reopen(*s);
	egs_store_usage_each(*s, on_usage, &was, &err);
	ok(memcmp(&was, &u.tally, sizeof(was)) == 0,
	   "the usage of a team is restored");
}

static void on_meter(void *arg, const struct egs_saved_meter *m)
{
	*(struct egs_usage_snapshot *)arg = m->tally;
	snprintf(got_text, sizeof(got_text), "%s/%s/%s", m->team, m->workload,
		 m->phase);
}

static void test_meters(struct egs_store **s)
{
	struct egs_saved_meter m = { .team = "fraud",
				     .workload = "cards",
				     .phase = "",
				     .tally = { .at = 1000, .gpu_s = 77 } };
	struct egs_usage_snapshot was = { 0 };

	egs_store_begin(*s, &err);
	egs_store_meter_save(*s, &m, &err);
	m.tally.gpu_s = 78;
	egs_store_meter_save(*s, &m, &err);
	egs_store_commit(*s, &err);
	*s = reopen(*s);
	egs_store_meter_each(*s, on_meter, &was, &err);
	ok(memcmp(&was, &m.tally, sizeof(was)) == 0,
	   "the usage of a workload is restored");
	is_str(got_text, "fraud/cards/",
	       "the usage of a workload has its team, workload and phase");
}

/* Can another process open the store?  The lock is of a process. */
static bool opens_elsewhere(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(egs_store_open(path, &hopeless, &err) ? 1 : 0);
	waitpid(pid, &status, 0);
	return status != 0;
}

static void test_epoch(struct egs_store **s)
{
	uint64_t epoch = egs_store_epoch(*s);

	*s = reopen(*s);
	ok(egs_store_epoch(*s) == epoch + 1, "each open increments the epoch");
	ok(!opens_elsewhere(), "a second process cannot open the store");
}

/* Write to 'out' each number after it was committed. */
static void write_forever(int out)
{
	struct egs_store *s = egs_store_open(path, &hopeless, &err);
	char text[16];
	int i;

	for (i = 0; s; i++) {
		struct egs_saved_job k = make_job((uint32_t)i + 100);

		snprintf(text, sizeof(text), "%d", i);
		if (egs_store_begin(s, &err) < 0 ||
		    egs_store_job_save(s, &k, &err) < 0 ||
		    egs_store_set(s, "last", text, &err) < 0 ||
		    egs_store_commit(s, &err) < 0 ||
		    write(out, &i, sizeof(i)) != sizeof(i))
			break;
	}
	_exit(1);
}

/* Kill a writer after 'n' commits; the last number that it acknowledged. */
static int kill_writer(int n)
{
	int fds[2], acked = -1, got, status;
	pid_t pid;

	if (pipe(fds) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		write_forever(fds[1]);
	close(fds[1]);
	while (acked < n && read(fds[0], &got, sizeof(got)) == sizeof(got))
		acked = got;
	kill(pid, SIGKILL);
	while (read(fds[0], &got, sizeof(got)) == sizeof(got))
		acked = got;
	waitpid(pid, &status, 0);
	close(fds[0]);
	return acked;
}

static void test_kill(struct egs_store **s)
{
	int round, lost = 0, torn = 0;
	char value[16];

	for (round = 0; round < 20; round++) {
		int acked, committed, njobs;

		egs_store_close(*s);
		unlink(path);
		acked = kill_writer(round % 7);
		*s = egs_store_open(path, &hopeless, &err);
		egs_store_get(*s, "last", value, sizeof(value), &err);
		committed = atoi(value);
		njobs = count_jobs(*s);
		lost += acked < 0 || committed < acked;
		torn += njobs != committed + 1;
	}
	is_int(lost, 0, "kill -9 loses nothing that was acknowledged");
	is_int(torn, 0, "kill -9 leaves no transaction half done");
}

static void test_full_disk(struct egs_store **s)
{
	struct rlimit was, tiny = { .rlim_cur = 64 * 1024 };
	char big[8000];
	struct egs_log_entry d = { .at = 1, .job_id = 1, .event = big };
	int i, rc = 0, before = count_jobs(*s);

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	getrlimit(RLIMIT_FSIZE, &was);
	tiny.rlim_max = was.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &tiny);
	for (i = 0; i < 100 && rc == 0; i++) {
		rc = egs_store_begin(*s, &err);
		if (rc == 0)
			rc = egs_store_log_add(*s, &d, &err);
		if (rc == 0)
			rc = egs_store_commit(*s, &err);
	}
	is_int(rc, -1, "a write to a full disk fails: %s", err.msg);
	setrlimit(RLIMIT_FSIZE, &was);
	rc = egs_store_begin(*s, &err);
	if (rc == 0)
		rc = egs_store_log_add(*s, &d, &err);
	if (rc == 0)
		rc = egs_store_commit(*s, &err);
	is_int(rc, 0, "a write succeeds once the disk has room");
	is_int(count_jobs(*s), before, "a full disk changes no saved job");
}

static void test_refused(void)
{
	char text[] = "this is no database, and long enough to be one";
	int fd;

	ok(!egs_store_open("/nowhere/at/all", &hopeless, &err),
	   "a missing directory is refused: %s", err.msg);
	ok(!egs_store_open("/proc/state.db", &hopeless, &err),
	   "a directory that is not writable is refused: %s", err.msg);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	ok(write(fd, text, sizeof(text)) == sizeof(text) &&
		   !egs_store_open(path, &hopeless, &err),
	   "a file that is not a store is refused: %s", err.msg);
	close(fd);
}

int main(void)
{
	struct egs_store *s;
	struct stat st;

	plan_none();
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/state", dir);
	s = egs_store_open(path, &hopeless, &err);
	ok(s != NULL, "a new store is made %s", err.msg);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600,
	   "only the owner may read the store");
	test_jobs(&s);
	test_values(&s);
	test_intents(&s);
	test_log(&s);
	test_reports(&s);
	test_answers(&s);
	test_wal(&s);
	test_usage(&s);
	test_meters(&s);
	test_epoch(&s);
	test_full_disk(&s);
	test_kill(&s);
	egs_store_close(s);
	test_refused();
	unlink(path);
	ok(rmdir(dir) == 0, "the store leaves no other file behind");
	return done_testing();
}
