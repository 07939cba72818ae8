/* egs-resume.c - says to a job that runs again why, and where it was
 *
 * spank_egs starts it as the user, with the error output of the job, where a
 * sentence goes; a line with its phase, "-" for that of its submission, and the
 * path of the last checkpoint goes to the other.  Silent where there is nothing
 * to say or nobody to ask: it is a help and no more.
 */
#include <stdio.h>

#include "cmd/lib/find_daemon.h"
#include "common/ipc/client.h"

#define TIMEOUT_MS 2000

static int ask_resume_info(const char *job, struct egs_msg **answer)
{
	struct egs_msg *request = egs_msg_new();
	struct egs_daemon_addr place;
	struct egs_endpoint where;
	struct egs_err err;
	int rc = -1;

	if (request && egs_find_daemon(&place, NULL, NULL, &where, &err) == 0) {
		egs_msg_set_str(request, "verb", "resume");
		egs_msg_set_str(request, "job", job);
		rc = egs_client_call(&where, request, answer, TIMEOUT_MS, &err);
	}
	egs_msg_free(request);
	return rc;
}

int main(int argc, char **argv)
{
	struct egs_msg *answer = NULL;
	const char *story, *path, *phase;

	if (argc != 2 || ask_resume_info(argv[1], &answer) < 0)
		return 1;
	story = egs_msg_get_str(answer, "story");
	path = egs_msg_get_str(answer, "path");
	phase = egs_msg_get_str(answer, "phase");
	if (story && *story)
		fprintf(stderr, "egs: %s\n", story);
	if ((path && *path) || (phase && *phase))
		printf("%s %s\n", phase && *phase ? phase : "-",
		       path ? path : "");
	egs_msg_free(answer);
	return 0;
}
