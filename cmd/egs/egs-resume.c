/* egs-resume.c - ask egs-policyd for the resume info of a restarted job
 *
 * spank_egs runs this program as the user, if slurmctld has not passed the
 * resume info.  The program prints the cause of the preemption to stderr, which
 * the job shares.  To stdout it prints a line with the phase ("-": as
 * submitted) and the path of the last checkpoint.  Without resume info or
 * without egs-policyd it prints nothing.
 */
#include <stdio.h>

#include "cmd/lib/find_daemon.h"
#include "cmd/lib/print_clean.h"
#include "common/ipc/client.h"

#define TIMEOUT_MS 2000

static int ask_resume_info(const char *job, struct egs_msg **answer)
{
	struct egs_msg *request = egs_msg_new();
	struct egs_daemon_addr address;
	struct egs_endpoint endpoint;
	struct egs_err err;
	int rc = -1;

	if (request &&
	    egs_find_daemon(&address, NULL, NULL, &endpoint, &err) == 0) {
		egs_msg_set_str(request, "verb", "resume");
		egs_msg_set_str(request, "job", job);
		rc = egs_client_call(&endpoint, request, answer, TIMEOUT_MS,
				     &err);
	}
	egs_msg_free(request);
	return rc;
}

int main(int argc, char **argv)
{
	struct egs_msg *answer = NULL;
	const char *message, *path, *phase;

	if (argc != 2 || ask_resume_info(argv[1], &answer) < 0)
		return 1;
	message = egs_msg_get_str(answer, "story");
	path = egs_msg_get_str(answer, "path");
	phase = egs_msg_get_str(answer, "phase");
	if (message && *message)
		egs_print_clean_line(stderr, "egs: ", message);
	if ((path && *path) || (phase && *phase)) {
		egs_print_clean(stdout, phase && *phase ? phase : "-");
		egs_print_clean_line(stdout, " ", path);
	}
	egs_msg_free(answer);
	return 0;
}
