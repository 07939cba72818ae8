/* libegs.c - what egs_should_yield() costs a program that asks in every step
 *
 * Three times: without EGS, with a run directory and nothing asked, and with a
 * request.  Prints the time of one call, the best of some rounds; exits 1 when
 * one is over its limit.  The clock is this thread's CPU time, so a busy
 * machine does not matter.
 */
#include <stdbool.h>
#include <time.h>

#include "libegs/egs.h"
#include "t/lib/unit/rundir_fixture.h"

#define ROUNDS	 10
#define CALLS	 1000000
#define LIMIT_NS 1000.0

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All calls of all rounds have to say 'want'. */
static bool measure(const char *what, int want)
{
	double best = 1e9;
	int said = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double start = seconds();

		for (int i = 0; i < CALLS; i++)
			said += egs_should_yield();
		start = seconds() - start;
		best = start < best ? start : best;
	}
	printf("egs_should_yield(), %-16s %6.1f ns (limit %.0f ns)\n", what,
	       1e9 * best / CALLS, LIMIT_NS);
	return said == want * ROUNDS * CALLS && 1e9 * best / CALLS <= LIMIT_NS;
}

/* What could not be mapped is tried again after a second. */
static void wait_until_mapped(void)
{
	rundir_ask(3);
	while (!egs_should_yield())
		poll(NULL, 0, 100);
}

int main(void)
{
	bool good;

	unsetenv(EGS_RUNDIR_ENV);
	good = measure("without EGS", 0);
	rundir_make();
	wait_until_mapped();
	good &= measure("asked to yield", 1);
	rundir_ask(0);
	good &= measure("nothing asked", 0);
	rundir_remove();
	return good ? 0 : 1;
}
