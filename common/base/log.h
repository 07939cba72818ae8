/* log.h - lines for the person on call, on stderr
 *
 * "2026-11-16T11:20:00 warning: slurmctld: no answer, ...": subject first, then
 * what happened, then the numbers that made it so.  Info is a decision, warning
 * a degraded mode, error needs someone.
 */
#ifndef EGS_BASE_LOG_H
#define EGS_BASE_LOG_H

/* One line each, cut and cleaned as egs_errf() does. */
__attribute__((format(printf, 1, 2))) void egs_log_info(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void egs_log_warn(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void egs_log_error(const char *fmt, ...);

#endif
