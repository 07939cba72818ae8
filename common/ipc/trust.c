/* trust.c - whose answers a client believes: those of root and SlurmUser */
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/ipc/trust.h"

enum { PASSWD_SIZE = 16 << 10 };

uid_t egs_trust_find_uid(const char *user)
{
	struct passwd entry, *found = NULL;
	char room[PASSWD_SIZE], *end;
	unsigned long number;

	if (getpwnam_r(user, &entry, room, sizeof(room), &found) == 0 && found)
		return entry.pw_uid;
	errno = 0;
	number = strtoul(user, &end, 10);
	if (!isdigit((unsigned char)*user) || *end || errno ||
	    number >= (uid_t)-1)
		return (uid_t)-1;
	return (uid_t)number;
}

int egs_trust_check(uid_t uid, const char *slurm_user, struct egs_err *err)
{
	uid_t known;

	if (uid == 0)
		return 0;
	if (!slurm_user || !*slurm_user)
		return egs_errf(err,
				"it is of uid %lu, and without SlurmUser of "
				"slurm.conf only root is trusted",
				(unsigned long)uid);
	known = egs_trust_find_uid(slurm_user);
	if (known == (uid_t)-1)
		return egs_errf(err,
				"it is of uid %lu, and SlurmUser %s is no user "
				"of this host, so only root is trusted",
				(unsigned long)uid,
				egs_printable(slurm_user).text);
	if (uid != known)
		return egs_errf(err,
				"it is of uid %lu, not of root or SlurmUser %s "
				"(uid %lu)",
				(unsigned long)uid,
				egs_printable(slurm_user).text,
				(unsigned long)known);
	return 0;
}
