/* gpus.c - which device files are GPUs */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/node/gpus.h"
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

int main(void)
{
	char path[64];

	plan_none();
	if (!mkdtemp(top))
		return 1;
	test_files();
	snprintf(path, sizeof(path), "%s/gres.conf", top);
	unlink(path);
	rmdir(top);
	return done_testing();
}
