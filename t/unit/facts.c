/* facts.c - GPU counts in Slurm's words; facts as bytes */
#include <stdlib.h>

#include "common/base/array.h"
#include "policyd/slurm/facts.h"
#include "t/lib/unit/tap.h"

static const struct {
	const char *text;
	const char *want; /* TYPE=COUNT of each type */
} gres[] = {
	{ "gres:gpu:2", "=2" },
	{ "gres/gpu:a100:2", "a100=2" },
	{ "gres/gpu=3", "=3" },
	{ "gres:gpu:2k", "=2048" },
	{ "gres:gpu:a100:1K", "a100=1024" },
	{ "gres:gpu:9999999999", "=4294967295" },
	{ "gres:gpu:4294967295,gres:gpu:1", "=4294967295" },
	{ "gres:gpu:1KiB", "=1024" },
	{ "gres:gpu:9p", "=4294967295" },
	{ "gres:gpu:2km", "2km=1" },
	{ "gres/gpu:h100=4", "h100=4" },
	{ "gpu", "=1" },
	{ "gpu:a100", "a100=1" },
	{ "gpu:a100:2(IDX:0-1)", "a100=2" },
	{ "gpu(IDX:0-1,3)", "=3" },
	{ "gpu:a100:4(S:0-1),gpu:h100:2(S:1)", "a100=4 h100=2" },
	{ "gpu:a100:0(IDX:N/A),gpu:h100:1(IDX:0)", "a100=0 h100=1" },
	{ "cpu=4,mem=8G,gres/gpu:a100=2,billing=4", "a100=2" },
	{ "gpu:a100:1,gpu:a100:2", "a100=3" },
	{ "shard:4,gpumem:2,license:gpu", "" },
	{ "gpu(IDX:3-1),gpu(IDX:x", "=0" },
	{ "", "" },
	{ ",,gpu:,", "=1" },
	{ "((((gpu:2", "" },
};

static const char *format_gpus(const struct egs_gpu_count *g)
{
	static char text[512];
	size_t used = 0;
	uint32_t i;

	text[0] = '\0';
	for (i = 0; i < g->ntypes; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s=%u",
			i ? " " : "", g->by_type[i].type, g->by_type[i].count);
	return text;
}

static void test_gres(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gres); i++) {
		struct egs_gpu_count g = { .ntypes = 0 };

		egs_gpu_count_add(&g, gres[i].text, 1);
		is_str(format_gpus(&g), gres[i].want, "GPUs of '%s'",
		       gres[i].text);
	}
}

static void test_gpu_sets(void)
{
	static const struct {
		const char *text;
		uint64_t want;
	} cases[] = {
		{ "gpu:a100:2(IDX:0-1)", 3 },
		{ "gpu:a100:1(IDX:0),gpu:h100:2(IDX:3,5)", 41 },
		{ "gpu(IDX:63-70)", UINT64_C(1) << 63 },
		{ "gpu:2(S:0-1)", 0 },
		{ "gpu:a100:0(IDX:N/A)", 0 },
		{ "shard:4(IDX:0),gpu:1(IDX:2)", 4 },
		{ "gpu(IDX:3-1)", 0 },
		{ "gpu:2", 0 },
		{ NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ok(egs_gpu_count_read_set(cases[i].text) == cases[i].want,
		   "numbers of the GPUs in '%s'",
		   cases[i].text ? cases[i].text : "");
}

static void test_many_types(void)
{
	struct egs_gpu_count g = { .ntypes = 0 };
	char text[32];
	int i;

	for (i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "gpu:t%d:2", i);
		egs_gpu_count_add(&g, text, 3);
	}
	is_int(egs_gpu_count_total(&g), 120,
	       "the total of 20 GPU types counts every GPU");
	is_int(g.ntypes, EGS_GPU_COUNT_TYPES_MAX,
	       "GPU types beyond the limit share the last row");
}

static struct egs_job_fact sample(void)
{
	struct egs_job_fact f = {
		.job_id = 7,
		.task = UINT32_MAX,
		.uid = 2001,
		.state = EGS_JOB_RUNNING,
		.mem_mb = UINT64_C(1) << 40,
		.submit = 1234567890,
		.user = "alice",
		.account = "",
		.nodes = "n[1-2]",
	};

	egs_gpu_count_add(&f.gpus, "gpu:a100:2,gpu:h100:1", 2);
	return f;
}

static void test_put_and_get(void)
{
	struct egs_job_fact f = sample(), got;
	struct egs_node_fact n = { .name = "n1", .cpus = 8 }, node;
	struct egs_buf buf = { .used = 0 }, allocs = { .used = 0 };
	struct egs_fact_alloc alloc;
	struct egs_buf_reader in;

	egs_fact_put_alloc(&allocs, &(struct egs_fact_alloc){ "n1", 2, 4, 6 });
	egs_fact_put_alloc(&allocs, &(struct egs_fact_alloc){
					    "n2", 1, 8, UINT64_C(1) << 63 });
	f.allocs = (struct egs_buf_reader){ .at = allocs.bytes,
					    .left = allocs.used };
	egs_fact_put_job(&buf, &f);
	egs_fact_put_node(&buf, &n);
	in = (struct egs_buf_reader){ .at = buf.bytes, .left = buf.used };
	is_int(egs_fact_get_job(&in, &got), 0, "a job fact is read back");
	is_int((intmax_t)got.mem_mb, (intmax_t)f.mem_mb,
	       "a number is read back");
	is_str(got.nodes, "n[1-2]", "a string is read back");
	is_str(got.account, "", "an empty string stays empty");
	is_str(got.qos, NULL, "NULL stays NULL");
	is_str(format_gpus(&got.gpus), "a100=4 h100=2",
	       "GPU counts are read back");
	ok(egs_fact_get_alloc(&got.allocs, &alloc) && alloc.gpus == 2 &&
		   egs_fact_get_alloc(&got.allocs, &alloc) && alloc.cpus == 8,
	   "the allocation on each node is read back");
	ok(alloc.gpu_set == UINT64_C(1) << 63,
	   "an allocation has the numbers of its GPUs");
	is_str(alloc.node, "n2", "an allocation has the name of its node");
	ok(!egs_fact_get_alloc(&got.allocs, &alloc),
	   "the list of allocations ends");
	is_int(egs_fact_get_node(&in, &node), 0,
	       "a node fact behind a job fact is read back");
	is_str(node.name, "n1", "a node fact has the name of the node");
	is_int((intmax_t)in.left, 0, "both facts together are all bytes");
	egs_buf_clear(&buf);
	egs_buf_clear(&allocs);
}

/* Every prefix, and every byte changed: never a crash, and a fact that was
 * cut short is refused.
 */
static void test_damage(void)
{
	struct egs_job_fact f = sample(), got;
	struct egs_buf buf = { .used = 0 };
	size_t i, accepted = 0;

	egs_fact_put_job(&buf, &f);
	for (i = 0; i < buf.used; i++) {
		char *copy = malloc(i + 1); /* exactly this long, for ASan */
		struct egs_buf_reader in = { .at = copy, .left = i };

		memcpy(copy, buf.bytes, i);
		accepted += egs_fact_get_job(&in, &got) == 0;
		free(copy);
	}
	is_int((intmax_t)accepted, 0, "every prefix of a fact is refused");
	for (i = 0; i < buf.used; i++) {
		struct egs_buf_reader in = { .at = buf.bytes,
					     .left = buf.used };

		buf.bytes[i] ^= 0x55;
		egs_fact_get_job(&in, &got);
		buf.bytes[i] ^= 0x55;
	}
	ok(true, "a fact with any byte changed is read without a crash");
	egs_buf_clear(&buf);
}

static void test_memory(void)
{
	is_int((intmax_t)egs_fact_parse_mem_mb("cpu=2,mem=7.5G,node=1"), 7680,
	       "mem=7.5G is 7680 MB");
	is_int((intmax_t)egs_fact_parse_mem_mb("mem=2048K"), 2,
	       "mem=2048K is 2 MB");
	is_int((intmax_t)egs_fact_parse_mem_mb("mem=300"), 300,
	       "mem= without a unit is in MB");
	is_int((intmax_t)egs_fact_parse_mem_mb("mem=1T,cpu=1"), 1048576,
	       "mem=1T is 1048576 MB");
	is_int((intmax_t)egs_fact_parse_mem_mb("cpu=2"), 0,
	       "a TRES text without mem= has no memory");
	is_int((intmax_t)egs_fact_parse_mem_mb(NULL), 0,
	       "no TRES text has no memory");
}

int main(void)
{
	plan_none();
	test_gres();
	test_gpu_sets();
	test_many_types();
	test_put_and_get();
	test_damage();
	test_memory();
	return done_testing();
}
