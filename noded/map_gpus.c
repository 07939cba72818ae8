/* map_gpus.c - tell dcgm-exporter which jobs have the GPUs of this node
 *
 * egs-policyd tells which GPUs a job has, with their numbers in Slurm.  The
 * samples tell the driver's number of each GPU.  So the files are right as soon
 * as egs-policyd knows of a start, a resize or an end of a job.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "noded/noded.h"

/* Then jobs may have ended unseen: no label is better than a wrong one. */
enum { ORDERS_MAX_MS = 120 * 1000 };

/* "%n" is the name of the node, as in slurm.conf. */
static void expand_path(const struct egs_noded *noded, const char *path,
			struct egs_text *text)
{
	const char *at;

	*text = (struct egs_text){ "" };
	while ((at = strstr(path, "%n"))) {
		egs_text_append(text, "%.*s%s", (int)(at - path), path,
				noded->node);
		path = at + 2;
	}
	egs_text_append(text, "%s", path);
}

void egs_noded_open_map(struct egs_noded *noded)
{
	struct egs_text path;
	struct egs_err err;

	noded->dcgm_map.fd = -1;
	if (!*noded->dcgm_map_dir)
		return;
	expand_path(noded, noded->dcgm_map_dir, &path);
	if (egs_dcgm_map_open(&noded->dcgm_map, path.text, &err) < 0)
		egs_log_warn("DcgmMapDir is not used: %s", err.msg);
}

static void add_job(struct egs_noded *noded, const struct egs_job_orders *job)
{
	for (uint32_t i = 0; i < EGS_GPU_SAMPLES_MAX; i++)
		if (job->gpu_set >> i & 1 && *noded->gpu_device[i])
			egs_dcgm_map_add(&noded->dcgm_map, noded->gpu_device[i],
					 job->job);
}

void egs_noded_update_map(struct egs_noded *noded)
{
	bool is_old = egs_now_ms() - noded->orders_ms > ORDERS_MAX_MS;
	struct egs_err err;
	int rc;

	if (noded->dcgm_map.fd < 0)
		return;
	egs_dcgm_map_begin(&noded->dcgm_map);
	for (size_t i = 0; !is_old && i < noded->norders; i++)
		add_job(noded, &noded->orders[i]);
	rc = egs_dcgm_map_end(&noded->dcgm_map, &err);
	if (rc < 0 && !noded->map_failed)
		egs_log_warn("DcgmMapDir: %s", err.msg);
	noded->map_failed = rc < 0;
}

void egs_noded_learn_devices(struct egs_noded *noded,
			     const struct egs_msg *batch)
{
	static struct egs_gpu_sample samples[EGS_GPU_SAMPLES_MAX];
	int n = noded->dcgm_map.fd < 0 || egs_msg_get_str(batch, "error")
			? 0
			: egs_gpu_sample_read(batch, samples, NULL);
	bool is_new = false;

	for (int i = 0; i < n; i++) {
		char *device = noded->gpu_device[samples[i].gpu];

		is_new |= strcmp(device, samples[i].device) != 0;
		memcpy(device, samples[i].device, EGS_GPU_DEVICE_SIZE);
	}
	if (is_new)
		egs_noded_update_map(noded);
}
