/* egs-policyd.c - main() of the daemon
 *
 * The daemon has few options and parses them here.  cmd/ is for commands that
 * send requests to the daemon.
 */
#include <egs_config.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "policyd/accounting/import_sacct.h"
#include "policyd/daemon/daemon.h"
#include "policyd/report/report.h"
#include "policyd/requests/requests.h"
#include "policyd/store/backup.h"

#define CONF_FILE EGS_SYSCONFDIR "/egs.conf"

static const char usage[] =
	"Usage: egs-policyd [-f FILE]\n"
	"Decides who gets which GPUs of a Slurm cluster; see egs-policyd(8).\n"
	"\n"
	"  -f, --conf=FILE  read FILE instead of " CONF_FILE "\n"
	"  -h, --help       print this and exit\n"
	"  -V, --version    print the version and exit\n";

static const struct option options[] = {
	{ "conf", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ "backup", required_argument, NULL, 'b' }, /* for egs-report only */
	{ "import", no_argument, NULL, 'i' },	    /* likewise */
	{ "report", no_argument, NULL, 'r' },	    /* the daemon, egs-report */
	{ "worker", no_argument, NULL, 'w' },	    /* the daemon */
	{ NULL, 0, NULL, 0 },
};

static int print_try_help(void)
{
	fputs("Try 'egs-policyd --help'.\n", stderr);
	return EXIT_FAILURE;
}

static int run_daemon(const char *conf_path)
{
	struct egs_err err;

	if (egs_daemon_run(conf_path, "/proc/self/exe", egs_requests_parts,
			   &err) == 0)
		return EXIT_SUCCESS;
	egs_log_error("%s", err.msg);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const char *conf_path = CONF_FILE;
	int option;

	while ((option = getopt_long(argc, argv, "f:hV", options, NULL)) >= 0)
		switch (option) {
		case 'f':
			conf_path = optarg;
			break;
		case 'h':
			return fputs(usage, stdout) < 0;
		case 'V':
			return puts("egs-policyd " PACKAGE_VERSION) < 0;
		case 'b':
			return egs_backup_main(conf_path, optarg);
		case 'i':
			return egs_import_sacct_main(conf_path);
		case 'r':
			return egs_report_main(conf_path);
		case 'w':
			return egs_worker_main();
		default:
			return print_try_help();
		}
	return optind < argc ? print_try_help() : run_daemon(conf_path);
}
