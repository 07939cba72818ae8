/* spool.c - what jobs have said and egs-policyd has not answered yet */
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
	/* A message in a message: each of its bytes may become six. */
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

static void free_message(struct egs_spool_message *said)
{
	if (said)
		free(said->text);
	free(said);
}

static struct egs_spool_message *new_message(uint64_t number, uint32_t job,
					     uid_t uid, const char *name,
					     const char *text)
{
	struct egs_spool_message *said = calloc(1, sizeof(*said));

	if (said)
		said->text = strdup(text);
	if (!said || !said->text || strlen(name) >= sizeof(said->name)) {
		free_message(said);
		return NULL;
	}
	said->number = number;
	said->job = job;
	said->uid = uid;
	memcpy(said->name, name, strlen(name) + 1);
	return said;
}

static struct egs_spool_message *parse_message(const struct egs_msg *msg,
					       uint64_t number)
{
	const char *name = egs_msg_get_str(msg, "name");
	const char *text = egs_msg_get_str(msg, "request");
	int64_t job = 0, uid = -1;
	struct egs_spool_message *said;

	if (!name || !text || !egs_msg_get_int(msg, "job", &job) ||
	    !egs_msg_get_int(msg, "uid", &uid) || job < 1 || job > UINT32_MAX ||
	    uid < 0 || uid > UINT32_MAX)
		return NULL;
	said = new_message(number, (uint32_t)job, (uid_t)uid, name, text);
	if (said)
		egs_msg_get_int(msg, "at", &said->received_s);
	return said;
}

static struct egs_spool_message *load_message(const struct egs_spool *spool,
					      const char *name)
{
	int fd = openat(spool->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	static char bytes[FILE_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	struct egs_spool_message *said = NULL;
	struct egs_msg *msg;

	if (fd >= 0)
		close(fd);
	msg = n < 0 ? NULL : egs_msg_parse(bytes, (size_t)n, FILE_MAX, NULL);
	if (msg)
		said = parse_message(msg, strtoull(name, NULL, 10));
	egs_msg_free(msg);
	return said;
}

/* What cannot be read helps nobody when it is read again at each start. */
static void load_or_set_aside(struct egs_spool *spool, const char *name)
{
	struct egs_spool_message *said = load_message(spool, name);
	char bad[NAME_SIZE + 8];

	if (said) {
		insert_message(spool, said);
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
		return egs_errf(err, "the spool: %s", strerror(errno));
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
	struct egs_spool_message *said;

	while ((said = TAILQ_FIRST(&spool->list))) {
		TAILQ_REMOVE(&spool->list, said, link);
		free_message(said);
	}
	if (spool->fd >= 0)
		close(spool->fd);
	spool->fd = -1;
}

/* ---- one message ---- */

bool egs_spool_has_room(const struct egs_spool *spool, uint32_t job)
{
	const struct egs_spool_message *said;
	size_t n = 0;

	TAILQ_FOREACH(said, &spool->list, link)
	n += said->job == job;
	return n < EGS_SPOOL_JOB_MAX && spool->n < EGS_SPOOL_MAX;
}

struct egs_spool_message *egs_spool_find(const struct egs_spool *spool,
					 uint32_t job, uid_t uid,
					 const char *name)
{
	struct egs_spool_message *said;

	TAILQ_FOREACH(said, &spool->list, link)
	if (said->job == job && said->uid == uid &&
	    strcmp(said->name, name) == 0)
		return said;
	return NULL;
}

/* On disk under its name, or not at all. */
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
			const struct egs_spool_message *said)
{
	struct egs_msg *msg = egs_msg_new();
	char name[NAME_SIZE];
	const char *text;
	size_t len;
	int rc;

	if (!msg)
		return -1;
	egs_msg_set_int(msg, "job", said->job);
	egs_msg_set_int(msg, "uid", said->uid);
	egs_msg_set_int(msg, "at", said->received_s);
	egs_msg_set_str(msg, "name", said->name);
	egs_msg_set_str(msg, "request", said->text);
	format_file_name(name, said->number);
	text = egs_msg_to_text(msg, &len);
	rc = text ? write_file(spool->fd, name, text, len) : -1;
	egs_msg_free(msg);
	return rc;
}

struct egs_spool_message *egs_spool_add(struct egs_spool *spool, uint32_t job,
					uid_t uid, const char *name,
					const char *text, struct egs_err *err)
{
	struct egs_spool_message *said =
		new_message(spool->last_number + 1, job, uid, name, text);

	if (!said) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	said->received_s = time(NULL);
	if (save_message(spool, said) < 0) {
		egs_errf(err, "the spool: %s", strerror(errno));
		free_message(said);
		return NULL;
	}
	insert_message(spool, said);
	return said;
}

void egs_spool_drop(struct egs_spool *spool, struct egs_spool_message *said)
{
	char name[NAME_SIZE];

	format_file_name(name, said->number);
	unlinkat(spool->fd, name, 0);
	TAILQ_REMOVE(&spool->list, said, link);
	spool->n--;
	free_message(said);
}
