/* submit.c - many jobs, through libslurm, as fast as slurmctld takes them
 *
 * usage: submit COUNT
 *	submits COUNT held jobs and prints the id of the last one
 * usage: submit -
 *	submits a job with a hint for each line it reads, and prints its id and
 *	how many nanoseconds that took; the jobs begin tomorrow
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *hints[] = {
	"_SLURM_SPANK_OPTION_egs_egs=phase=train,tier=research,"
	"workload=fraud/retrain,ckpt=signal:USR1@60,save-time=90s",
};

static int submit(job_desc_msg_t *job, uint32_t *id)
{
	char *env[] = { "PATH=/usr/bin:/bin", "HOME=/tmp", "LANG=C", NULL };
	submit_response_msg_t *answer = NULL;

	job->name = "bench";
	job->script = "#!/bin/sh\n";
	job->work_dir = "/tmp";
	job->partition = "cloud";
	job->tres_per_node = "gres:gpu:1";
	job->environment = env;
	job->env_size = 3;
	job->user_id = getuid();
	job->group_id = getgid();
	if (slurm_submit_batch_job(job, &answer) != SLURM_SUCCESS)
		return -1;
	*id = answer->job_id;
	slurm_free_submit_response_response_msg(answer);
	return 0;
}

static int submit_held(uint32_t *id)
{
	job_desc_msg_t job;

	slurm_init_job_desc_msg(&job);
	job.priority = 0;
	return submit(&job, id);
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int submit_timed(void)
{
	job_desc_msg_t job;
	long long begin;
	uint32_t id;

	slurm_init_job_desc_msg(&job);
	job.begin_time = time(NULL) + 86400;
	job.spank_job_env = hints;
	job.spank_job_env_size = 1;
	begin = now_ns();
	if (submit(&job, &id) < 0)
		return -1;
	printf("%u %lld\n", id, now_ns() - begin);
	return fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "0";
	char line[8];
	uint32_t id = 0;
	int rc = 0;

	slurm_init(NULL);
	if (!strcmp(what, "-")) {
		while (rc == 0 && fgets(line, sizeof(line), stdin))
			rc = submit_timed();
	} else {
		for (long i = atol(what); rc == 0 && i > 0; i--)
			rc = submit_held(&id);
		printf("%u\n", id);
	}
	if (rc < 0)
		slurm_perror("submit");
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
