/* device_groups.h - the control groups that control the devices of a step */
#ifndef EGS_NODE_DEVICE_GROUPS_H
#define EGS_NODE_DEVICE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define EGS_DEVICE_GROUP_SIZE 1024

enum egs_device_groups_kind {
	EGS_DEVICE_GROUPS_V1, /* the hierarchy of the controller "devices" */
	EGS_DEVICE_GROUPS_V2,
};

/* Write a directory where the hierarchy is mounted as a whole, or as much of it
 * as this process can see.  Returns 0, or -1 if it is not mounted.
 */
int egs_device_groups_find_root(enum egs_device_groups_kind kind,
				char path[EGS_DEVICE_GROUP_SIZE]);

/* Write the directory of the group of the step in which the slurmstepd 'pid'
 * is.  Returns 0, or -1 if there is none.
 */
int egs_device_groups_find_step(enum egs_device_groups_kind kind, pid_t pid,
				char path[EGS_DEVICE_GROUP_SIZE]);

/* Call 'fn' with a group and with all groups below it, parents first, until it
 * returns another value than 0.  Returns that value, or 0.
 */
typedef int egs_device_groups_fn(void *arg, const char *path);
int egs_device_groups_each(const char *path, egs_device_groups_fn *fn,
			   void *arg);

#endif
