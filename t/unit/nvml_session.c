/* nvml_session.c - what is measured of GPUs and of slices, and what is not */
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/node/proc.h"
#include "noded/nvml_session.h"
#include "t/lib/unit/nvml_script.h"
#include "t/lib/unit/tap.h"

static struct egs_nvml_session session;

/* An administrator has set the clock by so much. */
static int64_t clock_step_s;

int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
	int rc = (int)syscall(SYS_clock_gettime, clock_id, tp);

	if (clock_id == CLOCK_REALTIME)
		tp->tv_sec += clock_step_s;
	return rc;
}

time_t time(time_t *timer)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (timer)
		*timer = now.tv_sec;
	return now.tv_sec;
}

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
	session.gpu[0].has_process_ms -= 7000;
	sample_again("0 sm 20\n");
	is_str(show_value(0, EGS_GPU_EMPTY_S), "0 egs-noded",
	       "a GPU with busy SMs is not empty, though the driver lists no "
	       "process");
	session.gpu[0].has_process_ms -= 7000;
	sample_again("0 sm 0\n");
	ok(samples[0].value[EGS_GPU_EMPTY_S].value >= 7,
	   "a GPU without a process and without busy SMs is empty");
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

static void test_clock_steps(void)
{
	static const int64_t steps[] = { 86400, -86400, -1700000000 };

	script("0 4711\n");
	open_session();
	session.gpu[0].has_process_ms -= 7000;
	session.gpu[0].is_busy_ms -= 9000;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		clock_step_s = steps[i];
		sample_again("");
		ok(samples[0].value[EGS_GPU_EMPTY_S].value >= 7 &&
			   samples[0].value[EGS_GPU_EMPTY_S].value < 3600,
		   "a clock set by %lld s does not make a GPU empty for longer",
		   (long long)steps[i]);
		ok(samples[0].value[EGS_GPU_IDLE_S].value >= 9 &&
			   samples[0].value[EGS_GPU_IDLE_S].value < 3600,
		   "a clock set by %lld s does not make a GPU idle for longer",
		   (long long)steps[i]);
		ok(samples[0].value[EGS_GPU_NVLINK_RX_KB].value < 100000,
		   "a clock set by %lld s does not change a rate",
		   (long long)steps[i]);
	}
	clock_step_s = 0;
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
	is_str(show_value(1, EGS_GPU_UTIL), "0 nvml",
	       "the utilisation of NVML is shown beside GPM");
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

/* A GPU that fails reports more than anybody can read. */
static void test_xid_flood(void)
{
	char text[40000] = "";
	int64_t count;
	uint64_t begun;
	size_t len = 0;

	for (int i = 0; i < 1500; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"0 xid %d\n", i);
	script(text);
	open_session();
	begun = egs_now_ms();
	egs_nvml_session_wait(&session, 1000);
	ok(egs_now_ms() - begun >= 1000,
	   "a flood of XIDs does not shorten the interval");
	egs_nvml_session_sample(&session, samples);
	count = samples[0].value[EGS_GPU_XIDS].value;
	ok(count > 0 && count <= 1000,
	   "a flood of XIDs is read up to a bound in an interval");
	ok(samples[0].nxids == EGS_GPU_XID_NUMBERS_MAX,
	   "a flood of XIDs of all numbers has a bound on the wire");
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
	ok(xid[0].age_ms < 7000, "an XID that has just come is not old");
	session.gpu[0].xid_ms[0] -= 7000;
	egs_nvml_session_sample(&session, samples);
	ok(xid[0].age_ms >= 7000 && xid[0].count == 6,
	   "an XID gets older and is not counted again");
	ok(samples[1].nxids == EGS_GPU_XID_NUMBERS_MAX &&
		   samples[1].value[EGS_GPU_XIDS].value == 20,
	   "XIDs of too many numbers are counted without their number");
	egs_nvml_session_close(&session);
}

/* ---- slices of MIG GPUs ---- */

/* /dev/nvidia1, which is GPU 2 of the driver, has three slices.  Two of them
 * are in one GPU instance.
 */
static void write_slices(void)
{
	mkdir("proc", 0700);
	mkdir("proc/driver", 0700);
	mkdir("proc/driver/nvidia-caps", 0700);
	conf_write("proc/driver/nvidia-caps/mig-minors",
		   "config 1\nmonitor 2\n"
		   "gpu1/gi2/access 156\ngpu1/gi2/ci0/access 157\n"
		   "gpu1/gi5/access 183\ngpu1/gi5/ci0/access 184\n"
		   "gpu1/gi5/ci1/access 185\n");
	conf_write("gres.conf", "Name=gpu File=/dev/nvidia0\n"
				"Name=gpu MultipleFiles=/dev/nvidia1,"
				"/dev/nvidia-caps/nvidia-cap[183,185]\n"
				"Name=gpu MultipleFiles=/dev/nvidia1,"
				"/dev/nvidia-caps/nvidia-cap[156,157]\n"
				"Name=gpu MultipleFiles=/dev/nvidia1,"
				"/dev/nvidia-caps/nvidia-cap[183,184]\n"
				"Name=gpu MultipleFiles=/dev/nvidia2,"
				"/dev/nvidia-caps/nvidia-cap[300,301]\n");
	egs_proc_set_root("proc");
}

static void test_slices(void)
{
	write_slices();
	script("0 busy\n1 mig 2.0\n1 mig 5.0\n1 mig 5.1\n1 gpm 99\n"
	       "1 temp 71\n1.2 gpm 44.2\n1.2 tensor 7\n1.2 mem 9000\n"
	       "1.2 memtotal 20000\n1.2 4711\n1.5 gpm 11\n1.5 mem 300\n"
	       "1 xid 79\n1.2 xid 31\n");
	open_session();
	egs_nvml_session_wait(&session, 20);
	egs_nvml_session_sample(&session, samples);
	is_int(session.n, 5, "each slice of gres.conf is sampled");
	is_str(show_value(0, EGS_GPU_SM), "91 nvml",
	       "a whole GPU beside slices is sampled as ever");
	is_str(samples[2].device, "2.2",
	       "a slice has the number of its GPU and of its GPU instance");
	is_str(samples[2].uuid, "MIG-5c5e0000-0000-0000-0000-000000000120",
	       "a slice has a UUID of its own");
	is_str(show_value(2, EGS_GPU_SM), "44 gpm",
	       "a slice shows the activity of its own SMs");
	is_str(show_value(2, EGS_GPU_TENSOR), "7 gpm",
	       "a slice shows the activity of its own tensor cores");
	is_str(show_value(2, EGS_GPU_MEM_MB), "9000 nvml",
	       "a slice shows its own memory in use");
	is_str(show_value(2, EGS_GPU_MEM_TOTAL_MB), "20000 nvml",
	       "a slice shows the memory that it has");
	is_str(show_value(2, EGS_GPU_PROCESSES), "1 nvml",
	       "a slice shows its own processes");
	is_str(show_value(2, EGS_GPU_TEMP_C), "71 nvml",
	       "a slice shows the temperature of its GPU");
	is_str(show_value(2, EGS_GPU_POWER_MW), "-",
	       "a slice has no power, because nobody knows its share");
	is_str(show_value(2, EGS_GPU_ENERGY_J), "-",
	       "a slice has no energy, so that no energy counts twice");
	is_str(show_value(1, EGS_GPU_SM), "-",
	       "slices that share a GPU instance do not show its activity");
	is_str(show_value(1, EGS_GPU_PROCESSES), "0 nvml",
	       "a process counts for its own slice only");
	is_str(show_value(1, EGS_GPU_XIDS), "1 nvml",
	       "an XID of a GPU counts for each of its slices");
	is_str(show_value(2, EGS_GPU_XIDS), "2 nvml",
	       "an XID of a GPU instance counts for its own slices only");
	is_int(samples[4].state, EGS_GPU_MISSING,
	       "a slice that the driver does not have is missing");
	egs_nvml_session_close(&session);
	egs_proc_set_root(NULL);
	conf_write("gres.conf", "Name=gpu File=/dev/nvidia[0-3]\n");
	remove("proc/driver/nvidia-caps/mig-minors");
	remove("proc/driver/nvidia-caps");
	remove("proc/driver");
	remove("proc");
}

/* ---- processes that have ended ---- */

static struct egs_gpu_process ended[EGS_GPU_PROCESSES_MAX];

static uint32_t read_ended(const char *text)
{
	script(text);
	return egs_nvml_session_read_ended(&session, ended);
}

static void test_ended(void)
{
	char many[8192] = "";

	script("0 ended 10:50:100:900\n");
	open_session();
	is_int(egs_nvml_session_read_ended(&session, ended), 0,
	       "processes that ended before are not told again");
	session.gpu[0].accounting.read_ms -= 20000;
	session.gpu[1].accounting.read_ms -= 20000;
	is_int(read_ended("0 ended 10:50:100:900\n0 ended 11:80:2048:15000\n"
			  "1 ended 12:101:5:700000\n"),
	       2, "processes that have just ended are told");
	ok(ended[0].gpu == 0 && ended[0].sm == 80 &&
		   ended[0].max_mem_mb == 2048 && ended[0].run_ms == 15000,
	   "a process that has ended keeps its activity and its memory");
	ok(ended[0].age_ms >= 15000 && ended[0].age_ms <= 25000,
	   "a short process began after the last look");
	ok(ended[1].sm == -1 && ended[1].age_ms >= 700000,
	   "a value that the driver does not know is absent");
	is_int(read_ended("0 ended 11:80:2048:15000\n"), 0,
	       "a process is told once");
	session.gpu[0].accounting.read_ms -= 5000;
	read_ended("0 ended 21:1:1:100:1\n0 ended 22:1:1:100:9999999999\n");
	ok(ended[0].age_ms >= 5000 && ended[0].age_ms < 100000,
	   "a clock that was set forward does not move a process back");
	is_int(ended[1].age_ms, 100,
	       "a clock that was set back does not move a process ahead");
	for (int i = 0; i < 200; i++)
		snprintf(many + strlen(many), 40, "0 ended %d:1:1:1\n",
			 1000 + i);
	is_int(read_ended(many), EGS_GPU_PROCESSES_MAX,
	       "a flood of processes has a bound");
	is_int(read_ended(many), 200 - EGS_GPU_PROCESSES_MAX,
	       "the rest of a flood comes with the next look");
	egs_nvml_session_close(&session);
	script("0 noaccounting\n0 ended 10:50:100:900\n");
	open_session();
	session.gpu[0].accounting.read_ms = 1;
	is_int(egs_nvml_session_read_ended(&session, ended), 0,
	       "a driver that refuses accounting mode tells no process");
	egs_nvml_session_close(&session);
}

static void test_ended_message(void)
{
	static const char *const texts[] = {
		"64:1:0:5:1:1:1:1",
		"1:1:0:5:1:1:101:1",
		"1:1:0:5:-1:1:1:1",
		"1:1:0",
		"x,,,,",
		"1:1:0:5:1:1:1:9999999999",
	};
	struct egs_gpu_process in[2] = {
		{ 3, 81, 2, 1700000000, 20000, 15000, -1, 2048 },
		{ 4, 82, 0, 1700000001, 1, 0, 100, -1 },
	};
	struct egs_msg *msg = egs_msg_new();

	egs_gpu_process_set(msg, in, 2);
	ok(egs_gpu_process_read(msg, ended) == 2 && ended[0].job_id == 81 &&
		   ended[0].sm == -1 && ended[0].max_mem_mb == 2048 &&
		   ended[1].gpu == 4 && ended[1].start == 1700000001,
	   "ended processes are read from a message as they were written");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		egs_msg_set_str(msg, "ended", texts[i]);
		is_int(egs_gpu_process_read(msg, ended), 0,
		       "'%s' is no process", texts[i]);
	}
	egs_msg_free(msg);
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
	script_begin();
	test_values();
	test_absent();
	test_absurd();
	test_counters();
	test_clock_steps();
	test_gpm();
	test_lost();
	test_xid_numbers();
	test_xid_flood();
	test_slices();
	test_ended();
	test_ended_message();
	test_no_library();
	conf_leave();
	return done_testing();
}
