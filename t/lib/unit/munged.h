/* munged.h - a private munged with its own key, for unit tests */
#ifndef EGS_T_LIB_MUNGED_H
#define EGS_T_LIB_MUNGED_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/ipc/cred.h"

struct test_munged {
	char dir[64], socket[80];
	pid_t pid;
};

/* In the child: become munged. */
static inline void exec_munged(const struct test_munged *m)
{
	static const char *const files[] = { "key-file", "log-file", "pid-file",
					     "seed-file" };
	char args[4][96], socket[96];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 4; i++)
		snprintf(args[i], sizeof(args[i]), "--%s=%s/%.3s", files[i],
			 m->dir, files[i]);
	snprintf(socket, sizeof(socket), "--socket=%s", m->socket);
	if (!freopen("/dev/null", "w", stdout) ||
	    !freopen("/dev/null", "w", stderr))
		_exit(1);
	setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1);
	execlp("munged", "munged", "--foreground", "--force", "--num-threads=1",
	       socket, args[0], args[1], args[2], args[3], (char *)NULL);
	_exit(127);
}

static inline bool munged_answers(const struct test_munged *m)
{
	const struct egs_cred_conf conf = { .munge_socket = m->socket,
					    .audience = "none" };
	char *text = NULL;
	uint64_t id;
	int rc = egs_cred_encode(&conf, "x", 1, &text, &id, NULL);

	free(text);
	return rc == 0;
}

/* Start munged, or start it again, and wait up to a minute until it answers. */
static inline bool test_munged_run(struct test_munged *m)
{
	m->pid = fork();
	if (m->pid == 0)
		exec_munged(m);
	for (int i = 0; i < 600; i++) {
		if (access(m->socket, F_OK) == 0 && munged_answers(m))
			return true;
		usleep(100000);
	}
	return false;
}

/* Start munged in a new directory, with a new key. */
static inline bool test_munged_start(struct test_munged *m)
{
	char key[80], secret[64];
	int fd;

	snprintf(m->dir, sizeof(m->dir), "/tmp/egs-munged.XXXXXX");
	if (!mkdtemp(m->dir) || chmod(m->dir, 0755) < 0)
		return false;
	snprintf(m->socket, sizeof(m->socket), "%s/socket", m->dir);
	snprintf(key, sizeof(key), "%s/key", m->dir);
	snprintf(secret, sizeof(secret), "%060d", (int)getpid());
	fd = open(key, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0 || write(fd, secret, 60) != 60)
		return false;
	close(fd);
	return test_munged_run(m);
}

static inline void test_munged_stop(struct test_munged *m)
{
	kill(m->pid, SIGTERM);
	waitpid(m->pid, NULL, 0);
}

/* Stop munged and remove its files. */
static inline void test_munged_end(struct test_munged *m)
{
	static const char *const names[] = { "key", "log",    "pid",
					     "see", "socket", "socket.lock" };
	char path[96];

	test_munged_stop(m);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", m->dir, names[i]);
		unlink(path);
	}
	rmdir(m->dir);
}

#endif
