/* table.c - what a look into the decision table costs
 *
 * Publishes 10,000 and 100,000 rows and finds each of them, in random order,
 * as a plugin does.  Prints the time of one lookup and of one publication;
 * exits 1 when one is over its limit at 10,000.  100,000 rows are more than the
 * caches of a core hold, and a lookup is then two misses.  The clock is this
 * thread's CPU time, so a busy machine does not matter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc/table.h"
#include "t/lib/unit/random.h"

#define ROUNDS	   20
#define LOOKUPS	   1000000
#define NOW	   1000
#define LOOKUP_NS  50.0
#define PUBLISH_MS 100.0
#define LIMIT_ROWS 10000 /* for which the limits are */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double publish_time(struct egs_table_writer *w, uint32_t n)
{
	struct egs_table_job *rows = calloc(n, sizeof(*rows));
	double best = 1e9;

	for (uint32_t i = 0; rows && i < n; i++)
		rows[i] = (struct egs_table_job){ .nonce = i + 1,
						  .job_id = 3 * i + 1 };
	for (int round = 0; rows && round < ROUNDS; round++) {
		double start = seconds();

		egs_table_publish(w, rows, n, NOW);
		start = seconds() - start;
		best = start < best ? start : best;
	}
	free(rows);
	return best;
}

/* Ids are drawn beforehand: that is not what is measured. */
static double lookup_time(struct egs_table *t, uint32_t n, uint32_t *found)
{
	uint32_t *id = calloc(LOOKUPS, sizeof(*id));
	struct egs_table_job row;
	uint64_t seed = n;
	double start;

	*found = 0;
	for (uint32_t i = 0; id && i < LOOKUPS; i++)
		id[i] = 3 * (uint32_t)random_below(&seed, n) + 1;
	start = seconds();
	for (uint32_t i = 0; id && i < LOOKUPS; i++)
		*found += egs_table_find(t, id[i], NOW, 60, &row);
	start = seconds() - start;
	free(id);
	return start / LOOKUPS;
}

static bool measure(struct egs_table_writer *w, struct egs_table *t, uint32_t n)
{
	double publish = 1e3 * publish_time(w, n);
	uint32_t found;
	double lookup = 1e9 * lookup_time(t, n, &found);

	printf("%7u rows  lookup %5.1f ns (limit %.0f ns at %d)  publish "
	       "%6.2f ms (limit %.0f ms at %d)\n",
	       n, lookup, LOOKUP_NS, LIMIT_ROWS, publish, PUBLISH_MS,
	       LIMIT_ROWS);
	return found == LOOKUPS && (n > LIMIT_ROWS || (lookup <= LOOKUP_NS &&
						       publish <= PUBLISH_MS));
}

int main(void)
{
	char path[] = "/tmp/egs-bench-XXXXXX";
	struct egs_table_writer *w = NULL;
	struct egs_table *t = NULL;
	struct egs_err err = { "" };
	bool good;

	if (!mkdtemp(path) || chdir(path) < 0)
		return EXIT_FAILURE;
	w = egs_table_create("table", &err);
	if (w)
		t = egs_table_open("table", &err);
	good = t && measure(w, t, 10000);
	good = t && measure(w, t, 100000) && good;
	printf("%s\n", *err.msg ? err.msg : good ? "within" : "over the limit");
	egs_table_free(t);
	egs_table_close(w);
	unlink("table");
	rmdir(path);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
