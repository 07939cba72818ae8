/* remediate_run.c - run the programs of rules (Do=run=PROGRAM)
 *
 * A program runs as the user of egs-policyd and gets the JSON of notify.h.  One
 * runs at a time, for at most EGS_NOTIFY_LIMIT_MS; Limit= of each rule bounds
 * how often.  The row is EGS_REMEDIATION_SENT until the program has ended.  A
 * new daemon runs no program again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"
#include "common/base/log.h"
#include "policyd/requests/remediate.h"
#include "policyd/store/remediation.h"

/* More than these are too many at once: something is wrong with all GPUs. */
enum { ORDERS_MAX = 100 };

/* A program that waits or runs. */
struct egs_run_order {
	struct egs_health_action action;
	char *input;
};

static void end_order(struct egs_daemon *d, struct egs_run_order *order,
		      const char *error)
{
	const struct egs_health_action *a = &order->action;

	if (error)
		egs_log_warn("rule %s: the program %s", a->rule, error);
	egs_remediate_answer(d, a, EGS_REMEDY_RUN,
			     error ? EGS_REMEDIATION_FAILED
				   : EGS_REMEDIATION_DONE);
	free(order->input);
	order->input = NULL;
}

void egs_remediate_order_run(struct egs_daemon *d,
			     const struct egs_health_action *a,
			     const struct egs_warning *warning)
{
	struct egs_remediate *r = d->requests->remediate;
	struct egs_run_order order = {
		.action = *a,
		.input = egs_notify_format(d, warning, 0),
	};

	if (r->nruns >= ORDERS_MAX)
		end_order(d, &order, "does not run: too many wait already");
	else if (!order.input ||
		 egs_grow(&r->run, &r->run_room, r->nruns + 1) < 0)
		end_order(d, &order, "does not run: out of memory");
	else
		r->run[r->nruns++] = order;
}

/* Start the first order.  A reload may have removed its program. */
static int start_first(struct egs_daemon *d, struct egs_err *err)
{
	struct egs_remediate *r = d->requests->remediate;
	const struct egs_rule *rule =
		egs_remediate_find_rule(d, r->run[0].action.rule);

	if (!rule || !(rule->does.set & EGS_REMEDY_RUN))
		return egs_errf(err, "does not run: egs.conf has none now");
	return egs_program_start(&r->program, rule->does.run, r->run[0].input,
				 strlen(r->run[0].input), EGS_NOTIFY_LIMIT_MS,
				 err);
}

static void remove_first(struct egs_daemon *d, const char *error)
{
	struct egs_remediate *r = d->requests->remediate;
	struct egs_run_order first = r->run[0];

	r->nruns--;
	memmove(r->run, r->run + 1, r->nruns * sizeof(r->run[0]));
	end_order(d, &first, error);
}

void egs_remediate_run_next(struct egs_daemon *d)
{
	struct egs_remediate *r = d->requests->remediate;
	bool was_running = r->program.pid != 0;
	struct egs_err err;
	int rc = egs_program_check_end(&r->program, &err);

	if (rc > 0)
		return;
	if (was_running)
		remove_first(d, rc < 0 ? err.msg : NULL);
	while (r->nruns && start_first(d, &err) < 0)
		remove_first(d, err.msg);
}

void egs_remediate_free_runs(struct egs_remediate *r)
{
	egs_program_stop(&r->program);
	while (r->nruns)
		free(r->run[--r->nruns].input);
	free(r->run);
}
