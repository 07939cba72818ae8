/* gpu_sample.h - what a node measures on its GPUs, and how it is sent
 *
 * egs-noded sends the request "node-gpus" once in each SampleInterval:
 *
 *	node		its name
 *	interval	seconds until the next request
 *	driver		version of the driver
 *	session		another text each time that counters begin at 0 again
 *	ended		processes that have ended (gpu_process.h)
 *	error		why nothing is measured; the table then has no rows
 *	table		a row for each GPU, or for each slice of a MIG GPU
 *
 * A value that the driver does not provide is absent: "-" in the table, never
 * 0.  So is a value beyond its bound, because drivers return nonsense at times.
 */
#ifndef EGS_IPC_GPU_SAMPLE_H
#define EGS_IPC_GPU_SAMPLE_H

#include "common/base/err.h"
#include "common/ipc/msg.h"

/* Most GPUs of a node in one request. */
#define EGS_GPU_SAMPLES_MAX 64

enum egs_gpu_metric {
	EGS_GPU_SM,	      /* % of the time; EGS_GPU_UTIL without GPM */
	EGS_GPU_UTIL,	      /* % of the time in which a kernel ran */
	EGS_GPU_TENSOR,	      /* % of the time, of the tensor cores */
	EGS_GPU_DRAM,	      /* % of the bandwidth of the memory */
	EGS_GPU_MEM_MB,	      /* memory in use */
	EGS_GPU_MEM_TOTAL_MB, /* memory of the GPU */
	EGS_GPU_POWER_MW,     /* milliwatts */
	EGS_GPU_POWER_LIMIT_MW,
	EGS_GPU_TEMP_C,	       /* degrees Celsius */
	EGS_GPU_TEMP_LIMIT_C,  /* above it, the GPU slows down */
	EGS_GPU_CLOCK_REASONS, /* EGS_GPU_CLOCK_* and other bits of NVML */
	EGS_GPU_ECC,	       /* uncorrected errors since the driver started */
	EGS_GPU_ECC_CORRECTED, /* likewise, corrected ones */
	EGS_GPU_XID,	       /* number of the last XID since sampling began */
	EGS_GPU_XIDS,	       /* how many there were */
	EGS_GPU_RECOVERY,      /* enum egs_gpu_recovery */
	EGS_GPU_PCIE_RX_KB,    /* in a second */
	EGS_GPU_PCIE_TX_KB,
	EGS_GPU_NVLINK_RX_KB,
	EGS_GPU_NVLINK_TX_KB,
	EGS_GPU_ENERGY_J,  /* since sampling began */
	EGS_GPU_PROCESSES, /* that compute on it */
	EGS_GPU_EMPTY_S,   /* seconds since it was seen with a process */
	EGS_GPU_IDLE_S,	   /* seconds since its SMs were seen busy */
	EGS_GPU_METRICS
};

/* Reasons for a low clock that matter here, with NVML's numbers. */
enum {
	EGS_GPU_CLOCK_POWER_CAP = 0x4,
	EGS_GPU_CLOCK_HW_SLOWDOWN = 0x8,
	EGS_GPU_CLOCK_SW_THERMAL = 0x20,
	EGS_GPU_CLOCK_HW_THERMAL = 0x40,
	EGS_GPU_CLOCK_POWER_BRAKE = 0x80,
};

/* What the driver asks for, with NVML's numbers. */
enum egs_gpu_recovery {
	EGS_GPU_RECOVERY_NONE,
	EGS_GPU_RECOVERY_RESET,
	EGS_GPU_RECOVERY_REBOOT,
	EGS_GPU_RECOVERY_DRAIN_P2P,
	EGS_GPU_RECOVERY_DRAIN_AND_RESET,
	EGS_GPU_RECOVERY_COUNT
};

/* Where a value is from. */
enum egs_gpu_source {
	EGS_GPU_SOURCE_ABSENT, /* there is no value */
	EGS_GPU_SOURCE_NVML,
	EGS_GPU_SOURCE_GPM,   /* counters of the GPU itself, by NVML */
	EGS_GPU_SOURCE_NODED, /* egs-noded has computed the value */
	EGS_GPU_SOURCE_COUNT
};

enum egs_gpu_state {
	EGS_GPU_OK,
	EGS_GPU_LOST,	/* the driver cannot reach it any more */
	EGS_GPU_MISSING /* gres.conf has it, the driver does not */
};

struct egs_gpu_value {
	int64_t value;
	enum egs_gpu_source source;
};

/* XIDs of one number since the session began.  A batch may be lost, so each one
 * has all of them.
 */
struct egs_gpu_xid {
	uint32_t number, count;
	uint64_t age_ms; /* of the last one, when the sample was taken */
	/* The attempt that had the GPU then, by egs-noded; job_id 0: none. */
	uint32_t job_id, restarts;
	int64_t start;
};

/* A GPU whose errors are of more numbers has the others only in EGS_GPU_XIDS.
 */
#define EGS_GPU_XID_NUMBERS_MAX 16

#define EGS_GPU_UUID_SIZE   48
#define EGS_GPU_DEVICE_SIZE 16

struct egs_gpu_sample {
	uint32_t gpu; /* its number in Slurm */
	enum egs_gpu_state state;
	char uuid[EGS_GPU_UUID_SIZE]; /* of the GPU or the slice, "": unknown */
	/* The driver's number of the GPU, which is also DCGM's: "3", or "3.5"
	 * for the GPU instance 5 of a MIG GPU; "": unknown.
	 */
	char device[EGS_GPU_DEVICE_SIZE];
	struct egs_gpu_value value[EGS_GPU_METRICS];
	struct egs_gpu_xid xid[EGS_GPU_XID_NUMBERS_MAX];
	uint32_t nxids; /* of 'xid' */
};

/* Set a value, or leave it absent if it is not from 0 to its bound. */
void egs_gpu_sample_set(struct egs_gpu_sample *sample,
			enum egs_gpu_metric metric, int64_t value,
			enum egs_gpu_source source);

static inline bool egs_gpu_sample_has(const struct egs_gpu_sample *sample,
				      enum egs_gpu_metric metric)
{
	return sample->value[metric].source != EGS_GPU_SOURCE_ABSENT;
}

/* The name of a column and of a source. */
const char *egs_gpu_metric_name(enum egs_gpu_metric metric);
const char *egs_gpu_source_name(enum egs_gpu_source source);

/* Begin the table of a request; then add a row for each sample. */
void egs_gpu_sample_begin(struct egs_msg *request);
void egs_gpu_sample_add(struct egs_msg *request,
			const struct egs_gpu_sample *sample);

/* Read the table of a request into 'samples'.  Cells that are not from
 * egs_gpu_sample_add() are absent values.  Returns the number of samples, or -1
 * with 'err' set if the table has another form, too many rows, or a GPU twice.
 */
int egs_gpu_sample_read(const struct egs_msg *request,
			struct egs_gpu_sample samples[EGS_GPU_SAMPLES_MAX],
			struct egs_err *err);

#endif
