/* top_rows.h - rows of the daemon's tables, and the teams in them */
#ifndef EGS_EGSCTL_TOP_ROWS_H
#define EGS_EGSCTL_TOP_ROWS_H

#include "cmd/egsctl/top_draw.h"

/* Rows of a table in the order in which they are drawn. */
struct egs_top_rows {
	const struct egs_msg *table;
	size_t columns, n;
	size_t *row;
};

/* All rows of a table.  Without a table or memory there are none. */
struct egs_top_rows egs_top_open_rows(const struct egs_top *top,
				      enum egs_top_table which);
void egs_top_close_rows(struct egs_top_rows *r);

/* A cell as text, borrowed; "-" if there is no such column. */
const char *egs_top_get_cell(const struct egs_top_rows *r, size_t row,
			     const char *column);
long long egs_top_get_number(const struct egs_top_rows *r, size_t row,
			     const char *column);

/* Sort by a column, as numbers that fall or as text; equal rows keep their
 * order.
 */
void egs_top_sort_rows(struct egs_top_rows *r, const char *column,
		       bool is_number);

/* The number of a team in the order of the daemon's table, which has a row for
 * each of its types; -1: unknown.  Its colour, and its letter on the map.
 */
int egs_top_find_team(const struct egs_top *top, const char *name);
enum egs_style egs_top_team_style(int team);
char egs_top_team_letter(int team);

/* A line of bold text; and the map, in all rows that are left but one
 * (top_map.c).
 */
void egs_top_put_title(struct egs_canvas *c, const char *text);
void egs_top_draw_map(struct egs_top *top, const struct egs_top_rows *r,
		      struct egs_canvas *c);

#endif
