/* slurm_conf.c - read a few keys of slurm.conf without libslurm */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/conf/slurm_conf.h"

/* slurmd and sackd make the second, if slurmctld sends them its files. */
#define SITE_FILE	EGS_SYSCONFDIR "/slurm.conf"
#define CONFIGLESS_FILE "/run/slurm/conf/slurm.conf"

enum { DEPTH_MAX = 4, PATH_SIZE = 4096 };

static const char blanks[] = " \t\r\n";

static void set_cluster(struct egs_slurm_conf *conf, const char *name)
{
	snprintf(conf->cluster, sizeof(conf->cluster), "%s", name);
	for (size_t i = 0; conf->cluster[i]; i++)
		conf->cluster[i] =
			(char)tolower((unsigned char)conf->cluster[i]);
}

/* "name" or "name(address)" */
static void add_host(struct egs_slurm_conf *conf, const char *text)
{
	const char *address = strchr(text, '(');
	size_t len = strcspn(text, "(");

	if (address) {
		text = address + 1;
		len = strcspn(text, ")");
	}
	if (len == 0 || len >= EGS_SLURM_HOST_MAX ||
	    conf->nhosts == EGS_SLURM_HOSTS_MAX)
		return;
	memcpy(conf->host[conf->nhosts], text, len);
	conf->host[conf->nhosts++][len] = '\0';
}

static void apply_pair(struct egs_slurm_conf *conf, const char *pair)
{
	static const char cluster[] = "ClusterName=", host[] = "SlurmctldHost=";
	static const char hidden[] = "PrivateData=", user[] = "SlurmUser=";

	if (strncasecmp(pair, cluster, strlen(cluster)) == 0)
		set_cluster(conf, pair + strlen(cluster));
	else if (strncasecmp(pair, host, strlen(host)) == 0)
		add_host(conf, pair + strlen(host));
	else if (strncasecmp(pair, hidden, strlen(hidden)) == 0)
		snprintf(conf->private_data, sizeof(conf->private_data), "%s",
			 pair + strlen(hidden));
	else if (strncasecmp(pair, user, strlen(user)) == 0)
		snprintf(conf->user, sizeof(conf->user), "%s",
			 pair + strlen(user));
}

/* Put the path of 'name' in an Include of 'path' into 'file'. */
static void resolve_path(const char *path, const char *name,
			 char file[PATH_SIZE])
{
	const char *slash = strrchr(path, '/');
	int dir = slash && *name != '/' ? (int)(slash - path) + 1 : 0;

	snprintf(file, PATH_SIZE, "%.*s%s", dir, path, name);
}

static void read_file(struct egs_slurm_conf *conf, const char *path, int depth);

/* Slurm allows blanks around '=': remove them. */
static void join_pairs(char *line)
{
	char *to = line;

	for (const char *c = line; *c; c++) {
		if (*c == '=')
			while (to > line && strchr(blanks, to[-1]))
				to--;
		*to++ = *c;
		if (*c == '=')
			c += strspn(c + 1, blanks);
	}
	*to = '\0';
}

static void apply_line(struct egs_slurm_conf *conf, char *line,
		       const char *path, int depth)
{
	char file[PATH_SIZE], *rest = NULL, *word;

	line[strcspn(line, "#")] = '\0';
	join_pairs(line);
	word = strtok_r(line, blanks, &rest);
	if (word && strcasecmp(word, "Include") == 0) {
		word = strtok_r(NULL, blanks, &rest);
		resolve_path(path, word ? word : "", file);
		read_file(conf, file, depth + 1);
		return;
	}
	for (; word; word = strtok_r(NULL, blanks, &rest))
		apply_pair(conf, word);
}

static void read_file(struct egs_slurm_conf *conf, const char *path, int depth)
{
	FILE *f = depth < DEPTH_MAX ? fopen(path, "re") : NULL;
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0)
		apply_line(conf, line, path, depth);
	free(line);
	if (f)
		fclose(f);
}

static const char *find_file(void)
{
	const char *path = getenv("SLURM_CONF");

	if (path)
		return path;
	return access(SITE_FILE, F_OK) == 0 ? SITE_FILE : CONFIGLESS_FILE;
}

void egs_slurm_conf_read(struct egs_slurm_conf *conf, const char *path)
{
	*conf = (struct egs_slurm_conf){ .nhosts = 0 };
	if (!path)
		path = find_file();
	read_file(conf, path, 0);
	if (!*conf->user && access(path, R_OK) == 0)
		snprintf(conf->user, sizeof(conf->user), "root");
}
