/* nvml.c - stand-in for libnvidia-ml.so.1 that reads its answers from a file
 *
 * The file is $EGS_NVML, with a line "MINOR PID" for each process that uses a
 * GPU; GPUs are numbered backwards, as a driver may do.
 */
#include <stdio.h>
#include <stdlib.h>

enum { GPUS = 4 };

struct process {
	unsigned int pid;
	unsigned long long memory;
	unsigned int gpu_instance, compute_instance;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device);
int nvmlDeviceGetMinorNumber(void *device, unsigned int *minor);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count,
					    struct process *list);

static int devices[GPUS] = { 3, 2, 1, 0 };

int nvmlInit_v2(void)
{
	return getenv("EGS_NVML") ? 0 : 9;
}

int nvmlShutdown(void)
{
	return 0;
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = GPUS;
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	*device = &devices[index];
	return 0;
}

int nvmlDeviceGetMinorNumber(void *device, unsigned int *minor)
{
	*minor = *(unsigned int *)device;
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count,
					    struct process *list)
{
	FILE *f = fopen(getenv("EGS_NVML"), "re");
	unsigned int max = *count, minor, pid;

	*count = 0;
	while (f && fscanf(f, "%u %u", &minor, &pid) == 2)
		if (minor == *(unsigned int *)device && *count < max)
			list[(*count)++] = (struct process){ .pid = pid };
	if (f)
		fclose(f);
	return 0;
}
