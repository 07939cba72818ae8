/* gpu_sample.c - samples of GPUs in a message
 *
 * A row has the number of the GPU, its state, who it is, its XIDs as
 * "NUMBER:COUNT:AGE[:JOB:RESTARTS:START],...", a letter for the source of each
 * value, and the values.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/ipc/gpu_sample.h"

enum {
	COL_GPU,
	COL_STATE,
	COL_UUID,
	COL_DEVICE,
	COL_XID_LIST,
	COL_SOURCES,
	COL_VALUES
};

#define COLUMNS (COL_VALUES + EGS_GPU_METRICS)

/* The bounds are far above every GPU: they only keep sums and columns sane. */
static const struct {
	const char *name;
	int64_t max;
} metrics[EGS_GPU_METRICS] = {
	[EGS_GPU_SM] = { "SM", 100 },
	[EGS_GPU_UTIL] = { "UTIL", 100 },
	[EGS_GPU_TENSOR] = { "TENSOR", 100 },
	[EGS_GPU_DRAM] = { "DRAM", 100 },
	[EGS_GPU_MEM_MB] = { "MEM", 1 << 26 },
	[EGS_GPU_MEM_TOTAL_MB] = { "MEMTOTAL", 1 << 26 },
	[EGS_GPU_POWER_MW] = { "POWER", 100000000 },
	[EGS_GPU_POWER_LIMIT_MW] = { "POWERLIMIT", 100000000 },
	[EGS_GPU_TEMP_C] = { "TEMP", 250 },
	[EGS_GPU_TEMP_LIMIT_C] = { "TEMPLIMIT", 250 },
	[EGS_GPU_CLOCK_REASONS] = { "CLOCKS", UINT32_MAX },
	[EGS_GPU_ECC] = { "ECC", UINT32_MAX },
	[EGS_GPU_ECC_CORRECTED] = { "ECCC", UINT32_MAX },
	[EGS_GPU_XID] = { "XID", 65535 },
	[EGS_GPU_XIDS] = { "XIDS", UINT32_MAX },
	[EGS_GPU_RECOVERY] = { "RECOVERY", EGS_GPU_RECOVERY_COUNT - 1 },
	[EGS_GPU_PCIE_RX_KB] = { "PCIERX", INT64_C(1) << 33 },
	[EGS_GPU_PCIE_TX_KB] = { "PCIETX", INT64_C(1) << 33 },
	[EGS_GPU_NVLINK_RX_KB] = { "NVLINKRX", INT64_C(1) << 33 },
	[EGS_GPU_NVLINK_TX_KB] = { "NVLINKTX", INT64_C(1) << 33 },
	[EGS_GPU_ENERGY_J] = { "ENERGY", INT64_C(1) << 46 },
	[EGS_GPU_PROCESSES] = { "PROCESSES", 1 << 20 },
	[EGS_GPU_EMPTY_S] = { "EMPTY", UINT32_MAX },
	[EGS_GPU_IDLE_S] = { "IDLE", UINT32_MAX },
};

static const struct {
	char letter;
	const char *name;
} sources[EGS_GPU_SOURCE_COUNT] = {
	[EGS_GPU_SOURCE_ABSENT] = { '-', "-" },
	[EGS_GPU_SOURCE_NVML] = { 'n', "nvml" },
	[EGS_GPU_SOURCE_GPM] = { 'g', "gpm" },
	[EGS_GPU_SOURCE_NODED] = { 'e', "egs-noded" },
};

static const char *const states[] = {
	[EGS_GPU_OK] = "ok",
	[EGS_GPU_LOST] = "lost",
	[EGS_GPU_MISSING] = "missing",
};

const char *egs_gpu_metric_name(enum egs_gpu_metric metric)
{
	return metrics[metric].name;
}

const char *egs_gpu_source_name(enum egs_gpu_source source)
{
	return sources[source].name;
}

void egs_gpu_sample_set(struct egs_gpu_sample *sample,
			enum egs_gpu_metric metric, int64_t value,
			enum egs_gpu_source source)
{
	bool valid = value >= 0 && value <= metrics[metric].max;

	sample->value[metric] = (struct egs_gpu_value){
		.value = valid ? value : 0,
		.source = valid ? source : EGS_GPU_SOURCE_ABSENT,
	};
}

/* ---- write ---- */

void egs_gpu_sample_begin(struct egs_msg *request)
{
	const char *names[COLUMNS] = { "GPU",	 "STATE",   "UUID",
				       "DEVICE", "XIDLIST", "SOURCES" };

	for (int i = 0; i < EGS_GPU_METRICS; i++)
		names[COL_VALUES + i] = metrics[i].name;
	egs_msg_set_columns(request, names, COLUMNS);
}

/* Room for the XIDs of a GPU as text, with the longest numbers. */
enum { XIDS_SIZE = EGS_GPU_XID_NUMBERS_MAX * 96 };

static void format_xids(const struct egs_gpu_sample *sample,
			char text[XIDS_SIZE])
{
	size_t len = 0;

	*text = '\0';
	for (uint32_t i = 0; i < sample->nxids; i++) {
		const struct egs_gpu_xid *xid = &sample->xid[i];

		len += (size_t)snprintf(text + len, XIDS_SIZE - len,
					"%s%" PRIu32 ":%" PRIu32 ":%" PRIu64,
					i ? "," : "", xid->number, xid->count,
					xid->age_ms);
		if (xid->job_id)
			len += (size_t)snprintf(
				text + len, XIDS_SIZE - len,
				":%" PRIu32 ":%" PRIu32 ":%" PRId64,
				xid->job_id, xid->restarts, xid->start);
	}
}

void egs_gpu_sample_add(struct egs_msg *request,
			const struct egs_gpu_sample *sample)
{
	char letters[EGS_GPU_METRICS + 1] = "";
	char xids[XIDS_SIZE];

	format_xids(sample, xids);
	for (int i = 0; i < EGS_GPU_METRICS; i++)
		letters[i] = sources[sample->value[i].source].letter;
	egs_msg_add_row(request);
	egs_msg_add_cell_int(request, sample->gpu);
	egs_msg_add_cell(request, states[sample->state]);
	egs_msg_add_cell(request, sample->uuid);
	egs_msg_add_cell(request, sample->device);
	egs_msg_add_cell(request, xids);
	egs_msg_add_cell(request, letters);
	for (int i = 0; i < EGS_GPU_METRICS; i++)
		if (egs_gpu_sample_has(sample, (enum egs_gpu_metric)i))
			egs_msg_add_cell_int(request, sample->value[i].value);
		else
			egs_msg_add_cell(request, "-");
}

/* ---- read ---- */

static enum egs_gpu_source find_source(char letter)
{
	int i = EGS_GPU_SOURCE_COUNT - 1;

	while (i > EGS_GPU_SOURCE_ABSENT && sources[i].letter != letter)
		i--;
	return (enum egs_gpu_source)i;
}

static enum egs_gpu_state find_state(const char *text)
{
	size_t i = ARRAY_SIZE(states) - 1;

	while (i > EGS_GPU_OK && strcmp(states[i], text) != 0)
		i--;
	return (enum egs_gpu_state)i;
}

static int64_t read_number(const struct egs_msg *request, size_t row,
			   size_t column)
{
	bool number;
	const char *text = egs_msg_get_cell(request, row, column, &number);

	return number ? strtoll(text, NULL, 10) : -1;
}

/* Only letters, digits, '-' and '.', so that it may become a name of a file. */
static void read_name(const struct egs_msg *request, size_t row, size_t column,
		      char *name, size_t size)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789-.";
	bool number;
	const char *text = egs_msg_get_cell(request, row, column, &number);

	*name = '\0';
	if (strlen(text) < size && *text != '.' &&
	    strspn(text, allowed) == strlen(text))
		snprintf(name, size, "%s", text);
}

/* Read one XID, and its job if it has one.  Returns the end, NULL: no XID. */
static const char *read_xid(const char *text, struct egs_gpu_xid *xid)
{
	int len = 0;

	*xid = (struct egs_gpu_xid){ .number = 0 };
	if (sscanf(text, "%" SCNu32 ":%" SCNu32 ":%" SCNu64 "%n", &xid->number,
		   &xid->count, &xid->age_ms, &len) != 3)
		return NULL;
	text += len;
	if (sscanf(text, ":%" SCNu32 ":%" SCNu32 ":%" SCNd64 "%n", &xid->job_id,
		   &xid->restarts, &xid->start, &len) == 3)
		text += len;
	return text;
}

static void read_xids(const struct egs_msg *request, size_t row,
		      struct egs_gpu_sample *sample)
{
	bool number;
	const char *text =
		egs_msg_get_cell(request, row, COL_XID_LIST, &number);
	struct egs_gpu_xid xid;

	while (sample->nxids < EGS_GPU_XID_NUMBERS_MAX &&
	       (text = read_xid(text, &xid))) {
		sample->xid[sample->nxids++] = xid;
		if (*text++ != ',')
			break;
	}
}

static void read_row(const struct egs_msg *request, size_t row,
		     struct egs_gpu_sample *sample)
{
	bool number;
	const char *letters =
		egs_msg_get_cell(request, row, COL_SOURCES, &number);

	sample->state =
		find_state(egs_msg_get_cell(request, row, COL_STATE, &number));
	read_name(request, row, COL_UUID, sample->uuid, sizeof(sample->uuid));
	read_name(request, row, COL_DEVICE, sample->device,
		  sizeof(sample->device));
	read_xids(request, row, sample);
	if (strlen(letters) != EGS_GPU_METRICS)
		return;
	for (int i = 0; i < EGS_GPU_METRICS; i++)
		egs_gpu_sample_set(sample, (enum egs_gpu_metric)i,
				   read_number(request, row,
					       (size_t)COL_VALUES + (size_t)i),
				   find_source(letters[i]));
}

int egs_gpu_sample_read(const struct egs_msg *request,
			struct egs_gpu_sample samples[EGS_GPU_SAMPLES_MAX],
			struct egs_err *err)
{
	size_t columns, rows;
	uint64_t seen = 0;

	if (egs_msg_check_table(request, &columns, &rows, err) < 0)
		return -1;
	if (columns != COLUMNS || rows > EGS_GPU_SAMPLES_MAX)
		return egs_errf(err,
				"the samples have %zu columns and %zu rows",
				columns, rows);
	for (size_t i = 0; i < rows; i++) {
		int64_t gpu = read_number(request, i, COL_GPU);

		if (gpu < 0 || gpu >= EGS_GPU_SAMPLES_MAX || seen >> gpu & 1)
			return egs_errf(err, "the samples have a GPU twice, or "
					     "a number that is too large");
		seen |= UINT64_C(1) << gpu;
		samples[i] = (struct egs_gpu_sample){ .gpu = (uint32_t)gpu };
		read_row(request, i, &samples[i]);
	}
	return (int)rows;
}
