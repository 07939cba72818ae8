/* munge_helper.c - helpers that call munged for the server
 *
 * It runs a munged of its own.
 */
#include <poll.h>
#include <pwd.h>
#include <string.h>

#include "common/ipc/packet.h"
#include "policyd/server/munge_helper.h"
#include "t/lib/unit/munged.h"
#include "t/lib/unit/tap.h"

#define AUDIENCE EGS_CRED_AUDIENCE_PREFIX "test"

enum { WAIT_MS = 60000 };

static struct test_munged munged = { .pid = -1 };
static struct egs_munge_helper helper = { .fd = -1, .child.fd = -1 };
static char *bytes;
static size_t len;
static struct egs_err err;

static struct egs_munge_question ask_to(enum egs_munge_task task,
					const char *text)
{
	return (struct egs_munge_question){
		.conf = { munged.socket, AUDIENCE },
		.task = task,
		.request = { getuid(), 7 },
		.bytes = text,
		.len = strlen(text),
	};
}

/* Wait for the answer of the helper; its value. */
static int wait_answer(void)
{
	int rc;

	do {
		struct pollfd p = { .fd = helper.fd, .events = POLLIN };

		if (poll(&p, 1, WAIT_MS) <= 0)
			return 1;
		rc = egs_munge_helper_read(&helper, &bytes, &len, &err);
	} while (rc > 0);
	return rc;
}

/* Ask, wait for the answer, and release the helper. */
static int ask(const struct egs_munge_question *question)
{
	int rc;

	if (!egs_munge_helper_ask(&helper, 1, question))
		return 2;
	rc = wait_answer();
	egs_munge_helper_release(&helper);
	return rc;
}

static char *encode(const char *text)
{
	const struct egs_cred_conf conf = { munged.socket, AUDIENCE };
	char *cred = NULL;
	uint64_t id;

	egs_cred_encode(&conf, text, strlen(text), &cred, &id, &err);
	return cred;
}

static void test_decode(void)
{
	char *text = encode("who am I");
	struct egs_munge_question q = ask_to(EGS_MUNGE_DECODE, text);
	struct egs_cred cred = { .uid = (uid_t)-1 };

	is_int(ask(&q), 0, "a helper decodes a credential");
	if (bytes && len >= sizeof(cred))
		memcpy(&cred, bytes, sizeof(cred));
	is_int(cred.uid, getuid(), "the answer has the user");
	ok(bytes && len == sizeof(cred) + 8 &&
		   memcmp(bytes + sizeof(cred), "who am I", 8) == 0,
	   "the answer has the payload");
	free(bytes);
	is_int(ask(&q), EGS_CRED_BAD, "a credential is not decoded twice");
	ok(*err.msg, "a failure has a sentence: %s", err.msg);
	free(text);
}

static void test_seal(void)
{
	struct egs_munge_question q = ask_to(EGS_MUNGE_SEAL, "{\"ok\":true}");
	const struct passwd *user = getpwuid(getuid());
	struct egs_sealed_reader reader = {
		.conf = q.conf,
		.slurm_user = user ? user->pw_name : "",
		.id = 7,
	};
	pid_t pid = helper.child.pid;

	is_int(ask(&q), 0, "a helper seals an answer");
	is_int(helper.child.pid, pid, "one helper answers many questions");
	is_int(bytes ? egs_sealed_decode(&reader, bytes + EGS_PACKET_HEAD_SIZE,
					 &err)
		     : -1,
	       0, "the sealed answer is authentic");
	egs_buf_clear(&reader.answer);
	free(bytes);
}

static void test_busy(void)
{
	struct egs_munge_question q = ask_to(EGS_MUNGE_SEAL, "{}");
	pid_t pid = helper.child.pid;

	ok(egs_munge_helper_ask(&helper, 1, &q) != NULL, "a helper is asked");
	ok(!egs_munge_helper_ask(&helper, 1, &q),
	   "a helper has one question at a time");
	egs_munge_helper_release(&helper);
	is_int(helper.fd, -1, "a helper whose answer nobody read is stopped");
	is_int(ask(&q), 0, "the next question starts a helper");
	ok(helper.child.pid != pid, "that helper is another process");
	free(bytes);
}

static void test_limits(void)
{
	static char text[100000];
	struct egs_munge_question q;

	memset(text, 'x', sizeof(text) - 1);
	q = ask_to(EGS_MUNGE_SEAL, text);
	is_int(ask(&q), 2, "a helper takes no long question");
}

static void test_killed(void)
{
	struct egs_munge_question q = ask_to(EGS_MUNGE_SEAL, "{}");

	kill(helper.child.pid, SIGKILL);
	waitid(P_PID, (id_t)helper.child.pid, NULL, WEXITED | WNOWAIT);
	if (egs_munge_helper_ask(&helper, 1, &q)) {
		is_int(wait_answer(), -1,
		       "a helper that was killed is noticed");
		egs_munge_helper_release(&helper);
	} else {
		ok(helper.fd < 0, "a helper that was killed is noticed");
	}
	is_int(ask(&q), 0, "another helper replaces the one that was killed");
	free(bytes);
}

static void test_no_munged(void)
{
	struct egs_munge_question q = ask_to(EGS_MUNGE_SEAL, "{}");

	egs_munge_helper_stop(&helper);
	helper.munge_socket = "/nonexistent/munged";
	is_int(ask(&q), EGS_CRED_NO_MUNGED,
	       "a helper tells that munged does not answer: %s", err.msg);
}

int main(void)
{
	plan_none();
	if (!ok(test_munged_start(&munged), "munged runs"))
		return done_testing();
	helper.munge_socket = munged.socket;
	is_int(egs_munge_helper_start(&helper, &err), 0, "a helper starts %s",
	       err.msg);
	test_decode();
	test_seal();
	test_busy();
	test_limits();
	test_killed();
	test_no_munged();
	egs_munge_helper_stop(&helper);
	egs_munge_helper_stop(&helper);
	is_int(helper.fd, -1, "a helper that is stopped twice stays stopped");
	test_munged_end(&munged);
	return done_testing();
}
