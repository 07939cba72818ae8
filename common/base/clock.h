/* clock.h - how time is counted */
#ifndef EGS_BASE_CLOCK_H
#define EGS_BASE_CLOCK_H

#include <stdint.h>

/* Seconds since the epoch. */
typedef int64_t egs_time_t;

/* Milliseconds of the steady clock, which no administrator can set.  Only
 * differences mean something.
 */
uint64_t egs_now_ms(void);

/* Microseconds of the same clock. */
uint64_t egs_now_us(void);

#endif
