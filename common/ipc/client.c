/* client.c - send one request to the daemon, within a deadline
 *
 * poll() waits for sockets, for the remaining time.  A call over TCP runs in a
 * child process, because munged and name servers ignore our deadline.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/ipc/client.h"
#include "common/ipc/connect.h"
#include "common/ipc/packet.h"

/* A request on its way. */
struct call {
	const struct egs_endpoint *endpoint;
	const char *text; /* the request */
	size_t len;
	uint64_t deadline_ms; /* of egs_now_ms() */
	int timeout_ms;
};

static int fail_unreachable(const struct call *call, const char *why,
			    struct egs_err *err)
{
	egs_errf(err, "egs-policyd at %s: %s", call->endpoint->address, why);
	return EGS_CLIENT_UNREACHABLE;
}

static int fail_timeout(const struct call *call, struct egs_err *err)
{
	egs_errf(err, "egs-policyd at %s: no answer within %d.%03d s",
		 call->endpoint->address, call->timeout_ms / 1000,
		 call->timeout_ms % 1000);
	return EGS_CLIENT_UNREACHABLE;
}

static int wait_for_fd(const struct call *call, int fd, short events,
		       struct egs_err *err)
{
	if (egs_connect_wait_fd(fd, events, call->deadline_ms) == 0)
		return 0;
	return errno == ETIMEDOUT
		       ? fail_timeout(call, err)
		       : fail_unreachable(call, strerror(errno), err);
}

static int send_all(const struct call *call, int fd, const char *bytes,
		    size_t len, struct egs_err *err)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (errno != EAGAIN && errno != EINTR) {
			return fail_unreachable(call, strerror(errno), err);
		} else if (wait_for_fd(call, fd, POLLOUT, err) < 0) {
			return EGS_CLIENT_UNREACHABLE;
		}
	}
	return 0;
}

static int receive_all(const struct call *call, int fd, char *bytes, size_t len,
		       struct egs_err *err)
{
	while (len > 0) {
		ssize_t n;

		if (wait_for_fd(call, fd, POLLIN, err) < 0)
			return EGS_CLIENT_UNREACHABLE;
		n = recv(fd, bytes, len, MSG_DONTWAIT);
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (n == 0) {
			return fail_unreachable(
				call, "connection closed without an answer",
				err);
		} else if (errno != EAGAIN && errno != EINTR) {
			return fail_unreachable(call, strerror(errno), err);
		}
	}
	return 0;
}

/* Send a packet and receive one: malloc'ed '*bytes'. */
static int exchange_packets(const struct call *call, int fd, const char *text,
			    size_t text_len, char **bytes, size_t *len,
			    struct egs_err *err)
{
	char head[EGS_PACKET_HEAD_SIZE];

	egs_packet_put_head(head, text_len);
	if (send_all(call, fd, head, sizeof(head), err) < 0 ||
	    send_all(call, fd, text, text_len, err) < 0 ||
	    receive_all(call, fd, head, sizeof(head), err) < 0)
		return EGS_CLIENT_UNREACHABLE;
	*len = egs_packet_get_head(head);
	if (*len > EGS_MSG_ANSWER_MAX)
		return fail_unreachable(call, "invalid answer", err);
	*bytes = malloc(*len + 1);
	if (!*bytes)
		return fail_unreachable(call, "out of memory", err);
	return receive_all(call, fd, *bytes, *len, err);
}

static int call_unix(const struct call *call, char **bytes, size_t *len,
		     struct egs_err *err)
{
	int fd = egs_connect_unix(call->endpoint->address, call->deadline_ms),
	    rc;

	if (fd < 0)
		return fail_unreachable(call, strerror(errno), err);
	rc = exchange_packets(call, fd, call->text, call->len, bytes, len, err);
	close(fd);
	return rc;
}

/* This runs in the child and may block; the parent watches the deadline. */
static int call_tcp(const void *arg, char **bytes, size_t *len,
		    struct egs_err *err)
{
	const struct call *call = arg;
	struct egs_err why;
	char *cred = NULL;
	int fd, rc;

	if (egs_cred_encode(&call->endpoint->cred, call->text, call->len, &cred,
			    &why) < 0)
		return fail_unreachable(call, why.msg, err);
	fd = egs_connect_hosts(call->endpoint->address, call->deadline_ms,
			       &why);
	rc = fd < 0 ? fail_unreachable(call, why.msg, err)
		    : exchange_packets(call, fd, cred, strlen(cred), bytes, len,
				       err);
	if (fd >= 0)
		close(fd);
	free(cred);
	return rc;
}

static int call_in_child(const struct call *call, char **bytes, size_t *len,
			 struct egs_err *err)
{
	struct egs_child child;
	struct egs_err why;
	int rc = 1;

	if (egs_child_start(&child, call_tcp, call, &why) < 0)
		return fail_unreachable(call, why.msg, err);
	while (rc == 1) {
		rc = wait_for_fd(call, child.fd, POLLIN, err);
		if (rc == 0)
			rc = egs_child_read(&child, err);
	}
	if (rc == 0) {
		*bytes = child.bytes;
		*len = child.len;
		child.bytes = NULL;
	}
	egs_child_stop(&child);
	return rc < 0 ? EGS_CLIENT_UNREACHABLE : 0;
}

static int parse_answer(const struct call *call, const char *bytes, size_t len,
			struct egs_msg **answer, struct egs_err *err)
{
	struct egs_err why = { "invalid answer" };
	struct egs_msg *msg =
		egs_msg_parse(bytes, len, EGS_MSG_ANSWER_MAX, &why);
	int rc;

	if (msg && egs_msg_is_true(msg, "ok")) {
		*answer = msg;
		return 0;
	}
	if (msg && egs_msg_get_str(msg, "error"))
		rc = egs_errf(err, "%s", egs_msg_get_str(msg, "error"));
	else
		rc = fail_unreachable(call, why.msg, err);
	if (rc == EGS_CLIENT_REFUSED && egs_msg_is_true(msg, "again"))
		rc = EGS_CLIENT_RETRY;
	egs_msg_free(msg);
	return rc;
}

/* Prepare a call; -1 if its request is too long. */
static int prepare_call(struct call *call, const struct egs_endpoint *endpoint,
			const struct egs_msg *request, int timeout_ms,
			struct egs_err *err)
{
	*call = (struct call){ .endpoint = endpoint, .timeout_ms = timeout_ms };
	call->deadline_ms = egs_now_ms() + (uint64_t)timeout_ms;
	call->text = egs_msg_to_text(request, &call->len);
	if (!call->text || call->len > EGS_MSG_REQUEST_MAX)
		return egs_errf(err, "the request is too long");
	return 0;
}

int egs_client_start(struct egs_child *child,
		     const struct egs_endpoint *endpoint,
		     const struct egs_msg *request, int timeout_ms,
		     struct egs_err *err)
{
	struct call call;

	*child = (struct egs_child){ .fd = -1 };
	if (prepare_call(&call, endpoint, request, timeout_ms, err) < 0)
		return -1;
	return egs_child_start(child, call_tcp, &call, err);
}

int egs_client_receive(struct egs_child *child,
		       const struct egs_endpoint *endpoint,
		       struct egs_msg **answer, struct egs_err *err)
{
	const struct call call = { .endpoint = endpoint };
	int rc = egs_child_read(child, err);

	if (rc > 0)
		return rc;
	return rc == 0 ? parse_answer(&call, child->bytes, child->len, answer,
				      err)
		       : EGS_CLIENT_UNREACHABLE;
}

int egs_client_call(const struct egs_endpoint *endpoint,
		    const struct egs_msg *request, struct egs_msg **answer,
		    int timeout_ms, struct egs_err *err)
{
	char *bytes = NULL;
	struct call call;
	size_t len = 0;
	int rc;

	if (prepare_call(&call, endpoint, request, timeout_ms, err) < 0)
		return -1;
	if (strchr(endpoint->address, '/'))
		rc = call_unix(&call, &bytes, &len, err);
	else
		rc = call_in_child(&call, &bytes, &len, err);
	if (rc == 0)
		rc = parse_answer(&call, bytes, len, answer, err);
	free(bytes);
	return rc;
}
