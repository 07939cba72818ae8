/* slurm_conf.c - the keys of slurm.conf that EGS reads itself */
#include "common/conf/slurm_conf.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct egs_slurm_conf conf;
	char *text = fuzz_text(data, size);
	bool includes = strstr(text, "nclude") || strstr(text, "NCLUDE");

	free(text);
	/* A site that includes a device has itself to blame. */
	if (includes)
		return 0;
	egs_slurm_conf_read(&conf, fuzz_file(data, size));
	fuzz_check(conf.nhosts <= EGS_SLURM_HOSTS_MAX);
	fuzz_check(strlen(conf.cluster) < sizeof(conf.cluster));
	return 0;
}
