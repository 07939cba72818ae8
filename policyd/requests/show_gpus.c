/* show_gpus.c - show what GPUs do
 *
 * A user sees the GPUs of his jobs, an operator all.  A value that is not known
 * is "-".  So are all values if the node does not measure any more: old numbers
 * look like new ones.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "policyd/requests/gpu_advice.h"
#include "policyd/requests/node.h"
#include "policyd/requests/remediate.h"

/* One row. */
struct gpu_view {
	const struct egs_node_info *node;
	const struct egs_node_samples *samples; /* of the node, or NULL */
	const struct egs_gpu_record *record;	/* NULL: no values */
	const struct egs_job *job;		/* that has the GPU, or NULL */
	const struct egs_gpu_advice *advice;	/* about the job, or NULL */
	uint32_t number;			/* of the node */
	uint32_t gpu;
	egs_time_t now;
};

/* ---- values ---- */

static egs_time_t sample_age(const struct gpu_view *v)
{
	return v->samples->sampled_at < v->now ? v->now - v->samples->sampled_at
					       : 0;
}

static bool is_measured(const struct gpu_view *v)
{
	return egs_gpu_samples_are_fresh(v->samples, v->now);
}

/* The value of a metric as it is shown; -1: unknown. */
static int64_t get_value(const struct gpu_view *v, enum egs_gpu_metric metric)
{
	int64_t value;

	if (!v->record || !egs_gpu_sample_has(&v->record->sample, metric))
		return -1;
	value = v->record->sample.value[metric].value;
	switch (metric) {
	case EGS_GPU_POWER_MW:
		return (value + 500) / 1000;
	case EGS_GPU_ENERGY_J:
		return value - v->record->energy_before_j;
	case EGS_GPU_XIDS:
		return value - v->record->xids_before;
	case EGS_GPU_XID:
		return get_value(v, EGS_GPU_XIDS) > 0 ? value : -1;
	case EGS_GPU_EMPTY_S:
		return egs_gpu_record_empty_s(v->samples, v->record, v->now);
	case EGS_GPU_IDLE_S:
		return egs_gpu_record_idle_s(v->samples, v->record, v->now);
	default:
		return value;
	}
}

static void add_value(struct egs_msg *answer, int64_t value)
{
	if (value < 0)
		egs_msg_add_cell(answer, "-");
	else
		egs_msg_add_cell_int(answer, value);
}

/* "nvml", or "nvml,sm=gpm" if some values are from elsewhere. */
static void add_sources(struct egs_msg *answer, const struct gpu_view *v)
{
	struct egs_text text = { "" };

	for (int i = 0; v->record && i < EGS_GPU_METRICS; i++) {
		enum egs_gpu_source source = v->record->sample.value[i].source;

		if (source == EGS_GPU_SOURCE_NVML && !*text.text)
			egs_textf(&text, "nvml");
	}
	for (int i = 0; v->record && i < EGS_GPU_METRICS; i++)
		if (v->record->sample.value[i].source == EGS_GPU_SOURCE_GPM)
			egs_text_append(
				&text, "%s%s=gpm", *text.text ? "," : "",
				egs_gpu_metric_name((enum egs_gpu_metric)i));
	egs_msg_add_cell(answer, *text.text ? text.text : "-");
}

/* ---- the note ---- */

static void append_note(struct egs_text *note, const char *words)
{
	egs_text_append(note, "%s%s", *note->text ? "; " : "", words);
}

static void note_health(const struct gpu_view *v, struct egs_text *note)
{
	static const char *const actions[EGS_GPU_RECOVERY_COUNT] = {
		[EGS_GPU_RECOVERY_RESET] = "the driver asks for a reset of the "
					   "GPU",
		[EGS_GPU_RECOVERY_REBOOT] = "the driver asks for a reboot of "
					    "the node",
		[EGS_GPU_RECOVERY_DRAIN_P2P] = "the driver asks to stop "
					       "traffic between GPUs",
		[EGS_GPU_RECOVERY_DRAIN_AND_RESET] = "the driver asks to drain "
						     "the GPU and to reset it",
	};
	int64_t action = get_value(v, EGS_GPU_RECOVERY);
	int64_t reasons = get_value(v, EGS_GPU_CLOCK_REASONS);

	if (v->record->sample.state == EGS_GPU_LOST)
		append_note(note, "the driver has lost this GPU");
	if (v->record->sample.state == EGS_GPU_MISSING)
		append_note(note, "the driver does not have this GPU");
	if (action > 0)
		append_note(note, actions[action]);
	if (reasons < 0)
		return;
	if (reasons & (EGS_GPU_CLOCK_SW_THERMAL | EGS_GPU_CLOCK_HW_THERMAL))
		append_note(note, "slowed down by heat");
	else if (reasons &
		 (EGS_GPU_CLOCK_HW_SLOWDOWN | EGS_GPU_CLOCK_POWER_BRAKE))
		append_note(note, "slowed down by its power supply or heat");
}

static void note_errors(const struct gpu_view *v, struct egs_text *note)
{
	int64_t xids = get_value(v, EGS_GPU_XIDS);
	int64_t ecc = get_value(v, EGS_GPU_ECC);
	struct egs_text text;

	if (xids > 0) {
		egs_textf(&text, "XID %" PRId64, get_value(v, EGS_GPU_XID));
		if (xids > 1)
			egs_text_append(&text, ", %" PRId64 " in all", xids);
		append_note(note, text.text);
	}
	if (ecc > 0)
		append_note(note,
			    egs_textf(&text,
				      "%" PRId64 " uncorrected memory errors",
				      ecc));
}

/* Only of a GPU that a job has.  The cause, no process, says more than that no
 * SM is busy.
 */
static void note_quiet(const struct gpu_view *v, struct egs_text *note)
{
	int64_t quiet = egs_gpu_advice_quiet_s(v->samples, v->record, v->now);
	int64_t empty = get_value(v, EGS_GPU_EMPTY_S);
	struct egs_text text, words;

	if (!v->job || !quiet)
		return;
	append_note(note, egs_textf(&words, "%s for %s",
				    empty > 0 ? "no process" : "SM 0 %",
				    egs_gpu_advice_format_time(
					    empty > 0 ? empty : quiet, &text)));
	if (!v->advice ||
	    !egs_gpu_advice_is_unused(v->samples, v->record, v->job, v->now))
		return;
	egs_gpu_advice_format_request(v->advice, &text);
	append_note(note, text.text);
}

static void format_note(const struct gpu_view *v, struct egs_text *note)
{
	struct egs_text text;

	*note = (struct egs_text){ "" };
	if (!v->samples)
		append_note(note, "egs-noded has not reported this GPU");
	else if (egs_gpu_samples_are_late(v->samples, v->now))
		egs_textf(note, "egs-noded has not reported for %s",
			  egs_gpu_advice_format_time(
				  v->now - v->samples->reported_at, &text));
	else if (*v->samples->error.text)
		egs_textf(note, "not sampled: %s", v->samples->error.text);
	else if (!v->record)
		append_note(note, v->job ? "no sample yet of this job"
					 : "no sample yet");
	if (!v->record)
		return;
	note_health(v, note);
	note_errors(v, note);
	note_quiet(v, note);
}

/* ---- rows ---- */

static const enum egs_gpu_metric shown[] = {
	EGS_GPU_SM,	      EGS_GPU_MEM_MB,	  EGS_GPU_MEM_TOTAL_MB,
	EGS_GPU_POWER_MW,     EGS_GPU_TEMP_C,	  EGS_GPU_PROCESSES,
	EGS_GPU_EMPTY_S,      EGS_GPU_IDLE_S,	  EGS_GPU_ENERGY_J,
	EGS_GPU_PCIE_RX_KB,   EGS_GPU_PCIE_TX_KB, EGS_GPU_NVLINK_RX_KB,
	EGS_GPU_NVLINK_TX_KB, EGS_GPU_ECC,	  EGS_GPU_XID,
	EGS_GPU_XIDS,	      EGS_GPU_RECOVERY,
};

/* A table of one job does not repeat the job in each row for a person. */
static void set_gpu_columns(struct egs_msg *answer, bool one_job)
{
	static const char *const first[] = { "NODE", "GPU", "TYPE", "JOBID",
					     "USER" };
	static const char *const last[] = { "CLOCKS", "AGE", "DRIVER", "SOURCE",
					    "NOTE" };
	const char *
		names[ARRAY_SIZE(first) + ARRAY_SIZE(shown) + ARRAY_SIZE(last)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		names[n++] = first[i];
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		names[n++] = egs_gpu_metric_name(shown[i]);
	for (size_t i = 0; i < ARRAY_SIZE(last); i++)
		names[n++] = last[i];
	egs_msg_set_columns(answer, names, n);
	egs_msg_set_str(answer, "shown",
			one_job ? "NODE,GPU,TYPE,SM,MEM,MEMTOTAL,POWER,TEMP,"
				  "AGE,NOTE"
				: "NODE,GPU,TYPE,JOBID,USER,SM,MEM,MEMTOTAL,"
				  "POWER,TEMP,AGE,NOTE");
	egs_msg_set_str(answer, "units",
			"SM=%,MEM=MiB,MEMTOTAL=MiB,POWER=W,TEMP=C,AGE=s,"
			"EMPTY=s,IDLE=s,ENERGY=J,PCIERX=KiB/s,PCIETX=KiB/s,"
			"NVLINKRX=KiB/s,NVLINKTX=KiB/s");
}

static void add_job_cells(const struct egs_daemon *d, const struct egs_job *j,
			  struct egs_msg *answer)
{
	struct egs_job_info known = { .user = "?" };
	char text[EGS_JOB_TEXT_SIZE] = "-";

	if (j) {
		egs_cluster_lookup(d->cluster, j->ident.job_id, &known);
		egs_daemon_format_job_id(d, &j->ident, text);
	}
	egs_msg_add_cell(answer, text);
	egs_msg_add_cell(answer, j ? known.user : "-");
}

/* As nvidia-smi writes them, with NVML's bits. */
static void add_clock_reasons(const struct gpu_view *v, struct egs_msg *answer)
{
	int64_t reasons = get_value(v, EGS_GPU_CLOCK_REASONS);
	struct egs_text text = { "-" };

	if (reasons >= 0)
		egs_textf(&text, "0x%" PRIx64, (uint64_t)reasons);
	egs_msg_add_cell(answer, text.text);
}

static void add_view(const struct egs_daemon *d, const struct gpu_view *v,
		     struct egs_msg *answer)
{
	const char *type = v->node->type;
	struct egs_text note;

	format_note(v, &note);
	egs_remediate_note(d, v->number, v->gpu, &note);
	egs_msg_add_row(answer);
	egs_msg_add_cell(answer, v->node->name);
	egs_msg_add_cell_int(answer, v->gpu);
	egs_msg_add_cell(answer, *type && !v->node->mixed ? type : "-");
	add_job_cells(d, v->job, answer);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		add_value(answer, get_value(v, shown[i]));
	add_clock_reasons(v, answer);
	add_value(answer,
		  v->samples && v->samples->sampled_at ? sample_age(v) : -1);
	egs_msg_add_cell(answer, is_measured(v) ? v->samples->driver : "-");
	add_sources(answer, v);
	egs_msg_add_cell(answer, note.text);
}

/* A sample is shown if it is new, and of this run of this job. */
static struct gpu_view view_gpu(const struct egs_daemon *d, uint32_t node,
				uint32_t gpu, const struct egs_job *j)
{
	struct gpu_view v = {
		.node = egs_cluster_get_node(d->cluster, node),
		.samples = egs_gpu_samples_of(d, node),
		.job = j,
		.number = node,
		.gpu = gpu,
		.now = egs_daemon_now(),
	};

	v.record = egs_gpu_samples_find(v.samples, gpu);
	if (v.record &&
	    (!is_measured(&v) || !egs_gpu_record_is_of(v.record, j)))
		v.record = NULL;
	return v;
}

static void add_gpu(struct egs_daemon *d, uint32_t node, uint32_t gpu,
		    const struct egs_job *j,
		    const struct egs_gpu_advice *advice, struct egs_msg *answer)
{
	struct gpu_view v = view_gpu(d, node, gpu, j);

	v.advice = advice;
	if (v.node)
		add_view(d, &v, answer);
}

struct egs_gpu_look egs_gpus_look(struct egs_daemon *d, uint32_t node,
				  uint32_t gpu, const struct egs_job *j)
{
	struct gpu_view v = view_gpu(d, node, gpu, j);
	struct egs_gpu_look look = { .sm_pct = -1 };

	if (!v.record)
		return look;
	look.sm_pct = get_value(&v, EGS_GPU_SM);
	look.is_idle =
		j && egs_gpu_advice_quiet_s(v.samples, v.record, v.now) > 0;
	look.is_sick = v.record->sample.state != EGS_GPU_OK ||
		       get_value(&v, EGS_GPU_RECOVERY) > 0 ||
		       get_value(&v, EGS_GPU_ECC) > 0;
	return look;
}

static int show_job_gpus(struct egs_daemon *d, const struct egs_peer *peer,
			 const struct egs_msg *request, struct egs_msg *answer,
			 struct egs_err *err)
{
	const struct egs_job *j = egs_requests_find_job(d, request, err);
	struct egs_gpu_advice advice;
	struct egs_text text;
	uint64_t all = 0;

	if (!j || egs_requests_check_owner(d, peer, j->ident.job_id,
					   j->ident.uid, err) < 0)
		return -1;
	if (!j->running || !j->gpus)
		return egs_errf(err, "job %" PRIu32 " %s", j->ident.job_id,
				j->running ? "has no GPUs" : "does not run");
	egs_gpu_advice_count(d, j, &advice);
	for (uint32_t i = 0; i < j->nallocs; i++)
		for (uint32_t gpu = 0; gpu < 64; gpu++) {
			if (!(j->alloc[i].gpu_set >> gpu & 1))
				continue;
			all |= j->alloc[i].gpu_set;
			add_gpu(d, j->alloc[i].node, gpu, j, &advice, answer);
		}
	if (egs_gpu_advice_format(d, j, &text))
		egs_msg_set_str(answer, "advice", text.text);
	return all ? 0
		   : egs_errf(err,
			      "Slurm does not tell which GPUs job %" PRIu32
			      " has",
			      j->ident.job_id);
}

int egs_show_gpus(void *arg, const struct egs_peer *peer,
		  const struct egs_msg *request, struct egs_msg *answer,
		  struct egs_err *err)
{
	struct egs_daemon *d = arg;
	bool all = egs_daemon_operator_name(d, peer->uid) != NULL;
	bool one_job = egs_msg_get_str(request, "job") != NULL;
	const struct egs_node_info *n;

	set_gpu_columns(answer, one_job);
	if (one_job)
		return show_job_gpus(d, peer, request, answer, err);
	for (uint32_t i = 0; (n = egs_cluster_get_node(d->cluster, i)); i++)
		for (uint32_t gpu = 0;
		     !n->gone && gpu < n->gpus && gpu < EGS_GPU_SAMPLES_MAX;
		     gpu++) {
			const struct egs_job *j =
				egs_nodes_find_gpu_job(d, i, gpu);

			if (all || (j && j->ident.uid == peer->uid))
				add_gpu(d, i, gpu, j, NULL, answer);
		}
	return 0;
}
