/* find_daemon.h - the address of the daemon, and its audience in MUNGE */
#ifndef EGS_LIB_FIND_DAEMON_H
#define EGS_LIB_FIND_DAEMON_H

#include "common/conf/slurm_conf.h"
#include "common/ipc/client.h"

/* HOST:PORT of all controllers */
#define EGS_DAEMON_ADDR_MAX (EGS_SLURM_HOSTS_MAX * (EGS_SLURM_HOST_MAX + 9))

/* Room for what an endpoint points to. */
struct egs_daemon_addr {
	char path[EGS_DAEMON_ADDR_MAX];
	char audience[EGS_CRED_AUDIENCE_MAX];
	struct egs_slurm_conf slurm;
};

/* Find the daemon at 'address', a path or HOST:PORT.  NULL: the socket in
 * RunDir of the site's egs.conf, or in the default directory if there is no
 * valid file.  Without a socket, as on a compute node: every SlurmctldHost of
 * slurm.conf, with the port of egs.conf.  These hosts are also used if the
 * socket has no listener and there is a backup controller.
 *
 * A daemon at HOST:PORT belongs to 'cluster'.  NULL: SLURM_CLUSTER_NAME, or
 * ClusterName of slurm.conf.  The user of the daemon is SlurmUser of slurm.conf
 * (trust.h).  '*daemon' borrows from '*room' and 'address'.
 * Returns 0, or -1 with 'err' set if the cluster is unknown.
 */
int egs_find_daemon(struct egs_daemon_addr *room, const char *address,
		    const char *cluster, struct egs_endpoint *daemon,
		    struct egs_err *err);

#endif
