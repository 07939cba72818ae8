/* read_operators.c - users with an AdminLevel, as slurmctld has them
 *
 * They come from slurmdbd; slurmctld keeps a copy, and asking for it takes none
 * of the locks that jobs are scheduled under.
 */
#include <slurm/slurmdb.h>

#include "policyd/slurm/compat.h"
#include "policyd/slurm/frame.h"
#include "policyd/slurm/read_operators.h"

static void put_operator(struct egs_buf *out, uint32_t uid, const char *name)
{
	egs_frame_begin(out, EGS_FRAME_OPERATOR);
	egs_buf_put_u32(out, uid);
	egs_buf_put_str(out, name);
	egs_frame_end(out);
}

/* One whose name nobody knows here has no uid. */
static bool is_operator(const slurmdb_user_rec_t *user)
{
	return user->admin_level >= SLURMDB_ADMIN_OPERATOR && user->name &&
	       user->uid != NO_VAL;
}

static void put_operators(struct egs_buf *out, const assoc_mgr_info_msg_t *msg)
{
	const slurmdb_user_rec_t *user;

	if (msg->user_list) {
		__auto_type i = slurm_list_iterator_create(msg->user_list);

		while ((user = slurm_list_next(i)))
			if (is_operator(user))
				put_operator(out, user->uid, user->name);
		slurm_list_iterator_destroy(i);
	}
	put_operator(out, 0, NULL);
}

void egs_slurm_put_operators(struct egs_buf *out)
{
	assoc_mgr_info_request_msg_t request = {
		.flags = ASSOC_MGR_INFO_FLAG_USERS,
	};
	assoc_mgr_info_msg_t *msg = NULL;

	if (slurm_load_assoc_mgr_info(&request, &msg) != SLURM_SUCCESS || !msg)
		return;
	put_operators(out, msg);
	slurm_free_assoc_mgr_info_msg(msg);
}
