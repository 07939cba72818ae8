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
static uint32_t path_of_site(struct egs_place *place)
{
	static struct egs_conf_problems problems;
	const char *given = NULL;
	struct egs_conf *conf = NULL;
	uint32_t port = EGS_PORT;

	if (egs_conf_load(&conf, EGS_SYSCONFDIR "/egs.conf", &problems) == 0) {
		given = egs_conf_policy(conf)->run_dir;
		port = egs_conf_policy(conf)->port;
	}
	snprintf(place->path, sizeof(place->path), "%s/policyd.sock",
		 given ? given : EGS_RUN_DIR);
	egs_conf_free(conf);
	return port;
}

static void in_lower_case(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

static int call_by_name(struct egs_place *place, const char *cluster,
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
	in_lower_case(name);
	snprintf(place->audience, sizeof(place->audience),
		 EGS_CRED_AUDIENCE "%s", name);
	return 0;
}

/* Who was killed leaves a socket at which nobody listens. */
static bool is_deserted(const char *path)
{
	int fd = egs_dial_unix(path, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ECONNREFUSED;
}

static void name_hosts(struct egs_place *place,
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
static bool is_elsewhere(struct egs_place *place, uint32_t port)
{
	bool here = access(place->path, F_OK) == 0;
	struct egs_slurm_conf slurm;

	if (here && !is_deserted(place->path))
		return false;
	egs_slurm_conf_read(&slurm, NULL);
	if (!slurm.nhosts || !*slurm.cluster || (here && slurm.nhosts == 1))
		return false;
	name_hosts(place, &slurm, port);
	return true;
}

int egs_place_find(struct egs_place *place, const char *at, const char *cluster,
		   struct egs_where *where, struct egs_err *err)
{
	*where = (struct egs_where){ .at = at ? at : place->path,
				     .cred.audience = place->audience };
	if (at ? !strchr(at, '/') : is_elsewhere(place, path_of_site(place)))
		return call_by_name(place, cluster, err);
	return 0;
}
