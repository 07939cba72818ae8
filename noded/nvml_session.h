/* nvml_session.h - measure the GPUs of this node with NVIDIA's driver
 *
 * The driver may hang or crash, so only the sampler process (gpu_sampler.h)
 * calls these functions.
 */
#ifndef EGS_NODED_NVML_SESSION_H
#define EGS_NODED_NVML_SESSION_H

#include <stdint.h>

#include "common/ipc/gpu_sample.h"
#include "common/node/gpus.h"
#include "noded/nvml_accounting.h"
#include "noded/nvml_gpm.h"

/* What is remembered of a GPU, or of a slice, between two samples. */
struct egs_nvml_gpu {
	void *device;		 /* NULL: the driver does not have it */
	void *slice;		 /* of a MIG GPU, NULL: the whole GPU */
	int gpu_instance;	 /* of the slice, -1: none */
	uint64_t has_process_ms; /* last time that it was seen so */
	uint64_t is_busy_ms;	 /* likewise */
	uint64_t energy_mj;	 /* last counter; UINT64_MAX: none */
	uint64_t energy_ms;	 /* when it was read */
	uint64_t energy_sum_mj;	 /* since the session began */
	uint64_t nvlink_kb[2];	 /* last counters, RX and TX */
	uint64_t nvlink_ms;	 /* when they were read, 0: never */
	uint32_t last_xid, xids; /* the last one, and how many */
	struct egs_gpu_xid xid[EGS_GPU_XID_NUMBERS_MAX];
	uint64_t xid_ms[EGS_GPU_XID_NUMBERS_MAX]; /* the last of a number */
	uint32_t nxids;				  /* of 'xid' */
	char uuid[EGS_GPU_UUID_SIZE];		  /* as in a sample */
	char index[EGS_GPU_DEVICE_SIZE];	  /* likewise, its 'device' */
	struct egs_nvml_gpm gpm;
	struct egs_nvml_accounting accounting;
};

struct egs_nvml_session {
	struct egs_nvml nvml;
	bool initialized;
	char name[24];			    /* of this session, as in a batch */
	char driver[EGS_NVML_VERSION_SIZE]; /* its version, or "unknown" */
	void *events;			    /* NULL: no XIDs */
	uint32_t n;			    /* GPUs of gres.conf */
	struct egs_nvml_gpu gpu[EGS_NODE_GPUS_MAX];
};

/* Open the library and find the GPUs.  Returns 0, or -1 with 'err' set.
 * egs_nvml_session_close() is allowed after both.
 */
int egs_nvml_session_open(struct egs_nvml_session *session, const char *library,
			  const struct egs_node_gpus *gpus,
			  struct egs_err *err);
void egs_nvml_session_close(struct egs_nvml_session *session);

/* Measure all GPUs.  'samples' gets session->n entries. */
void egs_nvml_session_sample(struct egs_nvml_session *session,
			     struct egs_gpu_sample *samples);

/* The processes that have ended since the last call, in 'list'.  Returns how
 * many there are.
 */
uint32_t
egs_nvml_session_read_ended(struct egs_nvml_session *session,
			    struct egs_gpu_process list[EGS_GPU_PROCESSES_MAX]);

/* Wait, and count the XIDs of that time. */
void egs_nvml_session_wait(struct egs_nvml_session *session, uint64_t ms);

#endif
