/* save_program.h - the save program of a job (--ckpt=cmd:), kept on its node
 *
 * spank_egs has the hint of the job when a step starts, and writes the program
 * into the directory of the node, where only root can write.  egs-noded runs
 * what is there.  So no message from another host names a program to run.
 */
#ifndef EGS_NODE_SAVE_PROGRAM_H
#define EGS_NODE_SAVE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

#define EGS_SAVE_PROGRAM_SIZE 65 /* bytes, with the NUL */

/* Keep 'program' for the job, in the directory 'dirs' of the node (rundir.h).
 * The program of an earlier step stays, unless it is of another user or
 * 'replace' is set.  With 'replace' and "" no program is kept.  Returns 0, or
 * -1 with 'err' set.
 */
int egs_save_program_keep(int dirs, uint32_t job, uid_t uid,
			  const char *program, bool replace,
			  struct egs_err *err);

/* Read the program of the job.  Returns 0, or -1 with 'err' set if there is
 * none, or if it was kept for another user than 'uid'.
 */
int egs_save_program_read(int dirs, uint32_t job, uid_t uid,
			  char program[EGS_SAVE_PROGRAM_SIZE],
			  struct egs_err *err);

/* Is 'name' the file of a program that no job on this node uses?  The job has
 * no run directory, or the file is not complete.
 */
bool egs_save_program_is_unused(int dirs, const char *name);

/* Forget the program of the job, if there is one. */
void egs_save_program_forget(int dirs, uint32_t job);

#endif
