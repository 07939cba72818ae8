/* report.h - reports out of the history, in a process of their own
 *
 * egs-policyd --report reads one request, a JSON object, on its standard
 * input, answers it on its standard output, and ends.  The daemon starts it
 * for its clients, with who they are; root and Slurm's user start it through
 * egs-report when no daemon runs.  It reads the file in one transaction, beside
 * the daemon that writes it, so a report is of one moment.
 *
 *	report		usage, jobs, ... (report.c has the table)
 *	dir		StateDir
 *	from, to	seconds since the epoch
 *	user		whose rows are shown, and those of whose teams; without
 *			it everybody's
 *	private		PrivateData of slurm.conf, for that user
 *	every		3600 or 86400: usage and wastage of each hour or day
 *	by, unit, users, accounts, partitions, name, after
 *			as egs-report(1) has them
 */
#ifndef EGS_REPORT_REPORT_H
#define EGS_REPORT_REPORT_H

/* The exit code of the process. */
int egs_report_main(const char *conf_path);

#endif
