/* top.c - the picture of egsctl top */
#include <stdlib.h>

#include "cmd/egsctl/top_draw.h"
#include "t/lib/unit/tap.h"

static struct egs_top top;
static char *text;

static const char map_rows[] =
	"[\"n1\",\"a100\",\"0-1\",2,\"busy\",\"red\",\"prod\",\"train\","
	"\"owned\",\"7\",\"alice\",91,\"-\"],"
	"[\"n1\",\"a100\",\"2\",1,\"idle\",\"red\",\"prod\",\"train\","
	"\"loan\",\"8\",\"alice\",0,\"-\"],"
	"[\"n1\",\"a100\",\"3\",1,\"free\",\"-\",\"-\",\"-\",\"-\",\"-\","
	"\"-\",\"-\",\"-\"],"
	"[\"n2\",\"a100\",\"0,2-3\",3,\"busy\",\"blue\",\"prod\",\"train\","
	"\"loan\",\"-\",\"-\",\"-\",\"-\"],"
	"[\"n2\",\"a100\",\"1\",1,\"busy\",\"red\",\"prod\",\"train\","
	"\"owned\",\"9\",\"alice\",50,25]";

static const char team_rows[] = "[\"red\",\"a100\",4,4,3,0,1,1,0,\"-\",100],"
				"[\"blue\",\"a100\",0,0,0,3,0,0,0,\"-\",50]";

static const char waiting_rows[] =
	"[\"11\",\"bob\",\"blue\",\"prod\",\"-\",1,2,\"-\",90,\"-\","
	"\"job 11: waiting for 2 a100; it may not\"],"
	"[\"12\",\"bo\\u001b[2Jb\",\"red\",\"prod\",\"-\",1,8,\"-\",7200,"
	"\"-\",\"job 12: deferred\"],"
	"[\"-\",\"-\",\"blue\",\"-\",\"-\",5,9,\"-\",7,\"-\",\"-\"]";

static const char preempted_rows[] =
	"[\"9\",\"alice\",\"red\",1,0,\"11\",\"blue\",\"-\",25,\"asked\"]";

static void set_table(struct egs_msg *answer, const char *name,
		      const char *columns, const char *rows)
{
	char json[4096];

	snprintf(json, sizeof(json), "{\"columns\":[%s],\"rows\":[%s]}",
		 columns, rows);
	egs_msg_set_str(answer, name, json);
}

/* An answer of the daemon, with these rows of the map. */
static struct egs_msg *make_answer(const char *map)
{
	struct egs_msg *answer = egs_msg_new();

	egs_msg_set_str(answer, "ping",
			"{\"mode\":\"enforce\",\"slurmctld\":\"up\","
			"\"poll_age_s\":3}");
	set_table(answer, "map",
		  "\"NODE\",\"TYPE\",\"GPUS\",\"COUNT\",\"STATE\",\"TEAM\","
		  "\"TIER\",\"PHASE\",\"LOAN\",\"JOBID\",\"USER\",\"SM\","
		  "\"LEFT\"",
		  map);
	set_table(answer, "teams",
		  "\"TEAM\",\"TYPE\",\"QUOTA\",\"QUOTA_NOW\",\"OWNED\","
		  "\"ONLOAN\",\"LENT\",\"UNUSED\",\"UNMANAGED\",\"MAXGPUS\","
		  "\"USAGE\"",
		  team_rows);
	set_table(answer, "waiting",
		  "\"JOBID\",\"USER\",\"TEAM\",\"TIER\",\"PHASE\",\"JOBS\","
		  "\"GPUS\",\"SINCE\",\"WAITED\",\"UNTIL\",\"WHY\"",
		  waiting_rows);
	set_table(answer, "preemptions",
		  "\"JOBID\",\"USER\",\"TEAM\",\"GPUS\",\"KEEPS\",\"BYJOB\","
		  "\"BYTEAM\",\"DEADLINE\",\"LEFT\",\"STATE\"",
		  preempted_rows);
	return answer;
}

/* Draw into 'text' at 'now'; rows of 0: to a pipe. */
static int draw(int width, int rows, egs_time_t now)
{
	struct egs_canvas c = { .width = width,
				.rows = rows,
				.is_screen = rows > 0 };

	egs_top_draw(&top, &c, now);
	free(text);
	text = strndup(c.text.bytes, c.text.used);
	egs_buf_clear(&c.text);
	return c.row;
}

static bool has_line(const char *start)
{
	size_t len = strlen(start);

	for (const char *at = text; (at = strstr(at, start)); at += len)
		if (at == text || at[-1] == '\n')
			return true;
	note("%s", text);
	return false;
}

/* The longest line in characters, without escape codes. */
static int find_width(void)
{
	int width = 0, longest = 0;

	for (const char *c = text; *c; c++) {
		if (*c == '\033')
			c += strcspn(c, "mKHJhl");
		else if (*c == '\n' || *c == '\r')
			width = 0;
		else if ((*c & 0xc0) != 0x80 && ++width > longest)
			longest = width;
	}
	return longest;
}

static void test_tables(void)
{
	draw(80, 0, 1000);
	ok(has_line("egs top  enforce  data 3s old  7 jobs wait for 19 GPUs"),
	   "the first line tells of the daemon, the age of its data and the "
	   "jobs that wait");
	ok(has_line("8 GPUs: 6 busy 1 idle 1 free, SM 58 %"),
	   "GPUs are counted by their state");
	ok(has_line("9          alice      red           1  11          25s  "
		    "asked"),
	   "a preemption has its countdown");
	ok(has_line("A red              a100          3/4         0     1      "
		    "1 [AAA-]"),
	   "a team has its numbers and a bar");
	ok(has_line("11         bob        blue       prod        2    90s  "
		    "waiting for 2 a100;"),
	   "a job that waits has its reason");
	ok(has_line("-          -          blue       -           9     7s  5 "
		    "more jobs"),
	   "jobs of others are counted");
	ok(has_line("n1   AA~.  n2   b>bb"), "a GPU is one character");
	draw(80, 0, 1010);
	ok(strstr(text, " 15s  asked"), "a countdown goes on without new data");
	draw(80, 0, 1100);
	ok(strstr(text, "  0s  asked"), "a countdown ends at 0");
	ok(!strchr(text, '\033'), "a picture for a pipe has no escape codes");
	ok(strstr(text, "bo?[2Jb"), "a name cannot send escape codes");
}

static void test_sort(void)
{
	top.sort = EGS_TOP_BY_GPUS;
	draw(80, 0, 1000);
	ok(strstr(text, "deferred") < strstr(text, "waiting for 2"),
	   "sorted by GPUs the largest job is first");
	top.sort = EGS_TOP_BY_TEAM;
	draw(80, 0, 1000);
	ok(strstr(text, "waiting for 2") < strstr(text, "deferred"),
	   "sorted by team the names are in order");
	top.sort = EGS_TOP_BY_WAIT;
	is_int(egs_top_parse_sort("gpus"), EGS_TOP_BY_GPUS,
	       "a sort has a name");
	is_int(egs_top_parse_sort("x"), -1, "another word is no sort");
}

static void test_sizes(void)
{
	static const int sizes[][2] = { { 80, 24 }, { 200, 60 }, { 40, 10 },
					{ 20, 5 },  { 8, 2 },	 { 1, 1 },
					{ 1000, 3 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int width = sizes[i][0], rows = sizes[i][1];

		is_int(draw(width, rows, 1000), rows,
		       "a picture has all rows of a screen of %dx%d", width,
		       rows);
		ok(find_width() <= width, "no line is longer than %d: %d",
		   width, find_width());
	}
}

static void test_scroll(void)
{
	char rows[64 * 100] = "", row[100];
	struct egs_msg *answer;

	for (int i = 0; i < 40; i++) {
		snprintf(row, sizeof(row),
			 "%s[\"node%02d\",\"a100\",\"0-3\",4,\"free\",\"-\","
			 "\"-\",\"-\",\"-\",\"-\",\"-\",\"-\",\"-\"]",
			 i ? "," : "", i);
		strcat(rows, row);
	}
	answer = make_answer(rows);
	is_int(egs_top_read(&top, answer, 1000, NULL), 0, "an answer is read");
	egs_msg_free(answer);
	top.first_line = 1000;
	draw(20, 24, 1000);
	ok(strstr(text, "node39 ") && !strstr(text, "node00 "),
	   "the map scrolls to its end");
	ok(top.first_line < 40, "the map does not scroll beyond its end");
	top.first_line = -5;
	draw(20, 24, 1000);
	ok(strstr(text, "node00 "), "the map does not scroll before its begin");
}

static void test_trouble(void)
{
	struct egs_msg *answer = egs_msg_new();
	struct egs_err why;

	is_int(egs_top_read(&top, answer, 1000, &why), -1,
	       "an answer without tables is refused: %s", why.msg);
	egs_msg_set_str(answer, "ping", "{");
	is_int(egs_top_read(&top, answer, 1000, &why), -1,
	       "an answer that is no JSON is refused: %s", why.msg);
	egs_msg_free(answer);
	egs_errf(&top.trouble, "no answer");
	draw(80, 0, 1120);
	ok(has_line("no answer"), "the reason for old data is shown");
	ok(strstr(text, "data 2m old"), "the age of old data grows");
	ok(strstr(text, "node00"), "old data stay");
	egs_top_clear(&top);
	draw(80, 24, 1000);
	ok(strstr(text, "no data"), "a picture without data says so");
}

int main(void)
{
	struct egs_msg *answer = make_answer(map_rows);
	struct egs_err why = { "" };

	plan_none();
	is_int(egs_top_read(&top, answer, 1000, &why), 0,
	       "the answer of the daemon is read%s", why.msg);
	egs_msg_free(answer);
	test_tables();
	test_sort();
	test_sizes();
	test_scroll();
	test_trouble();
	free(text);
	return done_testing();
}
