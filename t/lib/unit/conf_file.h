/* conf_file.h - egs.conf of a unit test, in a directory of its own
 *
 * conf_enter()		make a directory and change to it, so that sentences
 *			have short file names
 * conf_write(name, text)	write a file there
 * conf_load(text)	write egs.conf and load it; NULL with the reasons in
 *			'conf_problems' if it is refused
 * conf_leave()		remove the directory
 */
#ifndef EGS_CONF_FILE_H
#define EGS_CONF_FILE_H

#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"

static char conf_dir[] = "/tmp/egs-conf.XXXXXX";
static struct egs_conf_problems conf_problems;

static inline void conf_enter(void)
{
	if (!mkdtemp(conf_dir) || chdir(conf_dir) < 0)
		err(1, "%s", conf_dir);
}

static inline void conf_write_bytes(const char *name, const void *text,
				    size_t size)
{
	FILE *f;

	/* Some file systems wait for the disk when a file is cut and closed. */
	unlink(name);
	f = fopen(name, "we");
	if (!f || fwrite(text, 1, size, f) != size || fclose(f) != 0)
		err(1, "%s", name);
}

static inline void conf_write(const char *name, const char *text)
{
	conf_write_bytes(name, text, strlen(text));
}

static inline struct egs_conf *conf_load(const char *text)
{
	struct egs_conf *conf = NULL;

	conf_write("egs.conf", text);
	egs_conf_load(&conf, "egs.conf", &conf_problems);
	return conf;
}

/* Remove a file, or a directory that has no file but the daemon's lock. */
static inline void conf_remove(const char *name)
{
	char lock[300];

	snprintf(lock, sizeof(lock), "%s/.lock", name);
	unlink(lock);
	remove(name);
}

/* Remove the directory with its files and directories. */
static inline void conf_leave(void)
{
	DIR *dir = opendir(".");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			conf_remove(entry->d_name);
	if (!dir || closedir(dir) < 0 || chdir("/") < 0 || rmdir(conf_dir) < 0)
		err(1, "%s", conf_dir);
}

#endif
