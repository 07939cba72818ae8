/* top_draw.h - draw the answers of the daemon as one picture of text
 *
 * The picture has, from top to bottom: a line about the daemon, a line about
 * all GPUs, the preemptions under way, the teams, the jobs that wait, and the
 * map of GPUs by node.  The map gets the rows that are left.
 */
#ifndef EGS_EGSCTL_TOP_DRAW_H
#define EGS_EGSCTL_TOP_DRAW_H

#include "cmd/egsctl/canvas.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/ipc/msg.h"

enum egs_top_table {
	EGS_TOP_PING,
	EGS_TOP_MAP,
	EGS_TOP_TEAMS,
	EGS_TOP_WAITING,
	EGS_TOP_PREEMPTIONS,
	EGS_TOP_TABLES
};

/* What to ask the daemon for; and the name of each table in its answer. */
#define EGS_TOP_WHAT "ping,map,teams,waiting,preemptions"
extern const char *const egs_top_table_names[EGS_TOP_TABLES];

enum egs_top_sort { EGS_TOP_BY_WAIT, EGS_TOP_BY_GPUS, EGS_TOP_BY_TEAM };

struct egs_top {
	struct egs_msg *table[EGS_TOP_TABLES]; /* NULL: no answer yet */
	egs_time_t asked_at;		       /* of these answers, 0: never */
	struct egs_err trouble; /* why there is no newer answer, "" */
	enum egs_top_sort sort;
	int first_line; /* of the map */
	int delay_s;
};

/* Take the tables of an answer: 0, or -1 with 'err' set and 'top' unchanged.
 */
int egs_top_read(struct egs_top *top, const struct egs_msg *answer,
		 egs_time_t now, struct egs_err *err);
void egs_top_clear(struct egs_top *top);

/* Draw everything at 'now'.  'top->first_line' is moved into the map. */
void egs_top_draw(struct egs_top *top, struct egs_canvas *c, egs_time_t now);

/* "wait", "gpus" or "team"; -1: another word. */
int egs_top_parse_sort(const char *word);

#endif
