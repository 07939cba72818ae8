/* gpu_advice.c - what to tell the owner of a job about GPUs that it does not
 * use
 */
#include <inttypes.h>

#include "policyd/requests/gpu_advice.h"
#include "policyd/requests/node.h"

enum { QUIET_SAMPLES = 2 };

int64_t egs_gpu_advice_quiet_s(const struct egs_node_samples *node,
			       const struct egs_gpu_record *record,
			       egs_time_t now)
{
	int64_t idle = egs_gpu_record_idle_s(node, record, now);
	int64_t empty = egs_gpu_record_empty_s(node, record, now);
	int64_t longest = idle > empty ? idle : empty;

	return longest >= (int64_t)QUIET_SAMPLES * node->interval_s ? longest
								    : 0;
}

/* Was the GPU not seen in use after its job had started?  The daemon may have
 * seen the job later than its first samples.
 */
static bool is_quiet_from_start(const struct egs_node_samples *node,
				const struct egs_gpu_record *record,
				enum egs_gpu_metric metric,
				const struct egs_job *j)
{
	int64_t quiet = egs_gpu_sample_has(&record->sample, metric)
				? record->sample.value[metric].value
				: 0;

	return quiet &&
	       node->sampled_at - quiet <= j->started + node->interval_s;
}

bool egs_gpu_advice_is_unused(const struct egs_node_samples *node,
			      const struct egs_gpu_record *record,
			      const struct egs_job *j, egs_time_t now)
{
	return egs_gpu_advice_quiet_s(node, record, now) &&
	       (is_quiet_from_start(node, record, EGS_GPU_IDLE_S, j) ||
		is_quiet_from_start(node, record, EGS_GPU_EMPTY_S, j));
}

static void count_gpu(const struct egs_node_samples *node, uint32_t gpu,
		      const struct egs_job *j, struct egs_gpu_advice *advice)
{
	const struct egs_gpu_record *record = egs_gpu_samples_find(node, gpu);
	egs_time_t now = egs_daemon_now();
	int64_t quiet = record && egs_gpu_record_is_of(record, j)
				? egs_gpu_advice_quiet_s(node, record, now)
				: 0;

	advice->gpus++;
	if (!quiet)
		return;
	if (!advice->quiet++ || quiet < advice->quiet_s)
		advice->quiet_s = quiet;
	advice->unused += egs_gpu_advice_is_unused(node, record, j, now);
}

void egs_gpu_advice_count(const struct egs_daemon *d, const struct egs_job *j,
			  struct egs_gpu_advice *advice)
{
	*advice = (struct egs_gpu_advice){ .nodes = j->nallocs };
	for (uint32_t i = 0; i < j->nallocs; i++)
		for (uint32_t gpu = 0; gpu < EGS_GPU_SAMPLES_MAX; gpu++)
			if (j->alloc[i].gpu_set >> gpu & 1)
				count_gpu(
					egs_gpu_samples_of(d, j->alloc[i].node),
					gpu, j, advice);
}

/* --gres counts the GPUs of one node. */
void egs_gpu_advice_format_request(const struct egs_gpu_advice *advice,
				   struct egs_text *text)
{
	uint32_t enough = advice->gpus - advice->unused;

	*text = (struct egs_text){ "" };
	if (!advice->unused)
		return;
	if (!enough)
		egs_textf(text, "the job has not used a GPU");
	else if (advice->nodes > 1)
		egs_textf(text, "%" PRIu32 " GPUs would have done", enough);
	else
		egs_textf(text, "--gres=gpu:%" PRIu32 " would have done",
			  enough);
}

const char *egs_gpu_advice_format_time(int64_t seconds, struct egs_text *text)
{
	if (seconds < 120)
		return egs_textf(text, "%" PRId64 " s", seconds);
	if (seconds < 7200)
		return egs_textf(text, "%" PRId64 " min", seconds / 60);
	return egs_textf(text, "%" PRId64 " h", seconds / 3600);
}

/* Only a job with a phase can give GPUs back while it runs. */
static void append_remedy(const struct egs_daemon *d, const struct egs_job *j,
			  const struct egs_gpu_advice *advice,
			  struct egs_text *text)
{
	const struct egs_policy_conf *c = egs_daemon_conf(d);
	struct egs_text request;

	egs_gpu_advice_format_request(advice, &request);
	if (*request.text)
		egs_text_append(text, "; %s", request.text);
	if (advice->quiet == advice->gpus)
		egs_text_append(text, "; cancel the job if it is done");
	else if (c->live_resize && j->facts.phase >= 0)
		egs_text_append(text,
				"; give %s back with egs phase %s "
				"--gpus=%" PRIu32,
				advice->quiet == 1 ? "it" : "them",
				c->phase[j->facts.phase].name,
				advice->gpus - advice->quiet);
}

bool egs_gpu_advice_format(const struct egs_daemon *d, const struct egs_job *j,
			   struct egs_text *text)
{
	struct egs_gpu_advice advice;
	struct egs_text time;

	egs_gpu_advice_count(d, j, &advice);
	if (!advice.quiet)
		return false;
	egs_textf(text, "%" PRIu32 " of %" PRIu32 " GPUs %s been idle for %s",
		  advice.quiet, advice.gpus, advice.quiet == 1 ? "has" : "have",
		  egs_gpu_advice_format_time(advice.quiet_s, &time));
	append_remedy(d, j, &advice, text);
	return true;
}

static void count_held(struct egs_daemon *d, struct egs_held_gpus *gpus,
		       uint32_t nnodes)
{
	struct egs_node_samples *node;
	egs_time_t now = egs_daemon_now();

	for (uint32_t i = 0; egs_gpu_samples_next(d, &i, &node) && i < nnodes;
	     i++) {
		if (!egs_gpu_samples_are_fresh(node, now))
			continue;
		gpus[i].measured = node->n;
		for (uint32_t k = 0; k < node->n; k++)
			gpus[i].quiet +=
				node->gpu[k].holder.job_id &&
				egs_gpu_record_is_of(
					&node->gpu[k],
					egs_nodes_find_gpu_job(
						d, i,
						node->gpu[k].sample.gpu)) &&
				egs_gpu_advice_quiet_s(node, &node->gpu[k],
						       now);
	}
}

const struct egs_part egs_gpu_advice_part = {
	.name = "gpu advice",
	.count_held = count_held,
};
