/* slurm_conf.h - read a few keys of slurm.conf without libslurm
 *
 * libslurm must match the release of slurmctld.  It also ends the process if
 * the file has an error.
 */
#ifndef EGS_CONF_SLURM_CONF_H
#define EGS_CONF_SLURM_CONF_H

#define EGS_SLURM_NAME_MAX  128
#define EGS_SLURM_HOST_MAX  256
#define EGS_SLURM_HOSTS_MAX 8

struct egs_slurm_conf {
	char cluster[EGS_SLURM_NAME_MAX]; /* in lower case, "": none */
	/* SlurmctldHost in the order of the file; the address if there is one
	 */
	char host[EGS_SLURM_HOSTS_MAX][EGS_SLURM_HOST_MAX];
	unsigned nhosts;
	char private_data[EGS_SLURM_NAME_MAX]; /* "jobs,usage" */
	/* SlurmUser, by default "root"; "" without a file */
	char user[EGS_SLURM_NAME_MAX];
};

/* Read the file at 'path' and the files it includes.  NULL: the file that
 * SLURM_CONF names, else slurm.conf of the site, else the copy that a
 * configless slurmd or sackd keeps.  A missing file is an empty one.
 */
void egs_slurm_conf_read(struct egs_slurm_conf *conf, const char *path);

#endif
