/* dcgm_map.c - files that tell dcgm-exporter which jobs have which GPU */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "noded/dcgm_map.h"

/* dcgm-exporter skips a name that is not a number. */
#define NEW_PREFIX ".egs-"

/* ---- the directory ---- */

static bool is_map_file(const char *name)
{
	return isdigit((unsigned char)*name) &&
	       strspn(name, "0123456789.") == strlen(name);
}

static void remove_files(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	while (list && (entry = readdir(list)))
		if (is_map_file(entry->d_name) ||
		    strncmp(entry->d_name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0)
			unlinkat(fd, entry->d_name, 0);
	if (list)
		closedir(list);
	else if (again >= 0)
		close(again);
}

/* Another user could let us write through his links. */
static int check_owner(int fd, const char *path, struct egs_err *err)
{
	struct stat is;

	if (fstat(fd, &is) < 0)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	if (is.st_uid != geteuid() || is.st_mode & (S_IWGRP | S_IWOTH))
		return egs_errf(err,
				"%s must belong to root, and nobody else may "
				"write to it",
				path);
	return 0;
}

int egs_dcgm_map_open(struct egs_dcgm_map *map, const char *path,
		      struct egs_err *err)
{
	int fd;

	*map = (struct egs_dcgm_map){ .fd = -1 };
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return egs_errf(err, "%s: %s", path, strerror(errno));
	if (check_owner(fd, path, err) < 0) {
		close(fd);
		return -1;
	}
	remove_files(fd);
	map->fd = fd;
	return 0;
}

void egs_dcgm_map_close(struct egs_dcgm_map *map)
{
	if (map->fd < 0)
		return;
	remove_files(map->fd);
	close(map->fd);
	map->fd = -1;
}

/* ---- files ---- */

static struct egs_dcgm_file *find_file(struct egs_dcgm_files *files,
				       const char *name)
{
	for (uint32_t i = 0; i < files->n; i++)
		if (strcmp(files->file[i].name, name) == 0)
			return &files->file[i];
	return NULL;
}

void egs_dcgm_map_begin(struct egs_dcgm_map *map)
{
	map->now.n = 0;
}

void egs_dcgm_map_add(struct egs_dcgm_map *map, const char *gpu, uint32_t job)
{
	struct egs_dcgm_file *file = find_file(&map->now, gpu);

	if (!is_map_file(gpu))
		return;
	if (!file && map->now.n < EGS_GPU_SAMPLES_MAX) {
		file = &map->now.file[map->now.n++];
		*file = (struct egs_dcgm_file){ .njobs = 0 };
		snprintf(file->name, sizeof(file->name), "%s", gpu);
	}
	if (!file || file->njobs == EGS_DCGM_JOBS_MAX)
		return;
	for (uint32_t i = 0; i < file->njobs; i++)
		if (file->job[i] == job)
			return;
	file->job[file->njobs++] = job;
}

static bool is_same(const struct egs_dcgm_file *a,
		    const struct egs_dcgm_file *b)
{
	return a && b && a->njobs == b->njobs &&
	       memcmp(a->job, b->job, a->njobs * sizeof(a->job[0])) == 0;
}

static int write_text(int at, const char *name, const char *text)
{
	size_t len = strlen(text);
	int fd = openat(at, name,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0644);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, len);
	close(fd);
	return n == (ssize_t)len ? 0 : -1;
}

/* A reader sees the old file or the new one. */
static int write_file(int at, const struct egs_dcgm_file *file)
{
	char new[sizeof(NEW_PREFIX) + EGS_GPU_DEVICE_SIZE];
	char text[EGS_DCGM_JOBS_MAX * 12] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < file->njobs; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%" PRIu32 "\n", file->job[i]);
	snprintf(new, sizeof(new), NEW_PREFIX "%s", file->name);
	if (write_text(at, new, text) == 0 &&
	    renameat(at, new, at, file->name) == 0)
		return 0;
	unlinkat(at, new, 0);
	return -1;
}

static void remove_old_files(struct egs_dcgm_map *map)
{
	for (uint32_t i = 0; i < map->written.n; i++)
		if (!find_file(&map->now, map->written.file[i].name))
			unlinkat(map->fd, map->written.file[i].name, 0);
}

int egs_dcgm_map_end(struct egs_dcgm_map *map, struct egs_err *err)
{
	struct egs_dcgm_files done = { .n = 0 };
	int rc = 0;

	if (map->fd < 0)
		return 0;
	remove_old_files(map);
	for (uint32_t i = 0; i < map->now.n; i++) {
		const struct egs_dcgm_file *file = &map->now.file[i];

		if (!is_same(find_file(&map->written, file->name), file) &&
		    write_file(map->fd, file) < 0) {
			unlinkat(map->fd, file->name, 0);
			rc = egs_errf(err, "%s: %s", file->name,
				      strerror(errno));
			continue;
		}
		done.file[done.n++] = *file;
	}
	map->written = done;
	return rc;
}
