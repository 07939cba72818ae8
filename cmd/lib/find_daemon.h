/* find_daemon.h - where the daemon is, and how it is called */
#ifndef EGS_LIB_FIND_DAEMON_H
#define EGS_LIB_FIND_DAEMON_H

#include "common/conf/slurm_conf.h"
#include "common/ipc/client.h"

/* HOST:PORT of all controllers */
#define EGS_DAEMON_ADDR_MAX (EGS_SLURM_HOSTS_MAX * (EGS_SLURM_HOST_MAX + 9))

/* Room for what 'where' points to. */
struct egs_daemon_addr {
	char path[EGS_DAEMON_ADDR_MAX];
	char audience[EGS_CRED_AUDIENCE_MAX];
};

/* The daemon 'at' a path or HOST:PORT.  NULL: the socket in the RunDir of the
 * site's egs.conf; without a file, or with a bad one, in the default one.
 * Where there is no socket, as on a compute node, every SlurmctldHost of
 * slurm.conf, with the port of egs.conf; so, too, if nobody listens at the
 * socket and there is a backup controller.
 *
 * A daemon at HOST:PORT is that of 'cluster'.  NULL: SLURM_CLUSTER_NAME, or the
 * ClusterName in slurm.conf.  '*where' borrows from '*place' and 'at'.  0, or
 * -1 with 'err' set if nobody knows the cluster.
 */
int egs_find_daemon(struct egs_daemon_addr *place, const char *at,
		    const char *cluster, struct egs_endpoint *where,
		    struct egs_err *err);

#endif
