/* find_daemon.c - whom a command calls: the socket, the host, the cluster */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/lib/find_daemon.h"
#include "t/lib/unit/tap.h"

static char path[] = "/tmp/egs-place.XXXXXX";

static void write_conf(const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		exit(1);
}

static int find(struct egs_daemon_addr *place, const char *at,
		const char *cluster, struct egs_endpoint *where)
{
	struct egs_err err;

	return egs_find_daemon(place, at, cluster, where, &err);
}

static void test_places(void)
{
	struct egs_daemon_addr place;
	struct egs_endpoint where;

	setenv("SLURM_CONF", path, 1);
	unsetenv("SLURM_CLUSTER_NAME");
	write_conf("ClusterName=deep\n");
	is_int(find(&place, NULL, NULL, &where), 0, "the site has a place");
	ok(where.address[0] == '/', "which is a socket");
	write_conf("ClusterName=deep\nSlurmctldHost=ctl(10.0.0.9)\n");
	is_int(find(&place, NULL, NULL, &where), 0, "on a compute node");
	is_str(where.address, "10.0.0.9:6827", "it is that of slurmctld");
	is_str(where.cred.audience, EGS_CRED_AUDIENCE_PREFIX "deep",
	       "by its name");
	write_conf("ClusterName=deep\nSlurmctldHost=ctl(10.0.0.9)\n"
		   "SlurmctldHost=spare(fd00::1)\n");
	find(&place, NULL, NULL, &where);
	is_str(where.address, "10.0.0.9:6827,[fd00::1]:6827",
	       "or that of its backup");
	is_int(find(&place, "host:1", NULL, &where), 0, "a host has one");
	is_str(where.cred.audience, EGS_CRED_AUDIENCE_PREFIX "deep",
	       "for the cluster of slurm.conf");
	find(&place, "host:1", "Far", &where);
	is_str(where.cred.audience, EGS_CRED_AUDIENCE_PREFIX "far",
	       "or the one that is said");
	setenv("SLURM_CLUSTER_NAME", "job", 1);
	find(&place, "host:1", NULL, &where);
	is_str(where.cred.audience, EGS_CRED_AUDIENCE_PREFIX "job",
	       "in a job that of the job");
	unsetenv("SLURM_CLUSTER_NAME");
	write_conf("");
	is_int(find(&place, "host:1", NULL, &where), -1,
	       "not of a cluster nobody knows");
	is_int(find(&place, "./sock", NULL, &where), 0,
	       "which a socket does not need");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	plan_none();
	test_places();
	unlink(path);
	return done_testing();
}
