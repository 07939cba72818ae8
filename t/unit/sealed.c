/* sealed.c - answers over TCP: only those of the daemon, to this request, count
 *
 * It runs a munged of its own, and children with another uid.
 */
#include <pwd.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/fd.h"
#include "common/ipc/msg.h"
#include "common/ipc/munge_call.h"
#include "common/ipc/packet.h"
#include "common/ipc/sealed.h"
#include "common/ipc/trust.h"
#include "t/lib/unit/munged.h"
#include "t/lib/unit/tap.h"

#define AUDIENCE EGS_CRED_AUDIENCE_PREFIX "test"
#define ID	 UINT64_C(0x0123456789abcdef)
#define OTHER	 65534

static struct test_munged munged = { .pid = -1 };

static struct egs_sealed_reader new_reader(const char *slurm_user)
{
	return (struct egs_sealed_reader){
		.conf = { munged.socket, AUDIENCE },
		.slurm_user = slurm_user,
		.id = ID,
	};
}

/* Take the next packet out of 'in', as a string to free; NULL: none. */
static char *take_packet(struct egs_buf *in)
{
	size_t len = in->used ? egs_packet_get_head(in->bytes) : 0;
	char *text =
		len ? strndup(in->bytes + EGS_PACKET_HEAD_SIZE, len) : NULL;

	if (text)
		egs_buf_consume(in, EGS_PACKET_HEAD_SIZE + len);
	return text;
}

/* Decode all packets; the result of the last. */
static int read_all(struct egs_sealed_reader *reader, struct egs_buf *in,
		    int *parts, struct egs_err *err)
{
	char *text;
	int rc = 0;

	*parts = 0;
	while (rc == 0 && (text = take_packet(in))) {
		rc = egs_sealed_decode(reader, text, err);
		*parts += 1;
		free(text);
	}
	return rc;
}

static void test_round_trip(size_t len, int want_parts, const char *what)
{
	const struct egs_cred_conf conf = { munged.socket, AUDIENCE };
	const struct egs_sealed_request request = { geteuid(), ID };
	struct egs_sealed_reader reader = new_reader("root");
	struct egs_buf out = { .bytes = NULL };
	struct egs_err err = { "" };
	char *bytes = malloc(len + 1);
	int parts = 0;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)('a' + i % 23);
	is_int(egs_sealed_encode(&conf, &request, 0, false, bytes, len, &out,
				 &err),
	       0, "%s is sealed %s", what, err.msg);
	is_int(read_all(&reader, &out, &parts, &err), 0, "%s is opened %s",
	       what, err.msg);
	is_int(parts, want_parts, "%s has this number of parts", what);
	ok(reader.complete && reader.answer.used == len &&
		   memcmp(reader.answer.bytes, bytes, len) == 0,
	   "%s is complete and the same", what);
	ok(reader.uid == geteuid(), "%s has the uid of the daemon", what);
	egs_buf_clear(&out);
	egs_buf_clear(&reader.answer);
	free(bytes);
}

/* A credential of any payload, made by 'by' for 'only_for'; to free. */
static char *make_as(uid_t by, uid_t only_for, const char *payload)
{
	struct egs_err err = { "" };
	char *text = NULL;
	struct egs_buf got = { .bytes = NULL };
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		if ((by && setuid(by) < 0) ||
		    egs_munge_call_encode(munged.socket, only_for, payload,
					  strlen(payload), &text, &err) < 0)
			_exit(1);
		egs_write_all(fds[1], text, strlen(text) + 1);
		_exit(0);
	}
	close(fds[1]);
	egs_buf_read_fd(&got, fds[0], 1 << 20);
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return got.bytes;
}

#define HEAD "egs-answer " AUDIENCE " 0123456789abcdef "

static void test_refusals(void)
{
	static const struct {
		const char *what;
		uid_t by, only_for;
		const char *payload, *why;
	} rows[] = {
		{ "an answer of an ordinary user", OTHER, 0, HEAD "0 .\n{}",
		  "it is of uid 65534, not of root or SlurmUser 4711 (uid "
		  "4711)" },
		{ "an answer of an ordinary user for all", OTHER,
		  EGS_MUNGE_ANY_UID, HEAD "0 .\n{}",
		  "it is of uid 65534, not of root or SlurmUser 4711 (uid "
		  "4711)" },
		{ "an answer that anybody can decode", 0, EGS_MUNGE_ANY_UID,
		  HEAD "0 .\n{}", "its credential is not only for uid 0" },
		{ "an answer for another user", 0, OTHER, HEAD "0 .\n{}",
		  NULL },
		{ "an answer to another request", 0, 0,
		  "egs-answer " AUDIENCE " 0123456789abcdee 0 .\n{}",
		  "it belongs to another request" },
		{ "an answer of another cluster", 0, 0,
		  "egs-answer " AUDIENCE "2 0123456789abcdef 0 .\n{}",
		  "it is of another daemon than " AUDIENCE },
		{ "an answer that starts with its second part", 0, 0,
		  HEAD "1 .\n{}", "part 0 is missing" },
		{ "an answer without a mark", 0, 0, HEAD "0 {}",
		  "its credential has no answer" },
		{ "an answer whose head is cut", 0, 0, HEAD "0 .",
		  "its credential has no answer" },
		{ "a request that is sent back", 0, 0,
		  "egs2 " AUDIENCE " 0123456789abcdef\n{\"ok\":true}",
		  "its credential has no answer" },
		{ "an empty credential", 0, 0, "",
		  "its credential has no answer" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct egs_sealed_reader reader = new_reader("4711");
		struct egs_err err = { "" };
		char *text =
			make_as(rows[i].by, rows[i].only_for, rows[i].payload);

		is_int(egs_sealed_decode(&reader, text, &err), EGS_CRED_BAD,
		       "%s is refused: %s", rows[i].what, err.msg);
		if (rows[i].why)
			is_str(err.msg, rows[i].why,
			       "the refusal of %s names the reason",
			       rows[i].what);
		is_int((intmax_t)reader.answer.used, 0, "nothing of %s is kept",
		       rows[i].what);
		egs_buf_clear(&reader.answer);
		free(text);
	}
}

static void test_broken(void)
{
	struct egs_sealed_reader reader = new_reader("root");
	struct egs_err err = { "" };
	char *text = make_as(0, 0, HEAD "0 +\n{}");
	char *cut = strdup(text);

	cut[strlen(cut) / 2] = '\0';
	is_int(egs_sealed_decode(&reader, cut, &err), EGS_CRED_BAD,
	       "a truncated answer is refused: %s", err.msg);
	is_int(egs_sealed_decode(&reader, "{\"ok\":true}", &err), EGS_CRED_BAD,
	       "an answer that is no credential is refused: %s", err.msg);
	is_int(egs_sealed_decode(&reader, text, &err), 0,
	       "a valid part is accepted after refused ones %s", err.msg);
	ok(!reader.complete, "an answer with more parts is not complete");
	is_int(egs_sealed_decode(&reader, text, &err), EGS_CRED_BAD,
	       "a replayed part is refused");
	is_str(err.msg, "Replayed credential",
	       "the refusal of a replayed part names the reason");
	egs_buf_clear(&reader.answer);
	free(text);
	free(cut);
}

static void test_oversize(void)
{
	struct egs_sealed_reader reader = new_reader("root");
	struct egs_err err = { "" };
	char *text = make_as(0, 0, HEAD "0 .\n{}");

	/* As if so many bytes had come before. */
	reader.answer.used = EGS_MSG_ANSWER_MAX - 1;
	is_int(egs_sealed_decode(&reader, text, &err), EGS_CRED_BAD,
	       "an answer that is too long is refused");
	is_str(err.msg, "it has more than 67108864 bytes",
	       "the refusal of a long answer names the limit");
	free(text);
}

static void test_slurm_user(void)
{
	struct egs_sealed_reader reader = new_reader("65534");
	struct egs_err err = { "" };
	char *text = make_as(OTHER, 0, HEAD "0 .\n{}");
	const struct passwd *entry = getpwuid(OTHER);

	is_int(egs_sealed_decode(&reader, text, &err), 0,
	       "an answer of SlurmUser is accepted %s", err.msg);
	is_int(reader.uid, OTHER, "an answer of SlurmUser has its uid");
	egs_buf_clear(&reader.answer);
	free(text);
	is_int(egs_trust_check(0, NULL, &err), 0,
	       "root is trusted if SlurmUser is unknown");
	is_int(egs_trust_check(OTHER, "", &err), -1,
	       "only root is trusted if SlurmUser is unknown");
	is_str(err.msg,
	       "it is of uid 65534, and without SlurmUser of slurm.conf only "
	       "root is trusted",
	       "a refusal says that SlurmUser is unknown");
	is_int(egs_trust_check(OTHER, "no-such-user", &err), -1,
	       "only root is trusted if SlurmUser is no user of the host");
	is_str(err.msg,
	       "it is of uid 65534, and SlurmUser no-such-user is no user of "
	       "this host, so only root is trusted",
	       "a refusal names the SlurmUser that is no user");
	is_int(egs_trust_check(OTHER, "4294967295", &err), -1,
	       "the uid that means nobody is not trusted");
	is_int(egs_trust_find_uid("65534"), OTHER, "a user may be a number");
	is_int(egs_trust_find_uid("root"), 0, "a user may be a name");
	ok(egs_trust_find_uid("") == (uid_t)-1 &&
		   egs_trust_find_uid("7x") == (uid_t)-1,
	   "other texts are no user");
	if (entry)
		is_int(egs_trust_check(OTHER, entry->pw_name, &err), 0,
		       "SlurmUser may be a name");
}

static void test_down(void)
{
	const struct egs_cred_conf conf = { "/nonexistent/munged", AUDIENCE };
	const struct egs_sealed_request request = { 0, ID };
	struct egs_sealed_reader reader = new_reader("root");
	struct egs_buf out = { .bytes = NULL };
	struct egs_err err = { "" };
	char *text = make_as(0, 0, HEAD "0 .\n{}");

	is_int(egs_sealed_encode(&conf, &request, 0, false, "{}", 2, &out,
				 &err),
	       EGS_CRED_NO_MUNGED, "without munged no answer is sealed");
	reader.conf.munge_socket = "/nonexistent/munged";
	is_int(egs_sealed_decode(&reader, text, &err), EGS_CRED_NO_MUNGED,
	       "without munged no answer is opened");
	egs_buf_clear(&out);
	free(text);
}

int main(void)
{
	plan_none();
	if (geteuid() != 0) {
		ok(1, "# SKIP needs root, to have two users");
		return done_testing();
	}
	if (!ok(test_munged_start(&munged), "munged runs"))
		return done_testing();
	test_round_trip(0, 1, "an empty answer");
	test_round_trip(1000, 1, "a short answer");
	test_round_trip(EGS_SEALED_PART_MAX, 1, "an answer of one full part");
	test_round_trip(2 * EGS_SEALED_PART_MAX + 7, 3, "a long answer");
	test_refusals();
	test_broken();
	test_oversize();
	test_slurm_user();
	test_down();
	test_munged_end(&munged);
	return done_testing();
}
