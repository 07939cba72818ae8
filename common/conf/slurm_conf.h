/* slurm_conf.h - the little we read of slurm.conf ourselves
 *
 * Read without Slurm's library, which has to be of the right release and ends
 * the process where it does not like the file.
 */
#ifndef EGS_CONF_SLURM_CONF_H
#define EGS_CONF_SLURM_CONF_H

#define EGS_SLURM_NAME_MAX  128
#define EGS_SLURM_HOST_MAX  256
#define EGS_SLURM_HOSTS_MAX 8

struct egs_slurm_conf {
	char cluster[EGS_SLURM_NAME_MAX]; /* in lower case, "" if not there */
	/* SlurmctldHost, the first one first: the address where one is given */
	char host[EGS_SLURM_HOSTS_MAX][EGS_SLURM_HOST_MAX];
	unsigned nhosts;
	char private_data[EGS_SLURM_NAME_MAX]; /* "jobs,usage" */
};

/* Read the file at 'path' and what it includes; NULL: the one that SLURM_CONF
 * names, or else the site's.  Nothing is found in a file that is not there.
 */
void egs_slurm_conf_read(struct egs_slurm_conf *conf, const char *path);

#endif
