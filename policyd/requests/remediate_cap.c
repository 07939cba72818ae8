/* remediate_cap.c - power limits of GPUs, which egs-noded sets (Do=cap=80%)
 *
 * Each answer to samples has all limits of the node that are to be in force, so
 * that an answer that is lost does no harm.  The row is EGS_REMEDIATION_SENT
 * until the node has told what became of it.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/ipc/gpu_cap.h"
#include "policyd/requests/remediate.h"
#include "policyd/store/remediation.h"

/* ---- orders ---- */

struct cap_list {
	const struct egs_daemon *d;
	struct egs_gpu_cap cap[EGS_GPU_SAMPLES_MAX];
	uint32_t n;
};

/* The percentage of a case; 0: it lowers no limit. */
static uint32_t get_pct(const struct egs_daemon *d,
			const struct egs_health_action *done)
{
	const struct egs_rule *rule = egs_remediate_find_rule(d, done->rule);

	return done->remedies & EGS_REMEDY_CAP && !done->observed && rule
		       ? rule->does.cap_pct
		       : 0;
}

/* Of several rules about a GPU the lowest limit counts. */
static void add_case(void *arg, const struct egs_health_action *done)
{
	struct cap_list *list = arg;
	uint32_t pct = get_pct(list->d, done), i = 0;

	if (!pct)
		return;
	while (i < list->n && list->cap[i].gpu != done->gpu)
		i++;
	if (i == list->n && list->n == EGS_GPU_SAMPLES_MAX)
		return;
	if (i == list->n)
		list->cap[list->n++] =
			(struct egs_gpu_cap){ .gpu = done->gpu, .pct = pct };
	if (pct < list->cap[i].pct)
		list->cap[i].pct = pct;
}

/* A daemon that has not read its rows does not know what is in force. */
void egs_remediate_answer_caps(const struct egs_daemon *d, uint32_t node,
			       struct egs_msg *answer)
{
	const struct egs_remediate *r = d->requests->remediate;
	struct cap_list list = { .d = d };

	if (!r->restored)
		return;
	egs_health_each_case(r->health, node, add_case, &list);
	egs_gpu_cap_set(answer, list.cap, list.n);
}

/* ---- what became of them ---- */

struct cap_report {
	struct egs_daemon *d;
	struct egs_gpu_cap cap[EGS_GPU_SAMPLES_MAX];
	int n;
};

static void settle_case(void *arg, const struct egs_health_action *done)
{
	const struct cap_report *report = arg;
	int i = 0;

	while (i < report->n && report->cap[i].gpu != done->gpu)
		i++;
	if (i == report->n || !get_pct(report->d, done))
		return;
	if (!report->cap[i].limit_mw)
		egs_log_warn("rule %s: the driver of %s does not let egs-noded "
			     "set the power limit of GPU %u",
			     done->rule,
			     egs_remediate_node_name(report->d, done->node),
			     done->gpu);
	egs_remediate_answer(report->d, done, EGS_REMEDY_CAP,
			     report->cap[i].limit_mw ? EGS_REMEDIATION_DONE
						     : EGS_REMEDIATION_FAILED);
}

void egs_remediate_note_caps(struct egs_daemon *d, uint32_t node,
			     const struct egs_msg *request,
			     struct egs_text *last)
{
	const char *text = egs_msg_get_str(request, "caps");
	struct cap_report report = { .d = d };

	if (!text || strcmp(text, last->text) == 0)
		return;
	egs_textf(last, "%s", text);
	report.n = egs_gpu_cap_read(request, report.cap);
	egs_health_each_case(d->requests->remediate->health, node, settle_case,
			     &report);
}
