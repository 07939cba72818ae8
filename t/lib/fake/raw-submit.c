/* raw-submit.c - a client of slurmctld without SPANK that can send any text
 *
 * usage: client [WORD]...
 *
 *	NAME=VALUE		for the environment that SPANK plugins hand to
 *				job_submit
 *	env:NAME=VALUE		for the environment of the job
 *	account:NAME		a field of the job
 *	comment:TEXT
 *	admin:TEXT
 *	big:WORD		the same WORD with 4 MiB in the place of its '@'
 *
 * Submits a job that prints its environment to /tmp/client.JOB and ends.
 * Prints the job id, or the error of slurmctld on stderr.
 */
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BIG = 4 << 20 };

static char *spank[16], *env[16] = { "PATH=/usr/bin:/bin" };

static void add(char **list, uint32_t *count, char *word)
{
	if (*count == 15) {
		fprintf(stderr, "too many words\n");
		exit(EXIT_FAILURE);
	}
	list[(*count)++] = word;
}

static char *blow_up(const char *word)
{
	size_t before = strcspn(word, "@");
	char *big = calloc(1, BIG + strlen(word) + 1);

	if (!big || !word[before])
		exit(EXIT_FAILURE);
	memcpy(big, word, before);
	memset(big + before, 'x', BIG);
	strcpy(big + before + BIG, word + before + 1);
	return big;
}

static void take(job_desc_msg_t *job, char *word)
{
	if (!strncmp(word, "big:", 4))
		word = blow_up(word + 4);
	if (!strncmp(word, "env:", 4))
		add(env, &job->env_size, word + 4);
	else if (!strncmp(word, "account:", 8))
		job->account = word + 8;
	else if (!strncmp(word, "comment:", 8))
		job->comment = word + 8;
	else if (!strncmp(word, "admin:", 6))
		job->admin_comment = word + 6;
	else
		add(spank, &job->spank_job_env_size, word);
}

int main(int argc, char **argv)
{
	submit_response_msg_t *answer = NULL;
	job_desc_msg_t job;

	slurm_init(NULL);
	slurm_init_job_desc_msg(&job);
	job.name = "client";
	job.script = "#!/bin/sh\nenv | sort >/tmp/client.$SLURM_JOB_ID\n";
	job.work_dir = "/tmp";
	job.std_out = job.std_err = "/dev/null";
	job.environment = env;
	job.env_size = 1;
	job.spank_job_env = spank;
	job.user_id = getuid();
	job.group_id = getgid();
	for (int i = 1; i < argc; i++)
		take(&job, argv[i]);
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
