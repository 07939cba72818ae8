/* top_draw.c - draw the answers of the daemon as one picture of text */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/egsctl/top_rows.h"
#include "common/base/array.h"

enum {
	PREEMPTIONS_MAX = 4, /* rows on a screen */
	BAR_MAX = 40,
	TIME_SIZE = 32,
};

const char *const egs_top_table_names[EGS_TOP_TABLES] = {
	[EGS_TOP_PING] = "ping",
	[EGS_TOP_MAP] = "map",
	[EGS_TOP_TEAMS] = "teams",
	[EGS_TOP_WAITING] = "waiting",
	[EGS_TOP_PREEMPTIONS] = "preemptions",
};

static const char *const sort_names[] = {
	[EGS_TOP_BY_WAIT] = "wait",
	[EGS_TOP_BY_GPUS] = "gpus",
	[EGS_TOP_BY_TEAM] = "team",
};

int egs_top_parse_sort(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(sort_names); i++)
		if (strcmp(word, sort_names[i]) == 0)
			return (int)i;
	return -1;
}

/* ---- answers ---- */

static void free_tables(struct egs_msg *table[EGS_TOP_TABLES])
{
	for (size_t i = 0; i < EGS_TOP_TABLES; i++) {
		egs_msg_free(table[i]);
		table[i] = NULL;
	}
}

void egs_top_clear(struct egs_top *top)
{
	free_tables(top->table);
}

static int read_table(struct egs_msg **table, const struct egs_msg *answer,
		      enum egs_top_table which, struct egs_err *err)
{
	const char *text = egs_msg_get_str(answer, egs_top_table_names[which]);
	size_t columns, rows;

	if (!text)
		return egs_errf(err, "the daemon does not know '%s'",
				egs_top_table_names[which]);
	*table = egs_msg_parse(text, strlen(text), EGS_MSG_ANSWER_MAX, err);
	if (!*table)
		return -1;
	return which == EGS_TOP_PING
		       ? 0
		       : egs_msg_check_table(*table, &columns, &rows, err);
}

int egs_top_read(struct egs_top *top, const struct egs_msg *answer,
		 egs_time_t now, struct egs_err *err)
{
	struct egs_msg *table[EGS_TOP_TABLES] = { NULL };

	for (size_t i = 0; i < EGS_TOP_TABLES; i++)
		if (read_table(&table[i], answer, (enum egs_top_table)i, err) <
		    0) {
			free_tables(table);
			return -1;
		}
	free_tables(top->table);
	memcpy(top->table, table, sizeof(table));
	top->asked_at = now;
	return 0;
}

/* ---- small things ---- */

static const char *format_time(long long s, char text[TIME_SIZE])
{
	if (s < 100)
		snprintf(text, TIME_SIZE, "%llds", s);
	else if (s < 6000)
		snprintf(text, TIME_SIZE, "%lldm", s / 60);
	else if (s < 360000)
		snprintf(text, TIME_SIZE, "%lldh", s / 3600);
	else
		snprintf(text, TIME_SIZE, "%lldd", s / 86400);
	return text;
}

void egs_top_put_title(struct egs_canvas *c, const char *text)
{
	egs_canvas_put(c, EGS_STYLE_BOLD, "%s", text);
	egs_canvas_end_line(c);
}

/* ---- the daemon and all GPUs ---- */

static void put_waiting_sum(const struct egs_top_rows *waiting,
			    struct egs_canvas *c)
{
	long long jobs = 0, gpus = 0;

	for (size_t i = 0; i < waiting->n; i++) {
		jobs += egs_top_get_number(waiting, i, "JOBS");
		gpus += egs_top_get_number(waiting, i, "GPUS");
	}
	egs_canvas_put(c, jobs ? EGS_STYLE_BOLD : EGS_STYLE_PLAIN,
		       "  %lld jobs wait for %lld GPUs", jobs, gpus);
}

static void draw_state(const struct egs_top *top,
		       const struct egs_top_rows *waiting, struct egs_canvas *c,
		       egs_time_t now)
{
	const struct egs_msg *ping = top->table[EGS_TOP_PING];
	const char *slurmctld =
		ping ? egs_msg_get_str(ping, "slurmctld") : NULL;
	int64_t poll_age = -1;
	char text[TIME_SIZE];

	egs_canvas_put(c, EGS_STYLE_REVERSE, "egs top");
	if (!ping) {
		egs_canvas_put(c, EGS_STYLE_ALARM, "  no data");
	} else {
		egs_canvas_put(c, EGS_STYLE_PLAIN, "  %s%s",
			       egs_msg_get_str(ping, "mode"),
			       egs_msg_is_true(ping, "paused") ? ", paused"
							       : "");
		if (!slurmctld || strcmp(slurmctld, "up") != 0)
			egs_canvas_put(c, EGS_STYLE_ALARM, "  slurmctld %s",
				       slurmctld ? slurmctld : "?");
		egs_msg_get_int(ping, "poll_age_s", &poll_age);
		if (poll_age >= 0)
			poll_age += now - top->asked_at;
		egs_canvas_put(
			c, poll_age > 60 ? EGS_STYLE_ALARM : EGS_STYLE_PLAIN,
			"  data %s old",
			poll_age < 0 ? "?" : format_time(poll_age, text));
	}
	put_waiting_sum(waiting, c);
	egs_canvas_put(c, EGS_STYLE_PLAIN, "  sort %s", sort_names[top->sort]);
	egs_canvas_end_line(c);
	if (!*top->trouble.msg)
		return;
	egs_canvas_put(c, EGS_STYLE_ALARM, "%s", top->trouble.msg);
	egs_canvas_end_line(c);
}

/* GPUs by their state, and how busy they are as far as this user sees it. */
static void draw_sums(const struct egs_top_rows *map, struct egs_canvas *c)
{
	static const char *const states[] = { "busy", "idle",	"free",
					      "sick", "fenced", "down" };
	long long sum[ARRAY_SIZE(states)] = { 0 }, all = 0;
	long long busy = 0, measured = 0;

	for (size_t i = 0; i < map->n; i++) {
		long long count = egs_top_get_number(map, i, "COUNT");

		all += count;
		for (size_t k = 0; k < ARRAY_SIZE(states); k++)
			if (strcmp(egs_top_get_cell(map, i, "STATE"),
				   states[k]) == 0)
				sum[k] += count;
		if (strcmp(egs_top_get_cell(map, i, "SM"), "-") != 0) {
			busy += count * egs_top_get_number(map, i, "SM");
			measured += count;
		}
	}
	egs_canvas_put(c, EGS_STYLE_BOLD, "%lld GPUs:", all);
	for (size_t k = 0; k < ARRAY_SIZE(states); k++)
		if (sum[k] || k < 3)
			egs_canvas_put(
				c, k > 2 ? EGS_STYLE_ALARM : EGS_STYLE_PLAIN,
				" %lld %s", sum[k], states[k]);
	if (measured)
		egs_canvas_put(c, EGS_STYLE_PLAIN, ", SM %lld %%",
			       busy / measured);
	egs_canvas_end_line(c);
}

/* The job, its user and its team, as two tables begin. */
static void put_names(const struct egs_top_rows *r, size_t i,
		      struct egs_canvas *c)
{
	static const char *const names[] = { "JOBID", "USER", "TEAM" };

	for (size_t k = 0; k < ARRAY_SIZE(names); k++)
		egs_canvas_put_cell(c, EGS_STYLE_PLAIN,
				    egs_top_get_cell(r, i, names[k]), 11);
}

/* ---- preemptions ---- */

static void draw_preemptions(const struct egs_top_rows *r, size_t max,
			     egs_time_t age, struct egs_canvas *c)
{
	char text[TIME_SIZE];

	if (!r->n)
		return;
	egs_top_put_title(
		c, "PREEMPTED  USER       TEAM       GPUS  FOR JOB    LEFT  "
		   "STATE");
	for (size_t i = 0; i < r->n && i < max; i++) {
		long long left = egs_top_get_number(r, i, "LEFT") - age;

		left = left > 0 ? left : 0;
		put_names(r, i, c);
		egs_canvas_put(c, EGS_STYLE_PLAIN, "%4lld  ",
			       egs_top_get_number(r, i, "GPUS") -
				       egs_top_get_number(r, i, "KEEPS"));
		egs_canvas_put_cell(c, EGS_STYLE_PLAIN,
				    egs_top_get_cell(r, i, "BYJOB"), 11);
		egs_canvas_put(c, left < 10 ? EGS_STYLE_ALARM : EGS_STYLE_BOLD,
			       "%4s  ", format_time(left, text));
		egs_canvas_put(c, EGS_STYLE_PLAIN, "%s",
			       egs_top_get_cell(r, i, "STATE"));
		egs_canvas_end_line(c);
	}
}

/* ---- teams ---- */

/* Owned, borrowed, unused and lent GPUs as a bar. */
static void put_team_bar(const struct egs_top_rows *r, size_t i, int team,
			 struct egs_canvas *c)
{
	const long long part[] = { egs_top_get_number(r, i, "OWNED"),
				   egs_top_get_number(r, i, "ONLOAN"),
				   egs_top_get_number(r, i, "UNUSED"),
				   egs_top_get_number(r, i, "LENT") };
	const char letter = egs_top_team_letter(team);
	const char bytes[] = { letter, (char)tolower(letter), '.', '-' };
	long long all = 0, drawn = 0, sum = 0;
	int width = c->width - c->column - 3;

	for (size_t k = 0; k < ARRAY_SIZE(part); k++)
		all += k == 2 ? part[2] - part[3] : part[k];
	width = width > BAR_MAX ? BAR_MAX : width;
	if (all <= 0 || width < 4)
		return;
	if (width > all)
		width = (int)all;
	egs_canvas_put(c, EGS_STYLE_PLAIN, " [");
	for (size_t k = 0; k < ARRAY_SIZE(part); k++) {
		long long to;

		sum += k == 2 ? part[2] - part[3] : part[k];
		to = sum * width / all;
		egs_canvas_fill(
			c, k < 2 ? egs_top_team_style(team) : EGS_STYLE_PLAIN,
			bytes[k], (int)(to - drawn));
		drawn = to;
	}
	egs_canvas_put(c, EGS_STYLE_PLAIN, "]");
}

static void draw_teams(const struct egs_top *top, const struct egs_top_rows *r,
		       size_t max, struct egs_canvas *c)
{
	if (!r->n)
		return;
	egs_top_put_title(
		c, "  TEAM             TYPE      OWNED/QUOTA  LOAN  LENT "
		   "UNUSED");
	for (size_t i = 0; i < r->n && i < max; i++) {
		int team =
			egs_top_find_team(top, egs_top_get_cell(r, i, "TEAM"));

		egs_canvas_put(c, egs_top_team_style(team), "%c ",
			       egs_top_team_letter(team));
		egs_canvas_put_cell(c, egs_top_team_style(team),
				    egs_top_get_cell(r, i, "TEAM"), 17);
		egs_canvas_put_cell(c, EGS_STYLE_PLAIN,
				    egs_top_get_cell(r, i, "TYPE"), 9);
		egs_canvas_put(c, EGS_STYLE_PLAIN,
			       "%6lld/%-6lld%5lld %5lld %6lld",
			       egs_top_get_number(r, i, "OWNED"),
			       egs_top_get_number(r, i, "QUOTA"),
			       egs_top_get_number(r, i, "ONLOAN"),
			       egs_top_get_number(r, i, "LENT"),
			       egs_top_get_number(r, i, "UNUSED"));
		put_team_bar(r, i, team, c);
		egs_canvas_end_line(c);
	}
}

/* ---- jobs that wait ---- */

/* "job 12: waiting for ...": the number is in the row already. */
static const char *skip_job(const char *why)
{
	const char *colon =
		strncmp(why, "job ", 4) == 0 ? strchr(why, ':') : NULL;

	return colon && colon[1] == ' ' ? colon + 2 : why;
}

static void draw_waiting(const struct egs_top_rows *r, size_t max,
			 struct egs_canvas *c)
{
	char text[TIME_SIZE];

	if (!r->n)
		return;
	egs_top_put_title(
		c, "WAITING    USER       TEAM       TIER     GPUS WAITED  "
		   "WHY");
	for (size_t i = 0; i < r->n && i < max; i++) {
		put_names(r, i, c);
		egs_canvas_put_cell(c, EGS_STYLE_PLAIN,
				    egs_top_get_cell(r, i, "TIER"), 9);
		egs_canvas_put(
			c, EGS_STYLE_PLAIN, "%4lld %6s  ",
			egs_top_get_number(r, i, "GPUS"),
			format_time(egs_top_get_number(r, i, "WAITED"), text));
		if (strcmp(egs_top_get_cell(r, i, "JOBID"), "-") == 0)
			egs_canvas_put(c, EGS_STYLE_PLAIN, "%lld more jobs",
				       egs_top_get_number(r, i, "JOBS"));
		else
			egs_canvas_put(c, EGS_STYLE_PLAIN, "%s",
				       skip_job(egs_top_get_cell(r, i, "WHY")));
		egs_canvas_end_line(c);
	}
}

/* ---- all ---- */

/* Rows for teams and for jobs that wait: a quarter of a screen each. */
static size_t limit_rows(const struct egs_canvas *c)
{
	return c->rows ? (size_t)c->rows / 4 : SIZE_MAX;
}

static void draw_keys(struct egs_canvas *c)
{
	while (egs_canvas_rows_left(c) > 1)
		egs_canvas_end_line(c);
	egs_canvas_put(c, EGS_STYLE_REVERSE,
		       "q quit  w/g/t sort by wait, GPUs, team  arrows scroll "
		       "the map  space now");
	egs_canvas_end_line(c);
}

void egs_top_draw(struct egs_top *top, struct egs_canvas *c, egs_time_t now)
{
	struct egs_top_rows map = egs_top_open_rows(top, EGS_TOP_MAP);
	struct egs_top_rows teams = egs_top_open_rows(top, EGS_TOP_TEAMS);
	struct egs_top_rows waiting = egs_top_open_rows(top, EGS_TOP_WAITING);
	struct egs_top_rows preempted =
		egs_top_open_rows(top, EGS_TOP_PREEMPTIONS);

	if (top->sort == EGS_TOP_BY_GPUS) {
		egs_top_sort_rows(&teams, "OWNED", true);
		egs_top_sort_rows(&waiting, "GPUS", true);
	} else if (top->sort == EGS_TOP_BY_TEAM) {
		egs_top_sort_rows(&teams, "TEAM", false);
		egs_top_sort_rows(&waiting, "TEAM", false);
	}
	draw_state(top, &waiting, c, now);
	draw_sums(&map, c);
	draw_preemptions(&preempted, c->rows ? PREEMPTIONS_MAX : SIZE_MAX,
			 now - top->asked_at, c);
	draw_teams(top, &teams, limit_rows(c), c);
	draw_waiting(&waiting, limit_rows(c), c);
	egs_top_draw_map(top, &map, c);
	if (c->rows)
		draw_keys(c);
	egs_top_close_rows(&map);
	egs_top_close_rows(&teams);
	egs_top_close_rows(&waiting);
	egs_top_close_rows(&preempted);
}
