/* egs.c - libegs: the verbs of a job for programs
 *
 * The flag is mapped once.  As long as it cannot be, because it is not there
 * yet, that is tried again each second.
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
	const volatile struct egs_flag *flag; /* mapped, NULL: not yet */
	time_t tried;
} self;

static _Thread_local struct egs_err last_error;

const char *egs_last_error(void)
{
	return last_error.msg;
}

/* ---- the flag ---- */

static const volatile struct egs_flag *map_flag(void)
{
	const char *dir = egs_road_dir();
	struct egs_flag *flag;
	char path[4096];
	struct stat st;
	void *at = MAP_FAILED;
	int fd;

	if (!dir)
		return NULL;
	snprintf(path, sizeof(path), "%s/" EGS_RUNDIR_FLAG, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size >= EGS_FLAG_SIZE)
		at = mmap(NULL, EGS_FLAG_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return NULL;
	flag = at;
	if (memcmp(flag->magic, EGS_FLAG_MAGIC, sizeof(flag->magic)) == 0)
		return flag;
	munmap(at, EGS_FLAG_SIZE);
	return NULL;
}

/* Two threads may map it at once: then one mapping is left over. */
static const volatile struct egs_flag *flag_now(void)
{
	const volatile struct egs_flag *flag =
		__atomic_load_n(&self.flag, __ATOMIC_ACQUIRE);
	struct timespec now;

	if (flag)
		return flag;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (__atomic_exchange_n(&self.tried, now.tv_sec + 1,
				__ATOMIC_RELAXED) == now.tv_sec + 1)
		return NULL;
	flag = map_flag();
	__atomic_store_n(&self.flag, flag, __ATOMIC_RELEASE);
	return flag;
}

int egs_should_yield(void)
{
	const volatile struct egs_flag *flag = flag_now();

	return flag && flag->request && flag->kind != EGS_REQUEST_SHRINK;
}

uint32_t egs_request(int *kind, uint32_t *gpus, int64_t *deadline)
{
	const volatile struct egs_flag *flag = flag_now();
	uint32_t request =
		flag ? __atomic_load_n(&flag->request, __ATOMIC_ACQUIRE) : 0;

	if (!request)
		return 0;
	if (kind)
		*kind = flag->kind == EGS_REQUEST_SHRINK ? EGS_SHRINK
							 : EGS_YIELD;
	if (gpus)
		*gpus = flag->gpus;
	if (deadline)
		*deadline = flag->deadline;
	return request;
}

int egs_wait_request(int timeout_s)
{
	const char *dir = egs_road_dir();
	struct egs_flag flag;
	int ms = timeout_s < 0			? -1
		 : timeout_s > INT32_MAX / 1000 ? INT32_MAX
						: timeout_s * 1000;

	if (!dir)
		return egs_errf(&last_error,
				"there is no EGS here: " EGS_RUNDIR_ENV
				" is not set");
	return egs_road_wait(dir, &flag, ms);
}

/* ---- what is said ---- */

static int ask(struct egs_words *words, bool report)
{
	const struct egs_asking how = { .dir = egs_road_dir(),
					.timeout_ms = TIMEOUT_MS,
					.report = report };

	return egs_words_ask(words, &how, &last_error) == 0 ? 0 : -1;
}

static int begin(struct egs_words *words, const char *verb)
{
	return egs_words_begin(words, verb, &last_error);
}

int egs_saved(const char *path, int64_t step)
{
	struct egs_words words;

	if (begin(&words, "saved") < 0)
		return -1;
	egs_flat_str(&words.flat, "path", path);
	if (step >= 0)
		egs_flat_int(&words.flat, "step", step);
	return ask(&words, true);
}

int egs_yield(const char *path)
{
	uint32_t request = egs_words_request(egs_road_dir());
	int64_t rank = egs_words_rank();
	struct egs_words words;

	if (begin(&words, "yield") < 0)
		return -1;
	egs_flat_str(&words.flat, "path", path);
	if (request)
		egs_flat_int(&words.flat, "request", request);
	if (rank >= 0)
		egs_flat_int(&words.flat, "rank", rank);
	return ask(&words, false);
}

int egs_finished(void)
{
	struct egs_words words;

	return begin(&words, "finished") < 0 ? -1 : ask(&words, true);
}

int egs_progress(double done)
{
	struct egs_words words;

	if (!(done >= 0 && done <= 1))
		return egs_errf(&last_error, "%g is not from 0 to 1", done);
	if (begin(&words, "progress") < 0)
		return -1;
	egs_flat_int(&words.flat, "ppm", (int64_t)(done * PPM_MAX + 0.5));
	return ask(&words, true);
}

int egs_phase(const char *phase)
{
	struct egs_words words;

	if (begin(&words, "phase") < 0)
		return -1;
	egs_flat_str(&words.flat, "phase", phase);
	return ask(&words, false);
}
