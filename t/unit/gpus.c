/* gpus.c - which device files are GPUs */
#include <stdlib.h>
#include <sys/stat.h>

#include "common/node/gpus.h"
#include "common/node/proc.h"
#include "t/lib/unit/tap.h"

static char top[] = "/tmp/egs-gpus.XXXXXX";

static const char *write_conf(const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/gres.conf", top);
	f = fopen(path, "we");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
	return path;
}

static void test_files(void)
{
	const char *path = write_conf("# comment\n"
				      "NodeName=n[1-2] Name=gpu Type=a100 "
				      "File=/dev/zero\n"
				      "nodename=n1 name=gpu file=/dev/full\n"
				      "NodeName=n3 Name=gpu File=/dev/null\n"
				      "Name=nic File=/dev/null\n"
				      "Name=gpu File=/dev/egs-none7\n");
	struct egs_node_gpus gpus;
	struct stat zero;

	egs_node_gpus_read(&gpus, path, "n1");
	ok(gpus.n == 3,
	   "n1 has the GPUs of its own lines and of lines without NodeName");
	ok(stat("/dev/zero", &zero) == 0 && gpus.device[0] == zero.st_rdev,
	   "GPUs are in the order of gres.conf");
	ok(gpus.device[2] == 0 && gpus.file_number[2] == 7,
	   "a GPU without a device file counts and has its number");
	egs_node_gpus_read(&gpus, path, "n2");
	ok(gpus.n == 2, "n2 has the GPUs of its lines only");
	egs_node_gpus_read(&gpus, "/nonexistent", "n1");
	ok(gpus.n <= EGS_NODE_GPUS_MAX, "a missing gres.conf is not an error");
}

/* A directory that looks like /proc. */
static void write_proc(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "we");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void test_slices(void)
{
	const char *path = write_conf(
		"Name=gpu Type=1g MultipleFiles=/dev/zero0,"
		"/dev/nvidia-caps/nvidia-cap12,/dev/nvidia-caps/nvidia-cap13\n"
		"Name=gpu Type=1g MultipleFiles=/dev/zero0,"
		"/dev/nvidia-caps/nvidia-cap[21-22]\n"
		"Name=gpu Type=a100 File=/dev/zero1\n"
		"Name=gpu Type=1g MultipleFiles=/dev/zero0,"
		"/dev/nvidia-caps/nvidia-cap[98-99]\n");
	struct egs_node_gpus gpus;

	write_proc("driver/nvidia-caps/mig-minors",
		   "config 1\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n"
		   "gpu0/gi2/access 21\ngpu0/gi2/ci0/access 22\n"
		   "gpu1/gi2/ci0/access 22\n");
	egs_proc_set_root(top);
	egs_node_gpus_read(&gpus, path, "n1");
	ok(gpus.n == 4, "a line with MultipleFiles is one GPU");
	ok(gpus.is_slice[1] && gpus.file_number[1] == 0 &&
		   gpus.gpu_instance[1] == 2 && gpus.compute_instance[1] == 0,
	   "the driver tells which instances a slice is");
	ok(!gpus.is_slice[2] && gpus.gpu_instance[2] == -1,
	   "a GPU beside slices is no slice");
	ok(gpus.is_slice[3] && gpus.gpu_instance[3] == -1,
	   "a slice that the driver does not know is still a slice");
	ok(egs_node_gpus_find_slice(&gpus, 0, 2, 0) == 1 &&
		   egs_node_gpus_find_slice(&gpus, 1, 2, 0) == -1,
	   "a slice is found by its GPU and its instances");
	ok(egs_node_gpus_count_instance(&gpus, 0) == 1,
	   "slices of a GPU instance are counted");
	egs_proc_set_root(NULL);
}

/* The second GPU on the bus has the first minor number. */
static void test_detected(void)
{
	struct egs_node_gpus gpus;

	write_proc("driver/nvidia/gpus/0000:1b:00.0/information",
		   "Model: \t\t NVIDIA A100\nDevice Minor: \t 1\n");
	write_proc("driver/nvidia/gpus/0000:c1:00.0/information",
		   "Model: \t\t NVIDIA A100\nDevice Minor: \t 0\n");
	write_proc("driver/nvidia/capabilities/gpu0/mig/gi5/ci1/access", "");
	write_proc("driver/nvidia/capabilities/gpu0/mig/gi5/ci0/access", "");
	write_proc("driver/nvidia/capabilities/gpu0/mig/gi3/ci0/access", "");
	egs_proc_set_root(top);
	egs_node_gpus_read(&gpus, "/nonexistent", "n1");
	ok(gpus.n == 4 && gpus.file_number[0] == 1 && gpus.file_number[1] == 0,
	   "detected GPUs are in the order of the bus, not of their files");
	ok(!gpus.is_slice[0] && gpus.gpu_instance[1] == 3 &&
		   gpus.gpu_instance[2] == 5 && gpus.compute_instance[2] == 0 &&
		   gpus.compute_instance[3] == 1,
	   "detected slices are in the order of their instances");
	egs_proc_set_root(NULL);
}

int main(void)
{
	char command[64];

	plan_none();
	if (!mkdtemp(top))
		return 1;
	test_files();
	test_slices();
	test_detected();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command) != 0) /* NOLINT */
		note("%s: not removed", top);
	return done_testing();
}
