/* parse_time.h - parse a time as sacct -S does
 *
 *	2026-11-16  2026-11-16T10:30[:15]  11/16[/26][-10:30]  1116[26]
 *	10:30[:15][am|pm]  now  now-7days  today  tomorrow  midnight  noon
 *	fika  teatime  uts1794832496
 *
 * Blanks may separate date and time, in any order.  All is local time.
 * Without a date the day is today; without a time it is 00:00.  Without a year
 * it is this year, or last year for a month that is still to come.
 */
#ifndef EGS_EGS_REPORT_PARSE_TIME_H
#define EGS_EGS_REPORT_PARSE_TIME_H

#include <time.h>

#include "common/base/err.h"

/* Returns 0 with '*when' set, or -1 with 'err' set. */
int egs_parse_time(const char *text, time_t now, time_t *when,
		   struct egs_err *err);

#endif
