/* gpu_samples.c - take the samples of nodes, and note whose GPUs they are of */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/grow.h"
#include "policyd/requests/gpu_samples.h"
#include "policyd/requests/node.h"
#include "policyd/requests/remediate.h"

enum {
	INTERVAL_MAX_S = 3600,
	/* A node is late if it has missed two batches, and some seconds. */
	LATE_BATCHES = 3,
	LATE_SLACK_S = 10,
};

/* By the number of the node; NULL: it has sent nothing. */
struct node_slot {
	struct egs_node_samples *samples;
};

struct egs_gpu_samples {
	struct node_slot *node;
	uint32_t room;
};

static int init_samples(struct egs_daemon *d, struct egs_err *err)
{
	d->requests->gpu_samples = calloc(1, sizeof(struct egs_gpu_samples));
	return d->requests->gpu_samples ? 0 : egs_errf(err, "out of memory");
}

static void free_samples(struct egs_daemon *d)
{
	struct egs_gpu_samples *all =
		d->requests ? d->requests->gpu_samples : NULL;

	if (!all)
		return;
	for (uint32_t i = 0; i < all->room; i++)
		free(all->node[i].samples);
	free(all->node);
	free(all);
}

const struct egs_part egs_gpu_samples_part = {
	.name = "gpu samples",
	.init = init_samples,
	.stop = free_samples,
};

const struct egs_node_samples *egs_gpu_samples_of(const struct egs_daemon *d,
						  uint32_t node)
{
	const struct egs_gpu_samples *all = d->requests->gpu_samples;

	return node < all->room ? all->node[node].samples : NULL;
}

bool egs_gpu_samples_next(const struct egs_daemon *d, uint32_t *i,
			  struct egs_node_samples **node)
{
	const struct egs_gpu_samples *all = d->requests->gpu_samples;

	while (*i < all->room && !all->node[*i].samples)
		++*i;
	*node = *i < all->room ? all->node[*i].samples : NULL;
	return *node != NULL;
}

const struct egs_gpu_record *
egs_gpu_samples_find(const struct egs_node_samples *node, uint32_t gpu)
{
	for (uint32_t i = 0; node && i < node->n; i++)
		if (node->gpu[i].sample.gpu == gpu)
			return &node->gpu[i];
	return NULL;
}

bool egs_gpu_record_is_of(const struct egs_gpu_record *record,
			  const struct egs_job *job)
{
	if (!job || !record->holder.job_id)
		return !job && !record->holder.job_id;
	return egs_identity_is_same(&record->holder, &job->ident) &&
	       record->holder.restarts == job->ident.restarts;
}

bool egs_gpu_samples_are_late(const struct egs_node_samples *node,
			      egs_time_t now)
{
	return now - node->reported_at >
	       (egs_time_t)LATE_BATCHES * node->interval_s + LATE_SLACK_S;
}

bool egs_gpu_samples_are_fresh(const struct egs_node_samples *node,
			       egs_time_t now)
{
	return node && !egs_gpu_samples_are_late(node, now) &&
	       !*node->error.text;
}

/* A GPU is quiet at most for as long as the job has it. */
static int64_t get_quiet_s(const struct egs_node_samples *node,
			   const struct egs_gpu_record *record,
			   enum egs_gpu_metric metric, egs_time_t now)
{
	const struct egs_gpu_value *quiet = &record->sample.value[metric];
	int64_t age = now > node->sampled_at ? now - node->sampled_at : 0;
	int64_t held = now > record->held_since ? now - record->held_since : 0;

	if (!egs_gpu_samples_are_fresh(node, now) ||
	    !egs_gpu_sample_has(&record->sample, metric))
		return -1;
	if (!quiet->value)
		return 0;
	return !record->holder.job_id || held >= quiet->value + age
		       ? quiet->value + age
		       : held;
}

int64_t egs_gpu_record_idle_s(const struct egs_node_samples *node,
			      const struct egs_gpu_record *record,
			      egs_time_t now)
{
	return get_quiet_s(node, record, EGS_GPU_IDLE_S, now);
}

int64_t egs_gpu_record_empty_s(const struct egs_node_samples *node,
			       const struct egs_gpu_record *record,
			       egs_time_t now)
{
	return get_quiet_s(node, record, EGS_GPU_EMPTY_S, now);
}

/* The counter before a GPU changed hands, or with its first sample. */
static int64_t get_counter(const struct egs_gpu_record *record,
			   const struct egs_gpu_record *last,
			   enum egs_gpu_metric metric)
{
	const struct egs_gpu_sample *sample = &record->sample;

	if (last && egs_gpu_sample_has(&last->sample, metric))
		sample = &last->sample;
	return sample->value[metric].value;
}

/* A GPU changes hands when a job starts, or when a running job is resized.  The
 * second is seen with the first sample after it.
 */
static void begin_holding(struct egs_gpu_record *record,
			  const struct egs_job *j,
			  const struct egs_gpu_record *last, egs_time_t last_at,
			  egs_time_t now)
{
	record->holder = j ? j->ident : (struct egs_identity){ .job_id = 0 };
	record->held_since = j && j->started > last_at ? j->started : now;
	record->held_since_ms = egs_now_ms();
	record->energy_before_j = get_counter(record, last, EGS_GPU_ENERGY_J);
	record->xids_before = get_counter(record, last, EGS_GPU_XIDS);
}

/* The counters of a node begin at 0 when its sampler starts. */
static void correct_counters(struct egs_gpu_record *record)
{
	const struct egs_gpu_value *value = record->sample.value;

	if (value[EGS_GPU_ENERGY_J].value < record->energy_before_j)
		record->energy_before_j = 0;
	if (value[EGS_GPU_XIDS].value < record->xids_before)
		record->xids_before = 0;
}

/* A sample stands for the time since the last one, or since the job has the
 * GPU, but not for a time in which the node was silent.
 */
static int64_t get_covered_s(const struct egs_gpu_record *record,
			     egs_time_t last_at, uint32_t interval_s,
			     egs_time_t now)
{
	egs_time_t from =
		record->held_since > last_at ? record->held_since : last_at;

	return now - from < 2 * (int64_t)interval_s ? now - from
						    : 2 * (int64_t)interval_s;
}

static void attribute_sample(struct egs_daemon *d, uint32_t node,
			     struct egs_gpu_record *record,
			     const struct egs_node_samples *last,
			     uint32_t interval_s)
{
	const struct egs_gpu_record *was =
		egs_gpu_samples_find(last, record->sample.gpu);
	const struct egs_job *j =
		egs_nodes_find_gpu_job(d, node, record->sample.gpu);
	egs_time_t last_at = last && was ? last->sampled_at : d->started_at;
	egs_time_t now = egs_daemon_now();

	if (was && egs_gpu_record_is_of(was, j)) {
		record->holder = was->holder;
		record->held_since = was->held_since;
		record->held_since_ms = was->held_since_ms;
		record->energy_before_j = was->energy_before_j;
		record->xids_before = was->xids_before;
		record->use = was->use;
		record->cell = was->cell;
		record->cell_at = was->cell_at;
	} else {
		begin_holding(record, j, was, last_at, now);
		egs_gpu_sums_begin(record, j);
		if (was)
			egs_gpu_sums_end(d, node, was);
	}
	if (record->held_since > now) /* the clock was set back */
		record->held_since = now;
	correct_counters(record);
	egs_gpu_sums_add(d, node, record,
			 was ? get_counter(record, was, EGS_GPU_ENERGY_J)
			     : record->energy_before_j,
			 now, get_covered_s(record, last_at, interval_s, now));
}

static void read_header(const struct egs_msg *request,
			struct egs_node_samples *node)
{
	const char *driver = egs_msg_get_str(request, "driver");
	const char *error = egs_msg_get_str(request, "error");
	const char *session = egs_msg_get_str(request, "session");
	int64_t interval = 0;

	egs_msg_get_int(request, "interval", &interval);
	node->interval_s = interval < 1		       ? 1
			   : interval > INTERVAL_MAX_S ? INTERVAL_MAX_S
						       : (uint32_t)interval;
	node->reported_at = egs_daemon_now();
	egs_textf(&node->error, "%s", error ? error : "");
	snprintf(node->driver, sizeof(node->driver), "%.31s",
		 driver ? egs_printable(driver).text : "-");
	snprintf(node->session, sizeof(node->session), "%.23s",
		 session ? session : "");
}

/* A batch without samples keeps the old ones, whose age shows. */
static struct egs_node_samples *
make_samples(struct egs_daemon *d, uint32_t number,
	     const struct egs_msg *request,
	     const struct egs_gpu_sample *samples, uint32_t n)
{
	const struct egs_node_samples *last = egs_gpu_samples_of(d, number);
	uint32_t old = last && !n ? last->n : 0;
	struct egs_node_samples *node =
		calloc(1, sizeof(*node) + (n + old) * sizeof(node->gpu[0]));

	if (!node)
		return NULL;
	read_header(request, node);
	node->n = n + old;
	node->sampled_at = n ? node->reported_at : last ? last->sampled_at : 0;
	node->written_at = last ? last->written_at : 0;
	if (last)
		node->caps = last->caps;
	for (uint32_t i = 0; i < old; i++)
		node->gpu[i] = last->gpu[i];
	for (uint32_t i = 0; i < n; i++) {
		node->gpu[i].sample = samples[i];
		attribute_sample(d, number, &node->gpu[i], last,
				 node->interval_s);
	}
	return node;
}

static void add_processes(struct egs_daemon *d, uint32_t number,
			  const struct egs_msg *request)
{
	static struct egs_gpu_process list[EGS_GPU_PROCESSES_MAX];
	uint32_t n = egs_gpu_process_read(request, list);
	struct egs_node_samples *node =
		d->requests->gpu_samples->node[number].samples;

	for (uint32_t i = 0; i < n; i++)
		egs_gpu_sums_add_process(
			d, number,
			(struct egs_gpu_record *)egs_gpu_samples_find(
				node, list[i].gpu),
			&list[i]);
}

int egs_verb_node_gpus(void *arg, const struct egs_peer *peer,
		       const struct egs_msg *request, struct egs_msg *answer,
		       struct egs_err *err)
{
	static struct egs_gpu_sample samples[EGS_GPU_SAMPLES_MAX];
	struct egs_daemon *d = arg;
	struct egs_gpu_samples *all = d->requests->gpu_samples;
	struct egs_node_samples *new;
	int64_t node;
	int n;

	if (egs_requests_check_synced(d, err) < 0)
		return EGS_REPLY_RETRY;
	node = egs_nodes_identify(d, peer, request, err);
	if (node < 0)
		return (int)node;
	n = egs_gpu_sample_read(request, samples, err);
	if (n < 0)
		return -1;
	new = egs_grow(&all->node, &all->room, (uint32_t)node + 1) < 0
		      ? NULL
		      : make_samples(d, (uint32_t)node, request, samples,
				     (uint32_t)n);
	if (!new)
		return egs_errf(err, "out of memory");
	free(all->node[node].samples);
	all->node[node].samples = new;
	add_processes(d, (uint32_t)node, request);
	egs_remediate_judge(d, (uint32_t)node);
	egs_remediate_note_caps(d, (uint32_t)node, request, &new->caps);
	egs_remediate_answer_caps(d, (uint32_t)node, answer);
	return 0;
}
