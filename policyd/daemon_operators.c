/* daemon_operators.c - who may change things: Operators= as uids
 *
 * Names are looked up when the file is read and not when somebody asks: that
 * may take as long as a name server takes.  At a reload it is done aside, and
 * those of before are operators until it is done.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "policyd/daemon.h"
#include "policyd/wire/log.h"

/* 'uid' of a name that is nobody's. */
#define NO_USER ((uid_t)-1)

struct found {
	struct egs_operator *list;
	size_t n;
};

static int add(struct found *found, const char *name, const struct passwd *pw)
{
	struct egs_operator *more =
		realloc(found->list, (found->n + 1) * sizeof(*more));

	if (!more)
		return -1;
	found->list = more;
	memset(&more[found->n], 0, sizeof(*more));
	more[found->n].uid = pw ? pw->pw_uid : NO_USER;
	snprintf(more[found->n].name, sizeof(more->name), "%s",
		 pw ? pw->pw_name : name);
	found->n++;
	return 0;
}

/* Root, the daemon's own user (Slurm's, as a rule), and those of the file:
 * an array of struct egs_operator, as bytes.
 */
static int look_up(const void *arg, char **bytes, size_t *len,
		   struct egs_err *err)
{
	const char *list = arg;
	struct found found = { NULL, 0 };
	char name[EGS_NAME_SIZE];
	int rc = add(&found, "root", getpwuid(0));

	if (rc == 0 && getuid() != 0)
		rc = add(&found, "?", getpwuid(getuid()));
	for (; rc == 0 && list && *list; list += strcspn(list, ",")) {
		list += *list == ',';
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(list, ","),
			 list);
		rc = add(&found, name, getpwnam(name));
	}
	if (rc < 0) {
		free(found.list);
		egs_errf(err, "Operators=: out of memory");
		return -1;
	}
	*bytes = (char *)found.list;
	*len = found.n * sizeof(*found.list);
	return 0;
}

/* Take over what was found, and the bytes with it. */
static void install(struct egs_daemon *d, char *bytes, size_t len)
{
	size_t i;

	free(d->operators);
	d->operators = (struct egs_operator *)(void *)bytes;
	d->noperators = len / sizeof(*d->operators);
	for (i = 0; i < d->noperators; i++)
		if (d->operators[i].uid == NO_USER)
			egs_warning("Operators=%s: no such user",
				    d->operators[i].name);
}

int egs_daemon_find_operators(struct egs_daemon *d, struct egs_err *err)
{
	char *bytes;
	size_t len;

	if (look_up(egs_daemon_policy(d)->operators, &bytes, &len, err) < 0)
		return -1;
	install(d, bytes, len);
	return 0;
}

void egs_daemon_end_operators(struct egs_daemon *d)
{
	egs_watch_free(d->names_news);
	d->names_news = NULL;
	egs_aside_end(&d->names);
}

static void on_news(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;
	struct egs_err err;
	int rc = egs_aside_read(&d->names, &err);

	(void)events;
	if (rc > 0)
		return;
	if (rc < 0) {
		egs_warning("Operators=: %s", err.msg);
	} else {
		install(d, d->names.bytes, d->names.len);
		d->names.bytes = NULL;
	}
	egs_daemon_end_operators(d);
}

void egs_daemon_look_up_operators(struct egs_daemon *d)
{
	struct egs_err err;

	egs_daemon_end_operators(d);
	if (egs_aside_start(&d->names, look_up, egs_daemon_policy(d)->operators,
			    &err) == 0)
		d->names_news = egs_loop_fd(d->loop, d->names.fd, EPOLLIN,
					    on_news, d, &err);
	if (d->names_news)
		return;
	egs_warning("Operators=: %s; those of before stay", err.msg);
	egs_daemon_end_operators(d);
}

const char *egs_daemon_operator(const struct egs_daemon *d, uid_t uid)
{
	size_t i;

	for (i = 0; uid != NO_USER && i < d->noperators; i++)
		if (d->operators[i].uid == uid)
			return d->operators[i].name;
	return uid == 0 ? "root" : NULL;
}
