/* device_groups.c - the control groups that control the devices of a step */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/node/device_groups.h"
#include "common/node/proc.h"

enum { LINE_SIZE = 4096, DEPTH_MAX = 6 };

/* ---- mounts ---- */

/* A line of mountinfo: "31 24 0:27 ROOT PATH rw - TYPE SOURCE OPTIONS". */
struct mount_line {
	const char *root, *path, *type, *options;
};

static bool parse_mount(char *line, struct mount_line *m)
{
	char *words[64], *word;
	size_t n = 0, dash = 0;

	while (n < ARRAY_SIZE(words) && (word = strsep(&line, " \n"))) {
		if (strcmp(word, "-") == 0)
			dash = n;
		words[n++] = word;
	}
	if (dash < 6 || dash + 3 >= n)
		return false;
	*m = (struct mount_line){ words[3], words[4], words[dash + 1],
				  words[dash + 3] };
	return true;
}

/* Is 'word' in the list of words with commas? */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, word, len) == 0 && (at[len] == ',' || !at[len]))
			return true;
	}
	return false;
}

static bool is_hierarchy(enum egs_device_groups_kind kind,
			 const struct mount_line *m)
{
	if (kind == EGS_DEVICE_GROUPS_V2)
		return strcmp(m->type, "cgroup2") == 0;
	return strcmp(m->type, "cgroup") == 0 &&
	       has_word(m->options, "devices");
}

/* Returns the rest of 'group' below 'root', or NULL if it is not below. */
static const char *find_rest(const char *group, const char *root)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(group, root, len) != 0 ||
	    (group[len] != '/' && group[len] != '\0'))
		return NULL;
	return group + len;
}

/* Write the directory of 'group', a path in its hierarchy. */
static int find_dir(enum egs_device_groups_kind kind, const char *group,
		    char path[EGS_DEVICE_GROUP_SIZE])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[LINE_SIZE];
	int rc = -1;

	while (f && rc < 0 && fgets(line, sizeof(line), f)) {
		struct mount_line m;
		const char *rest;

		if (!parse_mount(line, &m) || !is_hierarchy(kind, &m))
			continue;
		rest = find_rest(group, m.root);
		/* Another mount may hide this one. */
		if (rest && snprintf(path, EGS_DEVICE_GROUP_SIZE, "%s%s",
				     m.path, rest) < EGS_DEVICE_GROUP_SIZE)
			rc = access(path, F_OK);
	}
	if (f)
		fclose(f);
	return rc;
}

int egs_device_groups_find_root(enum egs_device_groups_kind kind,
				char path[EGS_DEVICE_GROUP_SIZE])
{
	return find_dir(kind, "/", path);
}

/* ---- groups ---- */

/* A line of /proc/PID/cgroup: "5:devices:PATH", "0::PATH". */
static char *parse_group(char *line, enum egs_device_groups_kind kind)
{
	char *names = strchr(line, ':');
	char *path = names ? strchr(names + 1, ':') : NULL;

	if (!path)
		return NULL;
	*names++ = '\0';
	*path++ = '\0';
	if (kind == EGS_DEVICE_GROUPS_V2)
		return strcmp(line, "0") == 0 && !*names ? path : NULL;
	return has_word(names, "devices") ? path : NULL;
}

int egs_device_groups_find_step(enum egs_device_groups_kind kind, pid_t pid,
				char path[EGS_DEVICE_GROUP_SIZE])
{
	char text[LINE_SIZE], *rest = text, *line, *group = NULL, *step;

	if (egs_proc_read(pid, "cgroup", text, sizeof(text)) < 0)
		return -1;
	while (!group && (line = strsep(&rest, "\n")))
		group = parse_group(line, kind);
	step = group ? strstr(group, "/step_") : NULL;
	if (!step)
		return -1;
	step[1 + strcspn(step + 1, "/")] = '\0';
	return find_dir(kind, group, path);
}

static int walk_groups(const char *path, egs_device_groups_fn *fn, void *arg,
		       int depth)
{
	int rc = fn(arg, path);
	DIR *dir = rc == 0 && depth < DEPTH_MAX ? opendir(path) : NULL;
	const struct dirent *entry;
	char below[EGS_DEVICE_GROUP_SIZE];

	while (dir && rc == 0 && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && *entry->d_name != '.' &&
		    snprintf(below, sizeof(below), "%s/%s", path,
			     entry->d_name) < (int)sizeof(below))
			rc = walk_groups(below, fn, arg, depth + 1);
	if (dir)
		closedir(dir);
	return rc;
}

int egs_device_groups_each(const char *path, egs_device_groups_fn *fn,
			   void *arg)
{
	return walk_groups(path, fn, arg, 0);
}
