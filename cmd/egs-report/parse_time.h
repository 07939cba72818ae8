/* parse_time.h - a time in the words of sacct -S
 *
 *	2026-11-16  2026-11-16T10:30[:15]  11/16[/26][-10:30]  1116[26]
 *	10:30[:15][am|pm]  now  now-7days  today  tomorrow  midnight  noon
 *	fika  teatime  uts1794832496
 *
 * A date and a time may also have blanks between them, in any order.  Without
 * a date it is today, without a time the beginning of the day, without a year
 * this one or, for a month that is still to come, the last; all in local time.
 */
#ifndef EGS_EGS_REPORT_PARSE_TIME_H
#define EGS_EGS_REPORT_PARSE_TIME_H

#include <time.h>

#include "common/base/err.h"

/* 0 with '*when', or -1 with 'err' set. */
int egs_parse_time(const char *text, time_t now, time_t *when,
		   struct egs_err *err);

#endif
