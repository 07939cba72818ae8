/* nvml_script.h - what the stand-in for NVIDIA's driver does, read from a file
 *
 * The file is $EGS_NVML.  GPUs are numbered backwards, as a driver may do.  Its
 * lines are read at each call, and the last line for a value counts:
 *
 *	MINOR PID		a process that uses the GPU /dev/nvidiaMINOR
 *	MINOR idle|busy|hot	what the GPU does; idle is the default
 *	MINOR hung|dies|lost	every call hangs, crashes, or finds no GPU
 *	MINOR backwards		its counters run backwards
 *	MINOR nocap		its power limit cannot be set
 *	MINOR KEY VALUE		one value (struct gpu_values); "-": unsupported
 *	MINOR xid NUMBER	an event, once for each set of events
 *	MINOR ended PID:SM:MB:MS[:START]
 *				a process that ran for MS milliseconds and has
 *				ended, just now if START (epoch) is missing
 *	MINOR mig GI.CI		it has this slice, which is called MINOR.GI in
 *				other lines
 *	all hung|unloaded	the whole driver
 *
 * Power limits that are set are in files $EGS_NVML.limit.MINOR.
 */
#ifndef EGS_FAKE_NVML_SCRIPT_H
#define EGS_FAKE_NVML_SCRIPT_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "noded/nvml_api.h"

enum {
	GPUS = 4,
	SLICES_MAX = 7,
	INVALID_ARGUMENT = 2,
	NO_PERMISSION = 4,
	NOT_FOUND = 6,
	UNKNOWN = 999,
	VALUES_MAX = 24
};

/* A GPU, or a slice of it. */
struct device {
	char name[16]; /* in the script */
	int minor, gi, ci;
};

static struct device devices[GPUS] = {
	{ "3", 3, -1, -1 },
	{ "2", 2, -1, -1 },
	{ "1", 1, -1, -1 },
	{ "0", 0, -1, -1 },
};
static struct device slices[GPUS][SLICES_MAX];

static const struct behaviour {
	const char *name;
	struct {
		const char *key;
		const char *value;
	} values[VALUES_MAX];
} behaviours[] = {
	{ "idle",
	  { { "sm", "0" },
	    { "mem", "512" },
	    { "memtotal", "81920" },
	    { "power", "72000" },
	    { "powerlimit", "700000" },
	    { "powermin", "200000" },
	    { "powermax", "700000" },
	    { "temp", "34" },
	    { "templimit", "92" },
	    { "reasons", "1" },
	    { "ecc", "0" },
	    { "eccc", "0" },
	    { "recovery", "0" },
	    { "pcierx", "10" },
	    { "pcietx", "20" },
	    { "energy", "1000" },
	    { "nvlink", "1000" },
	    { "gpm", "-" } } },
	{ "busy",
	  { { "sm", "91" },
	    { "mem", "62464" },
	    { "power", "640000" },
	    { "temp", "66" },
	    { "reasons", "4" } } },
	{ "hot", { { "sm", "97" }, { "temp", "97" }, { "reasons", "64" } } },
};

struct script_line {
	char gpu[16], word[32], value[64];
};

static void hang_forever(void)
{
	for (;;)
		poll(NULL, 0, -1);
}

static bool read_line(FILE *f, struct script_line *line)
{
	char text[256];

	*line = (struct script_line){ .value = "" };
	while (f && fgets(text, sizeof(text), f))
		if (sscanf(text, "%15s %31s %63s", line->gpu, line->word,
			   line->value) >= 2)
			return true;
	return false;
}

static FILE *open_script(void)
{
	const char *path = getenv("EGS_NVML");

	return path ? fopen(path, "re") : NULL;
}

static bool is_of(const struct script_line *line, const void *device)
{
	const struct device *d = device;

	return strcmp(line->gpu, d->name) == 0;
}

static void apply_behaviour(const char *name, const char *key, char *value)
{
	for (size_t i = 0; i < sizeof(behaviours) / sizeof(*behaviours); i++)
		for (size_t k = 0;
		     k < VALUES_MAX && behaviours[i].values[k].key; k++)
			if (strcmp(behaviours[i].name, name) == 0 &&
			    strcmp(behaviours[i].values[k].key, key) == 0)
				snprintf(value, 64, "%s",
					 behaviours[i].values[k].value);
}

/* The value of 'key' as text; a code of NVML. */
static int look_up(const void *device, const char *key, char value[64])
{
	struct script_line line;
	FILE *f = open_script();
	int code = 0;

	*value = '\0';
	apply_behaviour("idle", key, value);
	while (code == 0 && read_line(f, &line)) {
		if (!is_of(&line, device))
			continue;
		if (strcmp(line.word, "hung") == 0)
			hang_forever();
		if (strcmp(line.word, "dies") == 0)
			abort();
		if (strcmp(line.word, "lost") == 0)
			code = EGS_NVML_GPU_IS_LOST;
		if (strcmp(line.word, key) == 0)
			snprintf(value, 64, "%s", line.value);
		apply_behaviour(line.word, key, value);
	}
	if (f)
		fclose(f);
	if (code == 0 && (!*value || strcmp(value, "-") == 0))
		code = EGS_NVML_NOT_SUPPORTED;
	return code;
}

static int get_value(const void *device, const char *key,
		     unsigned long long *value)
{
	char text[64];
	int code = look_up(device, key, text);

	*value = strtoull(text, NULL, 10);
	return code;
}

static int get_u32(const void *device, const char *key, unsigned int *value)
{
	unsigned long long wide;
	int code = get_value(device, key, &wide);

	*value = (unsigned int)wide;
	return code;
}

static bool has_word(const char *gpu, const char *word)
{
	struct script_line line;
	FILE *f = open_script();
	bool found = false;

	while (read_line(f, &line))
		found |= strcmp(line.gpu, gpu) == 0 &&
			 strcmp(line.word, word) == 0;
	if (f)
		fclose(f);
	return found;
}

/* A counter that grows by 'rate' in a second, or falls by it. */
static int get_counter(const void *device, const char *key,
		       unsigned long long *value)
{
	unsigned long long rate;
	int code = get_value(device, key, &rate);
	const struct device *d = device;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	*value = 1000000000 + rate * (unsigned long long)now.tv_sec +
		 rate * (unsigned long long)now.tv_nsec / 1000000000;
	if (has_word(d->name, "backwards"))
		*value = (1ULL << 40) - *value;
	return code;
}

#endif
