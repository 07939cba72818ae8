/* reload.c - load egs.conf again, if it fits the cluster
 *
 * judge.h compares the file with partitions, QOS, nodes and users.  A partition
 * may be a second old, so a poll of Slurm comes first.  A child process looks
 * operators up.  Neither holds the daemon up: the file is judged when both are
 * done, or after ASK_MS with what is known by then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "policyd/daemon/daemon.h"
#include "policyd/daemon/sd_notify.h"

enum { ASK_MS = 5000 };

/* ---- names that Slurm has ---- */

void egs_daemon_add_name(struct egs_daemon *d, enum egs_name_kind kind,
			 const char *name)
{
	struct egs_reload *r = &d->reload;

	if (name) {
		egs_intern_add(&r->next_names[kind], name);
		return;
	}
	egs_intern_clear(&r->names[kind]);
	r->names[kind] = r->next_names[kind];
	r->next_names[kind] = (struct egs_intern){ .count = 0 };
}

/* ---- the judgement ---- */

/* Judge 'conf'.  NULL: out of memory. */
static const struct egs_judgement *judge_conf(struct egs_daemon *d,
					      const struct egs_conf *conf)
{
	struct egs_reload *r = &d->reload;
	struct egs_judge_cluster cluster = {
		.enforcing = egs_daemon_mode(d) == EGS_MODE_ENFORCE,
		.quotas_exceeded = conf != d->conf &&
				   egs_daemon_check_capacity(
					   d, egs_daemon_conf(d), NULL) < 0,
	};

	if (!r->judgement)
		r->judgement = malloc(sizeof(*r->judgement));
	if (!r->judgement)
		return NULL;
	egs_cluster_describe(d->cluster, &cluster);
	cluster.users_known = egs_daemon_list_users(d, &cluster.users);
	cluster.partitions = r->names[EGS_NAME_PARTITION];
	cluster.qos = r->names[EGS_NAME_QOS];
	egs_judge_conf(conf, &cluster, r->judgement);
	cluster.partitions = cluster.qos = (struct egs_intern){ .count = 0 };
	egs_judge_clear(&cluster);
	return r->judgement;
}

static void log_problems(const struct egs_conf_problems *problems, bool refused)
{
	for (size_t i = 0; i < problems->stored; i++) {
		if (refused)
			egs_log_error("%s", problems->list[i].err.msg);
		else
			egs_log_warn("%s", problems->list[i].err.msg);
	}
}

void egs_daemon_judge_start(struct egs_daemon *d)
{
	const struct egs_judgement *j = judge_conf(d, d->conf);

	if (!j)
		return;
	log_problems(&j->refused, false);
	log_problems(&j->warnings, false);
	egs_daemon_check_capacity(d, egs_daemon_conf(d), &d->quota_warning);
}

/* ---- the new configuration ---- */

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

/* Put the file in force.  Returns 0, or -1 with 'err' set. */
static int accept_conf(struct egs_daemon *d, struct egs_conf *conf,
		       struct egs_err *err)
{
	const struct egs_judgement *j = judge_conf(d, conf);
	struct egs_conf *old = d->conf;

	if (j) {
		log_problems(&j->refused, true);
		log_problems(&j->warnings, false);
	}
	if (j && j->refused.count) {
		*err = egs_daemon_sum_up(&j->refused);
		return -1;
	}
	if (!j || apply_conf(d, egs_conf_policy(conf)) < 0)
		return egs_errf(err, "out of memory");
	warn_fixed_keys(d, egs_conf_policy(old), egs_conf_policy(conf));
	d->conf = conf;
	egs_conf_free(old);
	return 0;
}

static void publish_conf(struct egs_daemon *d)
{
	d->quota_warning.msg[0] = '\0';
	egs_daemon_changed(d, EGS_CHANGED_TABLE | EGS_CHANGED_NODES |
				      EGS_CHANGED_CLUSTER);
	egs_daemon_publish_jobs(d); /* plugins follow the new modes at once */
	egs_daemon_poll_in(d, 0);
	egs_log_info("%s: in force", d->conf_path);
}

static int refuse_conf(const struct egs_daemon *d, struct egs_err *err)
{
	egs_log_error("%s: rejected; the previous configuration stays in "
		      "force",
		      d->conf_path);
	return egs_errf(err, "the previous configuration stays in force: %s",
			err->msg);
}

static void end_reload(struct egs_daemon *d)
{
	struct egs_reload *r = &d->reload;
	struct egs_conf *conf = r->conf;

	egs_timer_stop(r->timer);
	r->refusal.msg[0] = '\0';
	if (accept_conf(d, conf, &r->refusal) < 0) {
		refuse_conf(d, &r->refusal);
		egs_daemon_forget_operators(d);
		egs_conf_free(conf);
	} else {
		egs_daemon_use_operators(d);
	}
	r->conf = NULL;
	if (!*r->refusal.msg)
		publish_conf(d);
	egs_sd_notify("READY=1");
	EGS_PARTS_CALL(d, reloaded, d);
}

/* ---- the steps ---- */

void egs_daemon_continue_reload(struct egs_daemon *d)
{
	if (d->reload.conf && d->reload.polled && !egs_daemon_is_looking_up(d))
		end_reload(d);
}

static void on_asked_long(void *arg, uint32_t events)
{
	struct egs_daemon *d = arg;

	(void)events;
	if (d->reload.conf)
		end_reload(d);
}

int egs_daemon_begin_reload(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_reload *r = &d->reload;
	struct egs_conf *conf = egs_daemon_read_conf(d->conf_path, err);

	if (!conf)
		return refuse_conf(d, err);
	egs_sd_notify("RELOADING=1");
	egs_conf_free(r->conf);
	r->conf = conf;
	r->polled = d->slurmctld_down;
	egs_timer_start(r->timer, ASK_MS);
	egs_daemon_look_up_operators(d, egs_conf_policy(conf));
	egs_daemon_changed(d, EGS_CHANGED_CLUSTER);
	egs_daemon_poll_in(d, 0);
	return 0;
}

int egs_daemon_init_reload(struct egs_daemon *d, struct egs_err *err)
{
	d->reload.timer = egs_loop_add_timer(d->loop, on_asked_long, d, err);
	return d->reload.timer ? 0 : -1;
}

void egs_daemon_free_reload(struct egs_daemon *d)
{
	egs_conf_free(d->reload.conf);
	free(d->reload.judgement);
	for (int i = 0; i < EGS_NAME_KINDS; i++) {
		egs_intern_clear(&d->reload.names[i]);
		egs_intern_clear(&d->reload.next_names[i]);
	}
}
