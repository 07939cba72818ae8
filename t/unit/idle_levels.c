/* idle_levels.c - idle and wasted GPUs beside blocked jobs, computed by hand
 *
 * Each story is a hundred seconds: nodes and what runs on them from 0 on, a job
 * that waits from 20 to 80.  What is expected is reckoned by hand, in seconds
 * of GPUs or cores.
 */
#include <err.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/base/array.h"
#include "t/lib/unit/daemon_fixture.h"
#include "t/lib/unit/tap.h"

/* 2026-11-16 10:00:00 UTC */
#define BEGIN 1794823200

static egs_time_t clock_s = BEGIN;
static char text[1024];

/* The clock of this program. */
time_t time(time_t *timer)
{
	if (timer)
		*timer = clock_s;
	return clock_s;
}

static const char conf[] =
	"TierOrder=prod,scavenge\n"
	"GpuType=a100\n"
	"GpuType=h100\n"
	"Team=red Users=alice Quota=a100:4 DefaultTier=prod\n"
	"Team=blue Users=bob DefaultTier=scavenge\n";

/* Four GPUs, eight cores and 1000 MB. */
struct node {
	const char *name, *gpus, *partition;
	uint32_t flags;
	const char *used; /* GPUs, as Slurm shows them; NULL: none */
	uint32_t cpus_used;
};

static void show_node(const struct node *n)
{
	struct egs_node_fact fact = { .name = n->name,
				      .partitions = n->partition,
				      .features = "fast,a100",
				      .flags = n->flags,
				      .cpus = 8,
				      .cpus_used = n->cpus_used,
				      .mem_mb = 1000 };

	egs_gpu_count_add(&fact.gpus, n->gpus, 1);
	if (n->used)
		egs_gpu_count_add(&fact.gpus_used, n->used, 1);
	egs_cluster_update_node(d->cluster, &fact, clock_s);
}

/* A job that waits, with what it wants in all. */
struct wish {
	const char *user, *gpus, *partition;
	uint32_t nodes, cpus, flags;
	const char *where;
};

static struct egs_job_fact fact_of(uint32_t id, const struct wish *w)
{
	struct egs_job_fact f = daemon_job(id, EGS_JOB_PENDING);

	memset(&f.gpus, 0, sizeof(f.gpus));
	if (w->gpus)
		egs_gpu_count_add(&f.gpus, w->gpus, 1);
	f.user = w->user;
	f.partition = w->partition;
	f.nnodes = w->nodes;
	f.ntasks = w->nodes;
	f.cpus = w->cpus;
	f.priority = 100 - id;
	f.flags |= w->flags;
	if (!(w->flags & (EGS_FACT_HELD | EGS_FACT_DEPENDENT)))
		f.flags |= EGS_FACT_BLOCKED;
	f.reason = "Resources";
	f.node_filter = w->where;
	f.start = 0;
	return f;
}

static void wait_for(uint32_t id, const struct wish *w)
{
	struct egs_job_fact f = fact_of(id, w);

	egs_cluster_update_job(d->cluster, &f, clock_s);
}

/* A job of alice's that holds so much of a node. */
static void hold(uint32_t id, const char *node, const char *gpus, uint32_t n,
		 uint32_t cpus)
{
	struct egs_job_fact f = daemon_job(id, EGS_JOB_RUNNING);
	struct egs_fact_alloc part = { node, n, cpus, 0 };
	struct egs_buf parts = { .used = 0 };

	memset(&f.gpus, 0, sizeof(f.gpus));
	egs_gpu_count_add(&f.gpus, gpus, 1);
	f.cpus = cpus;
	f.partition = "gpu";
	f.nodes = node;
	egs_fact_put_alloc(&parts, &part);
	f.allocs = (struct egs_buf_reader){ .at = parts.bytes,
					    .left = parts.used };
	egs_cluster_update_job(d->cluster, &f, clock_s);
	egs_buf_clear(&parts);
}

/* So many seconds after the beginning; what was shown before then holds until
 * it.
 */
static void at(egs_time_t second)
{
	clock_s = BEGIN + second;
	egs_daemon_recompute(d);
}

static int add(void *arg, int n, char **value, char **name)
{
	size_t used = strlen(text);

	(void)arg;
	(void)name;
	(void)n;
	snprintf(text + used, sizeof(text) - used, "%s%s %s", used ? ", " : "",
		 value[1], value[0]);
	return 0;
}

/* Pairs of a name and a number: "60 fit, 120 latency". */
static const char *rows(const char *sql)
{
	sqlite3 *db = NULL;

	text[0] = '\0';
	if (sqlite3_open("./state", &db) != SQLITE_OK ||
	    sqlite3_exec(db, sql, add, NULL, NULL) != SQLITE_OK)
		snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	return text;
}

/* What was wasted of a scope and for how long; or, 'first', what there was. */
static const char *sums(const char *scope, bool first)
{
	char *sql = sqlite3_mprintf(
		"SELECT metric, sum(amount) FROM tally WHERE bucket_s=3600 AND "
		"scope=%Q AND (metric IN ('seen', 'capacity', 'idle'))=%d "
		"GROUP BY metric ORDER BY metric",
		scope, first);

	rows(sql);
	sqlite3_free(sql);
	return text;
}

static void begin(void)
{
	unlink("./state");
	unlink("./run/table");
	clock_s = BEGIN;
	daemon_conf = conf;
	daemon_start();
}

/* "800 capacity, 600 idle, 100 seen"; what is none is not there. */
static const char *whole(int capacity, int idle)
{
	static char want[64];

	snprintf(want, sizeof(want),
		 idle ? "%d capacity, %d idle, 100 seen"
		      : "%d capacity, 100 seen",
		 100 * capacity, idle ? 100 * idle : 0);
	return want;
}

/* Of n1 and n2, what alice's jobs hold; the job that waits; what of it all is
 * wasted.
 */
static const struct {
	const char *name;
	struct node node[2];
	struct {
		uint32_t gpus, cpus;
	} held[2];
	struct wish wish;
	const char *gpu, *cpu;
} causes[] = {
	{ "latency: a job needs two of eight idle GPUs",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, NULL, 0 } },
	  { { 0, 0 }, { 0, 0 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, NULL },
	  "60 fit, 120 latency, 60 wr",
	  "60 fit, 120 latency, 60 wr" },
	{ "fragmentation: two GPUs are idle on each node, a job needs four on "
	  "one",
	  { { "n1", "gpu:a100:4", "gpu", 0, "gpu:a100:2", 2 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:2", 2 } },
	  { { 2, 2 }, { 2, 2 } },
	  { "alice", "gpu:a100:4", "gpu", 1, 4, 0, NULL },
	  "240 fragmentation, 60 wr",
	  "240 stranded, 60 wr" },
	{ "stranded: three GPUs have no idle core, and the other node is full",
	  { { "n1", "gpu:a100:4", "gpu", 0, "gpu:a100:1", 8 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 } },
	  { { 1, 8 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, NULL },
	  "120 stranded, 60 wr",
	  "" },
	{ "teardown: Slurm shows four GPUs in use that no job holds",
	  { { "n1", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 } },
	  { { 0, 0 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, NULL },
	  "120 teardown, 60 wr",
	  "120 teardown, 60 wr" },
	{ "gang: six GPUs are idle, a job needs eight",
	  { { "n1", "gpu:a100:4", "gpu", 0, "gpu:a100:2", 2 },
	    { "n2", "gpu:a100:4", "gpu", 0, NULL, 0 } },
	  { { 2, 2 }, { 0, 0 } },
	  { "alice", "gpu:a100:8", "gpu", 2, 2, 0, NULL },
	  "360 gang, 60 wr",
	  "120 fragmentation, 60 wr" },
	{ "quota: a limit of Slurm holds back a job that would fit",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, NULL, 0 } },
	  { { 0, 0 }, { 0, 0 } },
	  { "alice", "gpu:a100:3", "gpu", 1, 2, EGS_FACT_LIMITED, NULL },
	  "60 fit, 180 quota, 60 wr",
	  "60 fit, 120 quota, 60 wr" },
	{ "constraint: GPUs are idle in another partition",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "serve", 0, "gpu:a100:4", 8 } },
	  { { 0, 0 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "serve", 1, 2, 0, NULL },
	  "120 constraint, 60 wr",
	  "120 constraint, 60 wr" },
	{ "constraint: GPUs are idle on a node that the job does not name",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 } },
	  { { 0, 0 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, "n[2-3]\n\n" },
	  "120 constraint, 60 wr",
	  "120 constraint, 60 wr" },
	{ "constraint: GPUs are idle on a node that the job excludes",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 } },
	  { { 0, 0 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, "\nn1\n" },
	  "120 constraint, 60 wr",
	  "120 constraint, 60 wr" },
	{ "constraint: GPUs are idle on a node without the feature",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 } },
	  { { 0, 0 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, "\n\nbig" },
	  "120 constraint, 60 wr",
	  "120 constraint, 60 wr" },
	{ "latency: the idle node meets all constraints of the job",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 } },
	  { { 0, 0 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, "n[1-2]\nn3\nfast" },
	  "60 fit, 120 latency, 60 wr",
	  "60 fit, 120 latency, 60 wr" },
	{ "reservation: GPUs are idle on a reserved node",
	  { { "n1", "gpu:a100:4", "gpu", EGS_NODE_RESERVED, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 } },
	  { { 0, 0 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, NULL },
	  "120 reservation",
	  "120 reservation" },
	{ "unhealthy: the node with idle GPUs is down",
	  { { "n1", "gpu:a100:4", "gpu", EGS_NODE_DOWN, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, "gpu:a100:4", 8 } },
	  { { 0, 0 }, { 4, 8 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, 0, NULL },
	  "120 unhealthy",
	  "120 unhealthy" },
	{ "cores: a job without GPUs wastes no GPU",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, NULL, 0 } },
	  { { 0, 0 }, { 0, 0 } },
	  { "alice", NULL, "gpu", 1, 5, 0, NULL },
	  "",
	  "60 fit, 300 latency, 60 wr" },
	{ "Revenue=no: a job of the last tier wastes nothing",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, NULL, 0 } },
	  { { 0, 0 }, { 0, 0 } },
	  { "bob", "gpu:a100:2", "gpu", 1, 2, 0, NULL },
	  "",
	  "" },
	{ "unmanaged: a job without a team wastes GPUs",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, NULL, 0 } },
	  { { 0, 0 }, { 0, 0 } },
	  { "carol", "gpu:a100:2", "gpu", 1, 2, 0, NULL },
	  "60 fit, 120 latency, 60 wr",
	  "60 fit, 120 latency, 60 wr" },
	{ "dependency: a job that waits for another wastes nothing",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, NULL, 0 } },
	  { { 0, 0 }, { 0, 0 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, EGS_FACT_DEPENDENT, NULL },
	  "",
	  "" },
	{ "held: a held job wastes nothing",
	  { { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
	    { "n2", "gpu:a100:4", "gpu", 0, NULL, 0 } },
	  { { 0, 0 }, { 0, 0 } },
	  { "alice", "gpu:a100:2", "gpu", 1, 2, EGS_FACT_HELD, NULL },
	  "",
	  "" },
};

static void test_cause(size_t which)
{
	const char *name = causes[which].name;
	char gpus[32];
	int i, idle = 8, cores = 16;

	begin();
	for (i = 0; i < 2; i++) {
		show_node(&causes[which].node[i]);
		if (!causes[which].held[i].gpus)
			continue;
		idle -= (int)causes[which].held[i].gpus;
		cores -= (int)causes[which].held[i].cpus;
		snprintf(gpus, sizeof(gpus), "gpu:a100:%u",
			 causes[which].held[i].gpus);
		hold((uint32_t)i + 1, causes[which].node[i].name, gpus,
		     causes[which].held[i].gpus, causes[which].held[i].cpus);
	}
	at(0);
	clock_s = BEGIN + 20;
	wait_for(9, &causes[which].wish);
	at(20);
	at(33);
	clock_s = BEGIN + 80;
	egs_cluster_job_gone(d->cluster, 9, clock_s);
	at(80);
	at(100);
	is_str(sums("gpu", false), causes[which].gpu, "%s", name);
	is_str(sums("cpu", false), causes[which].cpu, "%s: cores", name);
	is_str(sums("gpu", true), whole(8, idle), "%s: capacity and idle GPUs",
	       name);
	is_str(sums("cpu", true), whole(16, cores),
	       "%s: capacity and idle cores", name);
	daemon_stop();
}

/* h100 are idle in one partition and a100 in another; one job wants either, one
 * an a100 in "gpu", one h100 in "serve", more than there are.
 */
static void test_scopes(void)
{
	static const struct node nodes[] = {
		{ "n1", "gpu:a100:4", "gpu", 0, NULL, 0 },
		{ "n2", "gpu:h100:4", "serve", 0, NULL, 0 },
	};
	static const struct wish wishes[] = {
		{ "alice", "gpu:a100:1", "gpu", 1, 1, 0, NULL },
		{ "alice", "gpu:h100:6", "serve", 1, 1, 0, NULL },
		{ "alice", "gpu:2", "gpu,serve", 1, 1, 0, NULL },
	};

	begin();
	show_node(&nodes[0]);
	show_node(&nodes[1]);
	at(0);
	wait_for(1, &wishes[0]);
	at(0);
	clock_s = BEGIN + 10;
	wait_for(2, &wishes[1]);
	at(10);
	clock_s = BEGIN + 30;
	wait_for(3, &wishes[2]);
	at(30);
	clock_s = BEGIN + 60;
	egs_cluster_job_gone(d->cluster, 2, clock_s);
	at(60);
	at(100);
	/* The first has one a100 for 100 s, the second all four h100 for 50 s,
	 * the third two more a100 for 70 s.
	 */
	is_str(sums("gpu", false), "100 fit, 200 gang, 240 latency, 100 wr",
	       "three jobs that wait at different times waste their own GPUs");
	is_str(sums("gpu/type/a100", false), "100 fit, 240 latency, 100 wr",
	       "wasted a100 are counted by type");
	is_str(sums("gpu/type/h100", false), "70 fit, 200 gang, 90 wr",
	       "wasted h100 are counted by type, also for a job that takes "
	       "either");
	is_str(sums("gpu/partition/gpu", false), "100 fit, 240 latency, 100 wr",
	       "wasted GPUs count for the first partition of a job");
	is_str(sums("gpu/partition/serve", false), "200 gang, 50 wr",
	       "wasted GPUs of the other partition are counted apart");
	is_str(sums("gpu/type/h100", true), "400 capacity, 400 idle, 100 seen",
	       "each type has its own capacity");
	daemon_stop();
}

/* Sums are of hours; what nobody looked at is not seen. */
static void test_hours(void)
{
	static const struct node n1 = { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 };
	static const struct wish wish = { "alice", "gpu:a100:8", "gpu", 1, 1,
					  0,	   NULL };

	begin();
	show_node(&n1);
	wait_for(1, &wish);
	at(3590);
	at(3610);
	daemon_stop();
	clock_s = BEGIN + 3700;
	daemon_start();
	show_node(&n1);
	wait_for(1, &wish);
	at(3710);
	at(3730);
	is_str(sums("gpu", true), "160 capacity, 160 idle, 40 seen",
	       "time without a daemon is not counted as seen");
	is_str(sums("gpu", false), "160 gang, 40 wr",
	       "time without a daemon is not counted as wasted");
	is_str(rows("SELECT at-1794823200, amount FROM tally"
		    " WHERE bucket_s=3600 AND scope='gpu' AND metric='gang' "
		    "ORDER BY at"),
	       "40 0, 120 3600", "each hour has its own sum");
	is_str(rows("SELECT bucket_s, sum(amount) FROM tally WHERE scope='gpu'"
		    " AND metric='gang' GROUP BY bucket_s"),
	       "160 3600, 160 86400", "the day has the sum of its hours");
	daemon_stop();
}

/* Days in which nobody looks. */
static void leave_for(int days)
{
	egs_daemon_invalidate_levels(d);
	clock_s += days * INT64_C(86400);
}

/* What is older than Retention is forgotten, and nothing that is not. */
static void test_retention(void)
{
	static const struct node n1 = { "n1", "gpu:a100:4", "gpu", 0, NULL, 0 };
	static const struct wish wish = { "alice", "gpu:a100:8", "gpu", 1, 1,
					  0,	   NULL };
	static const char kept[] =
		"SELECT (SELECT count(*) FROM run)||' runs '||(SELECT count(*)"
		" FROM span)||' spans '||(SELECT count(*) FROM rollup)||"
		"' rolls '||(SELECT count(*) FROM wait)||' waits '||(SELECT "
		"count(*)"
		" FROM wait_reason)||' causes', count(DISTINCT at) FROM tally"
		" WHERE scope='gpu'";
	struct egs_job_fact f;

	begin();
	show_node(&n1);
	hold(1, "n1", "gpu:a100:1", 1, 1);
	at(0);
	f = daemon_job(1, EGS_JOB_ENDED);
	f.nodes = "n1";
	f.end = BEGIN + 50;
	f.end_state = "COMPLETED";
	clock_s = BEGIN + 60;
	egs_cluster_update_job(d->cluster, &f, clock_s);
	wait_for(2, &wish);
	at(60);
	at(100);
	/* Its hour, its day, and the hour before, in which it began. */
	is_str(rows(kept), "2 1 runs 1 spans 3 rolls 3 waits 3 causes",
	       "a run has its rows in the history");
	leave_for(399);
	egs_daemon_prune_history(d);
	is_str(rows(kept), "2 1 runs 1 spans 3 rolls 3 waits 3 causes",
	       "the history is kept for 400 days");
	leave_for(3);
	egs_daemon_prune_history(d);
	is_str(rows("SELECT 'sums', count(*) FROM tally"), "0 sums",
	       "tallies older than Retention are deleted");
	is_str(rows("SELECT 'runs', count(*) FROM run UNION ALL"
		    " SELECT 'spans', count(*) FROM span UNION ALL"
		    " SELECT 'rolls', count(*) FROM rollup"),
	       "0 runs, 0 spans, 0 rolls",
	       "runs older than Retention are deleted");
	leave_for(70);
	egs_daemon_prune_history(d);
	is_str(rows("SELECT 'waits', count(*) FROM wait UNION ALL"
		    " SELECT 'causes', count(*) FROM wait_reason"),
	       "0 waits, 0 causes",
	       "weeks of waits older than Retention are deleted");
	daemon_stop();
}

int main(void)
{
	size_t i;

	plan_none();
	conf_enter();
	for (i = 0; i < ARRAY_SIZE(causes); i++)
		test_cause(i);
	test_scopes();
	test_hours();
	test_retention();
	daemon_leave();
	return done_testing();
}
