/* table.c - the decision table: both sides, and a damaged or hostile file */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/ipc/table.h"
#include "common/ipc/table_layout.h"
#include "t/lib/unit/tap.h"

#define STALE 60

static char dir[] = "/tmp/egs-table-XXXXXX";
static char path[sizeof(dir) + 8];

static struct egs_table_job job(uint32_t id)
{
	return (struct egs_table_job){
		.job_id = id,
		.nonce = id * 3,
		.cost_gpu_s = id * 7,
		.flags = EGS_TABLE_MANAGED | EGS_TABLE_ON_LOAN,
	};
}

static void publish(struct egs_table_writer *w, uint32_t n, egs_time_t now)
{
	struct egs_table_job *rows = calloc(n + 1, sizeof(*rows));
	uint32_t i;

	for (i = 0; i < n; i++)
		rows[i] = job((i + 1) * 5);
	egs_table_publish(w, rows, n, now);
	free(rows);
}

static void test_story(void)
{
	struct egs_err err = { .msg = "" };
	struct egs_table_writer *w;
	struct egs_table_job row;
	struct egs_table *t;

	ok(!egs_table_open(path, &err),
	   "a table that does not exist is refused");
	w = egs_table_create(path, &err);
	ok(w != NULL, "the daemon creates a table %s", err.msg);
	t = egs_table_open(path, &err);
	ok(t != NULL, "plugins map the table %s", err.msg);
	ok(!egs_table_fresh_seq(t, 1000, STALE), "a new table is not fresh");

	publish(w, 3, 1000);
	ok(egs_table_find(t, 10, 1001, STALE, &row),
	   "a published row is found");
	is_int(row.cost_gpu_s, 70, "a row has the decisions of the daemon");
	ok(!egs_table_find(t, 11, 1001, STALE, &row),
	   "a job without a row is not found");
	ok(egs_table_find(t, 10, 1060, STALE, &row),
	   "a table is fresh until StaleAfter");
	ok(!egs_table_find(t, 10, 1061, STALE, &row),
	   "a table is not fresh after StaleAfter");
	egs_table_heartbeat(w, 1061);
	ok(egs_table_find(t, 10, 1061, STALE, &row),
	   "a heartbeat makes the table fresh again");
	ok(!egs_table_find(t, 10, 900, STALE, &row),
	   "a heartbeat far in the future does not count");

	publish(w, 1, 1070);
	ok(!egs_table_find(t, 10, 1070, STALE, &row),
	   "a job that is published no more is not found");
	egs_table_close(w);
	ok(!egs_table_find(t, 5, 1070, STALE, &row),
	   "after a clean stop plugins answer as stock Slurm");
	ok(egs_table_find_last(t, 5, &row) && row.job_id == 5,
	   "the last row of a job is found in a closed table");
	ok(!egs_table_find_last(t, 10, &row),
	   "a job without a last row is not found");

	w = egs_table_create(path, &err);
	ok(!egs_table_fresh_seq(t, 1070, STALE),
	   "a new daemon starts with a closed table");
	publish(w, 2, 1080);
	ok(egs_table_find(t, 10, 1080, STALE, &row),
	   "plugins see a new daemon without a new mapping");
	egs_table_close(w);
	egs_table_free(t);
}

/* What costs Slurm a walk through all jobs, if the answer is yes. */
static void test_victims(void)
{
	enum {
		MANAGED = EGS_TABLE_MANAGED,
		WAITS = EGS_TABLE_MANAGED | EGS_TABLE_NEEDS_GPUS,
	};
	static const struct {
		uint32_t recall_from;
		uint8_t flags, taker_tier, taker_flags;
		bool is_one;
		const char *what;
	} rows[] = {
		{ 5, MANAGED, 1, WAITS, true, "a running job" },
		{ 0, MANAGED, 1, WAITS, false, "a pending job" },
		{ 5, 0, 1, WAITS, false, "a job that is not managed" },
		{ 5, MANAGED | EGS_TABLE_OBSERVED, 1, WAITS, false,
		  "a job that is only observed" },
		{ 5, MANAGED, 2, WAITS, false, "no stronger job is pending" },
		{ 5, MANAGED, 1, MANAGED, false, "no pending job needs GPUs" },
		{ 5, MANAGED, 1, WAITS | EGS_TABLE_OBSERVED, false,
		  "all pending jobs are only observed" },
		{ 5, MANAGED, 1, 0, false, "no pending job is managed" },
	};
	struct egs_table_writer *w = egs_table_create(path, NULL);
	struct egs_table *t = egs_table_open(path, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egs_table_job row[] = {
			{ .job_id = 7,
			  .tier = 2,
			  .recall_from = rows[i].recall_from,
			  .flags = rows[i].flags },
			{ .job_id = 8,
			  .tier = rows[i].taker_tier,
			  .flags = rows[i].taker_flags },
		};

		egs_table_publish(w, row, 2, 1000);
		is_int(egs_table_has_victim(t, 1000, STALE), rows[i].is_one,
		       "%s: is there a possible victim?", rows[i].what);
		ok(!egs_table_has_victim(t, 2000, STALE),
		   "%s: no victim in a stale table", rows[i].what);
	}
	egs_table_close(w);
	egs_table_free(t);
}

/* A plugin need not search victims for a job that cannot have one. */
static void test_weaker(void)
{
	enum { ON_LOAN = EGS_TABLE_ON_LOAN, DEPENDENTS = EGS_TABLE_DEPENDENTS };
	static const struct {
		uint8_t tier, flags;
		bool any;
		const char *name;
	} takers[] = {
		{ 2, EGS_TABLE_NEEDS_GPUS, true, "a stronger tier" },
		{ 3, EGS_TABLE_NEEDS_GPUS, false, "the same tier" },
		{ 3, EGS_TABLE_NEEDS_GPUS | DEPENDENTS, true,
		  "the same tier with dependents" },
		{ 4, EGS_TABLE_NEEDS_GPUS, false, "a weaker tier" },
		{ 2, EGS_TABLE_NEEDS_GPUS | ON_LOAN, false, "a job on loan" },
		{ 2, 0, false, "a job that needs no GPUs" },
	};
	struct egs_table_job rows[] = {
		{ .job_id = 1, .recall_from = 5, .flags = EGS_TABLE_MANAGED },
		{ .job_id = 2,
		  .recall_from = 5,
		  .tier = 3,
		  .flags = EGS_TABLE_MANAGED },
		{ .job_id = 3, .tier = 9, .flags = EGS_TABLE_MANAGED },
	};
	struct egs_table_writer *w = egs_table_create(path, NULL);
	struct egs_table *t = egs_table_open(path, NULL);

	egs_table_publish(w, rows, ARRAY_SIZE(rows), 1000);
	for (size_t i = 0; i < ARRAY_SIZE(takers); i++) {
		struct egs_table_job p = { .job_id = 4,
					   .tier = takers[i].tier,
					   .flags = takers[i].flags |
						    EGS_TABLE_MANAGED };

		is_int(egs_table_has_victim_for(t, 1000, STALE, &p),
		       takers[i].any, "%s: does it have a possible victim?",
		       takers[i].name);
		ok(egs_table_has_victim_for(t, 2000, STALE, &p),
		   "%s: a stale table may hide a victim", takers[i].name);
	}
	egs_table_close(w);
	egs_table_free(t);
}

static void test_full(void)
{
	struct egs_table_writer *w = egs_table_create(path, NULL);
	struct egs_table *t = egs_table_open(path, NULL);
	struct egs_table_job *rows =
		calloc(EGS_TABLE_JOBS_MAX + 5, sizeof(*rows));
	struct egs_table_job row;
	uint32_t i, missing = 0;

	for (i = 0; i < EGS_TABLE_JOBS_MAX + 5; i++)
		rows[i] = job(i * 16 + 1);
	is_int((intmax_t)egs_table_publish(w, rows, EGS_TABLE_JOBS_MAX + 5,
					   1000),
	       EGS_TABLE_JOBS_MAX, "rows that do not fit are omitted");
	for (i = 0; i < EGS_TABLE_JOBS_MAX; i++)
		missing +=
			!egs_table_find(t, rows[i].job_id, 1000, STALE, &row) ||
			row.cost_gpu_s != rows[i].cost_gpu_s;
	is_int(missing, 0, "every row of a full table is found");
	ok(!egs_table_find(t, rows[i].job_id, 1000, STALE, &row),
	   "a row that was omitted is not found");
	free(rows);
	egs_table_close(w);
	egs_table_free(t);
}

static void test_left(void)
{
	struct egs_table_writer *w = egs_table_create(path, NULL);
	struct egs_table *t = egs_table_open(path, NULL);
	struct egs_quota_key at = { .names_hash = 7, .team = 3, .tier = 1 };
	struct egs_quota_key elsewhere = { .names_hash = 7, .team = 4 };
	struct egs_quota_key other = { .names_hash = 8, .team = 3, .tier = 1 };
	struct egs_quota_key none = { .names_hash = 7, .team = EGS_TEAMS_MAX };
	uint32_t left = 0;

	egs_table_publish_quota(w, &at, 5);
	egs_table_publish_quota(w, &none, 5);
	publish(w, 1, 1000);
	ok(egs_table_read_quota(t, 1000, STALE, &at, &left) && left == 5,
	   "the rest of a quota is read");
	ok(egs_table_read_quota(t, 1000, STALE, &elsewhere, &left) && !left,
	   "an exhausted quota is read");
	ok(!egs_table_read_quota(t, 1000, STALE, &other, &left),
	   "the rest of a quota is unknown with another egs.conf");
	ok(!egs_table_read_quota(t, 1000, STALE, &none, &left),
	   "the rest of a quota is unknown without a team");
	ok(!egs_table_read_quota(t, 2000, STALE, &at, &left),
	   "the rest of a quota is unknown in a stale table");
	egs_table_close(w);
	egs_table_free(t);
}

static void test_marks(void)
{
	struct egs_table_writer *w = egs_table_create(path, NULL);
	struct egs_table *t = egs_table_open(path, NULL);
	struct egs_table_marks *m = calloc(1, sizeof(*m));
	struct egs_table_marks *got = calloc(1, sizeof(*got));
	uint64_t first;

	ok(!egs_table_marks_seq(t, 1000, STALE), "a new table has no marks");
	m->nclaims = 2;
	m->claim[1] = (struct egs_table_claim){ .node = "n1", .job_id = 7 };
	m->nnodes = 1;
	memset(m->node[0].name, 'x', EGS_TABLE_NAME_SIZE);
	egs_table_publish_marks(w, m);
	ok(!egs_table_marks_seq(t, 1000, STALE),
	   "marks do not count without rows");
	publish(w, 1, 1000);
	first = egs_table_marks_seq(t, 1000, STALE);
	ok(first && egs_table_read_marks(t, got),
	   "marks count with the next rows");
	ok(got->nclaims == 2 && got->claim[1].job_id == 7 &&
		   !strcmp(got->claim[1].node, "n1"),
	   "marks are read as they were published");
	is_int((intmax_t)strlen(got->node[0].name), EGS_TABLE_NAME_SIZE - 1,
	       "a node name without a NUL is terminated");
	publish(w, 2, 1001);
	ok(egs_table_marks_seq(t, 1001, STALE) == first,
	   "new rows do not change the number of the marks");
	m->nclaims = 0;
	egs_table_publish_marks(w, m);
	ok(egs_table_marks_seq(t, 1001, STALE) != first &&
		   egs_table_read_marks(t, got) && got->nclaims == 0,
	   "new marks change the number of the marks");
	ok(!egs_table_marks_seq(t, 2000, STALE), "a stale table has no marks");
	free(m);
	free(got);
	egs_table_close(w);
	egs_table_free(t);
}

static void test_row(void)
{
	struct egs_table_job j = job(7);
	struct egs_take_view r = egs_table_take_view(&j);

	ok(r.managed && r.on_loan && !r.not_preemptible && !r.needs_gpus,
	   "a row becomes input of the take rule");
	j.fate_and_flags = EGS_TABLE_DEFERRED;
	j.recall_from = 0;
	ok(egs_table_is_deferred(&j), "a pending job over a limit is deferred");
	j.fate_and_flags = EGS_TABLE_FOR_OTHER;
	j.recall_from = 900;
	ok(!egs_table_is_deferred(&j),
	   "a job that gives its GPUs to another is not deferred");
}

static void test_take(void)
{
	const struct egs_table_job p = { .flags = EGS_TABLE_MANAGED |
						  EGS_TABLE_NEEDS_GPUS };
	struct egs_table_job v = { .flags = EGS_TABLE_MANAGED, .tier = 1 };

	ok(!egs_table_may_take(&p, &v, 1000),
	   "GPUs of a job that the daemon has not seen running stay");
	v.recall_from = 900;
	v.protected_until = 1001;
	ok(!egs_table_may_take(&p, &v, 1000), "GPUs of a protected job stay");
	ok(egs_table_may_take(&p, &v, 1001),
	   "GPUs of a weaker job can be taken after that");
	ok(!egs_table_may_take(&v, &p, 1001), "GPUs of a stronger job stay");
}

/* Rows of publication k all have cost k: a mix would show. */
static void *publisher(void *arg)
{
	struct egs_table_writer *w = arg;
	struct egs_table_job rows[64];
	uint32_t k, i;

	for (k = 1; k <= 4000; k++) {
		for (i = 0; i < 64; i++) {
			rows[i] = job(i + 1);
			rows[i].cost_gpu_s = k;
			rows[i].nonce = k;
		}
		egs_table_publish(w, rows, 64, 1000);
	}
	return NULL;
}

static void test_race(void)
{
	struct egs_table_writer *w = egs_table_create(path, NULL);
	struct egs_table *t = egs_table_open(path, NULL);
	struct egs_table_job row;
	uint32_t torn = 0, back = 0, last = 0, found = 0, i;
	pthread_t thread;

	pthread_create(&thread, NULL, publisher, w);
	while (last < 4000) {
		for (i = 1; i <= 64; i++) {
			if (!egs_table_find(t, i, 1000, STALE, &row))
				continue;
			found++;
			torn += row.nonce != row.cost_gpu_s || row.job_id != i;
			back += row.cost_gpu_s < last;
			last = row.cost_gpu_s;
		}
	}
	pthread_join(thread, NULL);
	ok(found > 0, "rows are found while the daemon publishes");
	is_int(torn, 0, "no row is torn");
	is_int(back, 0, "no row is older than the row before it");
	egs_table_close(w);
	egs_table_free(t);
}

static void poke(off_t at, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ok(pwrite(fd, bytes, n, at) == (ssize_t)n, "%zu bytes are damaged", n);
	close(fd);
}

static void test_damage(void)
{
	const off_t rows = offsetof(struct egs_table_file, slot[1].row);
	struct egs_table_writer *w;
	struct egs_table_job row;
	struct egs_err err;
	struct egs_table *t;
	struct stat is;

	unlink(path);
	w = egs_table_create(path, NULL);
	t = egs_table_open(path, NULL);
	publish(w, 3, 1000); /* the first of a new file: slot 1 */
	poke(rows + 20, "x", 1);
	ok(!egs_table_find(t, 10, 1000, STALE, &row),
	   "a damaged publication does not count");
	publish(w, 3, 1000);
	ok(egs_table_find(t, 10, 1000, STALE, &row),
	   "the next publication counts");
	egs_table_close(w);
	egs_table_free(t);

	chmod(path, 0644);
	w = egs_table_create(path, NULL);
	ok(stat(path, &is) == 0 && (is.st_mode & 0777) == 0600,
	   "only its owner can read a table, also if all users could before");
	egs_table_close(w);

	chmod(path, 0666);
	ok(!egs_table_open(path, &err) && strstr(err.msg, "writable"),
	   "a table that other users can write is refused: %s", err.msg);
	chmod(path, 0644);
	poke(offsetof(struct egs_table_file, layout), "\x63", 1);
	ok(!egs_table_open(path, &err) && strstr(err.msg, "layout 99"),
	   "a table of another layout is refused: %s", err.msg);
	ok(!egs_table_create(path, &err) && strstr(err.msg, "remove it"),
	   "a daemon refuses a table of another layout: %s", err.msg);
	ok(truncate(path, 4096) == 0 && !egs_table_open(path, &err),
	   "a table that is too short is refused: %s", err.msg);
}

static uint64_t xorshift(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* A heart that beats at no time there is. */
static void test_heart(void)
{
	static const int64_t beats[] = { INT64_MIN, INT64_MIN + 1, -1, 0,
					 INT64_MAX };
	struct egs_table_writer *w;
	struct egs_table *t;

	unlink(path);
	w = egs_table_create(path, NULL);
	t = egs_table_open(path, NULL);
	publish(w, 3, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(beats); i++) {
		egs_table_heartbeat(w, beats[i]);
		ok(!egs_table_fresh_seq(t, 1000, STALE),
		   "a beat at %lld is not fresh", (long long)beats[i]);
	}
	egs_table_close(w);
	egs_table_free(t);
}

/* Forge slots whose sums are right and whose contents are not. */
static void test_forged(void)
{
	struct egs_table_writer *w;
	struct egs_table_file *f = calloc(1, sizeof(*f));
	uint64_t seed = 42;
	int fd, round;

	unlink(path);
	w = egs_table_create(path, NULL);
	egs_table_close(w);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (round = 0; round < 60; round++) {
		struct egs_table_slot *slot = &f->slot[1];
		struct egs_table *t = egs_table_open(path, NULL);
		struct egs_table_job row;
		uint32_t i;

		f->magic = EGS_TABLE_MAGIC;
		f->layout = EGS_TABLE_LAYOUT;
		f->row_size = sizeof(struct egs_table_job);
		f->heartbeat = 1000;
		f->open = 1;
		f->seq = slot->seq = 2 * (uint64_t)round + 1;
		slot->nrows = (uint32_t)(xorshift(&seed) % 4000);
		slot->index_size = round % 3 ? 1U << (xorshift(&seed) % 18)
					     : (uint32_t)xorshift(&seed);
		for (i = 0; i < 4096; i++) {
			slot->row[i].job_id = xorshift(&seed) % 512;
			slot->index[i] = (uint32_t)xorshift(&seed) >>
					 (xorshift(&seed) % 32);
		}
		if (slot->index_size && slot->index_size <= EGS_TABLE_INDEX_MAX)
			slot->checksum = egs_table_checksum(slot, slot->nrows,
							    slot->index_size);
		if (pwrite(fd, f, sizeof(*f), 0) != sizeof(*f))
			break;
		for (i = 0; i < 512; i++)
			egs_table_find(t, i, 1000, STALE, &row);
		egs_table_free(t);
	}
	is_int(round, 60, "forged tables are read without harm");
	close(fd);
	free(f);
}

static void test_modes(void)
{
	static const struct egs_table_modes modes = {
		.names_hash = 7,
		.site = EGS_MODE_OBSERVE,
		.team = { EGS_MODE_ENFORCE, EGS_MODE_OBSERVE },
	};
	static const struct egs_table_modes none = { .names_hash = 7,
						     .site = EGS_MODE_OBSERVE };
	struct egs_table_writer *w = egs_table_create(path, NULL);
	struct egs_table *t = egs_table_open(path, NULL);

	egs_table_publish_modes(w, &modes);
	publish(w, 1, 1000);
	is_int(egs_table_read_mode(t, 1000, STALE, 7, 0), EGS_MODE_ENFORCE,
	       "a team has the mode that the daemon published");
	is_int(egs_table_read_mode(t, 1000, STALE, 7, 1), EGS_MODE_OBSERVE,
	       "another team has another mode");
	is_int(egs_table_read_mode(t, 1000, STALE, 7, -1), EGS_MODE_OBSERVE,
	       "a job without a team has the mode of the site");
	is_int(egs_table_read_mode(t, 1000, STALE, 8, 0), EGS_MODE_OBSERVE,
	       "a reader with other teams has the mode of the site");
	is_int(egs_table_read_mode(t, 1000, STALE, 7, EGS_TEAMS_MAX),
	       EGS_MODE_OBSERVE, "a team out of range is no team");
	is_int(egs_table_read_mode(t, 2000, STALE, 7, 0), EGS_MODE_INHERIT,
	       "the mode of a stale table is unknown");
	ok(egs_table_enforces(t, 1000, STALE),
	   "the daemon enforces if one team has that mode");
	ok(!egs_table_enforces(t, 2000, STALE),
	   "no job is enforced with a stale table");
	egs_table_publish_modes(w, &none);
	ok(!egs_table_enforces(t, 1000, STALE),
	   "the daemon enforces nothing if no team has that mode");
	egs_table_close(w);
	egs_table_free(t);
}

/* "truncate -s BYTES" while both sides have the file mapped. */
static void cut_short(off_t bytes, const char *what)
{
	struct egs_table_writer *w = egs_table_create(path, NULL);
	struct egs_table *t, *again;
	struct egs_table_job row;
	struct egs_err err = { .msg = "" };
	uint64_t seq;

	publish(w, 3, 1000);
	t = egs_table_open(path, NULL);
	seq = egs_table_fresh_seq(t, 1000, STALE);
	is_int(egs_table_repair(w, &err), 0, "%s: a whole file is not repaired",
	       what);
	ok(truncate(path, bytes) == 0, "%s: the file is cut short", what);
	ok(!egs_table_find(t, 10, 1000, STALE, &row),
	   "%s: a reader survives and finds no row", what);
	publish(w, 3, 1001);
	is_int(egs_table_repair(w, &err), 1,
	       "%s: the daemon repairs the file %s", what, err.msg);
	publish(w, 3, 1002);
	again = egs_table_open(path, &err);
	ok(again && egs_table_find(again, 10, 1002, STALE, &row),
	   "%s: a new mapping finds the row %s", what, err.msg);
	ok(!egs_table_is_same_file(t, again),
	   "%s: a lost mapping is replaced by a new one", what);
	ok(egs_table_fresh_seq(again, 1002, STALE) > seq,
	   "%s: no sequence number is used twice", what);
	egs_table_close(w);
	egs_table_free(t);
	egs_table_free(again);
}

static void test_cut_short(void)
{
	cut_short(0, "no byte");
	cut_short(4096, "one page");
}

int main(void)
{
	plan_none();
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/table", dir);
	test_story();
	test_victims();
	test_weaker();
	test_full();
	test_left();
	test_marks();
	test_row();
	test_race();
	test_damage();
	test_take();
	test_heart();
	test_modes();
	test_cut_short();
	test_forged();
	unlink(path);
	rmdir(dir);
	return done_testing();
}
