/* egs.c - libegs: messages of a job, for programs
 *
 * The flag is mapped once.  While that fails, because the flag is not there
 * yet, libegs tries again once a second.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc/job_request.h"
#include "libegs/egs.h"

#define TIMEOUT_MS 10000
#define PPM_MAX	   1000000

static struct {
	const volatile struct egs_rundir_flag *flag; /* mapped, NULL: not yet */
	time_t tried;
} flag_map;

static _Thread_local struct egs_err last_error;

const char *egs_last_error(void)
{
	return last_error.msg;
}

/* ---- the flag ---- */

static const volatile struct egs_rundir_flag *map_flag(void)
{
	const char *dir = egs_rundir_path();
	struct egs_rundir_flag *flag;
	char path[4096];
	struct stat st;
	void *at = MAP_FAILED;
	int fd;

	if (!dir)
		return NULL;
	snprintf(path, sizeof(path), "%s/" EGS_RUNDIR_FLAG_FILE, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size >= EGS_RUNDIR_FLAG_SIZE)
		at = mmap(NULL, EGS_RUNDIR_FLAG_SIZE, PROT_READ, MAP_SHARED, fd,
			  0);
	close(fd);
	if (at == MAP_FAILED)
		return NULL;
	flag = at;
	if (memcmp(flag->magic, EGS_RUNDIR_FLAG_MAGIC, sizeof(flag->magic)) ==
	    0)
		return flag;
	munmap(at, EGS_RUNDIR_FLAG_SIZE);
	return NULL;
}

/* If two threads map the flag at the same time, one mapping is never used. */
static const volatile struct egs_rundir_flag *get_flag(void)
{
	const volatile struct egs_rundir_flag *flag =
		__atomic_load_n(&flag_map.flag, __ATOMIC_ACQUIRE);
	struct timespec now;

	if (flag)
		return flag;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (__atomic_exchange_n(&flag_map.tried, now.tv_sec + 1,
				__ATOMIC_RELAXED) == now.tv_sec + 1)
		return NULL;
	flag = map_flag();
	__atomic_store_n(&flag_map.flag, flag, __ATOMIC_RELEASE);
	return flag;
}

int egs_should_yield(void)
{
	const volatile struct egs_rundir_flag *flag = get_flag();

	return flag && flag->notice && flag->kind != EGS_NOTICE_SHRINK;
}

uint32_t egs_request(int *kind, uint32_t *gpus, int64_t *deadline)
{
	const volatile struct egs_rundir_flag *flag = get_flag();
	uint32_t request =
		flag ? __atomic_load_n(&flag->notice, __ATOMIC_ACQUIRE) : 0;

	if (!request)
		return 0;
	if (kind)
		*kind = flag->kind == EGS_NOTICE_SHRINK ? EGS_SHRINK
							: EGS_YIELD;
	if (gpus)
		*gpus = flag->gpus;
	if (deadline)
		*deadline = flag->deadline;
	return request;
}

int egs_wait_request(int timeout_s)
{
	const char *dir = egs_rundir_path();
	struct egs_rundir_flag flag;
	int ms = timeout_s < 0			? -1
		 : timeout_s > INT32_MAX / 1000 ? INT32_MAX
						: timeout_s * 1000;

	if (!dir)
		return egs_errf(&last_error,
				"no EGS here: " EGS_RUNDIR_ENV " is not set");
	return egs_rundir_wait_notice(dir, &flag, ms);
}

/* ---- messages ---- */

static int send_request(struct egs_job_request *request, bool report)
{
	const struct egs_transport how = { .dir = egs_rundir_path(),
					   .timeout_ms = TIMEOUT_MS,
					   .is_report = report };

	return egs_job_request_send(request, &how, &last_error) == 0 ? 0 : -1;
}

static int begin_request(struct egs_job_request *request, const char *verb)
{
	return egs_job_request_begin(request, verb, &last_error);
}

int egs_saved(const char *path, int64_t step)
{
	struct egs_job_request request;

	if (begin_request(&request, "saved") < 0)
		return -1;
	egs_flat_json_add_str(&request.json, "path", path);
	if (step >= 0)
		egs_flat_json_add_int(&request.json, "step", step);
	return send_request(&request, true);
}

int egs_yield(const char *path)
{
	uint32_t notice = egs_job_request_open_notice(egs_rundir_path());
	int64_t rank = egs_job_request_rank();
	struct egs_job_request request;

	if (begin_request(&request, "yield") < 0)
		return -1;
	egs_flat_json_add_str(&request.json, "path", path);
	if (notice)
		egs_flat_json_add_int(&request.json, "request", notice);
	if (rank >= 0)
		egs_flat_json_add_int(&request.json, "rank", rank);
	return send_request(&request, false);
}

int egs_finished(void)
{
	struct egs_job_request request;

	return begin_request(&request, "finished") < 0
		       ? -1
		       : send_request(&request, true);
}

int egs_progress(double done)
{
	struct egs_job_request request;

	if (!(done >= 0 && done <= 1))
		return egs_errf(&last_error, "%g is not from 0 to 1", done);
	if (begin_request(&request, "progress") < 0)
		return -1;
	egs_flat_json_add_int(&request.json, "ppm",
			      (int64_t)(done * PPM_MAX + 0.5));
	return send_request(&request, true);
}

int egs_phase(const char *phase)
{
	struct egs_job_request request;

	if (begin_request(&request, "phase") < 0)
		return -1;
	egs_flat_json_add_str(&request.json, "phase", phase);
	return send_request(&request, false);
}
