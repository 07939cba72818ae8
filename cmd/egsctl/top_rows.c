/* top_rows.c - rows of the daemon's tables, and the teams in them */
#include <stdlib.h>
#include <string.h>

#include "cmd/egsctl/top_rows.h"

enum {
	COLOURS = EGS_STYLE_END - EGS_STYLE_COLOUR,
	LETTERS = 26, /* of teams on the map */
};

const char *egs_top_get_cell(const struct egs_top_rows *r, size_t row,
			     const char *column)
{
	bool number;

	for (size_t i = 0; i < r->columns; i++)
		if (strcmp(egs_msg_get_column(r->table, i), column) == 0)
			return egs_msg_get_cell(r->table, r->row[row], i,
						&number);
	return "-";
}

long long egs_top_get_number(const struct egs_top_rows *r, size_t row,
			     const char *column)
{
	return strtoll(egs_top_get_cell(r, row, column), NULL, 10);
}

struct egs_top_rows egs_top_open_rows(const struct egs_top *top,
				      enum egs_top_table which)
{
	struct egs_top_rows r = { .table = top->table[which] };

	if (!r.table ||
	    egs_msg_check_table(r.table, &r.columns, &r.n, NULL) < 0)
		r.n = 0;
	r.row = calloc(r.n + 1, sizeof(*r.row));
	if (!r.row)
		r.n = 0;
	for (size_t i = 0; i < r.n; i++)
		r.row[i] = i;
	return r;
}

/* Insertion, because tables here are short. */
void egs_top_sort_rows(struct egs_top_rows *r, const char *column,
		       bool is_number)
{
	for (size_t i = 1; i < r->n; i++)
		for (size_t k = i; k > 0; k--) {
			size_t row = r->row[k];

			if (is_number ? egs_top_get_number(r, k, column) <=
						egs_top_get_number(r, k - 1,
								   column)
				      : strcmp(egs_top_get_cell(r, k, column),
					       egs_top_get_cell(r, k - 1,
								column)) >= 0)
				break;
			r->row[k] = r->row[k - 1];
			r->row[k - 1] = row;
		}
}

void egs_top_close_rows(struct egs_top_rows *r)
{
	free(r->row);
}

enum egs_style egs_top_team_style(int team)
{
	return team < 0 ? EGS_STYLE_PLAIN
			: (enum egs_style)(EGS_STYLE_COLOUR + team % COLOURS);
}

int egs_top_find_team(const struct egs_top *top, const char *name)
{
	const struct egs_msg *table = top->table[EGS_TOP_TEAMS];
	const char *last = "";
	size_t columns, rows = 0;
	bool number;
	int team = -1;

	if (!table || egs_msg_check_table(table, &columns, &rows, NULL) < 0)
		return -1;
	for (size_t i = 0; i < rows; i++) {
		const char *each = egs_msg_get_cell(table, i, 0, &number);

		team += strcmp(each, last) != 0;
		last = each;
		if (strcmp(each, name) == 0)
			return team;
	}
	return -1;
}

char egs_top_team_letter(int team)
{
	return team >= 0 && team < LETTERS ? (char)('A' + team) : '#';
}
