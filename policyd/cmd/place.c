/* place.c - where the daemon is, and how it is called */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policyd/cmd/place.h"
#include "policyd/wire/conf.h"

static void path_of_site(struct egs_place *place)
{
	static struct egs_conf_problems problems;
	const char *given = NULL;
	struct egs_conf *conf = NULL;

	if (egs_conf_load(&conf, EGS_SYSCONFDIR "/egs.conf", &problems) == 0)
		given = egs_conf_policy(conf)->run_dir;
	snprintf(place->path, sizeof(place->path), "%s/policyd.sock",
		 given ? given : EGS_RUN_DIR);
	egs_conf_free(conf);
}

static void in_lower_case(char *text)
{
	for (; *text; text++)
		*text = (char)tolower((unsigned char)*text);
}

/* The ClusterName=VALUE among the pairs of a line. */
static void take_name(char *line, char *name, size_t size)
{
	static const char key[] = "ClusterName=";
	char *rest = NULL;
	char *word;

	line[strcspn(line, "#")] = '\0';
	for (word = strtok_r(line, " \t\r\n", &rest); word;
	     word = strtok_r(NULL, " \t\r\n", &rest))
		if (strncasecmp(word, key, strlen(key)) == 0)
			snprintf(name, size, "%s", word + strlen(key));
}

void egs_place_cluster_of(const char *path, char *name, size_t size)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	*name = '\0';
	while (file && getline(&line, &room, file) > 0)
		take_name(line, name, size);
	in_lower_case(name);
	free(line);
	if (file)
		fclose(file);
}

static int call_by_name(struct egs_place *place, const char *cluster,
			struct egs_err *err)
{
	const char *path = getenv("SLURM_CONF");
	char name[EGS_CRED_AUDIENCE_MAX / 2] = "";

	if (!cluster)
		cluster = getenv("SLURM_CLUSTER_NAME");
	if (cluster)
		snprintf(name, sizeof(name), "%s", cluster);
	else
		egs_place_cluster_of(path ? path : EGS_SYSCONFDIR "/slurm.conf",
				     name, sizeof(name));
	if (!*name)
		return egs_errf(err, "of which cluster? slurm.conf has no "
				     "ClusterName here: say it, -M NAME");
	in_lower_case(name);
	snprintf(place->audience, sizeof(place->audience),
		 EGS_CRED_AUDIENCE "%s", name);
	return 0;
}

int egs_place_find(struct egs_place *place, const char *at, const char *cluster,
		   struct egs_where *where, struct egs_err *err)
{
	*where = (struct egs_where){ .at = at ? at : place->path,
				     .cred.audience = place->audience };
	if (!at)
		path_of_site(place);
	else if (!strchr(at, '/'))
		return call_by_name(place, cluster, err);
	return 0;
}
