/* gpu_sampler.c - samples in messages, and the process that takes them */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "noded/gpu_sampler.h"
#include "t/lib/unit/nvml_script.h"
#include "t/lib/unit/tap.h"

/* ---- in a message ---- */

static void test_message(void)
{
	struct egs_msg *msg = egs_msg_new();
	struct egs_gpu_sample in = {
		.gpu = 7,
		.state = EGS_GPU_LOST,
		.uuid = "MIG-1-2",
		.device = "3.5",
		.xid = { { 79, 1, UINT64_MAX, UINT32_MAX, UINT32_MAX,
			   INT64_MIN },
			 { .number = 31, .count = UINT32_MAX } },
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
		   samples[0].xid[0].age_ms == UINT64_MAX &&
		   samples[0].xid[0].start == INT64_MIN &&
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
	char caps[64];
} seen;

static void on_batch(void *arg, struct egs_msg *batch)
{
	const char *error = egs_msg_get_str(batch, "error");
	struct egs_err why;

	(void)arg;
	if (error) {
		snprintf(seen.error, sizeof(seen.error), "%s", error);
		seen.bad += !seen.error_wanted ||
			    strcmp(error, seen.error_wanted) == 0;
	} else if (egs_gpu_sample_read(batch, samples, &why) == 4) {
		snprintf(seen.caps, sizeof(seen.caps), "%s",
			 egs_msg_get_str(batch, "caps"));
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
		.caps_path = "caps",
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

static bool has_limit(const char *text)
{
	char limit[32] = "";
	FILE *f = fopen("driver.limit.1", "re");

	if (f && !fgets(limit, sizeof(limit), f))
		limit[0] = '\0';
	if (f)
		fclose(f);
	return strcmp(limit, text) == 0;
}

static void test_power_limits(void)
{
	const struct egs_gpu_cap cap = { .gpu = 1, .pct = 80 };

	script("");
	start_sampler();
	run_until(1, 0);
	egs_gpu_sampler_set_caps(sampler, &cap, 1);
	run_until(3, 0);
	is_str(seen.caps, "1:80:560000", "a batch tells the power limits");
	ok(has_limit("560000"), "the sampler process lowers a power limit");
	script("0 dies\n");
	run_until(0, 1);
	script("");
	run_until(3, 0);
	is_str(seen.caps, "1:80:560000",
	       "a new sampler process lowers the power limit again");
	egs_gpu_sampler_free(sampler);
	ok(has_limit("700000"), "power limits are given back at the end");
	start_sampler();
	run_until(1, 0);
	egs_gpu_sampler_set_caps(sampler, &cap, 1);
	run_until(3, 0);
	egs_gpu_sampler_set_caps(sampler, NULL, 0);
	run_until(3, 0);
	ok(has_limit("700000"), "a power limit without an order is given back");
	egs_gpu_sampler_free(sampler);
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

int main(void)
{
	plan_none();
	script_begin();
	test_message();
	test_hostile_names();
	test_hostile_message();
	loop = egs_loop_new(NULL);
	test_sampler();
	test_power_limits();
	test_backoff();
	egs_loop_free(loop);
	conf_leave();
	return done_testing();
}
