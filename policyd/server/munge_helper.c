/* munge_helper.c - processes that call munged for the server, again and again
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/fd.h"
#include "policyd/server/munge_helper.h"

enum {
	/* The socket takes that much at once. */
	QUESTION_MAX = 64 << 10,
	ANSWER_MAX = 1 << 20,
	READ_SIZE = 16 << 10,
};

/* Before the bytes of a question.  The socket of munged does not change while
 * the server runs, so the helper has it.
 */
struct question_head {
	enum egs_munge_task task;
	struct egs_sealed_request request;
	char audience[EGS_CRED_AUDIENCE_MAX];
	size_t len;
};

/* Before the bytes of an answer, or the sentence of its failure. */
struct answer_head {
	int rc;
	size_t len;
};

/* ---- questions ---- */

static int decode_cred(const struct egs_munge_question *q, char **bytes,
		       size_t *len, struct egs_err *err)
{
	struct egs_cred cred;
	int rc = egs_cred_decode(&q->conf, q->bytes, &cred, err);

	if (rc < 0)
		return rc;
	*len = sizeof(cred) + cred.len;
	*bytes = malloc(*len);
	if (!*bytes)
		return egs_errf(err, "out of memory");
	memcpy(*bytes, &cred, sizeof(cred));
	memcpy(*bytes + sizeof(cred), cred.payload, cred.len);
	egs_cred_clear(&cred);
	return 0;
}

static int seal_answer(const struct egs_munge_question *q, char **bytes,
		       size_t *len, struct egs_err *err)
{
	struct egs_buf out = { .bytes = NULL };
	int rc = egs_sealed_encode(&q->conf, &q->request, 0, false, q->bytes,
				   q->len, &out, err);

	*bytes = out.bytes;
	*len = out.used;
	return rc;
}

int egs_munge_answer(const void *arg, char **bytes, size_t *len,
		     struct egs_err *err)
{
	const struct egs_munge_question *q = arg;

	return q->task == EGS_MUNGE_DECODE ? decode_cred(q, bytes, len, err)
					   : seal_answer(q, bytes, len, err);
}

/* ---- in the helper ---- */

static int send_answer(int fd, const struct egs_munge_question *q)
{
	struct answer_head head = { .rc = 0 };
	struct egs_err err = { "" };
	char *bytes = NULL;
	int rc;

	head.rc = egs_munge_answer(q, &bytes, &head.len, &err);
	if (head.rc < 0)
		head.len = strlen(err.msg);
	rc = egs_write_all(fd, &head, sizeof(head));
	if (rc == 0)
		rc = egs_write_all(fd, head.rc < 0 ? err.msg : bytes, head.len);
	free(bytes);
	return rc;
}

static int serve_question(int fd, const char *munge_socket, char *buffer)
{
	struct question_head head;
	struct egs_munge_question q;

	if (egs_read_all(fd, &head, sizeof(head)) != sizeof(head) ||
	    egs_read_all(fd, buffer, head.len) != (ssize_t)head.len)
		return -1;
	buffer[head.len] = '\0';
	q = (struct egs_munge_question){
		.conf = { .munge_socket = munge_socket,
			  .audience = head.audience },
		.task = head.task,
		.request = head.request,
		.bytes = buffer,
		.len = head.len,
	};
	return send_answer(fd, &q);
}

struct helper_args {
	int fd;
	const char *munge_socket;
};

/* The files of the server are not the helper's: a client must notice at once
 * that the daemon has closed its connection.
 */
static int run_helper(const void *arg, char **bytes, size_t *len,
		      struct egs_err *err)
{
	const struct helper_args *args = arg;
	static char buffer[QUESTION_MAX + 1];

	(void)bytes;
	(void)len;
	prctl(PR_SET_NAME, "egs-munge");
	egs_close_others(args->fd);
	while (serve_question(args->fd, args->munge_socket, buffer) == 0)
		;
	return egs_errf(err, "the daemon has ended");
}

/* ---- in the daemon ---- */

int egs_munge_helper_start(struct egs_munge_helper *helper, struct egs_err *err)
{
	struct helper_args args = { .munge_socket = helper->munge_socket };
	int fd[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
		return egs_errf(err, "socketpair: %s", strerror(errno));
	args.fd = fd[1];
	rc = egs_child_start(&helper->child, run_helper, &args, err);
	close(fd[1]);
	if (rc < 0)
		close(fd[0]);
	else
		helper->fd = fd[0];
	return rc;
}

void egs_munge_helper_stop(struct egs_munge_helper *helper)
{
	if (helper->fd < 0)
		return;
	close(helper->fd);
	helper->fd = -1;
	egs_child_stop(&helper->child);
	helper->child.fd = -1;
	egs_buf_clear(&helper->in);
	helper->is_busy = false;
}

/* Nothing is in the socket of a helper without a question. */
static int send_question(const struct egs_munge_helper *helper,
			 const struct egs_munge_question *q)
{
	struct question_head head = { .task = q->task,
				      .request = q->request,
				      .len = q->len };
	struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ (void *)q->bytes, q->len },
	};
	const struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };

	memcpy(head.audience, q->conf.audience, strlen(q->conf.audience) + 1);
	return sendmsg(helper->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) ==
			       (ssize_t)(sizeof(head) + q->len)
		       ? 0
		       : -1;
}

struct egs_munge_helper *
egs_munge_helper_ask(struct egs_munge_helper *helpers, size_t n,
		     const struct egs_munge_question *question)
{
	struct egs_munge_helper *helper = NULL;

	if (question->len > QUESTION_MAX ||
	    strlen(question->conf.audience) >= EGS_CRED_AUDIENCE_MAX)
		return NULL;
	for (size_t i = 0; i < n && !helper; i++)
		if (!helpers[i].is_busy)
			helper = &helpers[i];
	if (!helper ||
	    (helper->fd < 0 && egs_munge_helper_start(helper, NULL) < 0))
		return NULL;
	if (send_question(helper, question) < 0) {
		egs_munge_helper_stop(helper);
		return NULL;
	}
	helper->is_busy = true;
	return helper;
}

static bool is_complete(const struct egs_munge_helper *helper,
			struct answer_head *head)
{
	if (helper->in.used < sizeof(*head))
		return false;
	memcpy(head, helper->in.bytes, sizeof(*head));
	return helper->in.used - sizeof(*head) >= head->len;
}

static int take_answer(const struct egs_munge_helper *helper,
		       const struct answer_head *head, char **bytes,
		       size_t *len, struct egs_err *err)
{
	const char *text = helper->in.bytes + sizeof(*head);

	if (head->rc < 0) {
		egs_errf(err, "%.*s", (int)head->len, text);
		return head->rc;
	}
	*bytes = malloc(head->len + 1);
	if (!*bytes)
		return egs_errf(err, "out of memory");
	memcpy(*bytes, text, head->len);
	(*bytes)[head->len] = '\0';
	*len = head->len;
	return 0;
}

int egs_munge_helper_read(struct egs_munge_helper *helper, char **bytes,
			  size_t *len, struct egs_err *err)
{
	struct answer_head head;

	*bytes = NULL;
	while (!is_complete(helper, &head)) {
		char *room = egs_buf_reserve(&helper->in, READ_SIZE);
		ssize_t n = room && helper->in.used < ANSWER_MAX
				    ? recv(helper->fd, room, READ_SIZE,
					   MSG_DONTWAIT)
				    : 0;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 1;
		if (n <= 0)
			return egs_errf(err, "the process that calls munged "
					     "has ended");
		helper->in.used += (size_t)n;
	}
	return take_answer(helper, &head, bytes, len, err);
}

void egs_munge_helper_release(struct egs_munge_helper *helper)
{
	struct answer_head head;

	if (!is_complete(helper, &head)) {
		egs_munge_helper_stop(helper);
		return;
	}
	egs_buf_clear(&helper->in);
	helper->is_busy = false;
}
