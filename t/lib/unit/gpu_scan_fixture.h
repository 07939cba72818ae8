/* gpu_scan_fixture.h - GPU scans of a directory that looks like /proc
 *
 *	begin_scans()		make the directory; /dev/zero and /dev/full are
 *				the GPUs 0 and 1
 *	start_proc()		no process but 1
 *	PROCESS(.pid = 11, .uid = BOB, .gpu = "/dev/zero")	a process
 *	STEPD(.pid = 10, .title = "slurmstepd: [12.batch]")	a slurmstepd
 *	scan(GPUS), scan_job(JOB, UID, BUDGET_MS)	into 'users'
 *	find_user(PID), text_of(PID)	what a scan has found
 *	end_scans()
 */
#ifndef EGS_GPU_SCAN_FIXTURE_H
#define EGS_GPU_SCAN_FIXTURE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/node/gpu_users.h"
#include "common/node/proc.h"
#include "common/node/stops.h"
#include "t/lib/unit/tap.h"

#define SCOPE  "0::/system.slice/slurmstepd.scope/"
#define ALICE  1000
#define BOB    1001
#define NO_JOB "0::/user.slice\n"
#define SLUID  SCOPE "sEKNKTV3WPV500/step_batch"
#define NAMES  "SLURMD_NODENAME=n1\nSLURM_JOB_ID="

static char top[] = "/tmp/egs-gpu-users.XXXXXX";

static struct egs_node_gpus gpus;

/* ---- a directory that looks like /proc ---- */

struct process {
	pid_t pid, parent;
	uid_t uid;
	const char *exe, *title, *cgroup, *environ, *gpu, *flags;
};

__attribute__((format(printf, 3, 4))) static inline void
write_proc(pid_t pid, const char *name, const char *fmt, ...)
{
	char path[256];
	va_list ap;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/%s", top, (int)pid, name);
	f = fopen(path, "we");
	if (!f)
		return;
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

static inline void make_dir(pid_t pid, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/%s", top, (int)pid, name);
	mkdir(path, 0700);
}

static inline void make_link(pid_t pid, const char *name, const char *to)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/%s", top, (int)pid, name);
	unlink(path);
	if (symlink(to, path) < 0)
		note("%s: no link", path);
}

/* Lines of 'text' become strings of the environment. */
static inline void write_environ(pid_t pid, const char *text)
{
	char path[256], copy[256];
	size_t len = strlen(text);
	FILE *f;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *p = copy; (p = strchr(p, '\n'));)
		*p = '\0';
	snprintf(path, sizeof(path), "%s/%d/environ", top, (int)pid);
	f = fopen(path, "we");
	if (!f)
		return;
	fwrite(copy, 1, len + 1, f);
	fclose(f);
}

static inline void add_process(struct process p)
{
	make_dir(p.pid, "");
	make_dir(p.pid, "fd");
	make_dir(p.pid, "fdinfo");
	make_dir(p.pid, "ns");
	make_link(p.pid, "ns/mnt", "mnt:[1]");
	make_link(p.pid, "exe", p.exe ? p.exe : "/usr/bin/python3");
	write_proc(p.pid, "comm", "python3\n");
	write_proc(p.pid, "cmdline", "%s", p.title ? p.title : "python3");
	write_proc(p.pid, "stat",
		   "%d (a) b) S %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 77 0\n",
		   (int)p.pid, (int)p.parent);
	write_proc(p.pid, "status", "Name:\ta\nUid:\t%u\t%u\t%u\t%u\nGid:\t0\n",
		   p.uid, p.uid, p.uid, p.uid);
	write_proc(p.pid, "cgroup", "%s", p.cgroup ? p.cgroup : NO_JOB);
	write_environ(p.pid, p.environ ? p.environ : "");
	if (!p.gpu)
		return;
	make_link(p.pid, "fd/0", "/tmp/a file");
	make_link(p.pid, "fd/5", p.gpu);
	write_proc(p.pid, "fdinfo/5", "pos:\t0\nflags:\t%s\nmnt_id:\t1\n",
		   p.flags ? p.flags : "0100002");
}

#define PROCESS(...) add_process((struct process){ __VA_ARGS__ })
#define STEPD(...) \
	PROCESS(.parent = 1, .exe = "/usr/sbin/slurmstepd", __VA_ARGS__)

static inline void start_proc(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf %s/[0-9]*", top);
	if (system(command) != 0) /* NOLINT */
		note("%s: not empty", top);
	PROCESS(.pid = 1, .title = "init");
}

/* ---- scans ---- */

static struct egs_gpu_users users;
static struct egs_err err;

static inline int scan(uint64_t wanted)
{
	egs_gpu_users_free(&users);
	if (egs_gpu_users_scan(&users, &gpus, wanted, 0, &err) < 0 ||
	    egs_gpu_users_identify(&users, 0, &err) < 0)
		return -1;
	return egs_gpu_users_read_claims(&users, "n1", &err);
}

static inline int scan_job(uint32_t job, uid_t uid, uint32_t budget_ms)
{
	egs_gpu_users_free(&users);
	if (egs_gpu_users_scan_job(&users, &gpus, job, uid, budget_ms, &err) <
	    0)
		return -1;
	return egs_gpu_users_identify(&users, 0, &err);
}

static inline const struct egs_gpu_user *find_user(pid_t pid)
{
	for (size_t i = 0; i < users.n; i++)
		if (users.list[i].pid == pid)
			return &users.list[i];
	return NULL;
}

static inline const char *text_of(pid_t pid)
{
	static struct egs_text text;
	const struct egs_gpu_user *user = find_user(pid);

	if (!user)
		return "none";
	text = egs_gpu_user_text(user);
	return text.text;
}

static inline int begin_scans(void)
{
	struct stat is;

	if (!mkdtemp(top))
		return -1;
	egs_proc_set_root(top);
	gpus.n = 2;
	gpus.device[0] = stat("/dev/zero", &is) == 0 ? is.st_rdev : 0;
	gpus.device[1] = stat("/dev/full", &is) == 0 ? is.st_rdev : 0;
	egs_stops_turn_off(true);
	return 0;
}

static inline void end_scans(void)
{
	char command[300];

	egs_gpu_users_free(&users);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command) != 0) /* NOLINT */
		note("%s stays", top);
}

#endif
