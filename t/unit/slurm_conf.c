/* slurm_conf.c - what is read of slurm.conf */
#include <stdlib.h>
#include <unistd.h>

#include "common/conf/slurm_conf.h"
#include "t/lib/unit/tap.h"

static char path[] = "/tmp/egs-slurm-conf.XXXXXX";

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		exit(1);
}

static void name_is(const char *text, const char *want, const char *what)
{
	struct egs_slurm_conf conf;

	write_file(path, text);
	egs_slurm_conf_read(&conf, path);
	is_str(conf.cluster, want, "%s", what);
}

static void test_names(void)
{
	struct egs_slurm_conf conf;
	char text[400];

	name_is("ClusterName=deep\n", "deep", "a cluster has a name");
	name_is("clustername=Deep # ours\n", "deep", "in lower case");
	name_is("AuthType=auth/munge ClusterName=deep\n", "deep",
		"also behind other keys");
	name_is("#ClusterName=deep\nSlurmctldHost=a", "",
		"but not behind a hash");
	name_is("", "", "an empty file has none");
	snprintf(text, sizeof(text), "ClusterName=%0300d\n", 1);
	write_file(path, text);
	egs_slurm_conf_read(&conf, path);
	is_int(strlen(conf.cluster), EGS_SLURM_NAME_MAX - 1,
	       "a long one is cut to the room there is");
	egs_slurm_conf_read(&conf, "/nonexistent");
	is_str(conf.cluster, "", "without a file there is none");
	write_file(path, "ClusterName=deep\n");
	setenv("SLURM_CONF", path, 1);
	egs_slurm_conf_read(&conf, NULL);
	is_str(conf.cluster, "deep", "SLURM_CONF names the file");
	is_str(conf.private_data, "", "nothing is private");
	write_file(path, "PrivateData=Jobs,usage\n");
	egs_slurm_conf_read(&conf, path);
	is_str(conf.private_data, "Jobs,usage", "but what it says");
}

static void test_hosts(void)
{
	struct egs_slurm_conf conf;
	char text[2000] = "";

	write_file(path, "SlurmctldHost=a\nslurmctldhost=b(10.0.0.2)\n"
			 "SlurmctldHost=\nSlurmctldPort=6817\n"
			 "SlurmctldHost=c()\n");
	egs_slurm_conf_read(&conf, path);
	is_int(conf.nhosts, 2, "controllers are found");
	is_str(conf.host[0], "a", "the first by its name");
	is_str(conf.host[1], "10.0.0.2", "another by its address");
	for (int i = 0; i < 20; i++)
		strcat(text, "SlurmctldHost=host\n");
	write_file(path, text);
	egs_slurm_conf_read(&conf, path);
	is_int(conf.nhosts, EGS_SLURM_HOSTS_MAX, "so many are enough");
}

static void test_include(void)
{
	struct egs_slurm_conf conf;
	char other[sizeof(path) + 8], text[100];

	snprintf(other, sizeof(other), "%s.more", path);
	write_file(other, "ClusterName=inner\n");
	snprintf(text, sizeof(text), "include %s\nSlurmctldHost=a\n",
		 strrchr(other, '/') + 1);
	write_file(path, text);
	egs_slurm_conf_read(&conf, path);
	is_str(conf.cluster, "inner", "a file beside it is included");
	is_str(conf.host[0], "a", "and what follows is read");
	snprintf(text, sizeof(text), "Include %s\n", path);
	write_file(path, text);
	egs_slurm_conf_read(&conf, path);
	is_str(conf.cluster, "", "one that includes itself has an end");
	unlink(other);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	plan_none();
	test_names();
	test_hosts();
	test_include();
	unlink(path);
	return done_testing();
}
