/* show_map.c - show the map of all GPUs: what each one does, and for which team
 *
 * A row is a group of GPUs of one node that do the same for the same job, so
 * 1,000 nodes fit in one answer.  Everybody sees all GPUs.  The job and its
 * user, and how busy a GPU is, are shown to the owner and to operators.  With
 * PrivateData=jobs of Slurm, others do not see the team either.
 */
#include <inttypes.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/gpu_samples.h"
#include "policyd/requests/node.h"

enum gpu_use { USE_FREE, USE_BUSY, USE_IDLE, USE_SICK, USE_FENCED, USE_DOWN };

static const char *const use_names[] = {
	[USE_FREE] = "free", [USE_BUSY] = "busy",     [USE_IDLE] = "idle",
	[USE_SICK] = "sick", [USE_FENCED] = "fenced", [USE_DOWN] = "down",
};

/* GPUs of a node that do the same for the same job. */
struct gpu_group {
	const struct egs_job *job; /* NULL: none, or a hidden one */
	enum gpu_use use;
	uint64_t set; /* their numbers, as bits */
	uint32_t count;
	int64_t sm_sum;
	uint32_t measured; /* of them, in 'sm_sum' */
};

struct map_view {
	struct egs_daemon *d;
	uid_t uid;	/* the client */
	bool all;	/* an operator */
	bool hide_jobs; /* PrivateData=jobs */
	uint32_t number;
	const struct egs_node_info *node;
	struct gpu_group group[EGS_GPU_SAMPLES_MAX];
	size_t ngroups;
	struct egs_msg *answer;
};

bool egs_requests_may_see(const struct egs_daemon *d, uid_t uid,
			  const struct egs_job *j)
{
	return j->ident.uid == uid || egs_daemon_operator_name(d, uid);
}

/* ---- groups ---- */

static enum gpu_use find_use(const struct map_view *v, const struct egs_job *j,
			     const struct egs_gpu_look *look, bool held)
{
	if (look->is_sick)
		return USE_SICK;
	if (held)
		return look->is_idle && j && (v->all || j->ident.uid == v->uid)
			       ? USE_IDLE
			       : USE_BUSY;
	if (!v->node->up)
		return USE_DOWN;
	return egs_daemon_is_fenced(v->d, v->node->name) ? USE_FENCED
							 : USE_FREE;
}

/* The group of GPUs like this one; NULL: there are too many GPUs. */
static struct gpu_group *find_group(struct map_view *v, const struct egs_job *j,
				    enum gpu_use use)
{
	size_t i;

	for (i = 0; i < v->ngroups; i++)
		if (v->group[i].job == j && v->group[i].use == use)
			return &v->group[i];
	if (i == ARRAY_SIZE(v->group))
		return NULL;
	v->group[v->ngroups++] = (struct gpu_group){ .job = j, .use = use };
	return &v->group[i];
}

static void add_gpu(struct map_view *v, uint32_t gpu, const struct egs_job *j,
		    bool held)
{
	struct egs_gpu_look look = egs_gpus_look(v->d, v->number, gpu, j);
	enum gpu_use use = find_use(v, j, &look, held);
	struct gpu_group *g;

	if (j && v->hide_jobs && !v->all && j->ident.uid != v->uid)
		j = NULL;
	g = find_group(v, j, use);
	if (!g)
		return;
	g->set |= UINT64_C(1) << gpu;
	g->count++;
	if (look.sm_pct >= 0) {
		g->sm_sum += look.sm_pct;
		g->measured++;
	}
}

/* Slurm does not always tell which GPUs a job has, only how many are in use. */
static void group_gpus(struct map_view *v)
{
	const struct egs_job *holder[EGS_GPU_SAMPLES_MAX];
	uint32_t n = v->node->gpus < EGS_GPU_SAMPLES_MAX ? v->node->gpus
							 : EGS_GPU_SAMPLES_MAX;
	uint32_t known = 0, unknown, i;

	v->ngroups = 0;
	for (i = 0; i < n; i++) {
		holder[i] = egs_nodes_find_gpu_job(v->d, v->number, i);
		known += holder[i] != NULL;
	}
	unknown = v->node->gpus_used > known ? v->node->gpus_used - known : 0;
	for (i = 0; i < n; i++) {
		add_gpu(v, i, holder[i], holder[i] || unknown);
		unknown -= !holder[i] && unknown;
	}
}

/* ---- rows ---- */

/* Write the numbers of a set: "0-3,6". */
static void format_set(uint64_t set, struct egs_text *text)
{
	*text = (struct egs_text){ "" };
	for (unsigned int i = 0, last; i < 64; i = last + 1) {
		last = i;
		if (!(set >> i & 1))
			continue;
		while (last < 63 && set >> (last + 1) & 1)
			last++;
		egs_text_append(text, "%s%u", *text->text ? "," : "", i);
		if (last > i)
			egs_text_append(text, "-%u", last);
	}
}

static void add_job_cells(const struct map_view *v, const struct egs_job *j)
{
	const struct egs_policy_conf *c = egs_daemon_conf(v->d);
	struct egs_job_info known = { .user = "?" };
	bool visible = j && egs_requests_may_see(v->d, v->uid, j);
	char text[EGS_JOB_TEXT_SIZE] = "-";

	if (visible) {
		egs_cluster_lookup(v->d->cluster, j->ident.job_id, &known);
		egs_daemon_format_job_id(v->d, &j->ident, text);
	}
	egs_msg_add_cell(v->answer, j && j->facts.team >= 0
					    ? c->team[j->facts.team].name
					    : "-");
	egs_msg_add_cell(v->answer, j && j->facts.tier >= 0
					    ? c->tier[j->facts.tier].name
					    : "-");
	egs_msg_add_cell(v->answer, j && j->facts.phase >= 0
					    ? c->phase[j->facts.phase].name
					    : "-");
	egs_msg_add_cell(v->answer, j ? egs_requests_loan_name(v->d, j) : "-");
	egs_msg_add_cell(v->answer, text);
	egs_msg_add_cell(v->answer, visible ? known.user : "-");
}

static void add_left(const struct map_view *v, const struct egs_job *j)
{
	int64_t left;

	if (!j || !j->preempting) {
		egs_msg_add_cell(v->answer, "-");
		return;
	}
	left = j->deadline - egs_daemon_now();
	egs_msg_add_cell_int(v->answer, left > 0 ? left : 0);
}

static void add_group(const struct map_view *v, const struct gpu_group *g)
{
	bool visible = g->job && egs_requests_may_see(v->d, v->uid, g->job);
	struct egs_text gpus;

	format_set(g->set, &gpus);
	egs_msg_add_row(v->answer);
	egs_msg_add_cell(v->answer, v->node->name);
	egs_msg_add_cell(v->answer, *v->node->type ? v->node->type : "-");
	egs_msg_add_cell(v->answer, gpus.text);
	egs_msg_add_cell_int(v->answer, g->count);
	egs_msg_add_cell(v->answer, use_names[g->use]);
	add_job_cells(v, g->job);
	if (visible && g->measured)
		egs_msg_add_cell_int(v->answer, g->sm_sum / g->measured);
	else
		egs_msg_add_cell(v->answer, "-");
	add_left(v, g->job);
}

int egs_show_map(struct egs_daemon *d, const struct egs_peer *peer,
		 struct egs_msg *answer)
{
	static const char *const columns[] = {
		"NODE",	 "TYPE", "GPUS",  "COUNT", "STATE", "TEAM", "TIER",
		"PHASE", "LOAN", "JOBID", "USER",  "SM",    "LEFT"
	};
	struct map_view v = {
		.d = d,
		.uid = peer->uid,
		.all = egs_daemon_operator_name(d, peer->uid) != NULL,
		.hide_jobs = egs_private_data_get(d).jobs,
		.answer = answer,
	};

	egs_msg_set_columns(answer, columns, ARRAY_SIZE(columns));
	egs_msg_set_str(answer, "units", "SM=%,LEFT=s");
	for (; (v.node = egs_cluster_get_node(d->cluster, v.number));
	     v.number++) {
		if (v.node->gone || !v.node->gpus)
			continue;
		group_gpus(&v);
		for (size_t i = 0; i < v.ngroups; i++)
			add_group(&v, &v.group[i]);
	}
	return 0;
}
