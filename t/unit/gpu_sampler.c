/* gpu_sampler.c - GPUs are measured, whatever the driver does
 *
 * The scripted driver (t/lib/fake/nvml.c) is part of this program, which is its
 * own library.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "noded/gpu_sampler.h"
#include "noded/nvml_session.h"
#include "t/lib/unit/conf_file.h"
#include "t/lib/unit/tap.h"

static struct egs_gpu_sample samples[EGS_GPU_SAMPLES_MAX];

static void script(const char *text)
{
	conf_write(".new", text);
	rename(".new", "driver");
}

/* ---- one process, no child ---- */

static struct egs_nvml_session session;

static void open_session(void)
{
	struct egs_node_gpus gpus;
	struct egs_err why = { "" };

	egs_node_gpus_read(&gpus, "gres.conf", "n1");
	if (egs_nvml_session_open(&session, NULL, &gpus, &why) < 0)
		errx(1, "%s", why.msg);
	egs_nvml_session_sample(&session, samples);
}

static void sample_again(const char *text)
{
	script(text);
	poll(NULL, 0, 20);
	egs_nvml_session_sample(&session, samples);
}

static const char *show_value(uint32_t gpu, enum egs_gpu_metric metric)
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

static void test_values(void)
{
	script("0 busy\n0 4711\n2 hot\n");
	open_session();
	is_int(session.n, 4, "each GPU of gres.conf is sampled");
	is_str(session.driver, "555.42", "the driver's version is known");
	is_str(show_value(0, EGS_GPU_SM), "91 nvml",
	       "a busy GPU shows its utilisation and where it is from");
	is_str(show_value(0, EGS_GPU_MEM_MB), "62464 nvml",
	       "a busy GPU shows its memory");
	is_str(show_value(0, EGS_GPU_MEM_TOTAL_MB), "81920 nvml",
	       "the memory of a GPU is known");
	is_str(show_value(0, EGS_GPU_POWER_MW), "640000 nvml",
	       "a busy GPU shows its power");
	is_str(show_value(0, EGS_GPU_PROCESSES), "1 nvml",
	       "a process on a GPU is counted");
	is_str(show_value(1, EGS_GPU_PROCESSES), "0 nvml",
	       "an idle GPU has no process");
	is_str(show_value(2, EGS_GPU_TEMP_C), "97 nvml",
	       "the temperature is of the GPU whose file has the number");
	is_str(show_value(2, EGS_GPU_CLOCK_REASONS), "64 nvml",
	       "a hot GPU tells why its clock is low");
	is_str(show_value(0, EGS_GPU_PCIE_RX_KB), "10 nvml",
	       "traffic to a GPU is measured");
	is_str(show_value(0, EGS_GPU_RECOVERY), "0 nvml",
	       "the driver tells whether a GPU needs a reset");
	is_str(show_value(0, EGS_GPU_POWER_LIMIT_MW), "700000 nvml",
	       "the limit of a GPU's power is known");
	is_str(show_value(0, EGS_GPU_TEMP_LIMIT_C), "92 nvml",
	       "the temperature above which a GPU slows down is known");
	is_str(samples[0].uuid, "GPU-5c5e0000-0000-0000-0000-000000000000",
	       "a GPU has its UUID");
	is_str(samples[0].device, "3",
	       "a GPU has the number of the driver beside that of Slurm");
	is_str(show_value(0, EGS_GPU_XIDS), "0 nvml",
	       "a GPU without XIDs has none");
	is_str(show_value(0, EGS_GPU_XID), "-",
	       "a GPU without XIDs has no last XID");
	is_str(show_value(0, EGS_GPU_EMPTY_S), "0 egs-noded",
	       "a GPU with a process is not empty");
	egs_nvml_session_close(&session);
}

static void test_absent(void)
{
	static const enum egs_gpu_metric gone[] = {
		EGS_GPU_SM,	      EGS_GPU_POWER_MW, EGS_GPU_TEMP_C,
		EGS_GPU_ECC,	      EGS_GPU_MEM_MB,	EGS_GPU_MEM_TOTAL_MB,
		EGS_GPU_TEMP_LIMIT_C, EGS_GPU_TENSOR,	EGS_GPU_DRAM,
	};

	script("0 sm -\n0 power -\n0 temp -\n0 ecc -\n0 memtotal -\n"
	       "0 templimit 0\n");
	open_session();
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		is_str(show_value(0, gone[i]), "-",
		       "%s that the driver does not provide is absent",
		       egs_gpu_metric_name(gone[i]));
	is_str(show_value(0, EGS_GPU_IDLE_S), "-",
	       "a GPU without utilisation is not called idle");
	session.nvml.memory_v2 = NULL;
	sample_again("");
	is_str(show_value(0, EGS_GPU_MEM_MB), "512 nvml",
	       "an older driver tells the memory in use");
	session.nvml.memory = NULL;
	session.nvml.utilization = NULL;
	session.nvml.power = NULL;
	session.nvml.power_limit = NULL;
	session.nvml.temperature = NULL;
	session.nvml.temperature_limit = NULL;
	session.nvml.clock_reasons = NULL;
	session.nvml.ecc = NULL;
	session.nvml.energy = NULL;
	session.nvml.pcie = NULL;
	session.nvml.fields = NULL;
	session.nvml.processes = NULL;
	sample_again("");
	for (int i = 0; i < EGS_GPU_METRICS; i++)
		if (i != EGS_GPU_XIDS)
			is_str(show_value(0, (enum egs_gpu_metric)i), "-",
			       "%s is absent if the library lacks its function",
			       egs_gpu_metric_name((enum egs_gpu_metric)i));
	egs_nvml_session_close(&session);
}

static void test_absurd(void)
{
	script("0 sm 4294967295\n0 temp 100000\n0 power 4000000000\n"
	       "0 mem 90000\n0 ecc 18446744073709551615\n0 recovery 77\n"
	       "1 gpm nan\n2 gpm -5\n3 gpm 1e300\n");
	open_session();
	egs_nvml_session_sample(&session, samples);
	is_str(show_value(0, EGS_GPU_SM), "-",
	       "a utilisation above 100 is absent");
	is_str(show_value(0, EGS_GPU_TEMP_C), "-",
	       "a temperature that melts the GPU is absent");
	is_str(show_value(0, EGS_GPU_POWER_MW), "-",
	       "a power of 4 MW is absent");
	is_str(show_value(0, EGS_GPU_MEM_MB), "-",
	       "more memory in use than there is is absent");
	is_str(show_value(0, EGS_GPU_ECC), "-",
	       "a count of 2^64 - 1 errors is absent");
	is_str(show_value(0, EGS_GPU_RECOVERY), "-",
	       "an unknown recovery action is absent");
	for (uint32_t i = 1; i < 4; i++)
		is_str(show_value(i, EGS_GPU_SM), "0 nvml",
		       "nonsense of GPM does not replace the utilisation");
	egs_nvml_session_close(&session);
}

static void test_counters(void)
{
	script("");
	open_session();
	is_str(show_value(0, EGS_GPU_ENERGY_J), "0 nvml",
	       "energy begins at 0 with the first sample");
	is_str(show_value(0, EGS_GPU_NVLINK_RX_KB), "-",
	       "one sample of a counter is no rate");
	session.gpu[0].energy_sum_mj = 5000;
	sample_again("0 backwards\n");
	is_str(show_value(0, EGS_GPU_ENERGY_J), "5 nvml",
	       "a counter that jumps by 305 kWh adds no energy");
	sample_again("0 backwards\n");
	sample_again("0 backwards\n");
	is_str(show_value(0, EGS_GPU_ENERGY_J), "5 nvml",
	       "a counter that runs backwards adds no energy");
	is_str(show_value(0, EGS_GPU_NVLINK_RX_KB), "-",
	       "a counter that runs backwards has no rate");
	session.gpu[1].energy_mj -= 2000000;
	session.gpu[1].energy_sum_mj = 0;
	session.gpu[1].energy_ms -= 10000;
	sample_again("");
	ok(samples[1].value[EGS_GPU_ENERGY_J].value >= 2000 &&
		   samples[1].value[EGS_GPU_ENERGY_J].value < 2100,
	   "a counter that grows adds energy");
	ok(samples[1].value[EGS_GPU_NVLINK_RX_KB].value > 0,
	   "a counter that grows has a rate");
	egs_nvml_session_close(&session);
}

static void test_gpm(void)
{
	script("1 gpm 55.4\n1 tensor 12.6\n1 dram 33\n");
	open_session();
	is_str(show_value(1, EGS_GPU_SM), "0 nvml",
	       "the first sample has the utilisation of NVML");
	egs_nvml_session_sample(&session, samples);
	is_str(show_value(1, EGS_GPU_SM), "55 gpm",
	       "the second sample has the activity of GPM");
	is_str(show_value(1, EGS_GPU_TENSOR), "13 gpm",
	       "GPM measures the activity of the tensor cores");
	is_str(show_value(1, EGS_GPU_DRAM), "33 gpm",
	       "GPM measures how much of the memory's bandwidth is in use");
	is_str(show_value(1, EGS_GPU_PCIE_RX_KB), "56730 gpm",
	       "GPM measures the traffic, too");
	is_str(show_value(0, EGS_GPU_SM), "0 nvml",
	       "a GPU without GPM keeps the utilisation of NVML");
	egs_nvml_session_close(&session);
}

static void test_lost(void)
{
	script("1 lost\n0 xid 79\n0 xid 31\n");
	open_session();
	is_int(samples[1].state, EGS_GPU_LOST, "a lost GPU is called lost");
	for (int i = 0; i < EGS_GPU_XIDS; i++)
		ok(!egs_gpu_sample_has(&samples[1], (enum egs_gpu_metric)i),
		   "%s of a lost GPU is absent",
		   egs_gpu_metric_name((enum egs_gpu_metric)i));
	is_int(samples[0].state, EGS_GPU_OK,
	       "a lost GPU does not hide the others");
	egs_nvml_session_wait(&session, 20);
	egs_nvml_session_sample(&session, samples);
	is_str(show_value(0, EGS_GPU_XID), "31 nvml", "the last XID is shown");
	is_str(show_value(0, EGS_GPU_XIDS), "2 nvml", "XIDs are counted");
	is_str(show_value(2, EGS_GPU_XIDS), "0 nvml",
	       "an XID counts for its own GPU");
	egs_nvml_session_close(&session);
	conf_write("gres.conf", "Name=gpu File=/dev/nvidia[0-4]\n");
	script("");
	open_session();
	is_int(samples[4].state, EGS_GPU_MISSING,
	       "a GPU of gres.conf that the driver does not have is missing");
	conf_write("gres.conf", "Name=gpu File=/dev/nvidia[0-3]\n");
	egs_nvml_session_close(&session);
}

static void test_xid_numbers(void)
{
	char text[4096] = "";
	struct egs_gpu_xid *xid = samples[0].xid;

	for (int i = 0; i < 3; i++)
		strcat(text, "0 xid 63\n0 xid 79\n0 xid 63\n");
	for (int i = 100; i < 120; i++)
		snprintf(text + strlen(text), 32, "1 xid %d\n", i);
	script(text);
	open_session();
	egs_nvml_session_wait(&session, 20);
	egs_nvml_session_sample(&session, samples);
	ok(samples[0].nxids == 2 && xid[0].number == 63 && xid[0].count == 6 &&
		   xid[1].number == 79 && xid[1].count == 3,
	   "each XID is counted by its number");
	ok(xid[0].age_s == 0, "an XID that has just come is not old");
	session.gpu[0].xid_ms[0] -= 7000;
	egs_nvml_session_sample(&session, samples);
	ok(xid[0].age_s >= 7 && xid[0].count == 6,
	   "an XID gets older and is not counted again");
	ok(samples[1].nxids == EGS_GPU_XID_NUMBERS_MAX &&
		   samples[1].value[EGS_GPU_XIDS].value == 20,
	   "XIDs of too many numbers are counted without their number");
	egs_nvml_session_close(&session);
}

/* ---- in a message ---- */

static void test_message(void)
{
	struct egs_msg *msg = egs_msg_new();
	struct egs_gpu_sample in = {
		.gpu = 7,
		.state = EGS_GPU_LOST,
		.uuid = "MIG-1-2",
		.device = "3.5",
		.xid = { { 79, 1, 12 }, { 31, UINT32_MAX, 0 } },
		.nxids = 2,
	};
	struct egs_err why;

	egs_gpu_sample_set(&in, EGS_GPU_SM, 12, EGS_GPU_SOURCE_GPM);
	egs_gpu_sample_set(&in, EGS_GPU_TEMP_C, 300, EGS_GPU_SOURCE_NVML);
	egs_gpu_sample_begin(msg);
	egs_gpu_sample_add(msg, &in);
	is_int(egs_gpu_sample_read(msg, samples, &why), 1,
	       "samples are read from a message");
	ok(samples[0].gpu == 7 && samples[0].state == EGS_GPU_LOST,
	   "a sample keeps its GPU and state");
	is_str(show_value(0, EGS_GPU_SM), "12 gpm",
	       "a sample keeps its values and their sources");
	is_str(show_value(0, EGS_GPU_TEMP_C), "-",
	       "a value beyond its bound is not sent");
	is_str(samples[0].uuid, "MIG-1-2", "a sample keeps its UUID");
	is_str(samples[0].device, "3.5",
	       "a sample keeps the driver's number of the GPU");
	ok(samples[0].nxids == 2 && samples[0].xid[0].number == 79 &&
		   samples[0].xid[0].age_s == 12 &&
		   samples[0].xid[1].count == UINT32_MAX,
	   "a sample keeps its XIDs by their number");
	egs_gpu_sample_add(msg, &in);
	is_int(egs_gpu_sample_read(msg, samples, &why), -1,
	       "a GPU that is there twice is refused: %s", why.msg);
	egs_msg_free(msg);
}

static void test_hostile_names(void)
{
	static const struct {
		const char *name, *kept;
	} names[] = {
		{ "../../etc/passwd", "" },
		{ ".", "" },
		{ "..", "" },
		{ "3\n4", "" },
		{ "0.7", "0.7" },
	};
	struct egs_err why;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct egs_msg *msg = egs_msg_new();
		struct egs_gpu_sample in = { .gpu = 0 };

		memcpy(in.device, names[i].name,
		       strnlen(names[i].name, sizeof(in.device) - 1));
		egs_gpu_sample_begin(msg);
		egs_gpu_sample_add(msg, &in);
		egs_gpu_sample_read(msg, samples, &why);
		is_str(samples[0].device, names[i].kept,
		       "a GPU called '%s' is called '%s'",
		       egs_printable(names[i].name).text, names[i].kept);
		egs_msg_free(msg);
	}
}

static void test_hostile_message(void)
{
	static const char *const texts[] = {
		"{}",
		"{\"columns\":[\"GPU\"],\"rows\":[[1]]}",
		"{\"columns\":[],\"rows\":[]}",
	};
	struct egs_err why;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct egs_msg *msg = egs_msg_parse(texts[i], strlen(texts[i]),
						    EGS_MSG_REQUEST_MAX, &why);

		is_int(egs_gpu_sample_read(msg, samples, &why), -1,
		       "%s is refused: %s", texts[i], why.msg);
		egs_msg_free(msg);
	}
}

/* ---- the sampler process ---- */

static struct egs_loop *loop;
static struct egs_gpu_sampler *sampler;
static struct {
	int good, bad; /* batches */
	int good_wanted, bad_wanted;
	const char *error_wanted; /* NULL: any */
	char error[EGS_ERR_MAX];
	pid_t pid; /* of the process that sent the last good one */
} seen;

static void on_batch(void *arg, const struct egs_msg *batch)
{
	const char *error = egs_msg_get_str(batch, "error");
	struct egs_err why;

	(void)arg;
	if (error) {
		snprintf(seen.error, sizeof(seen.error), "%s", error);
		seen.bad += !seen.error_wanted ||
			    strcmp(error, seen.error_wanted) == 0;
	} else if (egs_gpu_sample_read(batch, samples, &why) == 4) {
		seen.good++;
		seen.pid = egs_gpu_sampler_pid(sampler);
	}
	if (seen.good >= seen.good_wanted && seen.bad >= seen.bad_wanted)
		egs_loop_stop(loop);
}

static void on_deadline(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	errx(1, "no batch in time: %d with samples, %d with '%s'", seen.good,
	     seen.bad, seen.error);
}

/* Run until there are so many more batches. */
static void run_until(int good, int bad)
{
	struct egs_watch *deadline =
		egs_loop_add_timer(loop, on_deadline, NULL, NULL);

	seen.good = seen.bad = 0;
	seen.good_wanted = good;
	seen.bad_wanted = bad;
	egs_timer_start(deadline, 60000);
	egs_loop_run(loop, NULL);
	egs_watch_free(deadline);
}

/* Other failures may come first on a machine that is busy. */
static void run_until_error(const char *error)
{
	seen.error_wanted = error;
	run_until(0, 1);
	seen.error_wanted = NULL;
}

static void start_sampler(void)
{
	struct egs_gpu_sampler_conf conf = {
		.node = "n1",
		.gres_conf = "gres.conf",
		.interval_ms = 50,
		.patience_ms = 400,
		.on_batch = on_batch,
	};

	sampler = egs_gpu_sampler_new(loop, &conf, NULL);
}

static void test_sampler(void)
{
	pid_t first;

	script("0 busy\n");
	start_sampler();
	run_until(3, 0);
	first = seen.pid;
	is_str(show_value(0, EGS_GPU_SM), "91 nvml",
	       "the sampler process sends samples");
	ok(first != getpid() && kill(first, 0) == 0,
	   "samples are taken in another process");
	script("0 hung\n");
	run_until_error("NVIDIA's driver has not answered for 1 s");
	ok(seen.bad == 1, "a driver that hangs is reported");
	script("0 busy\n");
	run_until(2, 0);
	ok(seen.pid != first && kill(first, 0) < 0,
	   "a process that hung is killed and replaced");
	script("0 dies\n");
	run_until_error("the sampler process has died in a call of NVIDIA's "
			"driver");
	ok(seen.bad == 1,
	   "a driver that crashes ends only the sampler process");
	script("all unloaded\n");
	run_until_error("NVIDIA's driver is not loaded");
	ok(seen.bad == 1, "a driver that is not loaded is reported");
	script("1 lost\n");
	run_until(1, 0);
	is_int(samples[1].state, EGS_GPU_LOST,
	       "samples continue when the driver is back");
	first = egs_gpu_sampler_pid(sampler);
	egs_gpu_sampler_free(sampler);
	for (int i = 0; i < 1000 && kill(first, 0) == 0; i++) {
		waitpid(first, NULL, WNOHANG);
		poll(NULL, 0, 10);
	}
	ok(kill(first, 0) < 0, "the sampler process ends with its owner");
}

/* A driver that hangs at each call is asked ever less often. */
static void test_backoff(void)
{
	uint64_t begun;

	script("all hung\n");
	start_sampler();
	run_until(0, 1);
	begun = egs_now_ms();
	run_until(0, 2);
	ok(egs_now_ms() - begun >= 2 * 450 + 50 + 100,
	   "pauses grow while the driver hangs");
	egs_gpu_sampler_free(sampler);
}

static void test_no_library(void)
{
	struct egs_nvml nvml;
	struct egs_err why = { "" };

	is_int(egs_nvml_open(&nvml, "libnone.so.1", &why), 1,
	       "a node without the library is told apart: %s", why.msg);
	egs_nvml_close(&nvml);
	is_int(egs_nvml_open(&nvml, "libm.so.6", &why), -1,
	       "a library that is not NVML is refused: %s", why.msg);
	egs_nvml_close(&nvml);
}

int main(void)
{
	plan_none();
	conf_enter();
	conf_write("gres.conf", "Name=gpu File=/dev/nvidia[0-3]\n");
	setenv("EGS_NVML", "driver", 1);
	test_values();
	test_absent();
	test_absurd();
	test_counters();
	test_gpm();
	test_lost();
	test_xid_numbers();
	test_message();
	test_hostile_names();
	test_hostile_message();
	test_no_library();
	loop = egs_loop_new(NULL);
	test_sampler();
	test_backoff();
	egs_loop_free(loop);
	conf_leave();
	return done_testing();
}
