/* gpu_owners.c - whose the processes are that have GPUs open */
#include "common/node/leftovers.h"
#include "t/lib/unit/gpu_scan_fixture.h"

static void test_owners(void)
{
	start_proc();
	STEPD(.pid = 10, .title = "slurmstepd: [12.batch]",
	      .cgroup = SCOPE "job_12/step_batch/slurm\n");
	PROCESS(.pid = 11, .parent = 10, .uid = ALICE, .gpu = "/dev/zero");
	PROCESS(.pid = 12, .parent = 1, .uid = ALICE, .gpu = "/dev/zero",
		.cgroup = SCOPE "job_12/step_batch/user/task_0\n");
	PROCESS(.pid = 13, .parent = 1, .uid = ALICE, .gpu = "/dev/zero",
		.cgroup = SCOPE "job_13/step_0/user/task_0\n");
	PROCESS(.pid = 20, .parent = 1,
		.exe = "/usr/sbin/slurmstepd-wlm (deleted)",
		.title = "slurmstepd: [14.batch]", .cgroup = SLUID "/slurm\n");
	PROCESS(.pid = 21, .parent = 1, .uid = ALICE, .gpu = "/dev/zero",
		.cgroup = SLUID "/user/task_0\n");
	PROCESS(.pid = 22, .parent = 1, .uid = ALICE, .gpu = "/dev/zero",
		.cgroup = SCOPE "sENDED/step_0/user/task_0\n");
	PROCESS(.pid = 23, .parent = 1, .uid = BOB, .gpu = "/dev/zero",
		.environ = NAMES "12");
	PROCESS(.pid = 24, .parent = 1, .uid = BOB, .gpu = "/dev/zero");
	STEPD(.pid = 30, .uid = BOB, .title = "slurmstepd: [12.0]");
	PROCESS(.pid = 31, .parent = 30, .uid = BOB, .gpu = "/dev/zero");
	PROCESS(.pid = 32, .parent = 1, .uid = 0,
		.title = "slurmstepd: [12.0]");
	PROCESS(.pid = 33, .parent = 32, .uid = BOB, .gpu = "/dev/zero");
	PROCESS(.pid = 34, .parent = 1, .uid = BOB, .gpu = "/dev/zero",
		.cgroup = "0::/user.slice/step_0/job_12/x\n");

	ok(scan(EGS_GPUS_ALL) == 0, "a directory of processes can be scanned");
	is_str(text_of(11), "pid 11 (python3) of step 12.batch",
	       "a process below a slurmstepd is of its step");
	is_str(text_of(12), "pid 12 (python3) of step 12.batch",
	       "an orphan is of the step of the slurmstepd in its group");
	is_str(text_of(13), "pid 13 (python3) in the control group of job 13",
	       "a group without a slurmstepd is left over from its job");
	is_str(text_of(21), "pid 21 (python3) of step 14.batch",
	       "a group named by a SLUID has the job of its slurmstepd");
	is_str(text_of(22), "pid 22 (python3) of a job that has ended",
	       "a group named by a SLUID without slurmstepd is left over");
	is_str(text_of(23), "pid 23 (python3) of uid 1001 that claims job 12",
	       "an environment is a claim");
	is_str(text_of(24), "pid 24 (python3) of no job",
	       "a process without group and environment is of no job");
	is_str(text_of(31), "pid 31 (python3) of no job",
	       "a slurmstepd of a user is none");
	is_str(text_of(33), "pid 33 (python3) of no job",
	       "a process with the title of slurmstepd is none");
	is_str(text_of(34), "pid 34 (python3) of no job",
	       "a group that Slurm did not make proves nothing");
	ok(scan_job(12, ALICE, 0) == 0 && find_user(11) && find_user(12),
	   "the processes of a job count");
	ok(find_user(21), "a process in another job of the user counts");
	ok(find_user(13) && find_user(22), "an orphan of the user counts");
	ok(!find_user(23) && !find_user(24),
	   "a claim of another user does not make a process of the job");
	gpus.is_slice[0] = true;
	ok(scan(1) == 0 && !users.n,
	   "a slice is not in use because its GPU is open");
	gpus.is_slice[0] = false;
}

/* egs-noded is process 40, which a step has started. */
static void test_root(void)
{
	start_proc();
	STEPD(.pid = 10, .title = "slurmstepd: [12.batch]",
	      .cgroup = SCOPE "job_12/step_batch/slurm\n");
	PROCESS(.pid = 11, .parent = 10, .gpu = "/dev/full");
	PROCESS(.pid = 12, .parent = 1, .gpu = "/dev/full");
	PROCESS(.pid = 40, .parent = 1,
		.cgroup = SCOPE "job_12/step_batch/slurm\n");
	PROCESS(.pid = 41, .parent = 40, .gpu = "/dev/zero",
		.cgroup = SCOPE "job_12/step_batch/slurm\n");
	PROCESS(.pid = 42, .parent = 40, .uid = ALICE, .gpu = "/dev/zero",
		.cgroup = SCOPE "job_12/step_batch/user\n");
	egs_gpu_users_free(&users);
	users.daemon = 40;
	ok(egs_gpu_users_scan_job(&users, &gpus, 12, 0, 0, &err) == 0 &&
		   find_user(11) && !find_user(12),
	   "of root's processes those of root's job count");
	ok(!find_user(41), "the sampler of egs-noded does not count");
	ok(find_user(42), "a save program below egs-noded counts");
	egs_gpu_users_free(&users);
}

/* Reading the parents of many processes again and again takes long. */
static void test_parents(void)
{
	struct egs_stepds stepds = { .n = 0 };
	struct egs_step step;
	char path[256];

	start_proc();
	STEPD(.pid = 10, .title = "slurmstepd: [12.batch]");
	PROCESS(.pid = 11, .parent = 10);
	PROCESS(.pid = 12, .parent = 11);
	PROCESS(.pid = 13, .parent = 12);
	PROCESS(.pid = 14, .parent = 12);
	egs_stepds_read(&stepds, &err);
	egs_stepds_find_step(&stepds, 13, &step, &err);
	for (int pid = 10; pid <= 12; pid++) {
		snprintf(path, sizeof(path), "%s/%d/stat", top, pid);
		unlink(path);
	}
	ok(egs_stepds_find_step(&stepds, 14, &step, &err) == 0 &&
		   step.job == 12,
	   "the parent of a process is read once in a scan");
	egs_stepds_read(&stepds, &err);
	ok(egs_stepds_find_step(&stepds, 14, &step, &err) == 0 && !step.job,
	   "the next scan reads the parents of processes again");
	stepds.end_ms = 1;
	ok(egs_stepds_read(&stepds, &err) == 1 && !stepds.n,
	   "a search for slurmstepds ends when its time is over");
	egs_stepds_free(&stepds);
}

static void test_sub_uids(void)
{
	struct egs_sub_uids sub_uids;
	char path[80];
	FILE *f;

	start_proc();
	STEPD(.pid = 10, .title = "slurmstepd: [12.batch]",
	      .cgroup = SCOPE "job_12/step_batch/slurm\n");
	PROCESS(.pid = 11, .parent = 1, .uid = 100007, .gpu = "/dev/zero",
		.cgroup = SCOPE "job_12/step_batch/user/task_0\n");
	PROCESS(.pid = 12, .parent = 1, .uid = 100007, .gpu = "/dev/zero",
		.cgroup = SCOPE "job_13/step_0/user/task_0\n");
	PROCESS(.pid = 13, .parent = 1, .uid = 0, .gpu = "/dev/zero",
		.cgroup = SCOPE "job_13/step_0/user/task_0\n");
	ok(scan_job(12, ALICE, 0) == 0 && find_user(11) && !find_user(12),
	   "a process in a group of a running job is the job's by any uid");
	ok(scan_job(13, ALICE, 0) == 0 && find_user(13) && !find_user(11),
	   "root's process that a step has left in its group is the job's");
	ok(!find_user(12),
	   "a group without slurmstepd makes no process of others the job's");
	scan(1);
	egs_leftovers_kill(&users, 13, ALICE, 0);
	is_int(find_user(12) ? (int)find_user(12)->fate : -1,
	       EGS_GPU_USER_IGNORED,
	       "a sub-uid in the group of the starting job is not killed");

	snprintf(path, sizeof(path), "%s/subuid", top);
	f = fopen(path, "we");
	if (f) {
		fprintf(f, "root:200000:10\n%d:100000:100\nbad:\n%d:0:9\n",
			ALICE, ALICE);
		fclose(f);
	}
	egs_sub_uids_read(&sub_uids, path, ALICE);
	ok(egs_sub_uids_have(&sub_uids, 11, 100000) &&
		   egs_sub_uids_have(&sub_uids, 11, 100099) &&
		   !egs_sub_uids_have(&sub_uids, 11, 100100) &&
		   !egs_sub_uids_have(&sub_uids, 11, 200000) &&
		   !egs_sub_uids_have(&sub_uids, 11, 0),
	   "the uids that /etc/subuid grants to a user are the user's");
}

int main(void)
{
	plan_none();
	if (begin_scans() < 0)
		return 1;
	test_owners();
	test_root();
	test_parents();
	test_sub_uids();
	end_scans();
	return done_testing();
}
