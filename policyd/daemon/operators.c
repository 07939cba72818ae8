/* operators.c - operators of egs.conf and of Slurm, as uids
 *
 * The daemon looks names up when it reads egs.conf, not with each request,
 * because a name server may be slow.  At a reload a child process looks names
 * up, and the previous operators stay until it is done.  Each poll returns the
 * operators of Slurm, as uids.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/list.h"
#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

/* The uid for a name that no user has. */
#define NO_USER ((uid_t)-1)

static int add_operator(struct egs_operator_list *found, uid_t uid,
			const char *name)
{
	struct egs_operator *new;

	if (egs_grow(&found->list, &found->room, found->n + 1) < 0)
		return -1;
	new = &found->list[found->n++];
	new->uid = uid;
	snprintf(new->name, sizeof(new->name), "%s", name);
	return 0;
}

static int add_user(struct egs_operator_list *found, const char *name,
		    const struct passwd *pw)
{
	return add_operator(found, pw ? pw->pw_uid : NO_USER,
			    pw ? pw->pw_name : name);
}

/* Returns root, the daemon's own user (usually SlurmUser) and Operators=, as
 * the bytes of an array of struct egs_operator.
 */
static int resolve_operators(const void *arg, char **bytes, size_t *len,
			     struct egs_err *err)
{
	const char *list = arg;
	struct egs_operator_list found = { .n = 0 };
	char name[EGS_NAME_SIZE];
	const char *entry;
	size_t n;
	int rc = add_user(&found, "root", getpwuid(0));

	if (rc == 0 && getuid() != 0)
		rc = add_user(&found, "?", getpwuid(getuid()));
	while (rc == 0 && (entry = egs_list_next(&list, &n))) {
		snprintf(name, sizeof(name), "%.*s", (int)n, entry);
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

/* Takes ownership of 'bytes'. */
static void install_operators(struct egs_daemon *d, char *bytes, size_t len)
{
	struct egs_operator_list *ours = &d->operators.configured;

	free(ours->list);
	ours->list = (struct egs_operator *)(void *)bytes;
	ours->n = ours->room = len / sizeof(*ours->list);
	for (size_t i = 0; i < ours->n; i++)
		if (ours->list[i].uid == NO_USER)
			egs_log_warn("Operators=%s: no such user",
				     ours->list[i].name);
}

int egs_daemon_find_operators(struct egs_daemon *d, struct egs_err *err)
{
	char *bytes;
	size_t len;

	if (resolve_operators(egs_daemon_conf(d)->operators, &bytes, &len,
			      err) < 0)
		return -1;
	install_operators(d, bytes, len);
	return 0;
}

static void cancel_refresh(struct egs_daemon *d)
{
	egs_watch_free(d->operators.watch);
	d->operators.watch = NULL;
	egs_child_stop(&d->operators.lookup);
}

static void on_lookup_done(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;
	struct egs_err err;
	int rc = egs_child_read(&d->operators.lookup, &err);

	(void)events;
	if (rc > 0)
		return;
	if (rc < 0) {
		egs_log_warn("Operators=: %s", err.msg);
	} else {
		install_operators(d, d->operators.lookup.bytes,
				  d->operators.lookup.len);
		d->operators.lookup.bytes = NULL;
	}
	cancel_refresh(d);
}

void egs_daemon_refresh_operators(struct egs_daemon *d)
{
	struct egs_err err;

	cancel_refresh(d);
	if (egs_child_start(&d->operators.lookup, resolve_operators,
			    egs_daemon_conf(d)->operators, &err) == 0)
		d->operators.watch =
			egs_loop_add_fd(d->loop, d->operators.lookup.fd,
					EPOLLIN, on_lookup_done, d, &err);
	if (d->operators.watch)
		return;
	egs_log_warn("Operators=: %s; the previous operators stay", err.msg);
	cancel_refresh(d);
}

void egs_daemon_add_slurm_operator(struct egs_daemon *d, uint32_t uid,
				   const char *name)
{
	if (name) {
		if (add_operator(&d->operators.slurm_next, uid, name) < 0)
			egs_log_warn("operator %s of Slurm: out of memory",
				     name);
		return;
	}
	free(d->operators.slurm.list);
	d->operators.slurm = d->operators.slurm_next;
	d->operators.slurm_next = (struct egs_operator_list){ .n = 0 };
}

void egs_daemon_drop_slurm_operators(struct egs_daemon *d)
{
	free(d->operators.slurm_next.list);
	d->operators.slurm_next = (struct egs_operator_list){ .n = 0 };
}

static const char *find_operator(const struct egs_operator_list *in, uid_t uid)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->list[i].uid == uid)
			return in->list[i].name;
	return NULL;
}

const char *egs_daemon_operator_name(const struct egs_daemon *d, uid_t uid)
{
	const char *name;

	if (uid == 0)
		return "root";
	if (uid == NO_USER)
		return NULL;
	name = find_operator(&d->operators.configured, uid);
	return name ? name : find_operator(&d->operators.slurm, uid);
}

void egs_daemon_free_operators(struct egs_daemon *d)
{
	cancel_refresh(d);
	free(d->operators.configured.list);
	free(d->operators.slurm.list);
	free(d->operators.slurm_next.list);
}
