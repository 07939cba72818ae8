/* conf.c - load egs.conf, and what it says about modes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/conf/judge.h"
#include "policyd/daemon/daemon.h"

struct egs_err egs_daemon_sum_up(const struct egs_conf_problems *problems)
{
	struct egs_err err;

	if (problems->count > 1)
		egs_errf(&err, "%zu mistakes, the first: %s", problems->count,
			 problems->list[0].err.msg);
	else
		egs_errf(&err, "%s", problems->list[0].err.msg);
	return err;
}

struct egs_conf *egs_daemon_read_conf(const char *path, struct egs_err *err)
{
	struct egs_conf_problems *problems = calloc(1, sizeof(*problems));
	struct egs_conf *conf = NULL;

	if (!problems) {
		egs_errf(err, "out of memory");
		return NULL;
	}
	if (egs_conf_load(&conf, path, problems) < 0 ||
	    egs_conf_check_programs(conf, problems) < 0) {
		egs_conf_free(conf);
		conf = NULL;
		for (size_t i = 0; i < problems->stored; i++)
			egs_log_error("%s", problems->list[i].err.msg);
		*err = egs_daemon_sum_up(problems);
	}
	free(problems);
	return conf;
}

int egs_daemon_load_conf(struct egs_daemon *d, struct egs_err *err)
{
	const struct egs_policy_conf *c;

	d->conf = egs_daemon_read_conf(d->conf_path, err);
	if (!d->conf)
		return -1;
	c = egs_daemon_conf(d);
	snprintf(d->state_dir, sizeof(d->state_dir), "%s",
		 egs_conf_dir(c, EGS_STATE_DIR));
	snprintf(d->run_dir, sizeof(d->run_dir), "%s",
		 egs_conf_dir(c, EGS_RUN_DIR));
	return egs_daemon_find_operators(d, err);
}

int egs_daemon_check_capacity(const struct egs_daemon *d,
			      const struct egs_policy_conf *c,
			      struct egs_err *err)
{
	uint32_t capacity[EGS_TYPE_ROWS];

	egs_cluster_count_gpus(d->cluster, c, capacity);
	for (int t = 0; t < c->ntypes; t++)
		if (egs_judge_quotas(c, t, capacity[t], err) < 0)
			return -1;
	return 0;
}

void egs_daemon_check_quotas(struct egs_daemon *d)
{
	struct egs_err err = { "" };

	egs_daemon_check_capacity(d, egs_daemon_conf(d), &err);
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
