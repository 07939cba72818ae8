/* slurm_conf.c - keys of slurm.conf that are read without libslurm */
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

	name_is("ClusterName=deep\n", "deep", "ClusterName= is read");
	name_is("clustername=Deep # ours\n", "deep",
		"ClusterName= is read in lower case");
	name_is("AuthType=auth/munge ClusterName=deep\n", "deep",
		"ClusterName= is read behind another key");
	name_is("#ClusterName=deep\nSlurmctldHost=a", "",
		"ClusterName= in a comment is ignored");
	name_is("", "", "an empty file has no cluster name");
	snprintf(text, sizeof(text), "ClusterName=%0300d\n", 1);
	write_file(path, text);
	egs_slurm_conf_read(&conf, path);
	is_int(strlen(conf.cluster), EGS_SLURM_NAME_MAX - 1,
	       "a long cluster name is cut");
	egs_slurm_conf_read(&conf, "/nonexistent");
	is_str(conf.cluster, "", "a missing file has no cluster name");
	write_file(path, "ClusterName=deep\n");
	setenv("SLURM_CONF", path, 1);
	egs_slurm_conf_read(&conf, NULL);
	is_str(conf.cluster, "deep", "SLURM_CONF names the file");
	is_str(conf.private_data, "", "PrivateData= is empty by default");
	write_file(path, "PrivateData=Jobs,usage\n");
	egs_slurm_conf_read(&conf, path);
	is_str(conf.private_data, "Jobs,usage", "PrivateData= is read");
	is_str(conf.user, "root", "SlurmUser= is root by default");
	write_file(path, "slurmuser=slurm\n");
	egs_slurm_conf_read(&conf, path);
	is_str(conf.user, "slurm", "SlurmUser= is read");
	egs_slurm_conf_read(&conf, "/nonexistent");
	is_str(conf.user, "", "without a file SlurmUser is unknown");
	name_is("AuthType = auth/munge  ClusterName\t= Deep # ours\n", "deep",
		"blanks around = are allowed");
	name_is(" = ClusterName=deep\n", "", "a = without a key is ignored");
}

static void test_hosts(void)
{
	struct egs_slurm_conf conf;
	char text[2000] = "";

	write_file(path, "SlurmctldHost=a\nslurmctldhost=b(10.0.0.2)\n"
			 "SlurmctldHost=\nSlurmctldPort=6817\n"
			 "SlurmctldHost=c()\n");
	egs_slurm_conf_read(&conf, path);
	is_int(conf.nhosts, 2, "controllers without a name are skipped");
	is_str(conf.host[0], "a",
	       "a controller without an address has its name");
	is_str(conf.host[1], "10.0.0.2",
	       "a controller with an address has the address");
	for (int i = 0; i < 20; i++)
		strcat(text, "SlurmctldHost=host\n");
	write_file(path, text);
	egs_slurm_conf_read(&conf, path);
	is_int(conf.nhosts, EGS_SLURM_HOSTS_MAX,
	       "controllers beyond the limit are ignored");
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
	is_str(conf.cluster, "inner",
	       "a relative Include is beside the file that names it");
	is_str(conf.host[0], "a", "keys behind an Include are read");
	snprintf(text, sizeof(text), "Include %s\n", path);
	write_file(path, text);
	egs_slurm_conf_read(&conf, path);
	is_str(conf.cluster, "",
	       "a file that includes itself is not read forever");
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
