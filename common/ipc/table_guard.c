/* table_guard.c - survive a mapped file that somebody cuts short
 *
 * The list only grows, because the handler may walk it at any time; a freed
 * entry is used again.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/ipc/table_guard.h"

struct egs_table_guard {
	_Atomic uintptr_t at; /* 0: the entry is not used */
	size_t size;
	int prot;
	_Atomic bool lost;
	struct egs_table_guard *next;
};

static struct {
	pthread_mutex_t lock; /* of changes; the handler only reads */
	_Atomic(struct egs_table_guard *) first;
	bool installed;
	struct sigaction previous;
} self = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Put zeros in place of the mapping that has this address; false: none has. */
static bool replace_mapping(uintptr_t fault)
{
	struct egs_table_guard *g = atomic_load(&self.first);

	for (; g; g = g->next) {
		uintptr_t at = atomic_load(&g->at);

		if (!at || fault < at || fault - at >= g->size)
			continue;
		atomic_store(&g->lost, true);
		return mmap((void *)at, g->size, g->prot,
			    MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) != MAP_FAILED;
	}
	return false;
}

/* Without an earlier handler the fault is repeated and ends the process. */
static void call_previous(int signo, siginfo_t *info, void *context)
{
	if (self.previous.sa_flags & SA_SIGINFO)
		self.previous.sa_sigaction(signo, info, context);
	else if (self.previous.sa_handler == SIG_DFL ||
		 self.previous.sa_handler == SIG_IGN)
		sigaction(signo, &self.previous, NULL);
	else
		self.previous.sa_handler(signo);
}

static void on_sigbus(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (!replace_mapping((uintptr_t)info->si_addr))
		call_previous(signo, info, context);
	errno = saved;
}

static int install_handler(struct egs_err *err)
{
	struct sigaction action = { .sa_sigaction = on_sigbus,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	if (self.installed)
		return 0;
	if (sigaction(SIGBUS, &action, &self.previous) < 0)
		return egs_errf(err, "sigaction: %s", strerror(errno));
	self.installed = true;
	return 0;
}

/* An unused entry, or a new one; NULL: out of memory. */
static struct egs_table_guard *find_unused(void)
{
	struct egs_table_guard *g = atomic_load(&self.first);

	while (g && atomic_load(&g->at))
		g = g->next;
	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->next = atomic_load(&self.first);
	atomic_store(&self.first, g);
	return g;
}

struct egs_table_guard *egs_table_guard_new(void *at, size_t size, int prot,
					    struct egs_err *err)
{
	struct egs_table_guard *g = NULL;

	pthread_mutex_lock(&self.lock);
	if (install_handler(err) == 0 && !(g = find_unused()))
		egs_errf(err, "out of memory");
	if (g) {
		g->size = size;
		g->prot = prot;
		atomic_store(&g->lost, false);
		atomic_store(&g->at, (uintptr_t)at);
	}
	pthread_mutex_unlock(&self.lock);
	return g;
}

void egs_table_guard_free(struct egs_table_guard *guard)
{
	if (guard)
		atomic_store(&guard->at, 0);
}

bool egs_table_guard_is_lost(const struct egs_table_guard *guard)
{
	return atomic_load(&guard->lost);
}

void egs_table_guard_reset(struct egs_table_guard *guard)
{
	atomic_store(&guard->lost, false);
}
