/* nvml_script.h - the scripted driver of a unit test, and what it measures
 *
 * The driver (t/lib/fake/nvml.c) is part of the program, which is its own
 * library.  Its script is the file "driver" in the directory of the test.
 *
 * script(text)		the driver does this from now on
 * script_begin()	make the directory, and a gres.conf with four GPUs
 * samples		the last samples
 * show_value(gpu, metric)	a value and its source, "91 nvml"; "-": absent
 */
#ifndef EGS_NVML_SCRIPT_H
#define EGS_NVML_SCRIPT_H

#include "common/ipc/gpu_sample.h"
#include "t/lib/unit/conf_file.h"

static struct egs_gpu_sample samples[EGS_GPU_SAMPLES_MAX];

static inline void script(const char *text)
{
	conf_write(".new", text);
	rename(".new", "driver");
}

static inline void script_begin(void)
{
	conf_enter();
	conf_write("gres.conf", "Name=gpu File=/dev/nvidia[0-3]\n");
	setenv("EGS_NVML", "driver", 1);
}

static inline const char *show_value(uint32_t gpu, enum egs_gpu_metric metric)
{
	static char text[4][40];
	static unsigned next;
	char *at = text[next++ % 4];
	const struct egs_gpu_value *v = &samples[gpu].value[metric];

	if (v->source == EGS_GPU_SOURCE_ABSENT)
		return "-";
	snprintf(at, sizeof(*text), "%lld %s", (long long)v->value,
		 egs_gpu_source_name(v->source));
	return at;
}

#endif
