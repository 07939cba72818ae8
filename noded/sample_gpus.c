/* sample_gpus.c - send what the GPUs of this node do to egs-policyd
 *
 * Only the last sample counts, so a batch that does not arrive is dropped, but
 * for processes that have ended (attribute_ended.c).
 */
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/node/gpus.h"
#include "noded/noded.h"
#include "noded/nvml_api.h"

enum { ANSWER_MS = 10000, PATIENCE_MIN_S = 5, PATIENCE_MAX_S = 20 };

/* A driver that is slow takes longer if it is asked more often. */
static uint32_t choose_patience_s(uint32_t interval_s)
{
	if (interval_s < PATIENCE_MIN_S)
		return PATIENCE_MIN_S;
	return interval_s < PATIENCE_MAX_S ? interval_s : PATIENCE_MAX_S;
}

static void send_samples(void *arg, struct egs_msg *batch)
{
	struct egs_noded *noded = arg;

	egs_noded_learn_devices(noded, batch);
	egs_noded_attribute_ended(noded, batch);
	egs_noded_attribute_xids(noded, batch);
	if (noded->sample_call.busy || noded->policyd_down)
		return;
	noded->ended_sent = noded->nended;
	egs_policyd_call_start(&noded->sample_call, batch, ANSWER_MS);
}

/* An egs-policyd of an earlier release does not know the request. */
void egs_noded_on_sample_answer(struct egs_noded *noded, int rc,
				const struct egs_msg *answer,
				const struct egs_err *err)
{
	bool rejected = rc < 0 && rc != EGS_CLIENT_UNREACHABLE &&
			rc != EGS_CLIENT_RETRY;
	struct egs_gpu_cap caps[EGS_GPU_SAMPLES_MAX];
	int n = rc == 0 && answer ? egs_gpu_cap_read(answer, caps) : -1;

	if (n >= 0)
		egs_gpu_sampler_set_caps(noded->sampler, caps, (uint32_t)n);
	if (rejected && !noded->samples_rejected)
		egs_log_warn("egs-policyd rejected samples of GPUs: %s",
			     err->msg);
	noded->samples_rejected = rejected;
	if (rc == 0 || rejected)
		egs_noded_forget_ended(noded, noded->ended_sent);
	noded->ended_sent = 0;
}

int egs_noded_start_sampling(struct egs_noded *noded, struct egs_err *err)
{
	struct egs_gpu_sampler_conf conf = {
		.node = noded->node,
		.library = EGS_NVML_LIBRARY,
		.interval_ms = noded->sample_interval_s * UINT64_C(1000),
		.patience_ms = choose_patience_s(noded->sample_interval_s) *
			       UINT64_C(1000),
		.caps_path = noded->caps_path,
		.on_batch = send_samples,
		.arg = noded,
	};
	struct egs_node_gpus gpus;

	snprintf(noded->caps_path, sizeof(noded->caps_path),
		 "%s/%s.power-limits", noded->spool_dir, noded->node);
	egs_node_gpus_read(&gpus, NULL, noded->node);
	if (!noded->sample_interval_s || !gpus.n)
		return 0;
	noded->sampler = egs_gpu_sampler_new(noded->loop, &conf, err);
	return noded->sampler ? 0 : -1;
}
