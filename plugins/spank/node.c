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

#include "common/base/fd.h"
#include "common/conf/conf.h"
#include "common/ipc/flat_json.h"
#include "common/node/rundir.h"
#include "common/node/save_program.h"
#include "plugins/spank/spank_egs.h"

#define CONF EGS_SYSCONFDIR "/egs.conf"

enum {
	CGROUPS_SIZE = 4096,
	NODE_SIZE = 256,
	LOCK_TRIES = 20, /* egs-noded holds the lock for a moment to test it */
};

/* What egs.conf says about run directories. */
struct node_conf {
	char path[EGS_RUNDIR_PATH_SIZE]; /* <NodeDir>/<node> */
	uint32_t size_kib, inodes;	 /* of a run directory */
};

/* Open the directory of this node's run directories.  Returns a file
 * descriptor, or -1 with 'err' set.
 */
static int open_node_dir(const char *node, struct node_conf *is,
			 struct egs_err *err)
{
	struct egs_conf *conf = egs_conf_open(CONF, NULL);
	const struct egs_policy_conf *c = egs_conf_policy(conf);
	const char *dir = egs_conf_dir(c, EGS_NODE_DIR);
	int fd = egs_rundir_open_node_dir(dir, node, err);

	is->size_kib = c ? c->rundir_size_kib : EGS_RUNDIR_SIZE_KIB;
	is->inodes = c ? c->rundir_inodes : EGS_RUNDIR_INODES;
	snprintf(is->path, sizeof(is->path), "%s/%s", dir, node);
	egs_conf_free(conf);
	return fd;
}

static bool has_conf(void)
{
	return access(CONF, R_OK) == 0;
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
	char node[NODE_SIZE];
	struct node_conf conf;
	struct egs_err err;
	int dirs;

	if (!has_conf())
		return;
	find_node_name(node);
	dirs = open_node_dir(node, &conf, &err);
	if (dirs < 0) {
		slurm_error("egs: %s", err.msg);
		return;
	}
	egs_rundirs_unmount_retired(dirs);
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

/* egs-noded sends the report to egs-policyd and removes the file. */
static void report_missing_rundir(int dirs, const char *node, uint32_t job,
				  bool is_batch, const struct egs_err *why)
{
	struct egs_flat_json report = { .len = 0 };
	char name[64], hidden[sizeof(name) + 8];
	const char *text;
	int fd;

	egs_flat_json_add_str(&report, "verb", "node-no-rundir");
	egs_flat_json_add_str(&report, "node", node);
	egs_flat_json_add_int(&report, "job", job);
	egs_flat_json_add_int(&report, "batch", is_batch);
	egs_flat_json_add_str(&report, "words", why->msg);
	text = egs_flat_json_end(&report);
	snprintf(name, sizeof(name), EGS_RUNDIRS_REPORT "%" PRIu32, job);
	snprintf(hidden, sizeof(hidden), EGS_RUNDIRS_NEW "%s", name + 1);
	fd = openat(dirs, hidden,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return;
	if (!text || egs_write_all(fd, text, strlen(text)) < 0 ||
	    renameat(dirs, hidden, dirs, name) < 0)
		unlinkat(dirs, hidden, 0);
	close(fd);
}

/* Returns 0 with the path of the run directory, or -1 with 'err' set. */
static int make_rundir(int dirs, const struct node_conf *conf,
		       struct egs_rundir_spec *spec, bool is_batch,
		       struct egs_spank_rundir *rundir)
{
	struct egs_err *err = &rundir->problem;

	spec->size_kib = conf->size_kib;
	spec->inodes = conf->inodes;
	if (egs_rundir_make(dirs, spec, is_batch, err) < 0)
		return -1;
	if (snprintf(rundir->path, sizeof(rundir->path),
		     "%s/%" PRIu32 "/" EGS_RUNDIRS_MOUNT, conf->path,
		     spec->job) >= (int)sizeof(rundir->path)) {
		rundir->path[0] = '\0';
		return egs_errf(err, "NodeDir is too long");
	}
	if (spec->size_kib)
		rundir->held_fd = egs_rundir_hold(dirs, spec->job);
	return 0;
}

static bool read_step(spank_t sp, struct egs_rundir_spec *spec)
{
	return spank_get_item(sp, S_JOB_ID, &spec->job) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_UID, &spec->uid) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_JOB_GID, &spec->gid) == ESPANK_SUCCESS;
}

void egs_spank_node_prepare_step(spank_t sp, bool is_batch,
				 const char *save_program,
				 struct egs_spank_rundir *rundir)
{
	const char *node = getenv("SLURMD_NODENAME");
	struct egs_rundir_spec spec = { 0 };
	struct node_conf conf;
	int dirs;

	*rundir = (struct egs_spank_rundir){ .held_fd = -1 };
	if (!node || geteuid() != 0 || !read_step(sp, &spec) || !has_conf())
		return;
	dirs = open_node_dir(node, &conf, &rundir->problem);
	if (dirs >= 0)
		egs_rundirs_unmount_retired(dirs);
	if (dirs >= 0 && make_rundir(dirs, &conf, &spec, is_batch, rundir) < 0)
		report_missing_rundir(dirs, node, spec.job, is_batch,
				      &rundir->problem);
	if (*rundir->problem.msg)
		slurm_error("egs: job %" PRIu32 ": %s", spec.job,
			    rundir->problem.msg);
	if (dirs < 0)
		return;
	egs_save_program_keep(dirs, spec.job, spec.uid, save_program, is_batch,
			      NULL);
	if (!is_noded_running(dirs) && is_in_slurmd_cgroup(dirs))
		start_noded(node);
	egs_spank_kill_leftovers(sp, dirs, node, spec.job, spec.uid);
	close(dirs);
}

/* Slurm has just moved this process into the namespace of its job. */
void egs_spank_node_show_rundir(struct egs_spank_rundir *rundir)
{
	if (!*rundir->path || rundir->held_fd < 0 ||
	    egs_rundir_show(rundir->held_fd, rundir->path) == 0)
		return;
	egs_errf(&rundir->problem,
		 "no run directory in the job's mount "
		 "namespace: %s",
		 strerror(errno));
	slurm_error("egs: %s", rundir->problem.msg);
}
