/* admin_tag.h - remarks of ours in a job's AdminComment, beside its stamp
 *
 * A remark is a word: a mark, and what stands behind it up to the next space.
 */
#ifndef EGS_HINT_ADMIN_TAG_H
#define EGS_HINT_ADMIN_TAG_H

/* The job went for another and is on its way back into the queue: until Slurm's
 * delay is over, the job runs, or somebody gives it another begin time.
 */
#define EGS_ADMIN_TAG_DEPARTED "egs-left"

/* slurmctld's answer to an "egs:resize" update of a job whose GPUs cannot
 * change one by one while it runs, for example a job with whole nodes.  Other
 * refusals have other numbers.  Users of this include slurm_errno.h.
 */
#define EGS_ESLURM_NOT_LIVE ESLURM_NOT_SUPPORTED

/* The word that begins with 'mark', borrowed; NULL: there is none, or no
 * comment.
 */
const char *egs_admin_tag_find(const char *comment, const char *mark);

/* Take it out, with a space beside it; nothing happens if there is none. */
void egs_admin_tag_remove(char *comment, const char *mark);

#endif
