/* operators.c - operators of egs.conf and of Slurm, and coordinators, as uids
 *
 * The daemon looks names up when it reads egs.conf, not with each request,
 * because a name server may be slow.  At a reload a child process looks names
 * up, and the previous operators stay until it is done.  judge.h reports names
 * that no user has.  Each poll returns the operators of Slurm, as uids.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
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
	new->is_web = false;
	snprintf(new->name, sizeof(new->name), "%s", name);
	return 0;
}

static int add_user(struct egs_operator_list *found, const char *name,
		    const struct passwd *pw)
{
	return add_operator(found, pw ? pw->pw_uid : NO_USER,
			    pw ? pw->pw_name : name);
}

/* Returns root, the daemon's own user (usually SlurmUser), Operators= and
 * WebUser= of a configuration, as the bytes of an array of struct egs_operator.
 */
static int resolve_operators(const void *arg, char **bytes, size_t *len,
			     struct egs_err *err)
{
	const struct egs_policy_conf *conf = arg;
	const char *list = conf->operators;
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
	if (rc == 0 && conf->web_user) {
		rc = add_user(&found, conf->web_user, getpwnam(conf->web_user));
		if (rc == 0)
			found.list[found.n - 1].is_web = true;
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

/* Replace the list by 'bytes', and take ownership of them. */
static void replace_list(struct egs_operator_list *list, char *bytes,
			 size_t len)
{
	free(list->list);
	list->list = (struct egs_operator *)(void *)bytes;
	list->n = list->room = len / sizeof(*list->list);
}

int egs_daemon_find_operators(struct egs_daemon *d, struct egs_err *err)
{
	char *bytes;
	size_t len;

	if (resolve_operators(egs_daemon_conf(d), &bytes, &len, err) < 0)
		return -1;
	replace_list(&d->operators.configured, bytes, len);
	return 0;
}

static void end_lookup(struct egs_daemon *d)
{
	egs_watch_free(d->operators.watch);
	d->operators.watch = NULL;
	egs_child_stop(&d->operators.lookup);
}

void egs_daemon_forget_operators(struct egs_daemon *d)
{
	end_lookup(d);
	replace_list(&d->operators.found, NULL, 0);
}

void egs_daemon_use_operators(struct egs_daemon *d)
{
	struct egs_operator_list found = d->operators.found;

	if (!found.list)
		return;
	d->operators.found = (struct egs_operator_list){ .n = 0 };
	replace_list(&d->operators.configured, (char *)found.list,
		     found.n * sizeof(*found.list));
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
		egs_log_warn("Operators=: %s; the previous operators stay",
			     err.msg);
	} else {
		replace_list(&d->operators.found, d->operators.lookup.bytes,
			     d->operators.lookup.len);
		d->operators.lookup.bytes = NULL;
	}
	end_lookup(d);
	if (d->reload.conf)
		egs_daemon_continue_reload(d);
	else
		egs_daemon_use_operators(d);
}

void egs_daemon_look_up_operators(struct egs_daemon *d,
				  const struct egs_policy_conf *conf)
{
	struct egs_err err;

	egs_daemon_forget_operators(d);
	if (egs_child_start(&d->operators.lookup, resolve_operators, conf,
			    &err) == 0)
		d->operators.watch =
			egs_loop_add_fd(d->loop, d->operators.lookup.fd,
					EPOLLIN, on_lookup_done, d, &err);
	if (d->operators.watch)
		return;
	egs_log_warn("Operators=: %s; the previous operators stay", err.msg);
	end_lookup(d);
}

bool egs_daemon_is_looking_up(const struct egs_daemon *d)
{
	return d->operators.watch != NULL;
}

static void add_users(const struct egs_operator_list *list,
		      struct egs_intern *users)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->list[i].uid != NO_USER)
			egs_intern_add(users, list->list[i].name);
}

bool egs_daemon_list_users(const struct egs_daemon *d, struct egs_intern *users)
{
	const struct egs_operators *o = &d->operators;

	if (d->reload.conf && !o->found.list)
		return false;
	add_users(d->reload.conf ? &o->found : &o->configured, users);
	return true;
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

static int append_coordinator(struct egs_coordinator_list *list, uid_t uid,
			      const char *name, const char *account)
{
	struct egs_coordinator *new;

	if (egs_grow(&list->list, &list->room, list->n + 1) < 0)
		return -1;
	new = &list->list[list->n++];
	new->uid = uid;
	snprintf(new->name, sizeof(new->name), "%s", name);
	snprintf(new->account, sizeof(new->account), "%s", account);
	return 0;
}

void egs_daemon_add_coordinator(struct egs_daemon *d, uint32_t uid,
				const char *name, const char *account)
{
	struct egs_operators *o = &d->operators;

	if (name) {
		/* A longer name would be cut, and might be another's. */
		if (strlen(account) < EGS_NAME_SIZE &&
		    append_coordinator(&o->coordinators_next, uid, name,
				       account) < 0)
			egs_log_warn("coordinator %s: out of memory", name);
		return;
	}
	free(o->coordinators.list);
	o->coordinators = o->coordinators_next;
	o->coordinators_next = (struct egs_coordinator_list){ .n = 0 };
}

void egs_daemon_drop_slurm_operators(struct egs_daemon *d)
{
	free(d->operators.coordinators_next.list);
	d->operators.coordinators_next =
		(struct egs_coordinator_list){ .n = 0 };
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

bool egs_daemon_is_web_user(const struct egs_daemon *d, uid_t uid)
{
	const struct egs_operator_list *in = &d->operators.configured;

	for (size_t i = 0; i < in->n; i++)
		if (in->list[i].is_web && in->list[i].uid == uid)
			return uid != NO_USER;
	return false;
}

const char *egs_daemon_operator_name(const struct egs_daemon *d, uid_t uid)
{
	const char *name;

	if (uid == 0)
		return "root";
	/* Viewers without a name see what WebUser= sees. */
	if (uid == NO_USER || egs_daemon_is_web_user(d, uid))
		return NULL;
	name = find_operator(&d->operators.configured, uid);
	return name ? name : find_operator(&d->operators.slurm, uid);
}

/* slurmdbd compares names of accounts without case. */
const char *egs_daemon_coordinator_name(const struct egs_daemon *d, uid_t uid,
					const char *account)
{
	const struct egs_coordinator_list *in = &d->operators.coordinators;

	if (uid == NO_USER || egs_daemon_is_web_user(d, uid))
		return NULL;
	for (size_t i = 0; account && *account && i < in->n; i++)
		if (in->list[i].uid == uid &&
		    strcasecmp(in->list[i].account, account) == 0)
			return in->list[i].name;
	return NULL;
}

void egs_daemon_free_operators(struct egs_daemon *d)
{
	free(d->operators.coordinators.list);
	free(d->operators.coordinators_next.list);
	egs_daemon_forget_operators(d);
	free(d->operators.configured.list);
	free(d->operators.slurm.list);
	free(d->operators.slurm_next.list);
}
