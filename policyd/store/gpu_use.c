/* gpu_use.c - what GPUs did for the jobs that had them, on disk */
#include "policyd/store/gpu_use.h"
#include "common/base/array.h"
#include "policyd/store/store_sql.h"

static void raise_most(int64_t *most, int64_t value)
{
	if (value > *most)
		*most = value;
}

void egs_gpu_amounts_add(struct egs_gpu_amounts *sum,
			 const struct egs_gpu_amounts *more)
{
	sum->sampled_s += more->sampled_s;
	sum->sm_s += more->sm_s;
	sum->sm_percent_s += more->sm_percent_s;
	raise_most(&sum->max_sm, more->max_sm);
	sum->mem_s += more->mem_s;
	sum->mem_mb_s += more->mem_mb_s;
	raise_most(&sum->max_mem_mb, more->max_mem_mb);
	raise_most(&sum->mem_total_mb, more->mem_total_mb);
	sum->power_s += more->power_s;
	sum->power_ws += more->power_ws;
	raise_most(&sum->max_power_w, more->max_power_w);
	raise_most(&sum->power_limit_w, more->power_limit_w);
	sum->energy_s += more->energy_s;
	sum->energy_j += more->energy_j;
	sum->process_s += more->process_s;
	sum->idle_s += more->idle_s;
	sum->empty_s += more->empty_s;
	sum->low_power_s += more->low_power_s;
	sum->low_power_ws += more->low_power_ws;
}

/* egs_gpu_amounts_add() in SQL. */
#define ADD_AMOUNTS                                                  \
	" sampled_s=sampled_s+excluded.sampled_s,"                   \
	" sm_s=sm_s+excluded.sm_s,"                                  \
	" sm_percent_s=sm_percent_s+excluded.sm_percent_s,"          \
	" max_sm=max(max_sm, excluded.max_sm),"                      \
	" mem_s=mem_s+excluded.mem_s,"                               \
	" mem_mb_s=mem_mb_s+excluded.mem_mb_s,"                      \
	" max_mem_mb=max(max_mem_mb, excluded.max_mem_mb),"          \
	" mem_total_mb=max(mem_total_mb, excluded.mem_total_mb),"    \
	" power_s=power_s+excluded.power_s,"                         \
	" power_ws=power_ws+excluded.power_ws,"                      \
	" max_power_w=max(max_power_w, excluded.max_power_w),"       \
	" power_limit_w=max(power_limit_w, excluded.power_limit_w)," \
	" energy_s=energy_s+excluded.energy_s,"                      \
	" energy_j=energy_j+excluded.energy_j,"                      \
	" process_s=process_s+excluded.process_s,"                   \
	" idle_s=idle_s+excluded.idle_s,"                            \
	" empty_s=empty_s+excluded.empty_s,"                         \
	" low_power_s=low_power_s+excluded.low_power_s,"             \
	" low_power_ws=low_power_ws+excluded.low_power_ws"

/* The attempt's number in the history, 0: it is not there. */
static int find_run(struct egs_store *store, const struct egs_gpu_use *use,
		    int64_t *run, struct egs_err *err)
{
	return egs_sql_read_int(
		store,
		egs_sql_bind(store,
			     "SELECT id FROM run WHERE job_id=? AND restarts=?"
			     " AND start=?",
			     err, "iii", (int64_t)use->job_id,
			     (int64_t)use->restarts, use->start),
		run, err);
}

/* The kind of use of GPUs of 'type', at present or at last. */
static int find_kind(struct egs_store *store, int64_t run, const char *type,
		     int64_t *kind, struct egs_err *err)
{
	sqlite3_stmt *stmt = egs_sql_bind(
		store,
		"SELECT o.kind FROM open_span o JOIN kind k ON k.id=o.kind"
		" WHERE o.run=?1 AND o.gpus>0 ORDER BY k.type<>?2 LIMIT 1",
		err, "is", run, type);

	if (egs_sql_read_int(store, stmt, kind, err) < 0)
		return -1;
	if (*kind)
		return 0;
	stmt = egs_sql_bind(
		store,
		"SELECT s.kind FROM span s JOIN kind k ON k.id=s.kind WHERE"
		" s.run=?1 AND s.gpus>0 ORDER BY k.type<>?2, s.id DESC LIMIT 1",
		err, "is", run, type);
	return egs_sql_read_int(store, stmt, kind, err);
}

static int add_rollups(struct egs_store *store, int64_t kind,
		       const struct egs_gpu_use *use, struct egs_err *err)
{
	static const int64_t sizes[] = { EGS_HOUR_S, EGS_DAY_S };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const struct egs_gpu_rollup_row row = {
			.bucket_s = sizes[i],
			.at = use->at - use->at % sizes[i],
			.kind = kind,
			.sum = use->sum,
		};

		if (egs_sql_run_row(store,
				    "INSERT INTO #gpu_rollup ON CONFLICT"
				    " (bucket_s, at, kind) DO UPDATE"
				    " SET" ADD_AMOUNTS,
				    EGS_TABLE_GPU_ROLLUP, &row, err) < 0)
			return -1;
	}
	return 0;
}

int egs_gpu_use_add(struct egs_store *store, const struct egs_gpu_use *use,
		    const char *type, struct egs_err *err)
{
	int64_t run, kind = 0;

	if (egs_sql_run_row(store,
			    "INSERT INTO #gpu_use ON CONFLICT"
			    " (job_id, restarts, start, node, gpu) DO UPDATE"
			    " SET at=max(at, excluded.at)," ADD_AMOUNTS,
			    EGS_TABLE_GPU_USE, use, err) < 0 ||
	    find_run(store, use, &run, err) < 0 ||
	    (run && find_kind(store, run, type, &kind, err) < 0))
		return -1;
	return kind ? add_rollups(store, kind, use, err) : 0;
}

int egs_gpu_use_add_unsampled(struct egs_store *store,
			      const struct egs_gpu_use *use, const char *type,
			      struct egs_err *err)
{
	int64_t run, rows = 0;

	if (find_run(store, use, &run, err) < 0 ||
	    egs_sql_read_int(
		    store,
		    egs_sql_bind(store,
				 "SELECT count(*) FROM gpu_use WHERE job_id=?"
				 " AND restarts=? AND start=? AND node=?"
				 " AND gpu=?",
				 err, "iiisi", (int64_t)use->job_id,
				 (int64_t)use->restarts, use->start, use->node,
				 (int64_t)use->gpu),
		    &rows, err) < 0)
		return -1;
	return run && !rows ? egs_gpu_use_add(store, use, type, err) : 0;
}

/* ---- cells ---- */

static int find_node(struct egs_store *store, const char *name, int64_t *id,
		     struct egs_err *err)
{
	const struct egs_node_name_row row = { .name = name };

	if (egs_sql_read_int(
		    store,
		    egs_sql_bind_row(store,
				     "SELECT id FROM node_name WHERE name=?",
				     EGS_TABLE_NODE_NAME, &row, err),
		    id, err) < 0)
		return -1;
	if (*id)
		return 0;
	if (egs_sql_run_row(store, "INSERT INTO #node_name",
			    EGS_TABLE_NODE_NAME, &row, err) < 0)
		return -1;
	*id = sqlite3_last_insert_rowid(store->db);
	return 0;
}

/* The id after the last row of the cell. */
static int find_next_id(struct egs_store *store, egs_time_t at, int64_t *id,
			struct egs_err *err)
{
	return egs_sql_read_int(
		store,
		egs_sql_bind(store,
			     "SELECT ifnull(max(id)+1, ?1) FROM gpu_cell WHERE"
			     " id>=?1 AND id<?2",
			     err, "ii", egs_gpu_cell_id(at),
			     egs_gpu_cell_id(at + EGS_GPU_CELL_S)),
		id, err);
}

static int64_t get_mean(int64_t sum, int64_t seconds)
{
	return seconds ? (sum + seconds / 2) / seconds : -1;
}

static int64_t get_known(int64_t value, int64_t seconds)
{
	return seconds ? value : -1;
}

int egs_gpu_cell_add(struct egs_store *store, const struct egs_gpu_use *use,
		     struct egs_err *err)
{
	const struct egs_gpu_amounts *sum = &use->sum;
	int64_t run, node, id;

	if (find_run(store, use, &run, err) < 0)
		return -1;
	if (!run)
		return 0;
	if (find_node(store, use->node, &node, err) < 0 ||
	    find_next_id(store, use->at, &id, err) < 0)
		return -1;
	return egs_sql_run(
		store,
		"INSERT INTO gpu_cell (id, run, node, gpu, sampled_s, sm,"
		" max_sm, mem_mb, max_mem_mb, power_w, max_power_w, idle_s,"
		" empty_s) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
		err, "iiiiiiiiiiiii", id, run, node, (int64_t)use->gpu,
		sum->sampled_s, get_mean(sum->sm_percent_s, sum->sm_s),
		get_known(sum->max_sm, sum->sm_s),
		get_mean(sum->mem_mb_s, sum->mem_s),
		get_known(sum->max_mem_mb, sum->mem_s),
		get_mean(sum->power_ws, sum->power_s),
		get_known(sum->max_power_w, sum->power_s),
		get_known(sum->idle_s, sum->sm_s),
		get_known(sum->empty_s, sum->process_s));
}

int egs_gpu_cell_prune(struct egs_store *store, egs_time_t before, int64_t max,
		       struct egs_err *err)
{
	return egs_sql_run(store,
			   "DELETE FROM gpu_cell WHERE id IN (SELECT id FROM"
			   " gpu_cell WHERE id<? ORDER BY id LIMIT ?)",
			   err, "ii", egs_gpu_cell_id(before), max);
}
