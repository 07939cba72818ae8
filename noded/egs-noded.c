/* egs-noded.c - main() of egs-noded, the daemon on a compute node */
#include <egs_config.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "noded/noded.h"

#define CONF_FILE EGS_SYSCONFDIR "/egs.conf"

static const char usage[] =
	"Usage: egs-noded [-N NODE] [-f FILE] [--log=FILE] [--with-slurmd]\n"
	"Serves the run directories of the jobs on a node; see egs-noded(8).\n"
	"\n"
	"  -f, --conf=FILE    read FILE instead of " CONF_FILE "\n"
	"  -N, --node=NODE    the name of the node, by default the host's\n"
	"      --log=FILE     append to FILE instead of stderr\n"
	"      --with-slurmd  end when slurmd has ended\n"
	"  -h, --help         print this and exit\n"
	"  -V, --version      print the version and exit\n";

enum { OPT_LOG = 256, OPT_WITH_SLURMD };

static const struct option options[] = {
	{ "conf", required_argument, NULL, 'f' },
	{ "node", required_argument, NULL, 'N' },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "with-slurmd", no_argument, NULL, OPT_WITH_SLURMD },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static struct {
	const char *conf, *node, *log;
	bool with_slurmd;
} args = { .conf = CONF_FILE };

static int print_help_hint(void)
{
	fputs("Try 'egs-noded --help'.\n", stderr);
	return EXIT_FAILURE;
}

/* Returns Slurm's default for NodeName: the host name without its domain. */
static const char *get_host_name(void)
{
	static char name[256];

	if (gethostname(name, sizeof(name) - 1) < 0)
		return "";
	name[strcspn(name, ".")] = '\0';
	return name;
}

static void redirect_stderr(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);

	if (fd < 0)
		return; /* run without a log file */
	dup2(fd, STDERR_FILENO);
	close(fd);
}

static int run_noded(void)
{
	struct egs_err err;

	if (args.log)
		redirect_stderr(args.log);
	if (egs_noded_run(args.conf, args.node ? args.node : get_host_name(),
			  args.with_slurmd, &err) == 0)
		return EXIT_SUCCESS;
	egs_log_error("egs-noded: %s", err.msg);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "f:N:hV", options, NULL)) >= 0)
		switch (option) {
		case 'f':
			args.conf = optarg;
			break;
		case 'N':
			args.node = optarg;
			break;
		case OPT_LOG:
			args.log = optarg;
			break;
		case OPT_WITH_SLURMD:
			args.with_slurmd = true;
			break;
		case 'h':
			return fputs(usage, stdout) < 0;
		case 'V':
			return puts("egs-noded " PACKAGE_VERSION) < 0;
		default:
			return print_help_hint();
		}
	return optind < argc ? print_help_hint() : run_noded();
}
