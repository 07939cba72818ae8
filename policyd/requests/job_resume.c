/* job_resume.c - the node of a restarted job requests its resume info
 *
 * Most jobs get their resume info with the update that releases them.
 */
#include <inttypes.h>

#include "policyd/requests/requests.h"

int egs_verb_resume(void *arg, const struct egs_peer *peer,
		    const struct egs_msg *request, struct egs_msg *answer,
		    struct egs_err *err)
{
	struct egs_daemon *d = arg;
	const struct egs_job *j = egs_requests_find_job(d, request, err);
	struct egs_resume_info info;

	if (!j)
		return -1;
	if (egs_requests_check_owner(d, peer, j->ident.job_id, j->ident.uid,
				     err) < 0)
		return -1;
	if (egs_daemon_get_resume_info(d, &j->ident, &info) < 0)
		return egs_errf(err, "egs-policyd cannot read its disk");
	egs_msg_set_str(answer, "story", info.message.msg);
	egs_msg_set_str(answer, "path", info.path);
	egs_msg_set_str(answer, "phase", info.phase);
	return 0;
}
