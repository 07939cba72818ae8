/* find_daemon.c - the address of the daemon: socket, host, cluster */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/lib/find_daemon.h"
#include "t/lib/unit/tap.h"

static char path[] = "/tmp/egs-slurm-conf.XXXXXX";

static void write_conf(const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		exit(1);
}

static int find_daemon(struct egs_daemon_addr *room, const char *address,
		       const char *cluster, struct egs_endpoint *daemon)
{
	struct egs_err err;

	return egs_find_daemon(room, address, cluster, daemon, &err);
}

static void test_addresses(void)
{
	struct egs_daemon_addr room;
	struct egs_endpoint daemon;

	setenv("SLURM_CONF", path, 1);
	unsetenv("SLURM_CLUSTER_NAME");
	write_conf("ClusterName=deep\nSlurmUser=slurm\n");
	is_int(find_daemon(&room, NULL, NULL, &daemon), 0,
	       "the daemon of the site is found");
	is_str(daemon.slurm_user, "slurm",
	       "the daemon of the site runs as SlurmUser");
	ok(daemon.address[0] == '/',
	   "the address of the site's daemon is a socket");
	write_conf("ClusterName=deep\nSlurmctldHost=ctl(10.0.0.9)\n");
	is_int(find_daemon(&room, NULL, NULL, &daemon), 0,
	       "the daemon is found on a host without a socket");
	is_str(daemon.address, "10.0.0.9:6827",
	       "without a socket the address is SlurmctldHost");
	is_str(daemon.cred.audience, EGS_CRED_AUDIENCE_PREFIX "deep",
	       "the audience is ClusterName of slurm.conf");
	write_conf("ClusterName=deep\nSlurmctldHost=ctl(10.0.0.9)\n"
		   "SlurmctldHost=spare(fd00::1)\n");
	find_daemon(&room, NULL, NULL, &daemon);
	is_str(daemon.address, "10.0.0.9:6827,[fd00::1]:6827",
	       "the address of two SlurmctldHost lists both");
	is_int(find_daemon(&room, "host:1", NULL, &daemon), 0,
	       "a daemon at HOST:PORT is found");
	is_str(daemon.cred.audience, EGS_CRED_AUDIENCE_PREFIX "deep",
	       "the audience of HOST:PORT is ClusterName of slurm.conf");
	find_daemon(&room, "host:1", "Far", &daemon);
	is_str(daemon.cred.audience, EGS_CRED_AUDIENCE_PREFIX "far",
	       "the audience of HOST:PORT is the cluster that was named");
	setenv("SLURM_CLUSTER_NAME", "job", 1);
	find_daemon(&room, "host:1", NULL, &daemon);
	is_str(daemon.cred.audience, EGS_CRED_AUDIENCE_PREFIX "job",
	       "the audience in a job is SLURM_CLUSTER_NAME");
	unsetenv("SLURM_CLUSTER_NAME");
	write_conf("");
	is_int(find_daemon(&room, "host:1", NULL, &daemon), -1,
	       "HOST:PORT of an unknown cluster is refused");
	is_int(find_daemon(&room, "./sock", NULL, &daemon), 0,
	       "a socket needs no cluster");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	plan_none();
	test_addresses();
	unlink(path);
	return done_testing();
}
