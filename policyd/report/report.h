/* report.h - reports from the history, in a process of their own
 *
 * egs-policyd --report reads one request, a JSON object, from its standard
 * input, writes the answer to its standard output, and exits.  The daemon
 * starts it for its clients and adds their name; root and SlurmUser start it
 * through egs-report when no daemon runs.  It reads the file in one transaction
 * while the daemon may write, so a report shows one moment.
 *
 *	report		usage, jobs, ... (report.c has the table)
 *	dir		StateDir
 *	from, to	seconds since the epoch
 *	user		show rows of this user and of his teams; without it
 *			show all rows
 *	private		PrivateData of slurm.conf, for that user
 *	me		user of the report mine
 *	every		3600 or 86400: usage and wastage of each hour or day
 *	limit_s		give up after this time
 *	by, unit, users, accounts, partitions, name, after
 *			as in egs-report(1)
 */
#ifndef EGS_REPORT_REPORT_H
#define EGS_REPORT_REPORT_H

/* Returns the exit code of the process. */
int egs_report_main(const char *conf_path);

#endif
