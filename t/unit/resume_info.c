/* resume_info.c - what a restarted job is told, and how long it waits for it */
#include <unistd.h>

#include "common/base/array.h"
#include "common/hint/resume_info.h"
#include "plugins/spank/read_line.h"
#include "t/lib/unit/tap.h"

#define PATIENCE_MS 60

/* ---- the variable ---- */

static void test_variable(void)
{
	struct egs_resume_info one = { .restarts = 3,
				       .path = "/c/a b=1",
				       .phase = "infer" },
			       two;
	char text[EGS_RESUME_INFO_MAX];

	egs_errf(&one.message, "preempted at noon: maintenance");
	egs_resume_info_format(&one, text);
	is_str(text,
	       "EGS_AGAIN=3\n/c/a b=1\ninfer\npreempted at noon: "
	       "maintenance",
	       "the variable has all resume info");
	ok(egs_resume_info_parse(&two, strchr(text, '=') + 1) == 0 &&
		   two.restarts == 3 && !strcmp(two.path, one.path) &&
		   !strcmp(two.phase, one.phase) &&
		   !strcmp(two.message.msg, one.message.msg),
	   "the variable is read back");
	memset(one.path, 'x', EGS_RESUME_INFO_PATH_MAX);
	egs_resume_info_format(&one, text);
	ok(egs_resume_info_parse(&two, strchr(text, '=') + 1) == 0 &&
		   strlen(two.path) == EGS_RESUME_INFO_PATH_MAX,
	   "the longest path is read back");
}

static void test_hostile(void)
{
	static const char *const bad[] = {
		"",
		"1",
		"1\n",
		"1\n/c",
		"1\n/c\nwhy",
		"x\n/c\n\nwhy",
		"-1\n/c\n\nwhy",
		" 1\n/c\n\nwhy",
		"99999999999\n/c\n\nwhy",
		("1\n/c\n0123456789012345678901234567890123456789012345678901"
		 "2345678901234\nwhy"),
	};
	char text[EGS_RESUME_INFO_PATH_MAX + 16] = "1\n";
	struct egs_resume_info info = { .restarts = 7 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ok(egs_resume_info_parse(&info, bad[i]) < 0 &&
			   info.restarts == 7,
		   "an invalid variable is refused: %zu", i);
	memset(text + 2, 'x', EGS_RESUME_INFO_PATH_MAX + 1);
	strcat(text, "\n\n");
	ok(egs_resume_info_parse(&info, text) < 0,
	   "a path that is too long is refused");
	ok(egs_resume_info_parse(&info, "1\n\n\n\033[2J") == 0 &&
		   !strchr(info.message.msg, '\033'),
	   "control characters of the message are removed");
}

/* ---- how long a job waits ---- */

/* A clock that advances only while egs_read_line() waits, and what is sent
 * when. */
static uint64_t clock_ms;
static uint64_t waited_ms;
static struct {
	uint64_t at_ms;
	const char *text;
} said[4];
static size_t nsaid, next_said;
static int ends[2];

static uint64_t fake_now(void)
{
	return clock_ms;
}

static int fake_wait(int fd, int ms)
{
	uint64_t until = clock_ms + (uint64_t)ms;
	const char *text = NULL;

	(void)fd;
	if (next_said < nsaid && said[next_said].at_ms <= until) {
		if (said[next_said].at_ms > clock_ms)
			until = said[next_said].at_ms;
		else
			until = clock_ms;
		text = said[next_said++].text;
	}
	waited_ms += until - clock_ms;
	clock_ms = until;
	if (text && write(ends[1], text, strlen(text)) < 0)
		return -1;
	return text != NULL;
}

static const struct egs_read_line_clock fake = { fake_now, fake_wait };

static int read_line(char *line, size_t size)
{
	int rc;

	if (pipe(ends) < 0)
		return -2;
	clock_ms = 1000;
	waited_ms = 0;
	next_said = 0;
	rc = egs_read_line(ends[0], line, size, PATIENCE_MS, &fake);
	close(ends[0]);
	close(ends[1]);
	return rc;
}

static void test_patience(void)
{
	char line[16];

	nsaid = 0;
	ok(read_line(line, sizeof(line)) == -1 && !*line &&
		   waited_ms == PATIENCE_MS,
	   "the wait for a silent helper ends in time");
	said[0].at_ms = 1005;
	said[0].text = "/ckpt/17\n";
	nsaid = 1;
	ok(read_line(line, sizeof(line)) == 0 && !strcmp(line, "/ckpt/17") &&
		   waited_ms == 5,
	   "an answer ends the wait at once");
	said[0].at_ms = 1000 + PATIENCE_MS + 1;
	ok(read_line(line, sizeof(line)) == -1 && waited_ms == PATIENCE_MS,
	   "a late answer is ignored");
	said[0].at_ms = 1030;
	said[0].text = "/ck";
	said[1].at_ms = 1059;
	said[1].text = "pt";
	said[2].at_ms = 1090;
	said[2].text = "/1\n";
	nsaid = 3;
	ok(read_line(line, sizeof(line)) == -1 && !*line &&
		   waited_ms == PATIENCE_MS,
	   "pieces of an answer do not extend the wait");
	said[2].at_ms = 1059;
	ok(read_line(line, sizeof(line)) == 0 && !strcmp(line, "/ckpt/1"),
	   "pieces in time form a line");
	said[0].text = "0123456789abcdef0123";
	nsaid = 1;
	ok(read_line(line, sizeof(line)) == -1 && !*line,
	   "a line that is too long is ignored");
}

static void test_silence(void)
{
	char line[16] = "x";

	if (pipe(ends) < 0)
		return;
	ok(egs_read_line(ends[0], line, sizeof(line), 1,
			 &egs_read_line_clock) == -1 &&
		   !*line,
	   "the wait ends by the real clock, too");
	close(ends[1]);
	ok(egs_read_line(ends[0], line, sizeof(line), 60000,
			 &egs_read_line_clock) == -1,
	   "a closed pipe ends the wait");
	close(ends[0]);
}

int main(void)
{
	plan_none();
	test_variable();
	test_hostile();
	test_patience();
	test_silence();
	return done_testing();
}
