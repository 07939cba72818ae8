/* take_rule.c - which job may take GPUs from which
 *
 * Time and protection are not part of the order.  They only remove pairs from
 * it, so that the rest of the order still has no cycle.
 */
#include "common/rules/take_rule.h"

uint32_t egs_take_order(const struct egs_take_view *row)
{
	return (uint32_t)row->on_loan << 9 | (uint32_t)row->tier << 1 |
	       !row->dependents;
}

bool egs_take_displaces(const struct egs_take_view *p,
			const struct egs_take_view *v)
{
	return p->displaces && !v->on_loan && p->team == v->team &&
	       p->type == v->type && v->tier + 1 >= p->displaces &&
	       v->slack != EGS_SLACK_NO_END && p->gpus > v->slack &&
	       (v->span == EGS_SPAN_NO_END || p->gpus - v->slack <= v->span);
}

static struct egs_take_view view_with(const struct egs_take_view *p,
				      const struct egs_take_view *v)
{
	struct egs_take_view seen = *v;

	seen.on_loan |= egs_take_displaces(p, v);
	return seen;
}

bool egs_takes_before(const struct egs_take_view *p,
		      const struct egs_take_view *v)
{
	return egs_take_order(p) < egs_take_order(v);
}

bool egs_take_is_recall(const struct egs_take_view *p,
			const struct egs_take_view *v)
{
	return v->on_loan && !p->on_loan;
}

bool egs_take_needs_victims(const struct egs_take_view *p)
{
	return p->needs_gpus && !p->waiting_for_shrink && !p->het;
}

enum egs_take_result egs_may_take(const struct egs_take_view *p,
				  const struct egs_take_view *victim,
				  egs_time_t now)
{
	struct egs_take_view seen = view_with(p, victim);
	const struct egs_take_view *v = &seen;

	if (!p->managed || !v->managed)
		return EGS_TAKE_UNMANAGED;
	if (!egs_take_needs_victims(p))
		return EGS_TAKE_NO_NEED;
	if (!egs_takes_before(p, v))
		return EGS_TAKE_WEAKER;
	if (egs_take_is_recall(p, v))
		return now < v->recall_from ? EGS_TAKE_PROTECTED : EGS_TAKE_YES;
	if (v->not_preemptible && !v->on_loan)
		return EGS_TAKE_NOT_PREEMPTIBLE;
	return now < v->protected_until ? EGS_TAKE_PROTECTED : EGS_TAKE_YES;
}

uint32_t egs_victim_class(const struct egs_take_view *v)
{
	uint32_t loan = v->on_loan ? !v->over_limit : 2;
	uint32_t weakness = UINT8_MAX - v->tier;

	return loan << 10 | weakness << 2 | (uint32_t)v->dependents << 1 |
	       (uint32_t)v->preempt_budget_used;
}

/* The bit of the own team goes between the tier and the dependents. */
uint32_t egs_victim_class_for(const struct egs_take_view *p,
			      const struct egs_take_view *v, bool preempting)
{
	struct egs_take_view seen = view_with(p, v);
	uint32_t class = egs_victim_class(&seen);
	bool own = seen.on_loan && v->team != EGS_NO_TEAM && v->team == p->team;

	if (preempting)
		return 0;
	return 1 + ((class >> 2) << 3 | (uint32_t)!own << 2 | (class & 3));
}

/* A class has 12 bits and is below 3 << 10, so all fits in 32 bits. */
uint32_t egs_victim_key(const struct egs_take_view *v, uint32_t cost)
{
	const uint32_t costs = 1U << 20;

	return 1 + egs_victim_class(v) * costs +
	       (cost < costs ? cost : costs - 1);
}
