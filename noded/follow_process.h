/* follow_process.h - run a program under the conditions of another process
 *
 * The calling process, which is root, takes over from a process of a job what
 * limits it: control groups, OOM score, nice value, I/O priority, CPUs and
 * resource limits, and its view of the file systems.  Afterwards the caller has
 * nothing that the job lacks.  Where the kernel does not allow more, the caller
 * keeps less than the job has.
 */
#ifndef EGS_NODED_FOLLOW_PROCESS_H
#define EGS_NODED_FOLLOW_PROCESS_H

#include <sys/types.h>

#include "common/base/err.h"

/* Follow process 'pid', whose directory of /proc is 'proc_fd'.  Afterwards the
 * files are those that the job sees, so open no file as root any more.  Returns
 * 0, or -1 with 'err' set; then the caller must exit.
 */
int egs_follow_process(pid_t pid, int proc_fd, struct egs_err *err);

#endif
