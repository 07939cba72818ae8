/* gpus.c - the GPUs of this node as device files */
#include <ctype.h>
#include <egs_config.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/base/hostlist.h"
#include "common/node/gpus.h"

enum { PATH_SIZE = 4096 };

static int add_gpu_file(void *arg, const char *name)
{
	struct egs_node_gpus *gpus = arg;
	const char *digits = name + strlen(name);
	struct stat is;
	uint32_t n = gpus->n;

	if (n == EGS_NODE_GPUS_MAX)
		return 1;
	while (digits > name && isdigit((unsigned char)digits[-1]))
		digits--;
	gpus->file_number[n] = (uint32_t)strtoul(digits, NULL, 10);
	if (stat(name, &is) == 0 && S_ISCHR(is.st_mode)) {
		gpus->device[n] = is.st_rdev;
		gpus->file_system[n] = is.st_dev;
		gpus->inode[n] = is.st_ino;
	}
	gpus->n++;
	return 0;
}

/* The value if 'word' is "KEY=value", else NULL. */
static char *get_value(char *word, const char *key)
{
	size_t len = strlen(key);

	return strncasecmp(word, key, len) == 0 && word[len] == '='
		       ? word + len + 1
		       : NULL;
}

static void parse_line(struct egs_node_gpus *gpus, char *line, const char *node)
{
	char *rest = NULL, *word, *value;
	char *files = NULL, *nodes = NULL, *name = NULL;

	line[strcspn(line, "#")] = '\0';
	for (word = strtok_r(line, " \t\r\n", &rest); word;
	     word = strtok_r(NULL, " \t\r\n", &rest)) {
		if ((value = get_value(word, "File")))
			files = value;
		else if ((value = get_value(word, "NodeName")))
			nodes = value;
		else if ((value = get_value(word, "Name")))
			name = value;
	}
	if (files && name && strcmp(name, "gpu") == 0 &&
	    (!nodes || egs_hostlist_has(nodes, node)))
		egs_hostlist_each(files, add_gpu_file, gpus);
}

static void format_gres_path(char path[PATH_SIZE])
{
	const char *conf = getenv("SLURM_CONF");
	const char *slash = conf ? strrchr(conf, '/') : NULL;

	if (slash)
		snprintf(path, PATH_SIZE, "%.*s/gres.conf", (int)(slash - conf),
			 conf);
	else
		snprintf(path, PATH_SIZE, EGS_SYSCONFDIR "/gres.conf");
}

static void add_nvidia_files(struct egs_node_gpus *gpus)
{
	char name[40];
	struct stat is;

	for (unsigned i = 0; i < EGS_NODE_GPUS_MAX; i++) {
		snprintf(name, sizeof(name), "/dev/nvidia%u", i);
		if (stat(name, &is) == 0)
			add_gpu_file(gpus, name);
	}
}

void egs_node_gpus_read(struct egs_node_gpus *gpus, const char *path,
			const char *node)
{
	char found[PATH_SIZE], *line = NULL;
	size_t room = 0;
	FILE *f;

	*gpus = (struct egs_node_gpus){ .n = 0 };
	if (!path)
		format_gres_path(found);
	f = fopen(path ? path : found, "re");
	while (f && getline(&line, &room, f) > 0)
		parse_line(gpus, line, node);
	free(line);
	if (f)
		fclose(f);
	if (!gpus->n)
		add_nvidia_files(gpus);
}

int egs_node_gpus_find(const struct egs_node_gpus *gpus, uint32_t file_number)
{
	for (uint32_t i = 0; i < gpus->n; i++)
		if (gpus->file_number[i] == file_number)
			return (int)i;
	return -1;
}
