/* doctor.h - egsctl doctor: what a cluster's configuration lacks for EGS
 *
 * The input of the checks is text, so tests need no cluster.  Each check prints
 * one line: fine, a worry, a line to add, a line to change.
 */
#ifndef EGS_EGSCTL_DOCTOR_H
#define EGS_EGSCTL_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/egsctl/egsctl.h"
#include "common/conf/policy_conf.h"
#include "common/ipc/msg.h"

enum egs_doctor_advice {
	EGS_ADVICE_FINE,
	EGS_ADVICE_WORRY,
	EGS_ADVICE_ADD,	   /* a line that EGS needs is missing */
	EGS_ADVICE_CHANGE, /* a setting prevents EGS from working */
	EGS_ADVICE_COUNT
};

struct egs_doctor {
	bool preflight;		/* EGS is not configured yet */
	const char *config;	/* output of "scontrol show config" */
	const char *slurm_conf; /* all lines of slurm.conf, "": no file */
	const char *plugstack;	/* all lines of plugstack.conf, "": no file */
	/* Lines "account|user|grptres" and "name|grptres" of sacctmgr, NULL:
	 * the cluster has no slurmdbd.
	 */
	const char *assocs;
	const char *qos;
	/* What slurmctld remembers of egs.conf (egs_settings), NULL: no file,
	 * or not readable.
	 */
	const char *settings;
	const struct egs_policy_conf *policy; /* NULL: no valid egs.conf */
	bool has_policy_file;		      /* there is one, valid or not */
	const char *built_for;		      /* a version of Slurm */
	const char *plugin_dir;		      /* of the plugins of EGS */
	bool (*has_path)(const char *path);   /* is there a file 'path'? */
	long clock_skew_s; /* slurmctld's clock minus the clock of this host */
	FILE *out;
	unsigned line_count[EGS_ADVICE_COUNT]; /* out: lines of each kind */
};

/* Run the verb; no daemon is needed.  'operands' may name an egs.conf.  Returns
 * EGSCTL_DONE if nothing must be added or changed, otherwise EGSCTL_FAILED.
 */
int egsctl_run_doctor(const char *name, char **operands,
		      const struct egsctl_options *ctl);

/* Print one line of advice. */
void egs_doctor_print(struct egs_doctor *d, enum egs_doctor_advice advice,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* All checks of the struct. */
void egs_doctor_check_all(struct egs_doctor *d);

/* Single checks: the lines of slurm.conf; accounts without a team, and limits
 * besides quotas.
 */
void egs_doctor_check_conf(struct egs_doctor *d);
void egs_doctor_check_accounts(struct egs_doctor *d);

/* Ask the daemon, and ask each SlurmctldHost on the port of egs.conf. */
void egs_doctor_check_daemon(struct egs_doctor *d,
			     const struct egsctl_options *ctl);

/* Do the nodes measure their GPUs?  The second function reads the answer of
 * "show gpus".
 */
void egs_doctor_check_gpus(struct egs_doctor *d,
			   const struct egsctl_options *ctl);
void egs_doctor_check_gpu_table(struct egs_doctor *d,
				const struct egs_msg *answer);

/* Does the advice have no line to change and, without 'preflight', no line to
 * add?
 */
bool egs_doctor_is_ok(const struct egs_doctor *d);

/* The value of a key of the configuration, "" if it has none.  If slurmctld
 * does not report the key, this is the value in slurm.conf.
 */
#define EGS_DOCTOR_VALUE_SIZE 4096
const char *egs_doctor_get_value(const struct egs_doctor *d, const char *key,
				 char value[EGS_DOCTOR_VALUE_SIZE]);

/* Copy the value of a line "Key = value" in 'text'; unchanged without one. */
void egs_doctor_find_key(const char *text, const char *key,
			 char value[EGS_DOCTOR_VALUE_SIZE]);

/* Is slurmctld of this release or later?  23.02 is 2302. */
bool egs_doctor_has_release(const struct egs_doctor *d, unsigned release);

#endif
