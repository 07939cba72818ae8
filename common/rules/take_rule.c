/* take_rule.c - who may take GPUs from whom
 *
 * The order is kept free of time and of protections: those only remove pairs
 * from it, and a part of an order has no circle either.
 */
#include "common/rules/take_rule.h"

uint32_t egs_strength(const struct egs_row *row)
{
	return (uint32_t)row->on_loan << 9 | (uint32_t)row->tier << 1 |
	       !row->dependents;
}

bool egs_stronger(const struct egs_row *p, const struct egs_row *v)
{
	return egs_strength(p) < egs_strength(v);
}

bool egs_is_recall(const struct egs_row *p, const struct egs_row *v)
{
	return v->on_loan && !p->on_loan;
}

enum egs_take egs_may_take(const struct egs_row *p, const struct egs_row *v,
			   egs_time_t now)
{
	if (!p->managed || !v->managed)
		return EGS_TAKE_UNMANAGED;
	if (!p->needs_gpus || p->patient)
		return EGS_TAKE_NO_NEED;
	if (!egs_stronger(p, v))
		return EGS_TAKE_WEAKER;
	if (egs_is_recall(p, v))
		return now < v->recall_from ? EGS_TAKE_PROTECTED : EGS_TAKE_YES;
	if (v->keeps && !v->on_loan)
		return EGS_TAKE_KEEPS;
	return now < v->protected_until ? EGS_TAKE_PROTECTED : EGS_TAKE_YES;
}

uint32_t egs_victim_class(const struct egs_row *v)
{
	uint32_t hold = v->on_loan ? !v->over : 2;
	uint32_t weakness = UINT8_MAX - v->tier;

	return hold << 10 | weakness << 2 | (uint32_t)v->dependents << 1 |
	       (uint32_t)v->spent;
}

/* A class has 12 bits and is below 3 << 10, so all fits in 32 bits. */
uint32_t egs_victim_place(const struct egs_row *v, uint32_t cost)
{
	const uint32_t costs = 1U << 20;

	return 1 + egs_victim_class(v) * costs +
	       (cost < costs ? cost : costs - 1);
}
