/* table_guard.h - survive a mapped file that somebody cuts short
 *
 * A process that touches a mapped page behind the end of its file gets SIGBUS
 * and dies, for example after "truncate -s 0".  No check of the size before
 * each look would help: the file may shrink between check and look.  A guarded
 * mapping is *lost* at that moment: the handler of SIGBUS puts zeros in its
 * place, and the process continues.  A SIGBUS elsewhere is handled as before.
 *
 * The guards are for mappings of the decision table, whose zeros mean: not
 * fresh.
 */
#ifndef EGS_IPC_TABLE_GUARD_H
#define EGS_IPC_TABLE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"

struct egs_table_guard;

/* Guard 'size' bytes that are mapped at 'at' with the protection 'prot'.  NULL
 * with 'err' set on failure.
 */
struct egs_table_guard *egs_table_guard_new(void *at, size_t size, int prot,
					    struct egs_err *err);

/* End the guard; the caller unmaps.  'guard' may be NULL. */
void egs_table_guard_free(struct egs_table_guard *guard);

/* Has the mapping been replaced by zeros?  Set: it is mapped again. */
bool egs_table_guard_is_lost(const struct egs_table_guard *guard);
void egs_table_guard_reset(struct egs_table_guard *guard);

#endif
