/* log.h - lines for the person on call, on stderr
 *
 * "2026-11-16T11:20:00 warning: slurmctld: no answer, ...": the subject, then
 * the event, then the numbers that caused it.  Info is a decision, warning is a
 * degraded mode, error needs an operator.
 */
#ifndef EGS_BASE_LOG_H
#define EGS_BASE_LOG_H

/* Each call writes one printable line (text.h). */
__attribute__((format(printf, 1, 2))) void egs_log_info(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void egs_log_warn(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void egs_log_error(const char *fmt, ...);

#endif
