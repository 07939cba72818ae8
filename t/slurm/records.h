/* records.h - jobs and a decision table for a plugin outside of slurmctld, and
 * a check that a function makes no system call
 *
 * The programs of this folder link the sources of a plugin and stand in for
 * slurmctld.  Each program is one file; this header has what they share.
 */
#ifndef EGS_T_RECORDS_H
#define EGS_T_RECORDS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/conf/policy_conf.h"
#include "common/ipc/table.h"
#include "plugins/compat/dbd.h"

#define SUBMIT 1000

static struct {
	char dir[32];
	struct egs_table_writer *table;
} place = { .dir = "/tmp/egs-calls-XXXXXX" };

/* Threads of plugins take the locks of slurmctld; here is none. */
#if EGS_DBD_NUMBERS_RECORDS
void lock_slurmctld(slurmctld_lock_t lock_levels)
{
	(void)lock_levels;
}

void unlock_slurmctld(slurmctld_lock_t lock_levels)
{
	(void)lock_levels;
}
#endif

static inline job_record_t *make_job(uint32_t id, uint32_t state)
{
	job_record_t *job = calloc(1, sizeof(*job));

	job->magic = JOB_MAGIC;
	job->details = calloc(1, sizeof(*job->details));
	job->details->magic = DETAILS_MAGIC;
	job->job_id = id;
#if EGS_SLURM_SINCE(25, 11)
	job->step_id.job_id = id;
#endif
	job->job_state = state;
	job->details->submit_time = SUBMIT;
	job->details->min_cpus = 1;
	return job;
}

/* Jobs with odd ids are strong and wait; jobs with even ids run on loan. */
static inline struct egs_table_job make_row(uint32_t id)
{
	struct egs_table_job row = { .nonce = id,
				     .job_id = id,
				     .submit = SUBMIT,
				     .recall_from = SUBMIT,
				     .protected_until = SUBMIT,
				     .team = EGS_NO_TEAM,
				     .room = EGS_TABLE_NO_LIMIT,
				     .flags = EGS_TABLE_MANAGED |
					      EGS_TABLE_NEEDS_GPUS };

	if (id % 2 == 0) {
		row.flags |= EGS_TABLE_ON_LOAN;
		row.fate_and_flags = EGS_FATE_REQUEUE;
		row.tier = 1;
	}
	return row;
}

/* Make a directory with an egs.conf, to which 'line' is added, and a table with
 * the rows of jobs 1 to 'n'.  The directory becomes the working directory,
 * where the plugin also searches egs.conf and Slurm's plugins.
 */
static inline int make_place(uint32_t n, const char *line)
{
	struct egs_table_job *row = calloc(n, sizeof(*row));
	struct egs_err err;
	FILE *conf = NULL;

	if (row && mkdtemp(place.dir) && chdir(place.dir) == 0)
		conf = fopen("egs.conf", "we");
	if (!conf) {
		free(row);
		return -1;
	}
	fprintf(conf, "TierOrder=prod,scavenge\nRunDir=%s\nStaleAfter=1h\n%s",
		place.dir, line);
	fclose(conf);
	place.table = egs_table_create("table", &err);
	for (uint32_t i = 0; i < n; i++)
		row[i] = make_row(i + 1);
	if (place.table)
		egs_table_publish(place.table, row, n, time(NULL));
	free(row);
	return place.table ? 0 : -1;
}

static inline void remove_place(void)
{
	egs_table_close(place.table);
	unlink("table");
	unlink("doorbell");
	unlink("egs.conf");
	unlink("preempt_qos.so");
	rmdir(place.dir);
}

#define ALLOW(call)                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Let the kernel kill this process at its next system call.  Only the exit is
 * allowed, and with 'send' also a datagram that is sent without waiting.
 */
static inline int be_quiet(bool send)
{
	struct sock_filter rule[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		ALLOW(exit_group),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, send ? MSG_DONTWAIT : 0, 0,
			 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = sizeof(rule) / sizeof(rule[0]),
				      .filter = rule };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Does 'fn' make no system call?  The first run of 'fn' does not count, because
 * it allocates memory and maps the table.
 */
static inline bool is_quiet(void (*fn)(void), bool send)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		fn();
		if (be_quiet(send) < 0)
			_exit(77);
		fn();
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Does this kernel have seccomp filters? */
static inline bool can_be_quiet(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(be_quiet(false) < 0 ? 77 : 0);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static inline double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
