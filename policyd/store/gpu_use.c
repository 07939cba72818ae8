/* gpu_use.c - what each attempt did with each of its GPUs, on disk */
#include "policyd/store/gpu_use.h"
#include "policyd/store/store_sql.h"

int egs_gpu_use_add(struct egs_store *store, const struct egs_gpu_use *use,
		    struct egs_err *err)
{
	return egs_sql_run_row(
		store,
		"INSERT INTO #gpu_use ON CONFLICT"
		" (job_id, restarts, start, node, gpu) DO UPDATE SET"
		" at=max(at, excluded.at),"
		" sampled_s=sampled_s+excluded.sampled_s,"
		" sm_s=sm_s+excluded.sm_s,"
		" sm_percent_s=sm_percent_s+excluded.sm_percent_s,"
		" mem_s=mem_s+excluded.mem_s,"
		" max_mem_mb=max(max_mem_mb, excluded.max_mem_mb),"
		" energy_s=energy_s+excluded.energy_s,"
		" energy_j=energy_j+excluded.energy_j,"
		" idle_s=idle_s+excluded.idle_s,"
		" empty_s=empty_s+excluded.empty_s",
		EGS_TABLE_GPU_USE, use, err);
}
