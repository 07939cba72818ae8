/* top_map.c - draw GPUs by node, a character each */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/egsctl/top_rows.h"
#include "common/base/array.h"
#include "common/base/grow.h"

enum {
	GPUS_MAX = 64, /* of a node */
	NAME_MAX_SHOWN = 16,
};

struct map_node {
	const char *name;
	int ngpus, nbusy;
	char gpu[GPUS_MAX]; /* a character each */
	signed char team[GPUS_MAX];
};

struct map {
	struct map_node *node;
	size_t n, room;
	int name_width, gpu_width; /* of the longest */
};

/* A GPU as a character. */
static char choose_character(const struct egs_top_rows *r, size_t i, int team)
{
	static const struct {
		const char *state;
		char character;
	} states[] = {
		{ "free", '.' },   { "idle", '~' }, { "sick", '!' },
		{ "fenced", '=' }, { "down", 'x' },
	};
	const char *state = egs_top_get_cell(r, i, "STATE");
	char letter = egs_top_team_letter(team);

	for (size_t k = 0; k < ARRAY_SIZE(states); k++)
		if (strcmp(state, states[k].state) == 0)
			return states[k].character;
	if (strcmp(egs_top_get_cell(r, i, "LEFT"), "-") != 0)
		return '>';
	return strcmp(egs_top_get_cell(r, i, "LOAN"), "loan") == 0
		       ? (char)tolower(letter)
		       : letter;
}

/* Draw GPUs of "0-3,6". */
static void set_gpus(struct map_node *node, const char *set, char character,
		     int team)
{
	while (isdigit((unsigned char)*set)) {
		char *end;
		long first = strtol(set, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (long i = first; i <= last && i < GPUS_MAX; i++) {
			node->gpu[i] = character;
			node->team[i] = (signed char)team;
			node->nbusy += isalpha((unsigned char)character) != 0;
			if (i >= node->ngpus)
				node->ngpus = (int)i + 1;
		}
		set = end + (*end == ',');
	}
}

static struct map_node *get_node(struct map *map, const char *name)
{
	struct map_node *node;

	if (map->n && strcmp(map->node[map->n - 1].name, name) == 0)
		return &map->node[map->n - 1];
	if (egs_grow(&map->node, &map->room, map->n + 1) < 0)
		return NULL;
	node = &map->node[map->n++];
	node->name = name;
	memset(node->gpu, '?', sizeof(node->gpu));
	return node;
}

/* The daemon sends the rows of a node one after the other. */
static void read_map(const struct egs_top *top, const struct egs_top_rows *r,
		     struct map *map)
{
	for (size_t i = 0; i < r->n; i++) {
		struct map_node *node =
			get_node(map, egs_top_get_cell(r, i, "NODE"));
		int team =
			egs_top_find_team(top, egs_top_get_cell(r, i, "TEAM"));
		int len = (int)strlen(egs_top_get_cell(r, i, "NODE"));

		if (!node)
			return;
		set_gpus(node, egs_top_get_cell(r, i, "GPUS"),
			 choose_character(r, i, team), team);
		if (len > map->name_width)
			map->name_width =
				len < NAME_MAX_SHOWN ? len : NAME_MAX_SHOWN;
		if (node->ngpus > map->gpu_width)
			map->gpu_width = node->ngpus;
	}
}

static int compare_busy(const void *a, const void *b)
{
	const struct map_node *p = a, *q = b;

	if (p->nbusy != q->nbusy)
		return p->nbusy > q->nbusy ? -1 : 1;
	return strcmp(p->name, q->name);
}

static void draw_node(const struct map *map, const struct map_node *node,
		      struct egs_canvas *c)
{
	egs_canvas_put_cell(c, EGS_STYLE_PLAIN, node->name,
			    map->name_width + 1);
	for (int i = 0; i < node->ngpus; i++)
		egs_canvas_fill(c,
				strchr("!=x>", node->gpu[i])
					? EGS_STYLE_ALARM
					: egs_top_team_style(node->team[i]),
				node->gpu[i], 1);
	egs_canvas_fill(c, EGS_STYLE_PLAIN, ' ',
			map->gpu_width - node->ngpus + 2);
}

static void draw_nodes(struct egs_top *top, const struct map *map, int rows,
		       struct egs_canvas *c)
{
	int cell = map->name_width + 1 + map->gpu_width + 2;
	int across = c->width / cell > 0 ? c->width / cell : 1;
	int lines = (int)((map->n + (size_t)across - 1) / (size_t)across);

	if (top->first_line > lines - rows)
		top->first_line = lines - rows;
	if (top->first_line < 0)
		top->first_line = 0;
	for (int y = top->first_line; y < lines && y - top->first_line < rows;
	     y++) {
		for (int x = 0; x < across; x++) {
			size_t i = (size_t)y * (size_t)across + (size_t)x;

			if (i < map->n)
				draw_node(map, &map->node[i], c);
		}
		egs_canvas_end_line(c);
	}
}

/* The last row on a screen is for the keys. */
void egs_top_draw_map(struct egs_top *top, const struct egs_top_rows *r,
		      struct egs_canvas *c)
{
	struct map map = { .name_width = 4 };

	read_map(top, r, &map);
	if (top->sort == EGS_TOP_BY_GPUS && map.n)
		qsort(map.node, map.n, sizeof(*map.node), compare_busy);
	egs_top_put_title(
		c, "GPUS  A team  a on loan  ~ held idle  . free  # other  > "
		   "preempted  ! = x out");
	draw_nodes(top, &map, egs_canvas_rows_left(c) - 1, c);
	free(map.node);
}
