/* base.c - growing arrays, checksums, lists, text, whole reads and writes */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/fd.h"
#include "common/base/hash.h"
#include "common/base/list.h"
#include "common/base/text.h"
#include "t/lib/unit/tap.h"

static void test_grow(void)
{
	uint32_t *list = NULL, room = 0, n;
	void *before;

	for (n = 0; n < 1000; n++) {
		if (egs_grow(&list, &room, n + 1) < 0)
			break;
		list[n] = n;
	}
	ok(n == 1000 && room >= 1000 && room < 2000,
	   "an array grows by appending, with room for at most twice as many");
	ok(list[0] == 0 && list[500] == 500 && list[999] == 999,
	   "elements keep their values when the array grows");
	before = list;
	is_int(egs_grow(&list, &room, 17), 0, "a smaller wish succeeds");
	ok(list == before && room >= 1000, "a smaller wish changes nothing");
	n = room;
	is_int(egs_grow(&list, &room, 5000), 0, "an array grows at one go");
	ok(room >= 5000 && list[n] == 0 && list[4999] == 0,
	   "new elements are zero");
	before = list;
	n = room;
	is_int(egs_grow(&list, &room, SIZE_MAX / 2), -1,
	       "more elements than memory has are refused");
	is_int(egs_grow(&list, &room, UINT32_MAX), -1,
	       "more elements than a 32-bit room counts are refused");
	ok(list == before && room == n, "a refusal leaves the array as it was");
	free(list);
}

static void test_grow_size(void)
{
	struct {
		char bytes[24];
	} *list = NULL;
	size_t room = 0;

	is_int(egs_grow(&list, &room, 1), 0, "a room may be a size_t");
	ok(room >= 1, "a new array has room");
	is_int(egs_grow(&list, &room, SIZE_MAX / 24 + 1), -1,
	       "a size that overflows is refused");
	free(list);
}

static void test_sub(void)
{
	is_int(egs_sub(7, 3), 4, "egs_sub() subtracts");
	is_int(egs_sub(3, 7), 0, "egs_sub() stops at zero");
}

static void test_hash(void)
{
	ok(egs_hash(EGS_HASH_START, "foobar", 6) ==
		   UINT64_C(0x85944171f73967e8),
	   "a hash of bytes is FNV-1a");
	ok(egs_hash_text(egs_hash_text(EGS_HASH_START, "ab"), "c") !=
		   egs_hash_text(egs_hash_text(EGS_HASH_START, "a"), "bc"),
	   "a hash of two strings depends on where the first ends");
	ok(egs_hash_text(1, NULL) == egs_hash_text(1, ""),
	   "NULL has the hash of an empty string");
	ok(egs_hash_u64(1, UINT64_C(1) << 60) << 32 !=
		   egs_hash_u64(1, UINT64_C(1) << 61) << 32,
	   "high bits of a number change the low half of its hash");
}

static void test_list(void)
{
	static const struct {
		const char *list, *elements;
	} rows[] = {
		{ "a,b,c", "[a][b][c]" },
		{ "abc", "[abc]" },
		{ "a,,b", "[a][][b]" },
		{ "a,", "[a]" },
		{ ",a", "[][a]" },
		{ "", "" },
		{ NULL, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *list = rows[i].list, *element;
		struct egs_text got = { "" };
		size_t len;

		while ((element = egs_list_next(&list, &len)))
			egs_text_append(&got, "[%.*s]", (int)len, element);
		is_str(got.text, rows[i].elements, "elements of '%s'",
		       rows[i].list ? rows[i].list : "(null)");
	}
	ok(egs_list_has("gpu1,gpu22", "gpu22"), "a list has its last element");
	ok(!egs_list_has("gpu1,gpu22", "gpu2"),
	   "a list does not have the start of an element");
	ok(!egs_list_has(NULL, "gpu2"), "NULL is an empty list");
}

static void test_text(void)
{
	struct egs_text text = { "" };
	char big[600];

	is_str(egs_textf(&text, "job %d", 7), "job 7", "a text is formatted");
	is_str(egs_textf(&text, "[%s]", text.text), "[job 7]",
	       "a text may be part of its own replacement");
	is_str(egs_text_append(&text, ", %s", text.text), "[job 7], [job 7]",
	       "a text may be appended to itself");
	is_str(egs_textf(&text, "a\nb"), "a?b",
	       "a control character is shown as '?'");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	egs_text_append(&text, "%s", big);
	is_int((int)strlen(text.text), EGS_TEXT_MAX - 1, "a text is cut");
	is_int((int)strlen(egs_text_append(&text, "more")), EGS_TEXT_MAX - 1,
	       "a full text stays as it is");
}

static void test_fd(void)
{
	char text[16] = "";
	struct egs_buf buf = { .used = 0 };
	int fd[2];

	if (!ok(pipe(fd) == 0, "there is a pipe"))
		return;
	is_int(egs_write_all(fd[1], "hello world", 11), 0,
	       "all bytes are written");
	is_int(egs_read_all(fd[0], text, 5), 5,
	       "a read ends when the buffer is full");
	close(fd[1]);
	is_int(egs_buf_read_fd(&buf, fd[0], 100), 0,
	       "a buffer reads until the end of the file");
	ok(buf.used == 6 && memcmp(buf.bytes, " world", 6) == 0,
	   "a buffer has the bytes of the file");
	is_int(egs_buf_read_fd(&buf, fd[0], 6), 1,
	       "a buffer that is at its limit reads nothing");
	is_int(egs_read_all(fd[0], text, sizeof(text)), 0,
	       "a read at the end of a file has no bytes");
	close(fd[0]);
	egs_buf_clear(&buf);
	is_int(egs_read_all(-1, text, sizeof(text)), -1, "a read can fail");
	is_int(errno, EBADF, "a failed read sets errno");
	is_int(egs_write_all(-1, "x", 1), -1, "a write can fail");
}

/* Lock the file in another process, which forks a child and waits.  Returns
 * when both run; the pids are in 'pid'.
 */
static void lock_elsewhere(const char *path, pid_t pid[2])
{
	int ready[2];

	if (pipe(ready) < 0)
		return;
	pid[0] = fork();
	if (pid[0] == 0) {
		int fd = open(path, O_RDWR | O_CLOEXEC);
		pid_t child = egs_lock_file(fd) == 0 ? fork() : -1;

		if (child != 0)
			egs_write_all(ready[1], &child, sizeof(child));
		for (;;)
			pause();
	}
	egs_read_all(ready[0], &pid[1], sizeof(pid[1]));
	close(ready[0]);
	close(ready[1]);
}

static void test_lock(void)
{
	char path[] = "/tmp/egs-base-XXXXXX";
	int fd = mkstemp(path);
	pid_t pid[2] = { -1, -1 };

	lock_elsewhere(path, pid);
	ok(pid[1] > 0, "a file that nobody uses is locked");
	is_int(egs_lock_file(fd), -1, "a file is locked once");
	is_int(errno, EWOULDBLOCK, "a failed lock sets errno");
	kill(pid[0], SIGKILL);
	waitpid(pid[0], NULL, 0);
	is_int(egs_lock_file(fd), 0,
	       "the child of a killed process does not keep its lock");
	kill(pid[1], SIGKILL);
	close(fd);
	unlink(path);
}

static void test_clock(void)
{
	uint64_t before = egs_now_ms();

	ok(before > 0 && egs_now_ms() - before < 60000,
	   "the steady clock counts milliseconds");
}

int main(void)
{
	plan_none();
	test_grow();
	test_grow_size();
	test_sub();
	test_hash();
	test_list();
	test_text();
	test_fd();
	test_lock();
	test_clock();
	return done_testing();
}
