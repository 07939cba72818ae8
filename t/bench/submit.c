/* submit.c - many held jobs, through libslurm, as fast as slurmctld takes them
 *
 * usage: submit COUNT
 *
 * Prints the id of the last one.
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int submit(uint32_t *id)
{
	char *env[] = { "PATH=/usr/bin:/bin", NULL };
	submit_response_msg_t *answer = NULL;
	job_desc_msg_t job;

	slurm_init_job_desc_msg(&job);
	job.name = "bench";
	job.script = "#!/bin/sh\n";
	job.work_dir = "/tmp";
	job.partition = "cloud";
	job.tres_per_node = "gres:gpu:1";
	job.environment = env;
	job.env_size = 1;
	job.user_id = getuid();
	job.group_id = getgid();
	job.priority = 0;
	if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS)
		return -1;
	*id = answer->job_id;
	slurm_free_submit_response_response_msg(answer);
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc == 2 ? atol(argv[1]) : 0;
	uint32_t id = 0;

	slurm_init(NULL);
	for (long i = 0; i < count; i++)
		if (submit(&id) < 0) {
			slurm_perror("submit");
			return EXIT_FAILURE;
		}
	printf("%u\n", id);
	return EXIT_SUCCESS;
}
