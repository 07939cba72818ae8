/* rundir.c - the flag that a job maps, and the answer that it reads
 *
 * runs: 3000, because each writes two files
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/ipc/rundir_client.h"
#include "t/fuzz/fuzz.h"

static char dir[] = "/tmp/egs-fuzz-rundir.XXXXXX";

static void remove_dir(void)
{
	static const char *const names[] = { "flag", "in/a", "in", "out", "" };
	char path[64];

	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		remove(path);
	}
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static void make_dir(void)
{
	char path[64];

	fuzz_check(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/in", dir);
	fuzz_check(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/out", dir);
	fuzz_check(mkdir(path, 0700) == 0);
	atexit(remove_dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char answer[EGS_RUNDIR_ANSWER_MAX];
	struct egs_rundir_flag flag;
	static bool made;

	if (!made)
		make_dir();
	made = true;
	write_file("flag", data, size);
	write_file("in/a", data, size);
	egs_rundir_read_flag(dir, &flag);
	if (egs_rundir_wait_answer(dir, "a", answer, 0))
		fuzz_check(strlen(answer) < sizeof(answer));
	return 0;
}
