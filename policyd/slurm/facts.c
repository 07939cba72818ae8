/* facts.c - facts as bytes: one table row per field
 *
 * To add a field: a member of the struct, a row here, and a line in
 * worker_slurm.c where Slurm's own struct is read.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/slurm/facts.h"

enum kind { U32, U64, STR, GPUS, PARTS };

struct field {
	enum kind kind;
	size_t at;
};

#define JOB(kind, name)                                   \
	{                                                 \
		kind, offsetof(struct egs_job_fact, name) \
	}
#define NODE(kind, name)                                   \
	{                                                  \
		kind, offsetof(struct egs_node_fact, name) \
	}

static const struct field job_fields[] = {
	JOB(U32, job_id),	 JOB(U32, array_job_id), JOB(U32, task),
	JOB(U32, het),		 JOB(U32, uid),		 JOB(U32, restarts),
	JOB(U32, state),	 JOB(U32, flags),	 JOB(U32, priority),
	JOB(U32, limit_s),	 JOB(U32, nnodes),	 JOB(U32, cpus),
	JOB(U64, mem_mb),	 JOB(U64, submit),	 JOB(U64, eligible),
	JOB(U64, start),	 JOB(U64, end),		 JOB(U64, preempted),
	JOB(U64, resized),	 JOB(U64, turned),	 JOB(U64, ran_s),
	JOB(STR, user),		 JOB(STR, groups),	 JOB(STR, account),
	JOB(STR, partition),	 JOB(STR, qos),		 JOB(STR, name),
	JOB(STR, admin_comment), JOB(STR, comment),	 JOB(STR, reason),
	JOB(STR, dependency),	 JOB(STR, nodes),	 JOB(GPUS, gpus),
	JOB(STR, how),		 JOB(PARTS, parts),	 JOB(U32, ntasks),
	JOB(STR, where),
};

static const struct field node_fields[] = {
	NODE(U32, flags),      NODE(U32, cpus),	       NODE(U32, cpus_used),
	NODE(U64, mem_mb),     NODE(U64, mem_used_mb), NODE(STR, name),
	NODE(STR, partitions), NODE(STR, address),     NODE(GPUS, gpus),
	NODE(GPUS, used),      NODE(STR, features),
};

static void put_gpus(struct egs_buf *buf, const struct egs_gpus *g)
{
	uint32_t i;

	egs_buf_u32(buf, g->n);
	for (i = 0; i < g->n; i++) {
		egs_buf_str(buf, g->row[i].type);
		egs_buf_u32(buf, g->row[i].count);
	}
}

static void get_gpus(struct egs_read *in, struct egs_gpus *g)
{
	uint32_t n = egs_read_u32(in), i;

	if (n > EGS_GPUS_MAX)
		in->failed = true;
	for (i = 0; i < n && !in->failed; i++) {
		const char *type = egs_read_str(in);

		snprintf(g->row[i].type, sizeof(g->row[i].type), "%s",
			 type ? type : "");
		g->row[i].count = egs_read_u32(in);
	}
	g->n = in->failed ? 0 : n;
}

void egs_fact_part_put(struct egs_buf *buf, const struct egs_fact_part *part)
{
	egs_buf_str(buf, part->node);
	egs_buf_u32(buf, part->gpus);
	egs_buf_u32(buf, part->cpus);
}

bool egs_fact_part_get(struct egs_read *parts, struct egs_fact_part *part)
{
	if (!parts->left)
		return false;
	part->node = egs_read_str(parts);
	part->gpus = egs_read_u32(parts);
	part->cpus = egs_read_u32(parts);
	return !parts->failed && part->node;
}

static void put(struct egs_buf *buf, const struct field *f, const void *fact)
{
	const void *at = (const char *)fact + f->at;
	const struct egs_read *parts;

	switch (f->kind) {
	case U32:
		egs_buf_u32(buf, *(const uint32_t *)at);
		break;
	case U64:
		egs_buf_u64(buf, *(const uint64_t *)at);
		break;
	case STR:
		egs_buf_str(buf, *(const char *const *)at);
		break;
	case GPUS:
		put_gpus(buf, at);
		break;
	case PARTS:
		parts = at;
		egs_buf_bytes(buf, parts->at, parts->left);
		break;
	}
}

static void get(struct egs_read *in, const struct field *f, void *fact)
{
	void *at = (char *)fact + f->at;

	switch (f->kind) {
	case U32:
		*(uint32_t *)at = egs_read_u32(in);
		break;
	case U64:
		*(uint64_t *)at = egs_read_u64(in);
		break;
	case STR:
		*(const char **)at = egs_read_str(in);
		break;
	case GPUS:
		get_gpus(in, at);
		break;
	case PARTS:
		*(struct egs_read *)at = egs_read_bytes(in);
		break;
	}
}

void egs_job_fact_put(struct egs_buf *buf, const struct egs_job_fact *fact)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(job_fields); i++)
		put(buf, &job_fields[i], fact);
}

void egs_node_fact_put(struct egs_buf *buf, const struct egs_node_fact *fact)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(node_fields); i++)
		put(buf, &node_fields[i], fact);
}

int egs_job_fact_get(struct egs_read *in, struct egs_job_fact *fact)
{
	size_t i;

	memset(fact, 0, sizeof(*fact));
	for (i = 0; i < ARRAY_SIZE(job_fields); i++)
		get(in, &job_fields[i], fact);
	return in->failed || fact->state > EGS_JOB_ENDED ? -1 : 0;
}

int egs_node_fact_get(struct egs_read *in, struct egs_node_fact *fact)
{
	size_t i;

	memset(fact, 0, sizeof(*fact));
	for (i = 0; i < ARRAY_SIZE(node_fields); i++)
		get(in, &node_fields[i], fact);
	return in->failed || !fact->name ? -1 : 0;
}

uint32_t egs_fact_helps(const struct egs_job_fact *fact)
{
	const char *words = fact->admin_comment;
	const char *mark = words ? strstr(words, EGS_HELPER_MARK) : NULL;

	if (!mark || (mark > words && mark[-1] != ' '))
		return 0;
	return (uint32_t)strtoul(mark + strlen(EGS_HELPER_MARK), NULL, 10);
}
