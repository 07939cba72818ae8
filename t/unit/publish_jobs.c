/* publish_jobs.c - rows of jobs in a decision table without room for all */
#include <err.h>
#include <stdio.h>

#include "common/ipc/table.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

enum { PENDING = EGS_TABLE_JOBS_MAX + 5, RUNNING = PENDING + 1 };

static void show(uint32_t id, uint32_t state)
{
	struct egs_fact_alloc part = { .node = "n1", .gpus = 2, .cpus = 4 };
	struct egs_job_fact f = daemon_job(id, state);
	struct egs_buf parts = { .used = 0 };

	if (state == EGS_JOB_RUNNING)
		egs_fact_put_alloc(&parts, &part);
	f.allocs = (struct egs_buf_reader){ .at = parts.bytes,
					    .left = parts.used };
	egs_cluster_update_job(d->cluster, &f, egs_daemon_now());
	egs_buf_clear(&parts);
}

/* Count the lines of the log with 'words', and empty it. */
static int count_lines(FILE *log, const char *words)
{
	char line[512];
	int n = 0;

	rewind(log);
	while (fgets(line, sizeof(line), log))
		n += strstr(line, words) != NULL;
	rewind(log);
	if (ftruncate(fileno(log), 0) < 0)
		err(1, "log");
	return n;
}

static void test_full(FILE *log)
{
	struct egs_table_job row;
	struct egs_table *table;
	struct egs_err why;

	daemon_start();
	for (uint32_t id = 1; id <= PENDING; id++)
		show(id, EGS_JOB_PENDING);
	show(RUNNING, EGS_JOB_RUNNING);
	count_lines(log, "");
	for (int i = 0; i < 3; i++)
		egs_daemon_publish_jobs(d);
	is_int((intmax_t)d->nrows, EGS_TABLE_JOBS_MAX,
	       "a full table has as many rows as it can have");
	table = egs_table_open("run/table", &why);
	ok(table && egs_table_find(table, RUNNING, egs_daemon_now(), 60, &row),
	   "a running job has its row, however many jobs are pending");
	egs_table_free(table);
	is_int(count_lines(log, "table: full with 131072 jobs; stock Slurm "
				"decides for 6 more pending jobs"),
	       1, "a full table is logged once");
	for (uint32_t id = 1; id <= 6; id++)
		egs_cluster_job_gone(d->cluster, id, egs_daemon_now());
	egs_daemon_publish_jobs(d);
	is_int(count_lines(log, "have room again"), 1,
	       "a table with room again is logged");
	daemon_stop();
}

int main(void)
{
	FILE *log = tmpfile();

	plan_none();
	if (!log || dup2(fileno(log), STDERR_FILENO) < 0)
		return 1;
	conf_enter();
	test_full(log);
	daemon_leave();
	fclose(log);
	return done_testing();
}
