/* facts.c - facts as bytes: one table row per field
 *
 * To add a field: a member of the struct, a row here, and a line in
 * read_jobs.c, which reads Slurm's own struct.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/slurm/facts.h"

enum field_kind { U32, U64, STR, GPUS, ALLOCS };

struct fact_field {
	enum field_kind kind;
	size_t offset;
};

#define JOB_FIELD(kind, name)                             \
	{                                                 \
		kind, offsetof(struct egs_job_fact, name) \
	}
#define NODE_FIELD(kind, name)                             \
	{                                                  \
		kind, offsetof(struct egs_node_fact, name) \
	}

static const struct fact_field job_fields[] = {
	JOB_FIELD(U32, job_id),	      JOB_FIELD(U32, array_job_id),
	JOB_FIELD(U32, task),	      JOB_FIELD(U32, het),
	JOB_FIELD(U32, uid),	      JOB_FIELD(U32, restarts),
	JOB_FIELD(U32, state),	      JOB_FIELD(U32, flags),
	JOB_FIELD(U32, priority),     JOB_FIELD(U32, time_limit_s),
	JOB_FIELD(U32, nnodes),	      JOB_FIELD(U32, cpus),
	JOB_FIELD(U64, mem_mb),	      JOB_FIELD(U64, submit),
	JOB_FIELD(U64, eligible),     JOB_FIELD(U64, start),
	JOB_FIELD(U64, end),	      JOB_FIELD(U64, preempt_time),
	JOB_FIELD(U64, resize_time),  JOB_FIELD(U64, suspend_time),
	JOB_FIELD(U64, ran_before_s), JOB_FIELD(STR, user),
	JOB_FIELD(STR, groups),	      JOB_FIELD(STR, account),
	JOB_FIELD(STR, partition),    JOB_FIELD(STR, qos),
	JOB_FIELD(STR, name),	      JOB_FIELD(STR, admin_comment),
	JOB_FIELD(STR, comment),      JOB_FIELD(STR, reason),
	JOB_FIELD(STR, dependency),   JOB_FIELD(STR, nodes),
	JOB_FIELD(GPUS, gpus),	      JOB_FIELD(STR, end_state),
	JOB_FIELD(ALLOCS, allocs),    JOB_FIELD(U32, ntasks),
	JOB_FIELD(STR, node_filter),  JOB_FIELD(U32, het_job),
};

static const struct fact_field node_fields[] = {
	NODE_FIELD(U32, flags),	      NODE_FIELD(U32, cpus),
	NODE_FIELD(U32, cpus_used),   NODE_FIELD(U64, mem_mb),
	NODE_FIELD(U64, mem_used_mb), NODE_FIELD(STR, name),
	NODE_FIELD(STR, partitions),  NODE_FIELD(STR, address),
	NODE_FIELD(GPUS, gpus),	      NODE_FIELD(GPUS, gpus_used),
	NODE_FIELD(STR, features),
};

static void put_gpus(struct egs_buf *buf, const struct egs_gpu_count *g)
{
	egs_buf_put_u32(buf, g->ntypes);
	for (uint32_t i = 0; i < g->ntypes; i++) {
		egs_buf_put_str(buf, g->by_type[i].type);
		egs_buf_put_u32(buf, g->by_type[i].count);
	}
}

static void get_gpus(struct egs_buf_reader *in, struct egs_gpu_count *g)
{
	uint32_t n = egs_buf_get_u32(in);

	if (n > EGS_GPU_COUNT_TYPES_MAX)
		in->failed = true;
	for (uint32_t i = 0; i < n && !in->failed; i++) {
		const char *type = egs_buf_get_str(in);

		snprintf(g->by_type[i].type, sizeof(g->by_type[i].type), "%s",
			 type ? type : "");
		g->by_type[i].count = egs_buf_get_u32(in);
	}
	g->ntypes = in->failed ? 0 : n;
}

void egs_fact_put_alloc(struct egs_buf *buf, const struct egs_fact_alloc *alloc)
{
	egs_buf_put_str(buf, alloc->node);
	egs_buf_put_u32(buf, alloc->gpus);
	egs_buf_put_u32(buf, alloc->cpus);
	egs_buf_put_u64(buf, alloc->gpu_set);
}

bool egs_fact_get_alloc(struct egs_buf_reader *allocs,
			struct egs_fact_alloc *alloc)
{
	if (!allocs->left)
		return false;
	alloc->node = egs_buf_get_str(allocs);
	alloc->gpus = egs_buf_get_u32(allocs);
	alloc->cpus = egs_buf_get_u32(allocs);
	alloc->gpu_set = egs_buf_get_u64(allocs);
	return !allocs->failed && alloc->node;
}

static void put_field(struct egs_buf *buf, const struct fact_field *f,
		      const void *fact)
{
	const void *at = (const char *)fact + f->offset;
	const struct egs_buf_reader *allocs;

	switch (f->kind) {
	case U32:
		egs_buf_put_u32(buf, *(const uint32_t *)at);
		break;
	case U64:
		egs_buf_put_u64(buf, *(const uint64_t *)at);
		break;
	case STR:
		egs_buf_put_str(buf, *(const char *const *)at);
		break;
	case GPUS:
		put_gpus(buf, at);
		break;
	case ALLOCS:
		allocs = at;
		egs_buf_put_bytes(buf, allocs->at, allocs->left);
		break;
	}
}

static void get_field(struct egs_buf_reader *in, const struct fact_field *f,
		      void *fact)
{
	void *at = (char *)fact + f->offset;

	switch (f->kind) {
	case U32:
		*(uint32_t *)at = egs_buf_get_u32(in);
		break;
	case U64:
		*(uint64_t *)at = egs_buf_get_u64(in);
		break;
	case STR:
		*(const char **)at = egs_buf_get_str(in);
		break;
	case GPUS:
		get_gpus(in, at);
		break;
	case ALLOCS:
		*(struct egs_buf_reader *)at = egs_buf_get_bytes(in);
		break;
	}
}

static void put_fact(struct egs_buf *buf, const struct fact_field *field,
		     size_t n, const void *fact)
{
	for (size_t i = 0; i < n; i++)
		put_field(buf, &field[i], fact);
}

static void get_fact(struct egs_buf_reader *in, const struct fact_field *field,
		     size_t n, void *fact)
{
	for (size_t i = 0; i < n; i++)
		get_field(in, &field[i], fact);
}

void egs_fact_put_job(struct egs_buf *buf, const struct egs_job_fact *fact)
{
	put_fact(buf, job_fields, ARRAY_SIZE(job_fields), fact);
}

void egs_fact_put_node(struct egs_buf *buf, const struct egs_node_fact *fact)
{
	put_fact(buf, node_fields, ARRAY_SIZE(node_fields), fact);
}

int egs_fact_get_job(struct egs_buf_reader *in, struct egs_job_fact *fact)
{
	memset(fact, 0, sizeof(*fact));
	get_fact(in, job_fields, ARRAY_SIZE(job_fields), fact);
	return in->failed || fact->state > EGS_JOB_ENDED ? -1 : 0;
}

int egs_fact_get_node(struct egs_buf_reader *in, struct egs_node_fact *fact)
{
	memset(fact, 0, sizeof(*fact));
	get_fact(in, node_fields, ARRAY_SIZE(node_fields), fact);
	return in->failed || !fact->name ? -1 : 0;
}

uint64_t egs_fact_parse_mem_mb(const char *tres)
{
	const char *mem = tres ? strstr(tres, "mem=") : NULL;
	char *unit = NULL;
	double n = mem ? strtod(mem + 4, &unit) : 0;

	if (!mem)
		return 0;
	return (uint64_t)(*unit == 'K'	 ? n / 1024
			  : *unit == 'G' ? n * 1024
			  : *unit == 'T' ? n * 1024 * 1024
					 : n);
}
