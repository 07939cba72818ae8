/* notify.c - warnings reach the program of Notify=, and no flood does
 *
 * The program appends its input to the file "got".
 */
#include <inttypes.h>
#include <sys/stat.h>

#include "common/base/clock.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

enum { MINUTE_MS = 60 * 1000 };

static char conf_text[2048];

static void make_program(const char *script)
{
	char text[512];

	snprintf(text, sizeof(text), "#!/bin/sh\ncd %s\n%s\n", conf_dir,
		 script);
	conf_write("program", text);
	if (chmod("program", 0755) < 0)
		err(1, "program");
}

static void warn_of(const char *text)
{
	egs_notify_send(
		d, &(struct egs_warning){ .kind = "test",
					  .text = text,
					  .job = egs_policy_job(d->policy, 7),
					  .node = "n1",
					  .gpu = 2 });
}

/* Tick until the queue is empty and no program runs. */
static void wait_for_programs(void)
{
	uint64_t begin = egs_now_ms();

	do {
		egs_notify_tick(d);
		poll(NULL, 0, 5);
	} while ((d->notify.nqueued || d->notify.program.pid) &&
		 egs_now_ms() - begin < MINUTE_MS);
}

/* The first line that the program got. */
static const char *get_first(void)
{
	static char line[2048];
	FILE *f = fopen("got", "re");

	line[0] = '\0';
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	remove("got");
	return line;
}

static bool first_has(const char *line, const char *part)
{
	return strstr(line, part) != NULL;
}

static void a_warning_is_json(void)
{
	const char *line;
	struct egs_msg *msg;
	struct egs_err why;

	warn_of("GPU \"2\"\n is tired");
	wait_for_programs();
	line = get_first();
	msg = egs_msg_parse(line, strlen(line), sizeof(conf_text), &why);
	if (!ok(msg != NULL, "a warning is a JSON object: %s", line))
		return;
	is_str(egs_msg_get_str(msg, "kind"), "test", "a warning has a kind");
	is_str(egs_msg_get_str(msg, "job"), "7", "a warning names the job");
	is_str(egs_msg_get_str(msg, "user"), "alice",
	       "a warning names the user");
	is_str(egs_msg_get_str(msg, "team"), "red", "a warning names the team");
	is_str(egs_msg_get_str(msg, "node"), "n1", "a warning names the node");
	ok(first_has(line, "\"gpu\":2"), "a warning has the number of the GPU");
	ok(!egs_msg_is_true(msg, "observed") && !first_has(line, "dropped"),
	   "a key without a value is absent");
	egs_msg_free(msg);
	is_int((int64_t)d->notify.sent, 1, "a warning is counted");
}

static void a_flood_is_cut(void)
{
	for (int i = 0; i < 100; i++)
		warn_of("again");
	ok(d->notify.nqueued <= EGS_NOTIFY_PER_MINUTE,
	   "a flood leaves a bounded queue");
	is_int((int64_t)d->notify.all_dropped,
	       100 - (EGS_NOTIFY_PER_MINUTE - 1),
	       "warnings beyond the rate are dropped and counted");
	wait_for_programs();
	remove("got");
	d->notify.minute_ms -= MINUTE_MS;
	warn_of("later");
	wait_for_programs();
	ok(first_has(get_first(), "\"dropped\":71"),
	   "the next warning tells how many were dropped");
	warn_of("once more");
	wait_for_programs();
	ok(!first_has(get_first(), "dropped"),
	   "dropped warnings are told only once");
}

static void one_program_runs_at_a_time(void)
{
	uint64_t begin;

	make_program("[ ! -e busy ] || touch both; touch busy; sleep 0.1; "
		     "rm busy");
	for (int i = 0; i < 3; i++)
		warn_of("busy");
	wait_for_programs();
	ok(access("both", F_OK) < 0, "one program runs at a time");
	make_program("exec sleep 1000");
	warn_of("hang");
	egs_notify_tick(d);
	begin = egs_now_ms();
	for (int i = 0; i < 100; i++)
		egs_notify_tick(d);
	ok(egs_now_ms() - begin < 5000, "no tick waits for a program");
	d->notify.program.started_ms -= EGS_NOTIFY_LIMIT_MS;
	wait_for_programs();
	is_int((int64_t)d->notify.failed, 1,
	       "a program that was killed counts as failed");
}

static void a_bad_program_is_refused(void)
{
	char want[600];
	struct egs_err why;

	if (chmod("program", 0777) < 0)
		err(1, "program");
	is_int(egs_daemon_begin_reload(d, &why), -1,
	       "a program that all users can write is refused at a reload");
	snprintf(want, sizeof(want),
		 "the previous configuration stays in force: egs.conf:1: "
		 "Notify=%s/program can be written by others than its owner",
		 conf_dir);
	is_str(why.msg, want, "the refusal has the line");
}

int main(void)
{
	plan_none();
	conf_enter();
	make_program("cat >>got");
	snprintf(conf_text, sizeof(conf_text), "Notify=%s/program\n%s",
		 conf_dir, daemon_conf);
	daemon_conf = conf_text;
	daemon_start();
	daemon_show(daemon_job(7, EGS_JOB_RUNNING));
	a_warning_is_json();
	a_flood_is_cut();
	one_program_runs_at_a_time();
	a_bad_program_is_refused();
	daemon_stop();
	remove("both");
	daemon_leave();
	return done_testing();
}
