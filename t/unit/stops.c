/* stops.c - processes are stopped and continue as if nothing had happened */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/node/proc.h"
#include "common/node/stops.h"
#include "t/lib/unit/tap.h"

enum { WAIT_MS = 60000, THREADS = 8, SIGNALS = 200 };

/* Memory that all processes share. */
static struct {
	atomic_uint steps[THREADS];
	atomic_uint signals;
	atomic_bool is_stopped;
} * shared;

static struct egs_err err;

static void *count_steps(void *arg)
{
	atomic_uint *steps = arg;

	for (;;)
		atomic_fetch_add(steps, 1);
	return NULL;
}

static void note_signal(int signo)
{
	(void)signo;
	atomic_fetch_add(&shared->signals, 1);
}

static void count_in_threads(void)
{
	pthread_t thread;

	for (int i = 1; i < THREADS; i++)
		pthread_create(&thread, NULL, count_steps, &shared->steps[i]);
	count_steps(&shared->steps[0]);
}

static void wait_for_signals(void)
{
	signal(SIGUSR1, note_signal);
	atomic_fetch_add(&shared->steps[0], 1);
	for (;;)
		pause();
}

static pid_t start_process(void (*run)(void))
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
	}
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Wait until a number is at least 'n'.  Returns whether it is. */
static bool reaches(const atomic_uint *number, unsigned n)
{
	uint64_t end_ms = egs_now_ms() + WAIT_MS;

	while (atomic_load(number) < n && egs_now_ms() < end_ms)
		poll(NULL, 0, 1);
	return atomic_load(number) >= n;
}

static bool goes_on(const atomic_uint *number)
{
	return reaches(number, atomic_load(number) + 1);
}

static unsigned sum_steps(void)
{
	unsigned sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += atomic_load(&shared->steps[i]);
	return sum;
}

static int stop(struct egs_stops *stops, pid_t pid)
{
	do {
		stops->n_new = 0;
		if (egs_stops_add(stops, pid, &err) < 0 ||
		    egs_stops_wait(stops, egs_now_ms() + WAIT_MS, &err) < 0)
			return -1;
	} while (stops->n_new);
	return 0;
}

static bool wait_state(pid_t pid, char state)
{
	uint64_t end_ms = egs_now_ms() + WAIT_MS;
	struct egs_proc_stat stat = { .state = '?' };

	while (egs_proc_stat(pid, &stat) == 0 && stat.state != state &&
	       egs_now_ms() < end_ms)
		poll(NULL, 0, 1);
	return stat.state == state;
}

static void test_threads(void)
{
	struct egs_stops stops = { .n_new = 0 };
	pid_t pid = start_process(count_in_threads);
	bool all = true;
	unsigned sum;

	for (int i = 0; i < THREADS; i++)
		all &= reaches(&shared->steps[i], 1);
	ok(all && stop(&stops, pid) == 0, "all threads of a process stop");
	sum = sum_steps();
	poll(NULL, 0, 20);
	is_int(sum_steps(), sum, "a process that is stopped does nothing");
	egs_stops_end(&stops);
	for (int i = 0; i < THREADS; i++)
		all &= goes_on(&shared->steps[i]);
	ok(all, "all threads of a process continue");
	end_process(pid);
}

/* A signal may arrive before, while and after a process is stopped. */
static void test_signals(void)
{
	struct egs_stops stops = { .n_new = 0 };
	pid_t pid = start_process(wait_for_signals);
	unsigned sent = 0;
	bool all = reaches(&shared->steps[0], 1);

	for (int i = 0; i < SIGNALS && all; i++) {
		kill(pid, SIGUSR1);
		sent++;
		all = stop(&stops, pid) == 0;
		egs_stops_end(&stops);
		all = all && reaches(&shared->signals, sent);
	}
	ok(all, "a process that is stopped 200 times gets all of its signals");
	kill(pid, SIGSTOP);
	wait_state(pid, 'T');
	ok(stop(&stops, pid) == 0, "a process that SIGSTOP has stopped stops");
	egs_stops_end(&stops);
	ok(wait_state(pid, 'T'),
	   "a process that SIGSTOP has stopped stays so afterwards");
	kill(pid, SIGCONT);
	kill(pid, SIGUSR1);
	ok(reaches(&shared->signals, sent + 1),
	   "a process that SIGSTOP has stopped continues by SIGCONT");
	end_process(pid);
}

static void test_killed(void)
{
	struct egs_stops stops = { .n_new = 0 };
	pid_t pid = start_process(count_in_threads), other;
	bool all = reaches(&shared->steps[THREADS - 1], 1);
	unsigned sum;

	other = fork();
	if (other == 0) {
		if (stop(&stops, pid) < 0)
			_exit(1);
		atomic_store(&shared->is_stopped, true);
		for (;;)
			pause();
	}
	while (!atomic_load(&shared->is_stopped) &&
	       waitpid(other, NULL, WNOHANG) == 0)
		poll(NULL, 0, 1);
	sum = sum_steps();
	poll(NULL, 0, 20);
	ok(all && atomic_load(&shared->is_stopped) && sum == sum_steps(),
	   "another process stops a process");
	ok(stop(&stops, pid) < 0 && strstr(err.msg, "traces it"),
	   "a process that another one traces cannot be stopped");
	egs_stops_end(&stops);
	end_process(other);
	for (int i = 0; i < THREADS; i++)
		all &= goes_on(&shared->steps[i]);
	ok(all, "a process continues when the one that stopped it is killed");
	end_process(pid);
}

int main(void)
{
	plan_none();
	if (geteuid() != 0) {
		ok(true, "only root can stop processes # SKIP");
		return done_testing();
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	test_threads();
	test_signals();
	test_killed();
	return done_testing();
}
