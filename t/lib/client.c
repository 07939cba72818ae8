/* client.c - a client of slurmctld that has no SPANK and says what it likes
 *
 * usage: client [NAME=VALUE]...
 *
 * Submits a job that ends at once, with the arguments as the environment that
 * SPANK plugins hand to job_submit.  Prints the job's id, or slurmctld's words
 * on stderr.
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *env[] = { "PATH=/usr/bin:/bin", NULL };
	submit_response_msg_t *answer = NULL;
	job_desc_msg_t job;

	slurm_init(NULL);
	slurm_init_job_desc_msg(&job);
	job.name = "client";
	job.script = "#!/bin/sh\n";
	job.work_dir = "/tmp";
	job.std_out = job.std_err = "/dev/null";
	job.environment = env;
	job.env_size = 1;
	job.user_id = getuid();
	job.group_id = getgid();
	job.spank_job_env = argv + 1;
	job.spank_job_env_size = (uint32_t)(argc - 1);
	if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS) {
		slurm_perror("client");
		return EXIT_FAILURE;
	}
	if (answer->job_submit_user_msg)
		fprintf(stderr, "%s\n", answer->job_submit_user_msg);
	if (answer->error_code)
		return EXIT_FAILURE;
	printf("%u\n", answer->job_id);
	return EXIT_SUCCESS;
}
