/* operators.c - who may change things: Operators= as uids, and Slurm's
 *
 * Names are looked up when the file is read and not when somebody asks: that
 * may take as long as a name server takes.  At a reload it is done aside, and
 * those of before are operators until it is done.  Slurm's own come with the
 * looks at it, as uids.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

/* 'uid' of a name that is nobody's. */
#define NO_USER ((uid_t)-1)

static int add(struct egs_operators *found, uid_t uid, const char *name)
{
	struct egs_operator *more =
		realloc(found->list, (found->n + 1) * sizeof(*more));

	if (!more)
		return -1;
	found->list = more;
	memset(&more[found->n], 0, sizeof(*more));
	more[found->n].uid = uid;
	snprintf(more[found->n].name, sizeof(more->name), "%s", name);
	found->n++;
	return 0;
}

static int add_user(struct egs_operators *found, const char *name,
		    const struct passwd *pw)
{
	return add(found, pw ? pw->pw_uid : NO_USER, pw ? pw->pw_name : name);
}

/* Root, the daemon's own user (Slurm's, as a rule), and those of the file:
 * an array of struct egs_operator, as bytes.
 */
static int look_up(const void *arg, char **bytes, size_t *len,
		   struct egs_err *err)
{
	const char *list = arg;
	struct egs_operators found = { NULL, 0 };
	char name[EGS_NAME_SIZE];
	int rc = add_user(&found, "root", getpwuid(0));

	if (rc == 0 && getuid() != 0)
		rc = add_user(&found, "?", getpwuid(getuid()));
	for (; rc == 0 && list && *list; list += strcspn(list, ",")) {
		list += *list == ',';
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(list, ","),
			 list);
		rc = add_user(&found, name, getpwnam(name));
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
	struct egs_operators *ours = &d->operators;
	size_t i;

	free(ours->list);
	ours->list = (struct egs_operator *)(void *)bytes;
	ours->n = len / sizeof(*ours->list);
	for (i = 0; i < ours->n; i++)
		if (ours->list[i].uid == NO_USER)
			egs_warning("Operators=%s: no such user",
				    ours->list[i].name);
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

void egs_daemon_slurms_operator(struct egs_daemon *d, uint32_t uid,
				const char *name)
{
	if (name) {
		if (add(&d->slurms_next, uid, name) < 0)
			egs_warning("operator %s of Slurm: out of memory",
				    name);
		return;
	}
	free(d->slurms.list);
	d->slurms = d->slurms_next;
	d->slurms_next = (struct egs_operators){ NULL, 0 };
}

void egs_daemon_slurms_forget(struct egs_daemon *d)
{
	free(d->slurms_next.list);
	d->slurms_next = (struct egs_operators){ NULL, 0 };
}

static const char *find(const struct egs_operators *in, uid_t uid)
{
	size_t i;

	for (i = 0; i < in->n; i++)
		if (in->list[i].uid == uid)
			return in->list[i].name;
	return NULL;
}

const char *egs_daemon_operator(const struct egs_daemon *d, uid_t uid)
{
	const char *name;

	if (uid == 0)
		return "root";
	if (uid == NO_USER)
		return NULL;
	name = find(&d->operators, uid);
	return name ? name : find(&d->slurms, uid);
}
