/* find_daemon.c - the address of the daemon, and its audience in MUNGE */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/find_daemon.h"
#include "common/conf/conf.h"
#include "common/ipc/connect.h"

/* Set the socket of this host.  Returns the port of other hosts. */
static uint32_t set_local_socket(struct egs_daemon_addr *room)
{
	struct egs_conf *conf = egs_conf_open(EGS_SYSCONFDIR "/egs.conf", NULL);
	const struct egs_policy_conf *policy = egs_conf_policy(conf);
	uint32_t port = policy ? policy->port : EGS_PORT;

	snprintf(room->path, sizeof(room->path), "%s/policyd.sock",
		 egs_conf_dir(policy, EGS_RUN_DIR));
	egs_conf_free(conf);
	return port;
}

static void make_lower_case(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

static int set_audience(struct egs_daemon_addr *room, const char *cluster,
			struct egs_err *err)
{
	char name[EGS_SLURM_NAME_MAX];

	if (!cluster)
		cluster = getenv("SLURM_CLUSTER_NAME");
	snprintf(name, sizeof(name), "%s",
		 cluster ? cluster : room->slurm.cluster);
	if (!*name)
		return egs_errf(err,
				"no ClusterName in slurm.conf; use -M NAME");
	make_lower_case(name);
	snprintf(room->audience, sizeof(room->audience),
		 EGS_CRED_AUDIENCE_PREFIX "%s", name);
	return 0;
}

/* A daemon that was killed leaves its socket behind. */
static bool has_no_listener(const char *path)
{
	int fd = egs_connect_unix(path, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ECONNREFUSED;
}

static void write_hosts(struct egs_daemon_addr *room, uint32_t port)
{
	const struct egs_slurm_conf *slurm = &room->slurm;
	size_t len = 0;

	for (unsigned i = 0; i < slurm->nhosts; i++) {
		const char *host = slurm->host[i];

		if (len < sizeof(room->path))
			len += (size_t)snprintf(
				room->path + len, sizeof(room->path) - len,
				strchr(host, ':') ? "%s[%s]:%u" : "%s%s:%u",
				i ? "," : "", host, (unsigned int)port);
	}
}

/* On a host without a daemon, set the hosts of slurmctld.  False if there is a
 * daemon here, or the hosts are unknown.
 */
static bool find_remote_hosts(struct egs_daemon_addr *room, uint32_t port)
{
	bool has_socket = access(room->path, F_OK) == 0;
	const struct egs_slurm_conf *slurm = &room->slurm;

	if (has_socket && !has_no_listener(room->path))
		return false;
	if (!slurm->nhosts || !*slurm->cluster ||
	    (has_socket && slurm->nhosts == 1))
		return false;
	write_hosts(room, port);
	return true;
}

int egs_find_daemon(struct egs_daemon_addr *room, const char *address,
		    const char *cluster, struct egs_endpoint *daemon,
		    struct egs_err *err)
{
	egs_slurm_conf_read(&room->slurm, NULL);
	*daemon = (struct egs_endpoint){
		.address = address ? address : room->path,
		.slurm_user = room->slurm.user,
		.cred.audience = room->audience,
	};
	if (address ? !strchr(address, '/')
		    : find_remote_hosts(room, set_local_socket(room)))
		return set_audience(room, cluster, err);
	return 0;
}
