/* gpu_use.c - sums and cells of GPUs on disk, and the room that they take */
#include <err.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policyd/store/gpu_use.h"
#include "policyd/store/history.h"
#include "t/lib/unit/tap.h"

/* 2026-11-16 10:00:00 UTC */
#define BEGIN 1794823200

enum {
	GPUS = 1000,
	GPUS_OF_NODE = 8,
	HOURS = 4, /* of an attempt */
	CELLS = HOURS * EGS_HOUR_S / EGS_GPU_CELL_S,
	MB = 1000000,
};

static char dir[] = "/tmp/egs-gpu-use-XXXXXX";
static char path[sizeof(dir) + 8];
static struct egs_store *store;
static struct egs_err why;

static int64_t query(const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	int64_t n = -1;

	if (sqlite3_open(path, &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

static int64_t measure_file(void)
{
	return query("SELECT page_count*page_size FROM pragma_page_count(),"
		     " pragma_page_size()");
}

static void commit(void)
{
	if (egs_store_commit(store, &why) < 0 ||
	    egs_store_begin(store, &why) < 0)
		errx(1, "%s", why.msg);
}

/* Job 1000 + i has GPU i. */
static struct egs_gpu_use use_of(uint32_t i)
{
	static char node[32];

	snprintf(node, sizeof(node), "gpu-node-%04u", i / GPUS_OF_NODE);
	return (struct egs_gpu_use){
		.job_id = 1000 + i,
		.start = BEGIN,
		.node = node,
		.gpu = i % GPUS_OF_NODE,
	};
}

static void start_jobs(void)
{
	struct egs_usage_kind kind = { .user = "alice", .type = "h100" };
	int64_t run;

	for (uint32_t i = 0; i < GPUS; i++) {
		struct egs_open_span open = {
			.kind = kind,
			.run = { .job_id = 1000 + i, .start = BEGIN },
			.span = { .start = BEGIN, .gpus = 1, .nodes = 1 },
		};

		if (egs_history_run_save(store, &open.run, &kind, &run, &why) <
			    0 ||
		    egs_history_open_add(store, run, &open, &why) < 0)
			errx(1, "%s", why.msg);
	}
	commit();
}

/* Five minutes of GPU i, with values that take as many bytes as real ones. */
static struct egs_gpu_amounts five_minutes(uint32_t i)
{
	return (struct egs_gpu_amounts){
		.sampled_s = 300,
		.sm_s = 300,
		.sm_percent_s = 300 * (40 + i % 60),
		.max_sm = 99,
		.mem_s = 300,
		.mem_mb_s = 300 * (60000 + i),
		.max_mem_mb = 70000 + i,
		.mem_total_mb = 81920,
		.power_s = 300,
		.power_ws = 300 * (400 + i % 300),
		.max_power_w = 700,
		.energy_s = 300,
		.energy_j = 300 * (400 + i % 300),
		.process_s = 300,
		.idle_s = 30 + i % 200,
		.empty_s = i % 4 ? 0 : 250,
	};
}

static void add_cells(void)
{
	for (int cell = 0; cell < CELLS; cell++) {
		for (uint32_t i = 0; i < GPUS; i++) {
			struct egs_gpu_use use = use_of(i);

			use.at = BEGIN + cell * EGS_GPU_CELL_S + 7;
			use.sum = five_minutes(i);
			if (egs_gpu_cell_add(store, &use, &why) < 0 ||
			    egs_gpu_use_add(store, &use, "h100", &why) < 0)
				errx(1, "%s", why.msg);
		}
		commit();
	}
}

static void test_size(void)
{
	int64_t before = measure_file(), day;

	add_cells();
	day = (measure_file() - before) * 24 / HOURS;
	is_int(query("SELECT count(*) FROM gpu_cell"), GPUS * CELLS,
	       "each GPU has a row in each cell");
	ok(day <= 16 * MB,
	   "a day of 1,000 GPUs takes at most 16 MB on disk: %.1f MB",
	   (double)day / MB);
}

static void test_contents(void)
{
	is_int(query("SELECT min(id>>20)*300 FROM gpu_cell"), BEGIN,
	       "the id of a row tells when its cell begins");
	is_int(query("SELECT sm FROM gpu_cell c JOIN run r ON r.id=c.run WHERE"
		     " r.job_id=1007"),
	       47, "a cell has the mean utilisation of its attempt");
	is_int(query("SELECT sum(sampled_s) FROM gpu_use WHERE job_id=1007"),
	       HOURS * EGS_HOUR_S, "the sums of an attempt are of all cells");
	is_int(query("SELECT sum(sampled_s) FROM gpu_rollup JOIN kind k ON"
		     " k.id=kind WHERE bucket_s=3600 AND k.user='alice'"),
	       (int64_t)GPUS * HOURS * EGS_HOUR_S,
	       "the sums of hours are those of all attempts");
	is_int(query("SELECT count(*) FROM gpu_rollup WHERE bucket_s=3600"),
	       HOURS, "each hour has one row for a kind of use");
}

static void test_unknown(void)
{
	struct egs_gpu_use use = use_of(3);

	use.at = BEGIN + EGS_DAY_S;
	use.sum = (struct egs_gpu_amounts){ .sampled_s = 60 };
	egs_gpu_cell_add(store, &use, &why);
	use.sum.sampled_s = 30;
	egs_gpu_cell_add(store, &use, &why);
	commit();
	is_int(query("SELECT sm FROM gpu_cell ORDER BY id DESC"), -1,
	       "a value that was never known is not 0");
	is_int(query("SELECT sum(sampled_s) FROM gpu_cell WHERE"
		     " id>>20=(SELECT max(id)>>20 FROM gpu_cell)"),
	       90, "an attempt may have two rows in a cell");
	use.job_id = 77;
	is_int(egs_gpu_cell_add(store, &use, &why), 0,
	       "a cell of an attempt without history is left out");
	commit();
	is_int(query("SELECT count(*) FROM gpu_cell"), GPUS * CELLS + 2,
	       "the cell that is left out is not on disk");
}

static void test_prune(void)
{
	const egs_time_t before = BEGIN + EGS_HOUR_S;

	egs_gpu_cell_prune(store, before, 1000, &why);
	commit();
	is_int(query("SELECT count(*) FROM gpu_cell"), GPUS * CELLS + 2 - 1000,
	       "a step deletes at most as many rows as it may");
	for (int i = 0; i < 20; i++)
		egs_gpu_cell_prune(store, before, 1000, &why);
	commit();
	is_int(query("SELECT min(id>>20)*300 FROM gpu_cell"), before,
	       "cells that are to be kept are kept");
	is_int(query("SELECT sum(sampled_s) FROM gpu_use WHERE job_id=1007"),
	       HOURS * EGS_HOUR_S, "sums of an attempt outlive its cells");
}

int main(void)
{
	bool hopeless;

	plan_none();
	if (!mkdtemp(dir))
		errx(1, "%s: cannot be made", dir);
	snprintf(path, sizeof(path), "%s/state", dir);
	store = egs_store_open(path, &hopeless, &why);
	if (!store || egs_store_begin(store, &why) < 0)
		errx(1, "%s", why.msg);
	start_jobs();
	test_size();
	test_contents();
	test_unknown();
	test_prune();
	egs_store_close(store);
	unlink(path);
	rmdir(dir);
	return done_testing();
}
