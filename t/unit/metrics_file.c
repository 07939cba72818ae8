/* metrics_file.c - what RunDir/metrics tells of a daemon's life
 *
 * n1 has four GPUs; job 7 of alice has two of them, job 8 waits.
 */
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "policyd/requests/metrics_file.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

static char text[1 << 20];

static void read_text(void)
{
	int fd = open("run/metrics", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Let a second pass and read the file. */
static void tick(void)
{
	d->polled_at = egs_daemon_now();
	d->requests->metrics->written_at = 0;
	egs_metrics_part.tick(d);
	read_text();
}

/* The value of the series 'name'; -1: there is none. */
static double value_of(const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at += len)
		if ((at == text || at[-1] == '\n') && at[len] == ' ')
			return strtod(at + len, NULL);
	return -1;
}

static void set_private_data(const char *value)
{
	char line[256];

	snprintf(line, sizeof(line),
		 "ClusterName=c\nSlurmUser=slurm\nPrivateData=%s\n", value);
	conf_write("slurm.conf", line);
}

static unsigned int mode_of_file(void)
{
	struct stat st = { .st_mode = 0 };

	stat("run/metrics", &st);
	return st.st_mode & 0777;
}

static void test_start(void)
{
	tick();
	ok(strlen(text) > 6 && strcmp(text + strlen(text) - 6, "# EOF\n") == 0,
	   "the file is whole");
	is_int((int)value_of("egs_daemon_up"), 1, "the daemon is up");
	is_int((int)value_of("egs_preemptions_total{tier=\"prod\","
			     "outcome=\"yielded\"}"),
	       0, "a counter is told before its first event");
	is_int((int)value_of("egs_team_gpus{team=\"red\",type=\"a100\","
			     "state=\"quota\"}"),
	       4, "a quota is told");
	is_int((int)mode_of_file(), 0644, "everybody may read the file");
}

static void test_jobs(void)
{
	daemon_show(daemon_job(7, EGS_JOB_RUNNING));
	daemon_show(daemon_job(8, EGS_JOB_PENDING));
	tick();
	is_int((int)value_of("egs_team_gpus{team=\"red\",type=\"a100\","
			     "state=\"owned\"}"),
	       2, "GPUs of a team are told");
	is_int((int)value_of("egs_running_jobs{team=\"red\",tier=\"scavenge\","
			     "phase=\"none\"}"),
	       1, "a running job is counted");
	is_int((int)value_of("egs_blocked_jobs{team=\"red\",tier=\"scavenge\","
			     "reason=\"None\"}"),
	       1, "a pending job is counted");
	is_int((int)value_of("egs_gpu_job{node=\"n1\",gpu=\"1\",uuid=\"\","
			     "jobid=\"7\",user=\"alice\",team=\"red\","
			     "phase=\"none\",tier=\"scavenge\"}"),
	       1, "the job of a GPU is told");
	is_int((int)value_of("egs_wait_seconds_count{tier=\"scavenge\"}"), 1,
	       "the wait of a job that started is counted");
	is_int((int)value_of("egs_wait_seconds_sum{tier=\"scavenge\"}"), 100,
	       "a wait has its seconds");
}

static const char used[] = "egs_gpu_seconds_total{team=\"red\","
			   "phase=\"none\",tier=\"scavenge\",type=\"a100\","
			   "loan=\"owned\"}";

static void test_gpu_seconds(void)
{
	double before = value_of(used);

	ok(before >= 200 && before < 300,
	   "the time of a job that runs is counted: %g", before);
	daemon_stop();
	daemon_start();
	tick();
	ok(value_of(used) >= before && value_of(used) < before + 50,
	   "a restart neither loses nor doubles the time of a job: %g",
	   value_of(used));
	is_int((int)value_of("egs_wait_seconds_count{tier=\"scavenge\"}"), 1,
	       "a restart keeps a histogram");
	daemon_show(daemon_job(7, EGS_JOB_RUNNING));
	tick();
	ok(value_of(used) >= before && value_of(used) < before + 50,
	   "a job that is seen again is not counted twice: %g", value_of(used));
	is_int((int)value_of("egs_wait_seconds_count{tier=\"scavenge\"}"), 1,
	       "a start that is seen again is not counted twice");
}

static void test_end(void)
{
	struct egs_job_fact f = daemon_job(7, EGS_JOB_ENDED);
	double before = value_of(used);

	f.end = (uint64_t)egs_daemon_now();
	f.nodes = "n1";
	f.end_state = "COMPLETED";
	daemon_show(f);
	tick();
	ok(value_of(used) >= before && value_of(used) < before + 50,
	   "a job that ended keeps its time: %g", value_of(used));
	ok(!strstr(text, "egs_gpu_job{"), "a job that ended has no GPU");
}

static void test_private(void)
{
	daemon_show(daemon_job(9, EGS_JOB_RUNNING));
	set_private_data("jobs");
	tick();
	ok(!strstr(text, "egs_gpu_job{"),
	   "PrivateData= hides who has which GPU");
	is_int((int)mode_of_file(), 0644, "sums are for everybody");
	set_private_data("Usage");
	tick();
	is_int((int)mode_of_file(), 0640, "PrivateData=usage hides sums");
	set_private_data("all");
	tick();
	is_int((int)mode_of_file(), 0640, "PrivateData=all hides sums");
	set_private_data("");
	tick();
	ok(strstr(text, "user=\"alice\""), "without PrivateData= users show");
}

/* Ask for the text as 'uid'. */
static int ask(uid_t uid, struct egs_err *why)
{
	const struct egs_peer peer = { .uid = uid, .local = true };
	struct egs_msg *request = egs_msg_new(), *answer = egs_msg_new();
	int rc = egs_verb_metrics(d, &peer, request, answer, why);

	if (rc == 0 && !egs_msg_get_str(answer, "text"))
		rc = 1;
	egs_msg_free(request);
	egs_msg_free(answer);
	return rc;
}

static uid_t uid_of(const char *name)
{
	const struct passwd *user = getpwnam(name);

	return user ? user->pw_uid : (uid_t)-1;
}

static void test_verb(void)
{
	struct egs_err why;

	is_int(ask(2002, &why), 0, "everybody may ask for metrics");
	set_private_data("usage");
	tick();
	is_int(ask(2002, &why), -1, "PrivateData=usage refuses a user: %s",
	       why.msg);
	is_int(ask(0, &why), 0, "PrivateData=usage does not refuse root");
	is_int(ask(uid_of("bin"), &why), 0,
	       "PrivateData=usage does not refuse an operator");
	is_int(ask(uid_of("daemon"), &why), -1,
	       "WebUser= is no operator, though Operators= names it");
	egs_daemon_add_slurm_operator(d, uid_of("daemon"), "daemon");
	egs_daemon_add_slurm_operator(d, 0, NULL);
	is_int(ask(uid_of("daemon"), &why), -1,
	       "WebUser= is no operator, though it is one of Slurm");
	set_private_data("");
	tick();
}

/* A second passes, but the file is not due. */
static int ask_next_second(uid_t uid, struct egs_err *why)
{
	d->requests->private_data.read_at = 0;
	return ask(uid, why);
}

static void test_private_at_once(void)
{
	struct egs_err why;

	daemon_show(daemon_job(10, EGS_JOB_RUNNING));
	tick();
	ok(strstr(text, "user=\"alice\""), "a running job is told");
	set_private_data("jobs");
	is_int(ask_next_second(2002, &why), 0, "sums are for everybody");
	read_text();
	ok(!strstr(text, "user=\"alice\""),
	   "the answer and the file follow PrivateData= before they are due");
	conf_write("slurm.conf", "");
	ask_next_second(2002, &why);
	read_text();
	ok(!strstr(text, "user=\"alice\""),
	   "a slurm.conf that is empty for a moment opens nothing");
	set_private_data("usage");
	is_int(ask_next_second(2002, &why), -1,
	       "PrivateData=usage refuses a user before the file is due");
	set_private_data("");
	tick();
}

/* What users of show map and show waiting see of others. */
static bool shows(int (*show)(struct egs_daemon *, const struct egs_peer *,
			      struct egs_msg *),
		  const char *word)
{
	const struct egs_peer peer = { .uid = 2002, .local = true };
	struct egs_msg *answer = egs_msg_new();
	const char *json;
	size_t len = 0;
	bool found;

	d->requests->private_data.read_at = 0;
	show(d, &peer, answer);
	json = egs_msg_to_text(answer, &len);
	found = json && strstr(json, word);
	egs_msg_free(answer);
	return found;
}

static void test_private_show(void)
{
	struct egs_job_fact f = daemon_job(11, EGS_JOB_PENDING);

	f.flags |= EGS_FACT_BLOCKED;
	daemon_show(f);
	ok(shows(egs_show_map, "red"), "the map has teams");
	ok(shows(egs_show_waiting, "red"), "waiting jobs have teams");
	set_private_data("jobs");
	ok(!shows(egs_show_map, "red"),
	   "the map has no team as soon as PrivateData=jobs is there");
	ok(!shows(egs_show_waiting, "red"),
	   "waiting jobs have no team as soon as PrivateData=jobs is there");
	set_private_data("");
	ok(shows(egs_show_map, "red"),
	   "the map has teams again without PrivateData=");
}

static void test_reasons(void)
{
	static const struct {
		const char *reason, *label;
	} cases[] = {
		{ "", "None" },
		{ "Priority", "Priority" },
		{ "ReqNodeNotAvail, UnavailableNodes:n[1-9]",
		  "ReqNodeNotAvail" },
		{ "Nodes required for job are DOWN, DRAINED or reserved",
		  "ReqNodeNotAvail" },
		{ "Reservation maint, which this job was running under, has "
		  "ended",
		  "Reservation" },
		{ "QOSMaxGRESPerUser", "QOSMaxGRESPerUser" },
		{ "QOSMinCpuNotSatisfied", "QOSLimit" },
		{ "AssocGrpBillingRunMinutes", "AssocLimit" },
		{ "Job is at or exceeds association (acc=a/user=b/part=c)",
		  "AssocLimit" },
		{ "MaxCpuPerAccount", "AccountLimit" },
		{ "Prioritys", "other" },
		{ "a\"b\\c{}", "other" },
		{ "other", "other" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_str(egs_metrics_reason_label(cases[i].reason),
		       cases[i].label, "a reason is one of a table: %s",
		       cases[i].label);
}

/* Many jobs with a reason of their own make one series. */
static void test_reason_series(void)
{
	char reason[64];
	int n = 0;

	for (int i = 0; i < 50; i++) {
		struct egs_job_fact f =
			daemon_job(100 + (uint32_t)i, EGS_JOB_PENDING);

		snprintf(reason, sizeof(reason),
			 "ReqNodeNotAvail, UnavailableNodes:n%d", i);
		f.reason = reason;
		daemon_show(f);
	}
	tick();
	for (const char *at = text; (at = strstr(at, "\negs_blocked_jobs{"));
	     at++)
		n++;
	ok(n <= 2, "50 jobs with a node list each are not 50 series: %d", n);
	is_int((int)value_of("egs_blocked_jobs{team=\"red\",tier=\"scavenge\","
			     "reason=\"ReqNodeNotAvail\"}"),
	       50, "jobs with a node list each are counted together");
}

/* The directory is missing for a moment. */
static void test_failure(void)
{
	d->requests->metrics->written_at = 0;
	rename("run", "away");
	egs_metrics_part.tick(d);
	ok(d->requests->metrics->failed, "a file that cannot be written is "
					 "noted");
	rename("away", "run");
	tick();
	ok(!d->requests->metrics->failed, "the file is written again");
}

static void set_interval(const char *line)
{
	static char conf[2048];
	static const char *before;

	if (!before)
		before = daemon_conf;
	snprintf(conf, sizeof(conf), "%s%s", line, before);
	daemon_conf = conf;
	daemon_stop();
	daemon_start();
}

static void test_interval_0(void)
{
	struct egs_err why;

	tick();
	set_interval("MetricsInterval=0\n");
	ok(access("run/metrics", F_OK) == 0, "an earlier daemon left a file");
	tick();
	ok(access("run/metrics", F_OK) < 0,
	   "MetricsInterval=0 removes the file");
	is_int(ask(0, &why), -1, "MetricsInterval=0 has no metrics: %s",
	       why.msg);
	egs_metrics_part.ending(d);
	ok(access("run/metrics", F_OK) < 0,
	   "a daemon with MetricsInterval=0 leaves no file");
	set_interval("");
	tick();
	is_int((int)value_of("egs_daemon_up"), 1,
	       "the file comes back with an interval");
}

static void test_stop(void)
{
	double before = value_of(used);

	egs_metrics_part.ending(d);
	read_text();
	is_int((int)value_of("egs_daemon_up"), 0,
	       "a daemon that has stopped is not up");
	ok(value_of(used) >= before, "a daemon that has stopped leaves its "
				     "counters");
	ok(!strstr(text, "egs_team_gpus"),
	   "a daemon that has stopped leaves no gauges");
	daemon_stop();
	daemon_start();
	tick();
	ok(value_of(used) >= before, "a counter survives a clean stop");
	daemon_stop();
}

int main(void)
{
	char conf[1024];

	plan_none();
	conf_enter();
	setenv("SLURM_CONF", "slurm.conf", 1);
	set_private_data("");
	snprintf(conf, sizeof(conf), "Operators=bin,daemon\nWebUser=daemon\n%s",
		 daemon_conf);
	daemon_conf = conf;
	daemon_start();
	test_start();
	test_jobs();
	test_gpu_seconds();
	test_end();
	test_private();
	test_verb();
	test_private_at_once();
	test_private_show();
	test_reasons();
	test_reason_series();
	test_failure();
	test_interval_0();
	test_stop();
	remove("slurm.conf");
	remove("run/metrics");
	daemon_leave();
	return done_testing();
}
