/* nvml_cap.c - lower the power limits of GPUs for a while, and undo that */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "noded/nvml_cap.h"

/* ---- the file: a line "UUID BEFORE SET" for each GPU ---- */

static void read_file(struct egs_nvml_caps *caps)
{
	FILE *f = fopen(caps->path, "re");
	struct egs_nvml_cap *cap = caps->list;

	caps->n = 0;
	while (f && caps->n < EGS_NODE_GPUS_MAX &&
	       fscanf(f, "%47s %u %u", cap->uuid, &cap->before_mw,
		      &cap->set_mw) == 3) {
		caps->n++;
		cap++;
	}
	if (f)
		fclose(f);
}

static bool write_lines(const struct egs_nvml_caps *caps, FILE *f)
{
	bool fine = true;

	for (uint32_t i = 0; i < caps->n; i++)
		fine &= fprintf(f, "%s %u %u\n", caps->list[i].uuid,
				caps->list[i].before_mw,
				caps->list[i].set_mw) > 0;
	return fine && fflush(f) == 0 && fsync(fileno(f)) == 0;
}

/* A file that is cut short would lose a limit, so write another one. */
static int write_file(const struct egs_nvml_caps *caps)
{
	char path[1200];
	bool fine;
	FILE *f;

	if (!caps->n)
		return unlink(caps->path);
	snprintf(path, sizeof(path), "%s.new", caps->path);
	f = fopen(path, "we");
	if (!f)
		return -1;
	fine = write_lines(caps, f);
	if (fclose(f) != 0 || !fine)
		return -1;
	return rename(path, caps->path);
}

/* ---- one GPU ---- */

static struct egs_nvml_cap *find_cap(struct egs_nvml_caps *caps,
				     const char *uuid)
{
	for (uint32_t i = 0; i < caps->n; i++)
		if (strcmp(caps->list[i].uuid, uuid) == 0)
			return &caps->list[i];
	return NULL;
}

static void remove_cap(struct egs_nvml_caps *caps, struct egs_nvml_cap *cap)
{
	*cap = caps->list[--caps->n];
	write_file(caps);
}

static int save_cap(struct egs_nvml_caps *caps, const struct egs_nvml_cap *new)
{
	struct egs_nvml_cap *cap = find_cap(caps, new->uuid);

	if (!cap && caps->n == EGS_NODE_GPUS_MAX)
		return -1;
	if (!cap)
		cap = &caps->list[caps->n++];
	*cap = *new;
	return write_file(caps);
}

/* The UUID of a whole GPU.  Returns false if the driver does not tell it. */
static bool read_uuid(const struct egs_nvml *nvml, void *device,
		      char uuid[EGS_GPU_UUID_SIZE])
{
	char text[EGS_NVML_UUID_SIZE + 1] = "";

	if (!device || !nvml->uuid ||
	    nvml->uuid(device, text, EGS_NVML_UUID_SIZE) != EGS_NVML_SUCCESS ||
	    !*text || strlen(text) >= EGS_GPU_UUID_SIZE)
		return false;
	memcpy(uuid, text, strlen(text) + 1);
	return true;
}

static bool has_functions(const struct egs_nvml *nvml)
{
	return nvml->power_cap && nvml->set_power_cap && nvml->power_range;
}

/* Returns false if the driver has failed: the limit is still ours. */
static bool undo_cap(const struct egs_nvml *nvml, void *device,
		     const struct egs_nvml_cap *cap)
{
	unsigned int now_mw = 0;

	if (!has_functions(nvml) ||
	    nvml->power_cap(device, &now_mw) != EGS_NVML_SUCCESS)
		return false;
	return now_mw != cap->set_mw ||
	       nvml->set_power_cap(device, cap->before_mw) == EGS_NVML_SUCCESS;
}

/* What the limit is to be.  Returns false if the driver does not tell. */
static bool plan_cap(const struct egs_nvml *nvml, void *device,
		     const struct egs_nvml_cap *old, uint32_t pct,
		     struct egs_nvml_cap *new)
{
	unsigned int now_mw = 0, min_mw = 0, max_mw = 0;

	if (!has_functions(nvml) ||
	    nvml->power_cap(device, &now_mw) != EGS_NVML_SUCCESS ||
	    nvml->power_range(device, &min_mw, &max_mw) != EGS_NVML_SUCCESS)
		return false;
	new->before_mw = old->set_mw == now_mw ? old->before_mw : now_mw;
	new->set_mw = (unsigned int)((uint64_t) new->before_mw *pct / 100);
	if (new->set_mw < min_mw)
		new->set_mw = min_mw;
	return true;
}

/* Returns the limit in force, 0: the driver refuses. */
static unsigned int lower_limit(struct egs_nvml_caps *caps,
				const struct egs_nvml *nvml, void *device,
				const char *uuid, uint32_t pct)
{
	struct egs_nvml_cap *found = find_cap(caps, uuid);
	struct egs_nvml_cap old = { .set_mw = 0 }, new;

	if (found)
		old = *found;
	if (!plan_cap(nvml, device, &old, pct, &new))
		return 0;
	if (new.set_mw >= new.before_mw)
		return new.before_mw; /* it is as low as it can be */
	memcpy(new.uuid, uuid, EGS_GPU_UUID_SIZE);
	if (save_cap(caps, &new) == 0 &&
	    nvml->set_power_cap(device, new.set_mw) == EGS_NVML_SUCCESS)
		return new.set_mw;
	if (found)
		save_cap(caps, &old);
	else if ((found = find_cap(caps, uuid)))
		remove_cap(caps, found);
	return 0;
}

/* ---- all GPUs ---- */

static void *find_device(const struct egs_nvml_session *session,
			 const char *uuid)
{
	char found[EGS_GPU_UUID_SIZE];

	for (uint32_t i = 0; i < session->n; i++)
		if (read_uuid(&session->nvml, session->gpu[i].device, found) &&
		    strcmp(found, uuid) == 0)
			return session->gpu[i].device;
	return NULL;
}

void egs_nvml_caps_restore(struct egs_nvml_caps *caps,
			   const struct egs_nvml_session *session,
			   const char *path)
{
	*caps = (struct egs_nvml_caps){ .path = path };
	if (!path)
		return;
	read_file(caps);
	for (uint32_t i = caps->n; i-- > 0;) {
		void *device = find_device(session, caps->list[i].uuid);

		/* A GPU that is gone has lost its limit, too. */
		if (!device || undo_cap(&session->nvml, device, &caps->list[i]))
			remove_cap(caps, &caps->list[i]);
	}
}

/* The lowest percentage that is ordered for the device; 0: none. */
static uint32_t find_lowest(const struct egs_nvml_session *session,
			    const void *device,
			    const struct egs_gpu_cap *orders, uint32_t n)
{
	uint32_t lowest = 0;

	for (uint32_t i = 0; i < n; i++)
		if (orders[i].gpu < session->n &&
		    session->gpu[orders[i].gpu].device == device &&
		    (!lowest || orders[i].pct < lowest))
			lowest = orders[i].pct;
	return lowest;
}

static void give_back_others(struct egs_nvml_caps *caps,
			     const struct egs_nvml_session *session,
			     const struct egs_gpu_cap *orders, uint32_t n)
{
	for (uint32_t i = caps->n; i-- > 0;) {
		void *device = find_device(session, caps->list[i].uuid);

		if (device && !find_lowest(session, device, orders, n) &&
		    undo_cap(&session->nvml, device, &caps->list[i]))
			remove_cap(caps, &caps->list[i]);
	}
}

void egs_nvml_caps_apply(struct egs_nvml_caps *caps,
			 const struct egs_nvml_session *session,
			 struct egs_gpu_cap *orders, uint32_t n)
{
	char uuid[EGS_GPU_UUID_SIZE];

	give_back_others(caps, session, orders, n);
	for (uint32_t i = 0; i < n; i++) {
		void *device = orders[i].gpu < session->n
				       ? session->gpu[orders[i].gpu].device
				       : NULL;

		orders[i].limit_mw = 0;
		if (caps->path && read_uuid(&session->nvml, device, uuid))
			orders[i].limit_mw = lower_limit(
				caps, &session->nvml, device, uuid,
				find_lowest(session, device, orders, n));
	}
}
