/* rundir_files.c - files inside a run directory: messages, answers, notices */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/node/rundir.h"

enum {
	MESSAGES_MAX = 256, /* limit of a scan; the next scan reads the rest */
	NAMES_MAX = 4096,   /* limit of a scan, with names of no message */
	SAFE_FLAGS = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
};

/* Open a directory of the user, with the user's permissions. */
static int open_subdir(const struct egs_rundir *dir, const char *name)
{
	int fd;

	egs_as_user_begin(dir->uid, dir->gid);
	fd = egs_rundir_open_inside(dir->fd, name,
				    O_RDONLY | O_DIRECTORY | SAFE_FLAGS, 0);
	egs_as_user_end();
	return fd;
}

int egs_rundir_open_out(const struct egs_rundir *dir)
{
	return open_subdir(dir, EGS_RUNDIR_OUT_DIR);
}

static bool is_message_name(const char *name)
{
	size_t i;

	for (i = 0; name[i]; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' &&
		    name[i] != '_')
			return false;
	return i > 0 && i <= EGS_RUNDIR_NAME_MAX;
}

/* Skip files with other names, for example names that start with a dot.
 */
void egs_rundir_each_message(const struct egs_rundir *dir,
			     void (*fn)(void *arg, const char *name), void *arg)
{
	int fd = egs_rundir_open_out(dir), n = 0, names = 0;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (n < MESSAGES_MAX && names++ < NAMES_MAX &&
	       (entry = readdir(list)))
		if (is_message_name(entry->d_name)) {
			fn(arg, entry->d_name);
			n++;
		}
	closedir(list);
}

/* Open a regular file that the user owns; -1: any other file, or an error. */
static int open_user_file(const struct egs_rundir *dir, int at,
			  const char *name, int flags)
{
	struct stat is;
	int fd;

	egs_as_user_begin(dir->uid, dir->gid);
	fd = egs_rundir_open_inside(at, name, flags | SAFE_FLAGS, 0600);
	egs_as_user_end();
	if (fd < 0)
		return -1;
	if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_uid == dir->uid)
		return fd;
	close(fd);
	return -1;
}

ssize_t egs_rundir_read_message(const struct egs_rundir *dir, const char *name,
				char text[EGS_RUNDIR_MESSAGE_MAX + 1])
{
	int out = egs_rundir_open_out(dir);
	int fd = out < 0 ? -1 : open_user_file(dir, out, name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, EGS_RUNDIR_MESSAGE_MAX + 1);

	if (fd >= 0)
		close(fd);
	if (out >= 0)
		close(out);
	if (n < 0 || n > EGS_RUNDIR_MESSAGE_MAX)
		return -1;
	text[n] = '\0';
	return n;
}

int egs_rundir_drop_message(const struct egs_rundir *dir, const char *name)
{
	int out = egs_rundir_open_out(dir), rc;

	if (out < 0)
		return -1;
	egs_as_user_begin(dir->uid, dir->gid);
	rc = unlinkat(out, name, 0);
	egs_as_user_end();
	close(out);
	return rc;
}

/* Replace the content of 'name' in 'at' by 'text', atomically, as the user. */
static int replace_file(const struct egs_rundir *dir, int at, const char *name,
			const char *text, size_t len)
{
	char new[EGS_RUNDIR_NAME_MAX + 8];
	int fd, rc = -1;

	snprintf(new, sizeof(new), ".%s.new", name);
	egs_as_user_begin(dir->uid, dir->gid);
	unlinkat(at, new, 0);
	egs_as_user_end();
	fd = open_user_file(dir, at, new, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return -1;
	egs_as_user_begin(dir->uid, dir->gid);
	if (write(fd, text, len) == (ssize_t)len)
		rc = renameat(at, new, at, name);
	if (rc < 0)
		unlinkat(at, new, 0);
	egs_as_user_end();
	close(fd);
	return rc;
}

int egs_rundir_write_answer(const struct egs_rundir *dir, const char *name,
			    const char *text, size_t len)
{
	int in = open_subdir(dir, EGS_RUNDIR_IN_DIR), rc;

	if (in < 0)
		return -1;
	rc = replace_file(dir, in, name, text, len);
	close(in);
	return rc;
}

/* ---- notices ---- */

static int write_at(int fd, const void *from, size_t size, size_t at)
{
	return pwrite(fd, from, size, (off_t)at) == (ssize_t)size ? 0 : -1;
}

/* The number is 0 (no notice) while the other fields change, so that a reader
 * never uses fields of two notices.
 */
static int write_flag(const struct egs_rundir *dir,
		      const struct egs_rundir_notice *notice)
{
	const size_t at = offsetof(struct egs_rundir_flag, notice);
	const uint32_t none = 0;
	struct egs_rundir_flag flag = { .notice = 0 };
	int fd = open_user_file(dir, dir->fd, EGS_RUNDIR_FLAG_FILE,
				O_RDWR | O_CREAT);
	int rc = -1;

	if (fd < 0)
		return -1;
	memcpy(flag.magic, EGS_RUNDIR_FLAG_MAGIC, sizeof(flag.magic));
	flag.kind = notice->number ? notice->kind : EGS_NOTICE_NONE;
	flag.deadline = notice->number ? notice->deadline_s : 0;
	flag.gpus = notice->number ? notice->gpus : 0;
	if (write_at(fd, &none, sizeof(none), at) == 0 &&
	    write_at(fd, &flag, sizeof(flag), 0) == 0)
		rc = write_at(fd, &notice->number, sizeof(notice->number), at);
	close(fd);
	return rc;
}

static int write_notice_file(const struct egs_rundir *dir,
			     const struct egs_rundir_notice *notice)
{
	struct egs_text clean;
	char gpus[24] = "", text[EGS_ERR_MAX + 160];
	int n;

	egs_textf(&clean, "%s", notice->reason ? notice->reason : "");
	if (notice->kind == EGS_NOTICE_SHRINK)
		snprintf(gpus, sizeof(gpus), "gpus=%" PRIu32 "\n",
			 notice->gpus);
	n = snprintf(text, sizeof(text),
		     "request=%" PRIu32 "\nkind=%s\n%sdeadline=%" PRId64
		     "\nreason=%s\n",
		     notice->number,
		     notice->kind == EGS_NOTICE_SHRINK ? "shrink" : "yield",
		     gpus, notice->deadline_s, clean.text);
	return replace_file(dir, dir->fd, EGS_RUNDIR_NOTICE_FILE, text,
			    (size_t)n);
}

/* The file is written before the flag is set, and removed after the flag is
 * cleared.
 */
int egs_rundir_write_notice(const struct egs_rundir *dir,
			    const struct egs_rundir_notice *notice)
{
	int file, flag;

	if (notice->number) {
		file = write_notice_file(dir, notice);
		flag = write_flag(dir, notice);
		return file < 0 ? file : flag;
	}
	flag = write_flag(dir, notice);
	egs_as_user_begin(dir->uid, dir->gid);
	file = unlinkat(dir->fd, EGS_RUNDIR_NOTICE_FILE, 0);
	egs_as_user_end();
	return file < 0 && errno != ENOENT ? -1 : flag;
}
