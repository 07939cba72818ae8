/* conf.c - load and reload egs.conf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/daemon/daemon.h"

/* Returns a new configuration.  The policy uses the old one until EGS_EV_CONF.
 */
static struct egs_conf *read_conf(const char *path, struct egs_err *err)
{
	struct egs_conf_problems *problems = calloc(1, sizeof(*problems));
	struct egs_conf *conf = NULL;

	if (!problems) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	if (egs_conf_load(&conf, path, problems) < 0) {
		for (size_t i = 0; i < problems->stored; i++)
			egs_log_error("%s", problems->list[i].err.msg);
		if (problems->count > 1)
			egs_errf(err, "%zu mistakes, the first: %s",
				 problems->count, problems->list[0].err.msg);
		else
			egs_errf(err, "%s", problems->list[0].err.msg);
	}
	free(problems);
	return conf;
}

int egs_daemon_load_conf(struct egs_daemon *d, struct egs_err *err)
{
	const struct egs_policy_conf *c;

	d->conf = read_conf(d->conf_path, err);
	if (!d->conf)
		return -1;
	c = egs_daemon_conf(d);
	snprintf(d->state_dir, sizeof(d->state_dir), "%s",
		 egs_conf_dir(c, EGS_STATE_DIR));
	snprintf(d->run_dir, sizeof(d->run_dir), "%s",
		 egs_conf_dir(c, EGS_RUN_DIR));
	return egs_daemon_find_operators(d, err);
}

/* The files and sockets of these keys are already open. */
static void warn_fixed_keys(const struct egs_daemon *d,
			    const struct egs_policy_conf *old,
			    const struct egs_policy_conf *new)
{
	const char *state_dir = egs_conf_dir(new, EGS_STATE_DIR);
	const char *run_dir = egs_conf_dir(new, EGS_RUN_DIR);

	if (strcmp(state_dir, d->state_dir) != 0 ||
	    strcmp(run_dir, d->run_dir) != 0 || old->port != new->port)
		egs_log_warn("%s: StateDir, RunDir and Port change only with a "
			     "restart of egs-policyd",
			     d->conf_path);
}

static int apply_conf(struct egs_daemon *d, const struct egs_policy_conf *c)
{
	struct egs_event ev = { .kind = EGS_EV_CONF, .conf = c };

	if (egs_policy_apply(d->policy, &ev, egs_daemon_now()) < 0)
		return -1;
	egs_cluster_set_conf(d->cluster, c);
	if (d->account)
		egs_account_set_conf(d->account, c);
	return 0;
}

static int check_capacity(const struct egs_daemon *d,
			  const struct egs_policy_conf *c, struct egs_err *err)
{
	uint32_t capacity[EGS_TYPE_ROWS];

	egs_cluster_count_gpus(d->cluster, c, capacity);
	return egs_conf_check_capacity(c, capacity, err);
}

/* Refuse quotas larger than the cluster.  If the quotas in force are too large
 * already, because the cluster has lost nodes, accept any file.
 */
static int accept_conf(struct egs_daemon *d, const struct egs_policy_conf *c,
		       struct egs_err *err)
{
	if (d->synced && check_capacity(d, egs_daemon_conf(d), NULL) == 0 &&
	    check_capacity(d, c, err) < 0) {
		egs_errf(err, "%s: %s", d->conf_path, err->msg);
		egs_log_error("%s", err->msg);
		return -1;
	}
	return apply_conf(d, c) < 0 ? egs_errf(err, "out of memory") : 0;
}

int egs_daemon_reload_conf(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_conf *old = d->conf, *conf = read_conf(d->conf_path, err);

	if (conf && accept_conf(d, egs_conf_policy(conf), err) < 0) {
		egs_conf_free(conf);
		conf = NULL;
	}
	if (!conf) {
		egs_log_error("%s: rejected; the previous configuration stays "
			      "in force",
			      d->conf_path);
		return egs_errf(err,
				"the previous configuration stays in force: %s",
				err->msg);
	}
	warn_fixed_keys(d, egs_conf_policy(old), egs_conf_policy(conf));
	d->conf = conf;
	egs_conf_free(old);
	egs_daemon_refresh_operators(d);
	d->quota_warning.msg[0] = '\0';
	egs_daemon_changed(d, EGS_CHANGED_TABLE | EGS_CHANGED_NODES |
				      EGS_CHANGED_CLUSTER);
	egs_daemon_publish_jobs(d); /* plugins follow the new modes at once */
	egs_daemon_poll_in(d, 0);
	egs_log_info("%s: in force", d->conf_path);
	return 0;
}

void egs_daemon_check_quotas(struct egs_daemon *d)
{
	struct egs_err err = { "" };

	check_capacity(d, egs_daemon_conf(d), &err);
	if (*err.msg && strcmp(err.msg, d->quota_warning.msg) != 0)
		egs_log_warn("%s", err.msg);
	d->quota_warning = err;
}

enum egs_mode egs_daemon_mode(const struct egs_daemon *d)
{
	return d->mode ? d->mode : egs_daemon_conf(d)->mode;
}

bool egs_daemon_is_enforcing(const struct egs_daemon *d, int team)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	enum egs_mode own = team >= 0 ? c->team[team].mode : EGS_MODE_INHERIT;

	return (own ? own : egs_daemon_mode(d)) == EGS_MODE_ENFORCE;
}

bool egs_daemon_is_acting(const struct egs_daemon *d, int team)
{
	return !d->paused && egs_daemon_is_enforcing(d, team);
}
