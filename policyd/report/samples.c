/* samples.c - report of one job: each of its GPUs, five minutes a row */
#include "common/base/array.h"
#include "policyd/report/report_internal.h"
#include "policyd/store/gpu_use.h"

/* What was not known is -1 on disk. */
static void add_values(sqlite3_str *sql)
{
	static const char *const values[] = {
		"sm",	   "max_sm",	  "mem_mb", "max_mem_mb",
		"power_w", "max_power_w", "idle_s", "empty_s",
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		sqlite3_str_appendf(sql, ", iif(c.%s<0, '-', c.%s)", values[i],
				    values[i]);
}

int egs_report_samples(struct egs_report *r, struct egs_err *err)
{
	sqlite3_str *sql;
	char job[64];

	if (egs_report_format_job(egs_msg_get_str(r->request, "name"), job,
				  sizeof(job), err) < 0)
		return -1;
	egs_report_set_columns(r,
			       "TIME,RESTARTS,NODE,GPU,MEASURED,SM,MAXSM,MEM,"
			       "MAXMEM,POWER,MAXPOWER,IDLE,EMPTY",
			       "RESTARTS,GPU,MEASURED,SM,MAXSM,MEM,MAXMEM,"
			       "POWER,MAXPOWER,IDLE,EMPTY",
			       "TIME");
	egs_report_set_view(r,
			    "TIME,RESTARTS,NODE,GPU,MEASURED,SM,MEM,MAXMEM,"
			    "POWER,IDLE,EMPTY",
			    "MEASURED=s,SM=%,MAXSM=%,MEM=MiB,MAXMEM=MiB,"
			    "POWER=W,MAXPOWER=W,IDLE=s,EMPTY=s");
	sql = sqlite3_str_new(r->db);
	sqlite3_str_appendf(sql,
			    "WITH job AS (SELECT * FROM run WHERE %s)"
			    " SELECT (c.id>>%d)*%d, r.restarts, n.name, c.gpu,"
			    " c.sampled_s",
			    job, EGS_GPU_CELL_SHIFT, EGS_GPU_CELL_S);
	add_values(sql);
	/* The job's own time is a small part of the table. */
	sqlite3_str_appendf(
		sql,
		" FROM gpu_cell c JOIN job r ON r.id=c.run JOIN kind k ON"
		" k.id=r.kind JOIN node_name n ON n.id=c.node WHERE"
		" c.id>=max(%lld, (SELECT min(start)/%d*%d FROM job)) AND"
		" c.id<%lld",
		(long long)egs_gpu_cell_id(r->from), EGS_GPU_CELL_S,
		1 << EGS_GPU_CELL_SHIFT,
		(long long)egs_gpu_cell_id(r->to + EGS_GPU_CELL_S - 1));
	egs_report_add_filter(r, sql, true);
	sqlite3_str_appendf(sql, " ORDER BY c.id>>%d, n.name, c.gpu, c.id",
			    EGS_GPU_CELL_SHIFT);
	return egs_report_add_page(r, sql, err);
}
