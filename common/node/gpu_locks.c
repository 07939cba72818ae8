/* gpu_locks.c - keep a job from opening the GPUs that it is giving back
 *
 * The program is attached to the root of all groups that this process can see,
 * beside the programs of others (BPF_F_ALLOW_MULTI): the kernel runs those of
 * all parents, and one that refuses is enough.  Slurm attaches its programs
 * to the groups of jobs so that only the innermost one counts; another one
 * there would replace Slurm's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/node/device_groups.h"
#include "common/node/gpu_locks.h"

enum { ENTRIES_MAX = 2048 };

/* An entry of the table is a lock; its value is the job.  The program writes
 * this key, too.
 */
struct lock_key {
	uint64_t group; /* inode of its directory */
	uint32_t major, minor;
};

static int call_bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* ---- the program ---- */

#define INSN(CODE, DST, SRC, OFF, IMM)            \
	((struct bpf_insn){ .code = (CODE),       \
			    .dst_reg = (DST)&0xf, \
			    .src_reg = (SRC)&0xf, \
			    .off = (OFF),         \
			    .imm = (IMM) })

/* Refuse a device of type "char" if its key is in the table.  The input is a
 * struct bpf_cgroup_dev_ctx.
 */
static int load_program(int table_fd)
{
	const struct bpf_insn code[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_6, BPF_REG_1, 0, 0),
		INSN(BPF_ALU | BPF_AND | BPF_K, BPF_REG_6, 0, 0, 0xffff),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_6, 0, 12,
		     BPF_DEVCG_DEV_CHAR),
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_7, BPF_REG_1, 4, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_8, BPF_REG_1, 8, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0,
		     BPF_FUNC_get_current_cgroup_id),
		INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_0, -16, 0),
		INSN(BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_7, -8, 0),
		INSN(BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_8, -4, 0),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0,
		     table_fd),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -16),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 2, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_CGROUP_DEVICE };

	attr.insns = (uintptr_t)code;
	attr.insn_cnt = ARRAY_SIZE(code);
	attr.license = (uintptr_t) "";
	attr.prog_name[0] = '\0';
	snprintf(attr.prog_name, sizeof(attr.prog_name), "egs_gpu_locks");
	return call_bpf(BPF_PROG_LOAD, &attr);
}

static int make_table(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_HASH };

	attr.key_size = sizeof(struct lock_key);
	attr.value_size = sizeof(uint32_t);
	attr.max_entries = ENTRIES_MAX;
	attr.map_flags = BPF_F_NO_PREALLOC;
	return call_bpf(BPF_MAP_CREATE, &attr);
}

/* Attach the program until the returned file is closed. */
static int attach_program(int program_fd, const char *root)
{
	union bpf_attr attr = { .link_create = { .prog_fd = 0 } };
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc, error;

	if (fd < 0)
		return -1;
	attr.link_create.prog_fd = (uint32_t)program_fd;
	attr.link_create.target_fd = (uint32_t)fd;
	attr.link_create.attach_type = BPF_CGROUP_DEVICE;
	rc = call_bpf(BPF_LINK_CREATE, &attr);
	error = errno;
	close(fd);
	errno = error;
	return rc;
}

int egs_gpu_locks_open(struct egs_gpu_locks *locks, struct egs_err *err)
{
	char root[EGS_DEVICE_GROUP_SIZE];
	int program_fd;

	*locks = (struct egs_gpu_locks)EGS_GPU_LOCKS_NONE;
	if (egs_device_groups_find_root(EGS_DEVICE_GROUPS_V2, root) < 0)
		return egs_errf(err, "no control groups of version 2");
	locks->table_fd = make_table();
	program_fd = locks->table_fd < 0 ? -1 : load_program(locks->table_fd);
	if (program_fd >= 0)
		locks->link_fd = attach_program(program_fd, root);
	if (locks->link_fd < 0) {
		locks->may_not = errno == EPERM;
		egs_errf(err, "no program for devices in %s: %s", root,
			 strerror(errno));
	}
	if (program_fd >= 0)
		close(program_fd);
	if (locks->link_fd >= 0)
		return 0;
	if (locks->table_fd >= 0)
		close(locks->table_fd);
	locks->table_fd = -1;
	return -1;
}

void egs_gpu_locks_close(struct egs_gpu_locks *locks)
{
	if (locks->link_fd >= 0)
		close(locks->link_fd);
	if (locks->table_fd >= 0)
		close(locks->table_fd);
	*locks = (struct egs_gpu_locks)EGS_GPU_LOCKS_NONE;
}

/* ---- the table of version 2 ---- */

static int change_table(const struct egs_gpu_locks *locks, int command,
			const struct lock_key *key, uint32_t *job)
{
	union bpf_attr attr = { .map_fd = 0 };

	attr.map_fd = (uint32_t)locks->table_fd;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)job;
	return call_bpf(command, &attr);
}

/* Returns -1 after the last key, and the first key for NULL. */
static int next_key(const struct egs_gpu_locks *locks,
		    const struct lock_key *key, struct lock_key *next)
{
	union bpf_attr attr = { .map_fd = 0 };

	attr.map_fd = (uint32_t)locks->table_fd;
	attr.key = (uintptr_t)key;
	attr.next_key = (uintptr_t)next;
	return call_bpf(BPF_MAP_GET_NEXT_KEY, &attr);
}

void egs_gpu_locks_forget(const struct egs_gpu_locks *locks, uint32_t job)
{
	struct lock_key key, next;
	uint32_t value = 0;
	int rc = locks->table_fd < 0 ? -1 : next_key(locks, NULL, &next);

	while (rc == 0) {
		key = next;
		rc = next_key(locks, &key, &next);
		if (change_table(locks, BPF_MAP_LOOKUP_ELEM, &key, &value) ==
			    0 &&
		    value == job)
			change_table(locks, BPF_MAP_DELETE_ELEM, &key, NULL);
	}
}

/* ---- locks of a step ---- */

struct step_lock {
	const struct egs_gpu_locks *locks;
	const struct egs_node_gpus *gpus;
	const struct egs_gpu_lock *lock;
	struct egs_err *err;
	bool failed;
};

/* Continue: the other GPUs may have to be unlocked. */
static void fail_step(struct step_lock *step, const char *path, uint32_t i)
{
	step->failed = true;
	egs_errf(step->err, "%s: GPU %u not locked: %s", path, i,
		 strerror(errno));
}

static bool is_lockable(const struct egs_node_gpus *gpus, uint32_t i)
{
	return gpus->device[i] && !gpus->is_slice[i];
}

static int set_entry(const struct step_lock *step, uint64_t group, uint32_t i)
{
	const struct lock_key key = {
		.group = group,
		.major = major(step->gpus->device[i]),
		.minor = minor(step->gpus->device[i]),
	};
	uint32_t job = step->lock->job;

	if (step->lock->locked >> i & 1)
		return change_table(step->locks, BPF_MAP_UPDATE_ELEM, &key,
				    &job);
	change_table(step->locks, BPF_MAP_DELETE_ELEM, &key, NULL);
	return 0;
}

static int lock_group_v2(void *arg, const char *path)
{
	struct step_lock *step = arg;
	struct stat is;

	if (stat(path, &is) < 0)
		return 0; /* it has just been removed */
	for (uint32_t i = 0; i < step->gpus->n; i++)
		if (is_lockable(step->gpus, i) &&
		    set_entry(step, is.st_ino, i) < 0)
			fail_step(step, path, i);
	return 0;
}

static int write_device(const char *path, const char *name, dev_t device)
{
	char file[EGS_DEVICE_GROUP_SIZE + 16], text[64];
	int fd, n, rc, error;

	snprintf(file, sizeof(file), "%s/%s", path, name);
	n = snprintf(text, sizeof(text), "c %u:%u rwm", major(device),
		     minor(device));
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = write(fd, text, (size_t)n) == n ? 0 : -1;
	error = errno;
	close(fd);
	errno = error;
	return rc;
}

/* No error: the group has just been removed (it has no such file any more, or
 * the kernel says so), or this process has no CAP_SYS_ADMIN.  Then nothing is
 * locked, as without control of devices.
 */
static bool is_lock_error(int error)
{
	return error != ENOENT && error != ENODEV && error != EPERM;
}

/* Groups below lose a device with their parent, but do not get it with it.  A
 * device that the job may not have cannot be unlocked: that is no error.
 */
static int lock_group_v1(void *arg, const char *path)
{
	struct step_lock *step = arg;
	const struct egs_gpu_lock *lock = step->lock;

	for (uint32_t i = 0; i < step->gpus->n; i++) {
		dev_t device = step->gpus->device[i];

		if (!is_lockable(step->gpus, i))
			continue;
		if (lock->locked >> i & 1 &&
		    write_device(path, "devices.deny", device) < 0 &&
		    is_lock_error(errno))
			fail_step(step, path, i);
		if ((lock->gpu_set & ~lock->locked) >> i & 1)
			write_device(path, "devices.allow", device);
	}
	return 0;
}

static void lock_step(struct step_lock *step, pid_t stepd)
{
	char path[EGS_DEVICE_GROUP_SIZE];

	if (egs_device_groups_find_step(EGS_DEVICE_GROUPS_V1, stepd, path) == 0)
		egs_device_groups_each(path, lock_group_v1, step);
	if (egs_device_groups_find_step(EGS_DEVICE_GROUPS_V2, stepd, path) < 0)
		return;
	if (step->locks->table_fd >= 0) {
		egs_device_groups_each(path, lock_group_v2, step);
	} else if (step->locks->may_not && step->lock->locked) {
		step->failed = true;
		egs_errf(step->err,
			 "egs-noded may not lock GPUs: it needs CAP_BPF and "
			 "CAP_NET_ADMIN");
	}
}

/* Does this step have all GPUs of its job, whatever Slurm takes from it? */
static bool has_job_gpus(const struct egs_stepd *stepd)
{
	static const char *const names[] = { "batch", "extern", "interactive" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(stepd->step, names[i]) == 0)
			return true;
	return false;
}

int egs_gpu_locks_set(const struct egs_gpu_locks *locks,
		      const struct egs_node_gpus *gpus,
		      const struct egs_stepds *stepds,
		      const struct egs_gpu_lock *lock, struct egs_err *err)
{
	struct step_lock step = { locks, gpus, lock, err, false };

	for (size_t i = 0; i < stepds->n; i++)
		if (stepds->list[i].job == lock->job &&
		    has_job_gpus(&stepds->list[i]))
			lock_step(&step, stepds->list[i].pid);
	return step.failed ? -1 : 0;
}
