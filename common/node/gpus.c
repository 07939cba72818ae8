/* gpus.c - the GPUs of this node as device files */
#include <ctype.h>
#include <dirent.h>
#include <egs_config.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/hostlist.h"
#include "common/node/gpus.h"
#include "common/node/proc.h"

enum { PATH_SIZE = 4096 };

/* The number at the end of a name. */
static uint32_t read_file_number(const char *name)
{
	const char *digits = name + strlen(name);

	while (digits > name && isdigit((unsigned char)digits[-1]))
		digits--;
	return (uint32_t)strtoul(digits, NULL, 10);
}

static int add_gpu_file(void *arg, const char *name)
{
	struct egs_node_gpus *gpus = arg;
	struct stat is;
	uint32_t n = gpus->n;

	if (n == EGS_NODE_GPUS_MAX)
		return 1;
	gpus->file_number[n] = read_file_number(name);
	gpus->gpu_instance[n] = gpus->compute_instance[n] = -1;
	if (stat(name, &is) == 0 && S_ISCHR(is.st_mode)) {
		gpus->device[n] = is.st_rdev;
		gpus->file_system[n] = is.st_dev;
		gpus->inode[n] = is.st_ino;
	}
	gpus->n++;
	return 0;
}

/* ---- slices of MIG GPUs ---- */

static void set_slice(struct egs_node_gpus *gpus, uint32_t gpu, int instance,
		      int compute_instance)
{
	gpus->is_slice[gpu] = true;
	gpus->gpu_instance[gpu] = instance;
	gpus->compute_instance[gpu] = compute_instance;
}

/* Lines of the driver: "gpu0/gi1/ci0/access 13", "gpu0/gi1/access 12". */
static void find_instances(struct egs_node_gpus *gpus, uint32_t gpu,
			   uint32_t cap)
{
	char path[EGS_PROC_PATH_MAX], line[128];
	uint32_t minor, number;
	int gi, ci;
	FILE *f;

	egs_proc_path(path, 0, "driver/nvidia-caps/mig-minors");
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "gpu%" SCNu32 "/gi%d/ci%d/access %" SCNu32,
			   &minor, &gi, &ci, &number) == 4 &&
		    number == cap && minor == gpus->file_number[gpu])
			set_slice(gpus, gpu, gi, ci);
	if (f)
		fclose(f);
}

/* The GPU of MultipleFiles= that is being read. */
struct slice_line {
	struct egs_node_gpus *gpus;
	uint32_t gpu;
};

static int add_slice_file(void *arg, const char *name)
{
	const struct slice_line *line = arg;
	struct egs_node_gpus *gpus = line->gpus;
	bool is_cap = strstr(name, "/nvidia-cap") != NULL;

	if (gpus->n == line->gpu)
		return is_cap ? 0 : add_gpu_file(gpus, name);
	if (is_cap && !gpus->is_slice[line->gpu])
		set_slice(gpus, line->gpu, -1, -1);
	if (is_cap)
		find_instances(gpus, line->gpu, read_file_number(name));
	return 0;
}

static void add_slice_line(struct egs_node_gpus *gpus, const char *files)
{
	struct slice_line line = { .gpus = gpus, .gpu = gpus->n };

	egs_hostlist_each(files, add_slice_file, &line);
}

/* ---- gres.conf ---- */

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
	char *files = NULL, *slice = NULL, *nodes = NULL, *name = NULL;

	line[strcspn(line, "#")] = '\0';
	for (word = strtok_r(line, " \t\r\n", &rest); word;
	     word = strtok_r(NULL, " \t\r\n", &rest)) {
		if ((value = get_value(word, "File")))
			files = value;
		else if ((value = get_value(word, "MultipleFiles")))
			slice = value;
		else if ((value = get_value(word, "NodeName")))
			nodes = value;
		else if ((value = get_value(word, "Name")))
			name = value;
	}
	if (!name || strcmp(name, "gpu") != 0 ||
	    (nodes && !egs_hostlist_has(nodes, node)))
		return;
	if (files)
		egs_hostlist_each(files, add_gpu_file, gpus);
	if (slice)
		add_slice_line(gpus, slice);
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

/* ---- without files in gres.conf ---- */

enum { GPU_INSTANCES = 16, COMPUTE_INSTANCES = 8 };

static bool has_slice(uint32_t minor, int gi, int ci)
{
	char name[80], path[EGS_PROC_PATH_MAX];

	snprintf(name, sizeof(name),
		 "driver/nvidia/capabilities/gpu%" PRIu32 "/mig/gi%d/ci%d",
		 minor, gi, ci);
	egs_proc_path(path, 0, name);
	return access(path, F_OK) == 0;
}

/* Add the GPU, or its slices in the order of Slurm. */
static void add_nvidia_gpu(struct egs_node_gpus *gpus, uint32_t minor)
{
	uint32_t first = gpus->n;
	char name[40];

	snprintf(name, sizeof(name), "/dev/nvidia%" PRIu32, minor);
	for (int gi = 0; gi < GPU_INSTANCES; gi++)
		for (int ci = 0; ci < COMPUTE_INSTANCES; ci++)
			if (has_slice(minor, gi, ci) &&
			    add_gpu_file(gpus, name) == 0)
				set_slice(gpus, gpus->n - 1, gi, ci);
	if (gpus->n == first)
		add_gpu_file(gpus, name);
}

/* The minor number of the GPU with this PCI bus id; -1: unknown. */
static int64_t read_minor(const char *bus_id)
{
	static const char key[] = "Device Minor:";
	char name[80], text[2048];
	const char *found;

	snprintf(name, sizeof(name), "driver/nvidia/gpus/%.20s/information",
		 bus_id);
	if (egs_proc_read(0, name, text, sizeof(text)) < 0)
		return -1;
	found = strstr(text, key);
	return found ? strtol(found + strlen(key), NULL, 10) : -1;
}

static int is_bus_id(const struct dirent *entry)
{
	return isxdigit((unsigned char)entry->d_name[0]);
}

/* Bus ids have leading zeros, so their order is that of their texts. */
static void add_gpus_by_bus_id(struct egs_node_gpus *gpus)
{
	char path[EGS_PROC_PATH_MAX];
	struct dirent **list = NULL;
	int n;

	egs_proc_path(path, 0, "driver/nvidia/gpus");
	n = scandir(path, &list, is_bus_id, alphasort);
	for (int i = 0; i < n; i++) {
		int64_t minor = read_minor(list[i]->d_name);

		if (minor >= 0)
			add_nvidia_gpu(gpus, (uint32_t)minor);
		free(list[i]);
	}
	free(list);
}

/* Without NVIDIA's driver in /proc, take what is in /dev. */
static void add_nvidia_files(struct egs_node_gpus *gpus)
{
	char name[40];
	struct stat is;

	add_gpus_by_bus_id(gpus);
	if (gpus->n)
		return;
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

int egs_node_gpus_find_slice(const struct egs_node_gpus *gpus,
			     uint32_t file_number, int gpu_instance,
			     int compute_instance)
{
	for (uint32_t i = 0; i < gpus->n; i++)
		if (gpus->is_slice[i] && gpus->file_number[i] == file_number &&
		    gpus->gpu_instance[i] == gpu_instance &&
		    gpus->compute_instance[i] == compute_instance)
			return (int)i;
	return -1;
}

uint32_t egs_node_gpus_count_instance(const struct egs_node_gpus *gpus,
				      int slice)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < gpus->n; i++)
		count += gpus->is_slice[i] &&
			 gpus->file_number[i] == gpus->file_number[slice] &&
			 gpus->gpu_instance[i] == gpus->gpu_instance[slice];
	return count;
}
