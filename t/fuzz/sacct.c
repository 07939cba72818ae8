/* sacct.c - lines of sacct that egs-report imports
 *
 * runs: 300, because each opens a store
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "policyd/accounting/import_sacct.h"
#include "t/fuzz/fuzz.h"

static char dir[] = "/tmp/egs-fuzz-sacct.XXXXXX";
static char conf[64];

static void remove_files(void)
{
	static const char *const names[] = { "state", "state-wal", "state-shm",
					     "egs.conf", "" };
	char path[64];

	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		remove(path);
	}
}

static void make_files(void)
{
	FILE *f;

	fuzz_check(mkdtemp(dir));
	atexit(remove_files);
	snprintf(conf, sizeof(conf), "%s/egs.conf", dir);
	f = fopen(conf, "we");
	fuzz_check(f && fprintf(f,
				"StateDir=%s\nTierOrder=prod\nGpuType=a100\n"
				"Team=red Users=alice Quota=a100:4 "
				"DefaultTier=prod\n",
				dir) > 0);
	fuzz_check(fclose(f) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!*conf)
		make_files();
	fuzz_check(freopen(fuzz_file(data, size), "r", stdin));
	fuzz_check(freopen("/dev/null", "w", stdout));
	egs_import_sacct_main(conf);
	return 0;
}
