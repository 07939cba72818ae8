/* doctor.h - what a cluster's configuration lacks for EGS
 *
 * Everything that was read is handed over as text, so that the advice can be
 * tested without a cluster.  One line for each thing: fine as it is, to be
 * worried about, to be added, to be changed.
 */
#ifndef EGS_EGSCTL_DOCTOR_H
#define EGS_EGSCTL_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "common/conf/policy_conf.h"

enum egs_doctor_advice {
	EGS_ADVICE_FINE,
	EGS_ADVICE_WORRY,
	EGS_ADVICE_ADD,	   /* a line of EGS that is not there */
	EGS_ADVICE_CHANGE, /* something that stands in its way */
	EGS_ADVICE_COUNT
};

struct egs_doctor {
	bool preflight;		/* EGS is still to be put in */
	const char *config;	/* of "scontrol show config" */
	const char *slurm_conf; /* all lines of slurm.conf, "" without */
	const char *plugstack;	/* the same of plugstack.conf */
	const char *assocs;	/* lines "account|user|grptres", NULL: nobody
				 * keeps accounts */
	const char *qos;	/* lines "name|grptres", likewise */
	const struct egs_policy_conf *policy; /* NULL: there is no egs.conf */
	const char *built_for;		      /* a version of Slurm */
	const char *plugin_dir;		      /* where our plugins are */
	bool (*has_path)(const char *path);   /* such a file or directory */
	long clock_skew_s; /* slurmctld's clock less that of this host */
	FILE *out;
	unsigned line_count[EGS_ADVICE_COUNT]; /* out: lines of each kind */
};

/* One line of advice, as printf() has it. */
void egs_doctor_print(struct egs_doctor *d, enum egs_doctor_advice advice,
		      const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Look at everything above. */
void egs_doctor_check_all(struct egs_doctor *d);

/* The same of the parts: plugins and where they are, the lines of slurm.conf,
 * and who is in no team or has limits beside it.
 */
void egs_doctor_check_plugins(struct egs_doctor *d);
void egs_doctor_check_conf(struct egs_doctor *d);
void egs_doctor_check_accounts(struct egs_doctor *d);

/* Is all well?  With 'preflight' lines that are to be added are expected. */
bool egs_doctor_is_ok(const struct egs_doctor *d);

/* The value of a key of the configuration; "" where Slurm has none.  Where
 * slurmctld does not tell, what slurm.conf says.
 */
#define EGS_DOCTOR_VALUE_SIZE 4096
const char *egs_doctor_get_value(const struct egs_doctor *d, const char *key,
				 char value[EGS_DOCTOR_VALUE_SIZE]);

/* Is slurmctld of this release or later?  23.02 is 2302. */
bool egs_doctor_has_release(const struct egs_doctor *d, unsigned release);

#endif
