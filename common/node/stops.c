/* stops.c - stop processes while they are examined */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "common/node/proc.h"
#include "common/node/stops.h"

enum {
	OPTIONS =
		PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE,
	PAUSE_MS = 1,
	END_MS = 50
};

struct egs_stop {
	pid_t pid, thread;
	int signal; /* that the thread is about to get, 0: none */
	bool is_running, is_gone;
};

static bool is_off;

void egs_stops_turn_off(bool off)
{
	is_off = off;
}

/* ---- one thread ---- */

static int add_thread(struct egs_stops *stops, pid_t pid, pid_t thread,
		      struct egs_err *err)
{
	uint32_t slot = egs_idmap_add(&stops->threads, (uint32_t)thread);

	if (slot == EGS_IDMAP_NONE ||
	    egs_grow(&stops->list, &stops->room, slot + 1) < 0)
		return egs_errf(err, "out of memory");
	stops->list[slot] = (struct egs_stop){ .pid = pid,
					       .thread = thread,
					       .is_running = true };
	stops->n_running++;
	stops->n_new++;
	return 0;
}

static void settle_thread(struct egs_stops *stops, struct egs_stop *stop)
{
	if (stop->is_running)
		stops->n_running--;
	stop->is_running = false;
}

/* The number after "KEY:" in /proc/TID/status, 0: none. */
static pid_t read_tracer(pid_t thread)
{
	static const char key[] = "\nTracerPid:";
	char text[4096];
	const char *line;

	if (egs_proc_read(thread, "status", text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, key);
	return line ? (pid_t)strtol(line + strlen(key), NULL, 10) : 0;
}

static bool is_dead(pid_t thread)
{
	struct egs_proc_stat stat;

	if (egs_proc_stat(thread, &stat) < 0)
		return egs_proc_is_gone(errno);
	return stat.state == 'Z' || stat.state == 'X';
}

/* A child of a thread that we trace is traced from its start. */
static int explain_refusal(struct egs_stops *stops, pid_t pid, pid_t thread,
			   struct egs_err *err)
{
	pid_t tracer = read_tracer(thread);
	char command[32];

	if (is_dead(thread))
		return 0;
	if (tracer == getpid())
		return add_thread(stops, pid, thread, err);
	egs_proc_command(pid, command, sizeof(command));
	if (tracer)
		return egs_errf(err,
				"pid %ld (%s) cannot be stopped, because pid "
				"%ld traces it",
				(long)pid, command, (long)tracer);
	return egs_errf(err,
			"thread %ld of pid %ld (%s) cannot be stopped; the "
			"kernel may run it for io_uring",
			(long)thread, (long)pid, command);
}

static int stop_thread(struct egs_stops *stops, pid_t pid, pid_t thread,
		       struct egs_err *err)
{
	if (egs_idmap_find(&stops->threads, (uint32_t)thread) != EGS_IDMAP_NONE)
		return 0;
	if (ptrace(PTRACE_SEIZE, thread, NULL, (void *)(long)OPTIONS) < 0) {
		if (errno == ESRCH)
			return 0;
		return explain_refusal(stops, pid, thread, err);
	}
	ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
	return add_thread(stops, pid, thread, err);
}

int egs_stops_add(struct egs_stops *stops, pid_t pid, struct egs_err *err)
{
	char path[EGS_PROC_PATH_MAX];
	const struct dirent *entry;
	DIR *tasks;
	int rc;

	if (is_off)
		return 0;
	rc = stop_thread(stops, pid, pid, err); /* it may be about to end */
	if (rc < 0)
		return rc;
	egs_proc_path(path, pid, "task");
	tasks = opendir(path);
	if (!tasks)
		return egs_proc_fail(pid, "task", err);
	while (rc == 0 && (entry = readdir(tasks))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread > 0)
			rc = stop_thread(stops, pid, thread, err);
	}
	closedir(tasks);
	return rc;
}

/* ---- all threads ---- */

/* A thread may also wait in clone() for a page of a file system of its user,
 * before the child starts.
 */
static bool waits_for_child(pid_t thread)
{
	static const char *const waits[] = { "kernel_clone",
					     "wait_for_vfork_done", "_do_fork",
					     "do_fork" };
	char text[128];

	if (egs_proc_read(thread, "wchan", text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, ".")] = '\0'; /* a compiler may add ".isra.0" */
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		if (strcmp(text, waits[i]) == 0)
			return true;
	return false;
}

/* Between a child's start and its exec(), vfork() keeps its caller in the
 * kernel, where it does not react.  The child is stopped.
 */
static bool is_in_fork(pid_t thread)
{
	static const long forks[] = {
#ifdef SYS_vfork
		SYS_vfork,
#endif
		SYS_clone, SYS_clone3
	};
	char text[256];
	struct egs_proc_stat stat;

	if (egs_proc_stat(thread, &stat) < 0 || stat.state != 'D' ||
	    egs_proc_read(thread, "syscall", text, sizeof(text)) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(forks); i++)
		if (strtol(text, NULL, 10) == forks[i])
			return waits_for_child(thread);
	return false;
}

/* A signal that arrived first is delivered when the thread continues. */
static int note_event(struct egs_stops *stops, pid_t thread, int status,
		      struct egs_err *err)
{
	uint32_t slot = egs_idmap_find(&stops->threads, (uint32_t)thread);
	struct egs_stop *stop;

	if (slot == EGS_IDMAP_NONE) {
		if (!WIFSTOPPED(status))
			return 0;
		if (add_thread(stops, thread, thread, err) < 0)
			return -1;
		slot = egs_idmap_find(&stops->threads, (uint32_t)thread);
	}
	stop = &stops->list[slot];
	stop->is_gone = !WIFSTOPPED(status);
	stop->signal =
		!stop->is_gone && status >> 16 == 0 ? WSTOPSIG(status) : 0;
	settle_thread(stops, stop);
	return 0;
}

static int read_events(struct egs_stops *stops, struct egs_err *err)
{
	pid_t thread;
	int status, rc = 0;

	while (rc == 0 && (thread = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
		rc = note_event(stops, thread, status, err);
	return rc;
}

/* The end of a first thread is not reported before that of the others. */
static const struct egs_stop *settle_others(struct egs_stops *stops)
{
	const struct egs_stop *first = NULL;

	for (uint32_t i = 0; i < stops->threads.nslots; i++) {
		struct egs_stop *stop = &stops->list[i];

		if (!stop->is_running)
			continue;
		if (is_dead(stop->thread) || is_in_fork(stop->thread))
			settle_thread(stops, stop);
		else if (!first)
			first = stop;
	}
	return first;
}

int egs_stops_wait(struct egs_stops *stops, uint64_t end_ms,
		   struct egs_err *err)
{
	const struct egs_stop *first = NULL;
	char command[32];

	while (!is_off) {
		bool is_late = egs_now_ms() >= end_ms;

		if (read_events(stops, err) < 0)
			return -1;
		if (stops->n_running)
			first = settle_others(stops);
		if (!stops->n_running)
			return 0;
		if (is_late)
			break;
		poll(NULL, 0, PAUSE_MS);
	}
	if (!first)
		return 0;
	egs_proc_command(first->pid, command, sizeof(command));
	return egs_errf(err, "pid %ld (%s) does not stop", (long)first->pid,
			command);
}

/* Returns the number of threads that still have to stop before they can
 * continue: vfork() was not over.
 */
static size_t detach_all(struct egs_stops *stops)
{
	size_t n = 0;

	for (uint32_t i = 0; i < stops->threads.nslots; i++) {
		struct egs_stop *stop = &stops->list[i];

		if (stop->is_gone)
			continue;
		stop->is_gone = ptrace(PTRACE_DETACH, stop->thread, NULL,
				       (void *)(long)stop->signal) == 0 ||
				is_dead(stop->thread);
		n += !stop->is_gone;
	}
	return n;
}

void egs_stops_end(struct egs_stops *stops)
{
	for (int i = 0; detach_all(stops) && i < END_MS; i++) {
		poll(NULL, 0, 1);
		read_events(stops, NULL);
	}
	free(stops->list);
	egs_idmap_clear(&stops->threads);
	*stops = (struct egs_stops){ .n_new = 0 };
}
