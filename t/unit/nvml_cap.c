/* nvml_cap.c - power limits are lowered, and given back whatever happens */
#include <unistd.h>

#include "noded/nvml_cap.h"
#include "t/lib/unit/nvml_script.h"
#include "t/lib/unit/tap.h"

static struct egs_nvml_session session;
static struct egs_nvml_caps caps;
static const char path[] = "caps";

/* A new process, as after a crash of the last one. */
static void start_process(void)
{
	struct egs_node_gpus gpus;
	struct egs_err why;

	egs_nvml_session_close(&session);
	egs_node_gpus_read(&gpus, "gres.conf", "n1");
	if (egs_nvml_session_open(&session, NULL, &gpus, &why) < 0)
		errx(1, "%s", why.msg);
	egs_nvml_caps_restore(&caps, &session, path);
}

/* Order a limit for a GPU (0: none); returns what is told of it. */
static uint32_t order(uint32_t gpu, uint32_t pct)
{
	struct egs_gpu_cap cap = { .gpu = gpu, .pct = pct };

	egs_nvml_caps_apply(&caps, &session, &cap, pct ? 1 : 0);
	return cap.limit_mw;
}

/* The limit of a GPU as the driver has it, in watts. */
static unsigned int get_watts(uint32_t gpu)
{
	unsigned int milliwatts = 0;

	session.nvml.power_cap(session.gpu[gpu].device, &milliwatts);
	return milliwatts / 1000;
}

static void test_limits(void)
{
	start_process();
	is_int(order(1, 80), 560000, "a limit is lowered to a percentage");
	is_int(get_watts(1), 560, "the driver has the lower limit");
	is_int(get_watts(0), 700, "other GPUs keep their limit");
	is_int(order(1, 50), 350000,
	       "a second percentage is of the limit before the first");
	is_int(order(1, 10), 200000,
	       "no limit is below the minimum of the driver");
	is_int(order(2, 80), 560000, "another GPU is lowered");
	is_int(get_watts(1), 700, "a GPU without an order has its limit back");
	order(0, 0);
	is_int(get_watts(2), 700, "all limits are given back");
	ok(access(path, F_OK) < 0, "no file is left without limits");
}

static void test_crash(void)
{
	start_process();
	order(1, 80);
	ok(access(path, F_OK) == 0, "the limit before is on disk");
	start_process();
	is_int(get_watts(1), 700, "a new process gives limits back");
	ok(access(path, F_OK) < 0, "a limit that was given back is forgotten");
	order(1, 80);
	conf_write("driver.limit.1", "600000");
	start_process();
	is_int(get_watts(1), 600,
	       "a limit that an administrator has set is left alone");
	is_int(order(1, 50), 300000,
	       "a percentage is of the limit that the GPU has");
	order(0, 0);
	is_int(get_watts(1), 600, "a GPU gets back what it had");
	conf_write(path, "GPU-that-is-gone 700000 560000\n");
	start_process();
	ok(access(path, F_OK) < 0, "a GPU that is gone is forgotten");
	conf_write(path, "no such line");
	start_process();
	is_int((int)caps.n, 0, "a file that makes no sense is ignored");
	unlink(path);
	unlink("driver.limit.1");
}

static void test_refusals(void)
{
	script("1 nocap\n");
	start_process();
	is_int(order(1, 80), 0, "a driver that refuses is told");
	ok(access(path, F_OK) < 0, "a limit that was refused is not on disk");
	script("1 powermin -\n");
	is_int(order(1, 80), 0, "a driver without bounds is left alone");
	script("1 powerlimit 200000\n");
	is_int(order(1, 80), 200000,
	       "a GPU at its minimum stays there, and that is told");
	script("");
	session.nvml.set_power_cap = NULL;
	is_int(order(1, 80), 0, "an old library sets no limit");
	start_process();
	caps.path = "/nonexistent/caps";
	is_int(order(1, 80), 0, "a limit that cannot be on disk is not set");
	is_int(get_watts(1), 700,
	       "a limit that cannot be on disk is as it was");
	is_int(order(63, 80), 0, "a GPU that the node lacks has no limit");
}

/* Two slices of one GPU are 0 and 1 in Slurm. */
static void test_slices(void)
{
	struct egs_gpu_cap both[] = { { .gpu = 0, .pct = 80 },
				      { .gpu = 1, .pct = 60 } };

	start_process();
	session.gpu[1].device = session.gpu[0].device;
	egs_nvml_caps_apply(&caps, &session, both, 2);
	ok(both[0].limit_mw == 420000 && both[1].limit_mw == 420000,
	   "the lowest limit counts for all slices of a GPU");
	egs_nvml_caps_apply(&caps, &session, both, 1);
	is_int(get_watts(0), 560, "a limit rises when a lower one has ended");
	order(0, 0);
	is_int(get_watts(0), 700, "a GPU with slices gets its limit back");
}

int main(void)
{
	plan_none();
	script_begin();
	script("");
	test_limits();
	test_crash();
	test_refusals();
	test_slices();
	egs_nvml_session_close(&session);
	conf_leave();
	return done_testing();
}
