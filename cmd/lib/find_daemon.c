/* find_daemon.c - where the daemon is, and how it is called */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/find_daemon.h"
#include "common/conf/conf.h"
#include "common/ipc/connect.h"

/* The socket of this host; the port of other hosts is returned. */
static uint32_t set_local_socket(struct egs_daemon_addr *place)
{
	struct egs_conf *conf = egs_conf_open(EGS_SYSCONFDIR "/egs.conf", NULL);
	const struct egs_policy_conf *policy = egs_conf_policy(conf);
	uint32_t port = policy ? policy->port : EGS_PORT;

	snprintf(place->path, sizeof(place->path), "%s/policyd.sock",
		 egs_conf_dir(policy, EGS_RUN_DIR));
	egs_conf_free(conf);
	return port;
}

static void make_lower_case(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

static int set_audience(struct egs_daemon_addr *place, const char *cluster,
			struct egs_err *err)
{
	char name[EGS_SLURM_NAME_MAX];
	struct egs_slurm_conf slurm;

	if (!cluster)
		cluster = getenv("SLURM_CLUSTER_NAME");
	if (!cluster)
		egs_slurm_conf_read(&slurm, NULL);
	snprintf(name, sizeof(name), "%s", cluster ? cluster : slurm.cluster);
	if (!*name)
		return egs_errf(err, "of which cluster? slurm.conf has no "
				     "ClusterName here: say it, -M NAME");
	make_lower_case(name);
	snprintf(place->audience, sizeof(place->audience),
		 EGS_CRED_AUDIENCE_PREFIX "%s", name);
	return 0;
}

/* Who was killed leaves a socket at which nobody listens. */
static bool has_no_listener(const char *path)
{
	int fd = egs_connect_unix(path, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ECONNREFUSED;
}

static void write_hosts(struct egs_daemon_addr *place,
			const struct egs_slurm_conf *slurm, uint32_t port)
{
	size_t len = 0;

	for (unsigned i = 0; i < slurm->nhosts; i++) {
		const char *host = slurm->host[i];

		len += (size_t)snprintf(
			place->path + len, sizeof(place->path) - len,
			strchr(host, ':') ? "%s[%s]:%u" : "%s%s:%u",
			i ? "," : "", host, (unsigned int)port);
	}
}

/* A host without a daemon has the one beside slurmctld; true if it is known
 * where that is.
 */
static bool find_remote_hosts(struct egs_daemon_addr *place, uint32_t port)
{
	bool here = access(place->path, F_OK) == 0;
	struct egs_slurm_conf slurm;

	if (here && !has_no_listener(place->path))
		return false;
	egs_slurm_conf_read(&slurm, NULL);
	if (!slurm.nhosts || !*slurm.cluster || (here && slurm.nhosts == 1))
		return false;
	write_hosts(place, &slurm, port);
	return true;
}

int egs_find_daemon(struct egs_daemon_addr *place, const char *at,
		    const char *cluster, struct egs_endpoint *where,
		    struct egs_err *err)
{
	*where = (struct egs_endpoint){ .address = at ? at : place->path,
					.cred.audience = place->audience };
	if (at ? !strchr(at, '/')
	       : find_remote_hosts(place, set_local_socket(place)))
		return set_audience(place, cluster, err);
	return 0;
}
