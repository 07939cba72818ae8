/* spool.c - messages of jobs that egs-policyd has not answered yet */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc/msg.h"
#include "noded/spool.h"

enum {
	NAME_SIZE = 32,
	/* In the JSON string a byte of the message may become six. */
	FILE_MAX = 8 * EGS_RUNDIR_MESSAGE_MAX,
};

static void format_file_name(char name[NAME_SIZE], uint64_t number)
{
	snprintf(name, NAME_SIZE, "%020" PRIu64, number);
}

/* ---- reading ---- */

static void insert_message(struct egs_spool *spool,
			   struct egs_spool_message *new)
{
	struct egs_spool_message *after;

	spool->n++;
	if (new->number > spool->last_number)
		spool->last_number = new->number;
	TAILQ_FOREACH_REVERSE(after, &spool->list, egs_spool_queue, link)
	if (after->number < new->number) {
		TAILQ_INSERT_AFTER(&spool->list, after, new, link);
		return;
	}
	TAILQ_INSERT_HEAD(&spool->list, new, link);
}

static void free_message(struct egs_spool_message *message)
{
	if (message)
		free(message->text);
	free(message);
}

static struct egs_spool_message *new_message(uint64_t number, uint32_t job,
					     uid_t uid, const char *name,
					     const char *text)
{
	struct egs_spool_message *message = calloc(1, sizeof(*message));

	if (message)
		message->text = strdup(text);
	if (!message || !message->text ||
	    strlen(name) >= sizeof(message->name)) {
		free_message(message);
		return NULL;
	}
	message->number = number;
	message->job = job;
	message->uid = uid;
	memcpy(message->name, name, strlen(name) + 1);
	return message;
}

static struct egs_spool_message *parse_message(const struct egs_msg *msg,
					       uint64_t number)
{
	const char *name = egs_msg_get_str(msg, "name");
	const char *text = egs_msg_get_str(msg, "request");
	int64_t job = 0, uid = -1;
	struct egs_spool_message *message;

	if (!name || !text || !egs_msg_get_int(msg, "job", &job) ||
	    !egs_msg_get_int(msg, "uid", &uid) || job < 1 || job > UINT32_MAX ||
	    uid < 0 || uid > UINT32_MAX)
		return NULL;
	message = new_message(number, (uint32_t)job, (uid_t)uid, name, text);
	if (message)
		egs_msg_get_int(msg, "at", &message->received_s);
	return message;
}

static struct egs_spool_message *load_message(const struct egs_spool *spool,
					      const char *name)
{
	int fd = openat(spool->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	static char bytes[FILE_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	struct egs_spool_message *message = NULL;
	struct egs_msg *msg;

	if (fd >= 0)
		close(fd);
	msg = n < 0 ? NULL : egs_msg_parse(bytes, (size_t)n, FILE_MAX, NULL);
	if (msg)
		message = parse_message(msg, strtoull(name, NULL, 10));
	egs_msg_free(msg);
	return message;
}

/* Rename an unreadable file, so that the next start does not read it again. */
static void load_or_set_aside(struct egs_spool *spool, const char *name)
{
	struct egs_spool_message *message = load_message(spool, name);
	char bad[NAME_SIZE + 8];

	if (message) {
		insert_message(spool, message);
		return;
	}
	snprintf(bad, sizeof(bad), ".bad-%.24s", name);
	renameat(spool->fd, name, spool->fd, bad);
}

static int load_messages(struct egs_spool *spool, struct egs_err *err)
{
	int fd = openat(spool->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!list)
		return egs_errf(err, "spool not readable: %s", strerror(errno));
	while ((entry = readdir(list)))
		if (isdigit((unsigned char)entry->d_name[0]))
			load_or_set_aside(spool, entry->d_name);
	closedir(list);
	return 0;
}

/* ---- opening ---- */

static int open_dir(int at, const char *name, struct egs_err *err)
{
	struct stat is;
	int fd;

	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return egs_errf(err, "%s: %s", name, strerror(errno));
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return egs_errf(err, "%s: %s", name, strerror(errno));
	if (fstat(fd, &is) == 0 && is.st_uid == geteuid() &&
	    fchmod(fd, 0700) == 0)
		return fd;
	close(fd);
	return egs_errf(err, "%s belongs to another user", name);
}

int egs_spool_open(struct egs_spool *spool, const char *path, const char *node,
		   struct egs_err *err)
{
	int parent = open_dir(AT_FDCWD, path, err);

	*spool = (struct egs_spool){ .fd = -1 };
	TAILQ_INIT(&spool->list);
	if (parent < 0)
		return -1;
	spool->fd = open_dir(parent, node, err);
	close(parent);
	return spool->fd < 0 ? -1 : load_messages(spool, err);
}

void egs_spool_close(struct egs_spool *spool)
{
	struct egs_spool_message *message;

	while ((message = TAILQ_FIRST(&spool->list))) {
		TAILQ_REMOVE(&spool->list, message, link);
		free_message(message);
	}
	if (spool->fd >= 0)
		close(spool->fd);
	spool->fd = -1;
}

/* ---- one message ---- */

bool egs_spool_has_room(const struct egs_spool *spool, uint32_t job)
{
	const struct egs_spool_message *message;
	size_t n = 0;

	TAILQ_FOREACH(message, &spool->list, link)
	n += message->job == job;
	return n < EGS_SPOOL_JOB_MAX && spool->n < EGS_SPOOL_MAX;
}

struct egs_spool_message *egs_spool_find(const struct egs_spool *spool,
					 uint32_t job, uid_t uid,
					 const char *name)
{
	struct egs_spool_message *message;

	TAILQ_FOREACH(message, &spool->list, link)
	if (message->job == job && message->uid == uid &&
	    strcmp(message->name, name) == 0)
		return message;
	return NULL;
}

/* Write the complete file to disk, or no file. */
static int write_file(int dir, const char *name, const char *text, size_t len)
{
	static const char new[] = ".new";
	int fd, rc = -1;

	unlinkat(dir, new, 0);
	fd = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	if (write(fd, text, len) == (ssize_t)len && fsync(fd) == 0)
		rc = renameat(dir, new, dir, name);
	close(fd);
	return rc < 0 || fsync(dir) < 0 ? -1 : 0;
}

static int save_message(const struct egs_spool *spool,
			const struct egs_spool_message *message)
{
	struct egs_msg *msg = egs_msg_new();
	char name[NAME_SIZE];
	const char *text;
	size_t len;
	int rc;

	if (!msg)
		return -1;
	egs_msg_set_int(msg, "job", message->job);
	egs_msg_set_int(msg, "uid", message->uid);
	egs_msg_set_int(msg, "at", message->received_s);
	egs_msg_set_str(msg, "name", message->name);
	egs_msg_set_str(msg, "request", message->text);
	format_file_name(name, message->number);
	text = egs_msg_to_text(msg, &len);
	rc = text ? write_file(spool->fd, name, text, len) : -1;
	egs_msg_free(msg);
	return rc;
}

struct egs_spool_message *egs_spool_add(struct egs_spool *spool, uint32_t job,
					uid_t uid, const char *name,
					const char *text, struct egs_err *err)
{
	struct egs_spool_message *message =
		new_message(spool->last_number + 1, job, uid, name, text);

	if (!message) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	message->received_s = time(NULL);
	if (save_message(spool, message) < 0) {
		egs_errf(err, "spool not writable: %s", strerror(errno));
		free_message(message);
		return NULL;
	}
	insert_message(spool, message);
	return message;
}

void egs_spool_drop(struct egs_spool *spool, struct egs_spool_message *message)
{
	char name[NAME_SIZE];

	format_file_name(name, message->number);
	unlinkat(spool->fd, name, 0);
	TAILQ_REMOVE(&spool->list, message, link);
	spool->n--;
	free_message(message);
}
