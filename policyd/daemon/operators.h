/* operators.h - operators of egs.conf and of Slurm, and the user of egs-webd */
#ifndef EGS_DAEMON_OPERATORS_H
#define EGS_DAEMON_OPERATORS_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/child.h"
#include "common/base/intern.h"
#include "common/base/loop.h"
#include "common/conf/policy_conf.h"

struct egs_daemon;

struct egs_operator {
	uid_t uid;
	char name[EGS_NAME_SIZE];
	bool is_web; /* WebUser=, which is no operator */
};

struct egs_operator_list {
	struct egs_operator *list;
	size_t n, room;
};

/* A user that coordinates an account of Slurm. */
struct egs_coordinator {
	uid_t uid;
	char name[EGS_NAME_SIZE], account[EGS_NAME_SIZE];
};

struct egs_coordinator_list {
	struct egs_coordinator *list;
	size_t n, room;
};

struct egs_operators {
	struct egs_operator_list configured; /* Operators=, and root */
	struct egs_operator_list slurm;	     /* as the last poll showed them */
	struct egs_operator_list slurm_next; /* of the present poll */
	/* Likewise. */
	struct egs_coordinator_list coordinators, coordinators_next;
	struct egs_operator_list found; /* Operators= of a reload */
	struct egs_child lookup;	/* finds them */
	struct egs_watch *watch;	/* NULL: no lookup runs */
};

/* Look up the uids of Operators= now. */
int egs_daemon_find_operators(struct egs_daemon *d, struct egs_err *err);

/* Look up the users of a new file, Operators= and WebUser=, in a child
 * process; the previous operators stay until egs_daemon_use_operators(), and if
 * the child is not done then, until it is.  Or forget the names.
 */
void egs_daemon_look_up_operators(struct egs_daemon *d,
				  const struct egs_policy_conf *conf);
void egs_daemon_use_operators(struct egs_daemon *d);
void egs_daemon_forget_operators(struct egs_daemon *d);

/* Is the child still at work?  Otherwise add the users of Operators= that exist
 * to 'users'; false: they are not known.
 */
bool egs_daemon_is_looking_up(const struct egs_daemon *d);
bool egs_daemon_list_users(const struct egs_daemon *d,
			   struct egs_intern *users);
void egs_daemon_free_operators(struct egs_daemon *d);

/* Add an operator, or a coordinator of an account, of Slurm; a 'name' of NULL
 * ends the list.  The last function drops lists that did not end.
 */
void egs_daemon_add_slurm_operator(struct egs_daemon *d, uint32_t uid,
				   const char *name);
void egs_daemon_add_coordinator(struct egs_daemon *d, uint32_t uid,
				const char *name, const char *account);
void egs_daemon_drop_slurm_operators(struct egs_daemon *d);

/* The name of the user with this uid, if it coordinates the account; else
 * NULL.  Without slurmdbd there are no coordinators.
 */
const char *egs_daemon_coordinator_name(const struct egs_daemon *d, uid_t uid,
					const char *account);

/* The name of the operator with this uid; NULL: not an operator.  WebUser= is
 * none, whatever else it is.
 */
const char *egs_daemon_operator_name(const struct egs_daemon *d, uid_t uid);

/* Is this the WebUser= of egs.conf, which asks for its viewers? */
bool egs_daemon_is_web_user(const struct egs_daemon *d, uid_t uid);

#endif
