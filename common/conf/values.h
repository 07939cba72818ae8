/* values.h - read and write single values of egs.conf
 *
 * A reader accepts the whole text or refuses it.  It returns 0, or -1 with
 * '*out' unchanged and a predicate in 'err' that follows "Key=Value": "is a
 * bare number; use 5s or 5m".  A writer puts the canonical text into 'buf' of
 * 'size' bytes, cut if it is too long.  The reader accepts that text.
 */
#ifndef EGS_CONF_VALUES_H
#define EGS_CONF_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/conf/policy_conf.h"

/* Size of a buffer for any value except a list. */
#define EGS_CONF_VALUE_MAX 64

/* A whole number in decimal digits. */
int egs_conf_read_number(const char *text, uint32_t *out, struct egs_err *err);

/* 90s 15m 2h 7d HH:MM:SS D-HH:MM:SS or 0, in seconds, at most 100 years. */
int egs_conf_read_seconds(const char *text, uint32_t *out, struct egs_err *err);
void egs_conf_write_seconds(uint32_t seconds, char *buf, size_t size);

/* 512K 4M 1G or 0, in KiB. */
int egs_conf_read_size(const char *text, uint32_t *out, struct egs_err *err);
void egs_conf_write_size(uint32_t kib, char *buf, size_t size);

/* A fraction such as 2.10 in units of 1/'one', a power of ten.  The reader
 * refuses more decimal places than 'one' has, and numbers above 1000000.
 */
int egs_conf_read_fixed(const char *text, uint32_t one, uint64_t *out,
			struct egs_err *err);
void egs_conf_write_fixed(uint64_t value, uint32_t one, char *buf, size_t size);

/* all, none or N% */
int egs_conf_read_percent(const char *text, uint32_t *out, struct egs_err *err);
void egs_conf_write_percent(uint32_t pct, char *buf, size_t size);

/* N/day, N/week, N/month (30 days), or none: no limit.  The second function
 * takes N/hour, N/day or none.
 */
int egs_conf_read_rate(const char *text, struct egs_rate *out,
		       struct egs_err *err);
int egs_conf_read_limit(const char *text, struct egs_rate *out,
			struct egs_err *err);
void egs_conf_write_rate(const struct egs_rate *rate, char *buf, size_t size);

/* N, MIN-MAX or any */
int egs_conf_read_range(const char *text, struct egs_range *out,
			struct egs_err *err);
void egs_conf_write_range(const struct egs_range *range, char *buf,
			  size_t size);

#endif
