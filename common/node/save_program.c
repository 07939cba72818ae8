/* save_program.c - the save program of a job (--ckpt=cmd:), kept on its node
 *
 * The file .save-JOB has a line with the uid and a line with the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "common/node/save_program.h"

#define PREFIX ".save-"

enum { NAME_SIZE = 40, FILE_SIZE = EGS_SAVE_PROGRAM_SIZE + 24 };

static void format_name(char name[NAME_SIZE], uint32_t job)
{
	snprintf(name, NAME_SIZE, PREFIX "%" PRIu32, job);
}

void egs_save_program_forget(int dirs, uint32_t job)
{
	char name[NAME_SIZE];

	format_name(name, job);
	unlinkat(dirs, name, 0);
}

bool egs_save_program_is_unused(int dirs, const char *name)
{
	const char *job = name + strlen(PREFIX);

	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
	       (strchr(job, '.') || faccessat(dirs, job, F_OK, 0) < 0);
}

/* Read the file of root.  Returns the number of bytes, or -1. */
static ssize_t read_kept(int dirs, uint32_t job, char text[FILE_SIZE])
{
	char name[NAME_SIZE];
	struct stat is;
	ssize_t n = -1;
	int fd;

	format_name(name, job);
	fd = openat(dirs, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) &&
	    is.st_uid == geteuid())
		n = egs_read_all(fd, text, FILE_SIZE - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n;
}

int egs_save_program_read(int dirs, uint32_t job, uid_t uid,
			  char program[EGS_SAVE_PROGRAM_SIZE],
			  struct egs_err *err)
{
	char text[FILE_SIZE], *end;
	unsigned long owner;

	if (read_kept(dirs, job, text) < 0)
		return egs_errf(err, "no step of the job on this node had "
				     "--ckpt=cmd:PROGRAM");
	owner = strtoul(text, &end, 10);
	if (end == text || *end != '\n' || owner != uid)
		return egs_errf(err, "the program on this node is of uid %lu",
				owner);
	end++;
	end[strcspn(end, "\n")] = '\0';
	if (!*end || strlen(end) >= EGS_SAVE_PROGRAM_SIZE)
		return egs_errf(err, "the program on this node is not valid");
	memcpy(program, end, strlen(end) + 1);
	return 0;
}

/* Write the file under another name first: egs-noded never sees half of it. */
static int write_kept(int dirs, const char *name, const char *text)
{
	char new[NAME_SIZE + 8];
	int fd, rc = -1;

	snprintf(new, sizeof(new), "%s.%d", name, (int)getpid());
	fd = openat(dirs, new,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -1;
	if (egs_write_all(fd, text, strlen(text)) == 0)
		rc = renameat(dirs, new, dirs, name);
	close(fd);
	if (rc < 0)
		unlinkat(dirs, new, 0);
	return rc;
}

int egs_save_program_keep(int dirs, uint32_t job, uid_t uid,
			  const char *program, bool replace,
			  struct egs_err *err)
{
	char name[NAME_SIZE], text[FILE_SIZE], known[EGS_SAVE_PROGRAM_SIZE];

	if (!*program) {
		if (replace)
			egs_save_program_forget(dirs, job);
		return 0;
	}
	if (!replace && egs_save_program_read(dirs, job, uid, known, NULL) == 0)
		return 0;
	if (strlen(program) >= EGS_SAVE_PROGRAM_SIZE)
		return egs_errf(err, "the program has more than %d bytes",
				EGS_SAVE_PROGRAM_SIZE - 1);
	format_name(name, job);
	snprintf(text, sizeof(text), "%lu\n%s\n", (unsigned long)uid, program);
	if (write_kept(dirs, name, text) < 0)
		return egs_errf(err, "%s: %s", name, strerror(errno));
	return 0;
}
