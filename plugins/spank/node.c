/* node.c - spank_egs on a compute node: egs-noded, and run directories
 *
 * All of this needs an egs.conf; a site may use only the options.  Nothing here
 * may fail or take long, because slurmd and slurmstepd wait for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/node/rundir.h"
#include "plugins/spank/spank_egs.h"

#define CONF EGS_SYSCONFDIR "/egs.conf"

enum {
	CGROUPS_SIZE = 4096,
	NODE_SIZE = 256,
	LOCK_TRIES = 20, /* egs-noded holds the lock for a moment to test it */
};

/* Open the directory of this node's run directories, or -1. */
static int open_node_dir(const char *node, char path[EGS_RUNDIR_PATH_SIZE])
{
	struct egs_conf *conf;
	const char *dir;
	int fd;

	if (access(CONF, R_OK) < 0)
		return -1;
	conf = egs_conf_open(CONF, NULL);
	dir = egs_conf_dir(egs_conf_policy(conf), EGS_NODE_DIR);
	fd = egs_rundir_open_node_dir(dir, node, NULL);
	snprintf(path, EGS_RUNDIR_PATH_SIZE, "%s/%s", dir, node);
	egs_conf_free(conf);
	return fd;
}

/* ---- starting egs-noded ---- */

/* Read the control groups of this process. */
static void read_own_cgroups(char text[CGROUPS_SIZE])
{
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, CGROUPS_SIZE - 1);

	text[n < 0 ? 0 : n] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Runs in a grandchild of slurmd.  Drop the files, the session and the signal
 * handlers of slurmd.
 */
static void exec_noded(const char *node)
{
	char log[NODE_SIZE + 40];
	sigset_t none;
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	for (int signo = 1; signo < NSIG; signo++)
		signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir("/") < 0)
		_exit(1);
	snprintf(log, sizeof(log), "--log=/var/log/egs-noded-%s.log", node);
	execl(EGS_SBINDIR "/egs-noded", "egs-noded", "-N", node, log,
	      "--with-slurmd", (char *)NULL);
	_exit(1);
}

/* Fork twice, so that slurmd or slurmstepd has no unknown child. */
static void start_noded(const char *node)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		if (fork() == 0)
			exec_noded(node);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool is_noded_running(int dirs)
{
	int fd =
		openat(dirs, EGS_RUNDIRS_LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	bool yes = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;

	if (fd >= 0)
		close(fd);
	return yes;
}

/* ---- in slurmd ---- */

/* The value of the last -N, or else the host name.  If that is not the name of
 * the node, egs-noded starts with the first step.
 */
static void find_node_name(char node[NODE_SIZE])
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	char args[8192] = "", *arg = args;
	ssize_t n = fd < 0 ? -1 : read(fd, args, sizeof(args) - 1);

	if (fd >= 0)
		close(fd);
	if (gethostname(node, NODE_SIZE - 1) < 0)
		*node = '\0';
	node[NODE_SIZE - 1] = '\0';
	node[strcspn(node, ".")] = '\0';
	for (; n > 0 && arg < args + n; arg += strlen(arg) + 1) {
		const char *next = arg + strlen(arg) + 1;

		if (strncmp(arg, "-N", 2) != 0)
			continue;
		snprintf(node, NODE_SIZE, "%s", arg[2] ? arg + 2 : next);
	}
}

/* slurmd holds this lock until it exits; egs-noded notices the exit by the
 * lock. The file contains the control groups of slurmd.
 */
static void hold_slurmd_lock(int dirs)
{
	char cgroups[CGROUPS_SIZE];
	int fd = openat(dirs, EGS_RUNDIRS_SLURMD_LOCK,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	read_own_cgroups(cgroups);
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_SH | LOCK_NB) == 0 &&
		    ftruncate(fd, 0) == 0 &&
		    pwrite(fd, cgroups, strlen(cgroups), 0) >= 0)
			return; /* stays open */
		poll(NULL, 0, 5);
	}
	close(fd);
}

void egs_spank_node_start_noded(void)
{
	char node[NODE_SIZE], path[EGS_RUNDIR_PATH_SIZE];
	int dirs;

	find_node_name(node);
	dirs = open_node_dir(node, path);
	if (dirs < 0)
		return;
	hold_slurmd_lock(dirs);
	start_noded(node);
	close(dirs);
}

/* ---- in slurmstepd ---- */

/* Start egs-noded only from slurmd's control groups.  In the control groups of
 * a step, egs-noded would prevent the end of the step.
 */
static bool is_in_slurmd_cgroup(int dirs)
{
	char own[CGROUPS_SIZE], slurmd[CGROUPS_SIZE] = "";
	int fd = openat(dirs, EGS_RUNDIRS_SLURMD_LOCK,
			O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, slurmd, sizeof(slurmd) - 1);

	if (fd >= 0)
		close(fd);
	read_own_cgroups(own);
	return n > 0 && strcmp(own, slurmd) == 0;
}

void egs_spank_node_prepare_step(spank_t sp, bool is_batch,
				 char path[EGS_RUNDIR_PATH_SIZE])
{
	const char *node = getenv("SLURMD_NODENAME");
	uint32_t job = 0;
	uid_t uid = 0;
	gid_t gid = 0;
	int dirs, n;

	*path = '\0';
	if (!node || geteuid() != 0 ||
	    spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_UID, &uid) != ESPANK_SUCCESS ||
	    spank_get_item(sp, S_JOB_GID, &gid) != ESPANK_SUCCESS)
		return;
	dirs = open_node_dir(node, path);
	if (dirs < 0) {
		*path = '\0';
		return;
	}
	n = (int)strlen(path);
	if (egs_rundir_make(dirs, job, uid, gid, is_batch, NULL) < 0 ||
	    snprintf(path + n, (size_t)(EGS_RUNDIR_PATH_SIZE - n), "/%" PRIu32,
		     job) >= EGS_RUNDIR_PATH_SIZE - n)
		*path = '\0';
	if (!is_noded_running(dirs) && is_in_slurmd_cgroup(dirs))
		start_noded(node);
	egs_spank_kill_leftovers(sp, dirs, node, job, uid);
	close(dirs);
}
