/* client.c - send one request to the daemon, within a deadline
 *
 * poll() waits for sockets, for the remaining time.  A call over TCP runs in a
 * child process, because munged and name servers ignore our deadline.  The
 * child checks the answer, and writes the uid of the daemon before it.
 */
#include "egs_config.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/ipc/client.h"
#include "common/ipc/connect.h"
#include "common/ipc/packet.h"
#include "common/ipc/sealed.h"
#include "common/ipc/trust.h"

enum {
	BUSY_PAUSE_MS = 20,
	BUSY_PAUSE_MAX_MS = 200,
	CLOSED_MAX = 5,	     /* tries of a host that closes connections */
	CLOSED_EARLY = -100, /* before the request was sent */
};

/* A request on its way. */
struct call {
	const struct egs_endpoint *endpoint;
	const char *at; /* the host in use, or the whole address */
	size_t at_len;
	const char *text; /* the request */
	size_t len;
	uint64_t deadline_ms; /* of egs_now_ms() */
	int timeout_ms;
};

static int fail_unreachable(const struct call *call, const char *why,
			    struct egs_err *err)
{
	egs_errf(err, "egs-policyd at %.*s: %s", (int)call->at_len, call->at,
		 why);
	return EGS_CLIENT_UNREACHABLE;
}

static int fail_forged(const struct call *call, const char *why,
		       struct egs_err *err)
{
	egs_errf(err, "egs-policyd at %.*s: the answer is not authentic: %s",
		 (int)call->at_len, call->at, why);
	return EGS_CLIENT_FORGED;
}

static int fail_timeout(const struct call *call, struct egs_err *err)
{
	egs_errf(err, "egs-policyd at %.*s: no answer within %d.%03d s",
		 (int)call->at_len, call->at, call->timeout_ms / 1000,
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

/* Send it in one piece: the daemon drops clients that send half a request. */
static int send_packet(const struct call *call, int fd, const char *text,
		       size_t len, struct egs_err *err)
{
	char *packet = malloc(EGS_PACKET_HEAD_SIZE + len);
	int rc;

	if (!packet)
		return fail_unreachable(call, "out of memory", err);
	egs_packet_put_head(packet, len);
	memcpy(packet + EGS_PACKET_HEAD_SIZE, text, len);
	rc = send_all(call, fd, packet, EGS_PACKET_HEAD_SIZE + len, err);
	free(packet);
	return rc;
}

/* Receive a packet of at most 'max' bytes: malloc'ed '*bytes', with a NUL. */
static int receive_packet(const struct call *call, int fd, size_t max,
			  char **bytes, size_t *len, struct egs_err *err)
{
	char head[EGS_PACKET_HEAD_SIZE];

	if (receive_all(call, fd, head, sizeof(head), err) < 0)
		return EGS_CLIENT_UNREACHABLE;
	*len = egs_packet_get_head(head);
	if (*len > max)
		return fail_forged(call, "its length is not valid", err);
	*bytes = malloc(*len + 1);
	if (!*bytes)
		return fail_unreachable(call, "out of memory", err);
	(*bytes)[*len] = '\0';
	return receive_all(call, fd, *bytes, *len, err);
}

/* ---- the Unix socket ---- */

/* The kernel knows who listens.  A listener of the same user can do nothing
 * that the user cannot do.
 */
static int check_listener(const struct call *call, int fd, struct egs_err *err)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	struct egs_err why;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return fail_unreachable(call, strerror(errno), err);
	if (cred.uid != geteuid() &&
	    egs_trust_check(cred.uid, call->endpoint->slurm_user, &why) < 0)
		return fail_forged(call, why.msg, err);
	return 0;
}

static int call_unix(const struct call *call, char **bytes, size_t *len,
		     struct egs_err *err)
{
	int fd = egs_connect_unix(call->endpoint->address, call->deadline_ms),
	    rc;

	if (fd < 0)
		return fail_unreachable(call, strerror(errno), err);
	rc = check_listener(call, fd, err);
	if (rc == 0)
		rc = send_packet(call, fd, call->text, call->len, err);
	if (rc == 0)
		rc = receive_packet(call, fd, EGS_MSG_ANSWER_MAX, bytes, len,
				    err);
	close(fd);
	return rc;
}

/* ---- TCP: in the child, which may block; the parent watches the deadline ----
 */

/* A daemon that cannot reach its munged sends its refusal as it is.  So can
 * anybody: the text is shown, and nothing is decided by it, except to try again
 * until the deadline.
 */
static int fail_plain(const struct call *call, const char *bytes, size_t len,
		      struct egs_err *err)
{
	struct egs_msg *msg =
		egs_msg_parse(bytes, len, EGS_SEALED_PACKET_MAX, NULL);
	const char *says = msg ? egs_msg_get_str(msg, "error") : NULL;
	struct egs_err why;
	int rc;

	egs_errf(&why, "it has no credential");
	if (says)
		egs_errf(&why, "it has no credential; it says: %.200s", says);
	rc = fail_forged(call, why.msg, err);
	if (msg && egs_msg_is_true(msg, "again"))
		rc = EGS_CLIENT_RETRY;
	egs_msg_free(msg);
	return rc;
}

static int receive_part(const struct call *call, int fd,
			struct egs_sealed_reader *reader, struct egs_err *err)
{
	char *bytes = NULL;
	struct egs_err why;
	size_t len = 0;
	int rc = receive_packet(call, fd, EGS_SEALED_PACKET_MAX, &bytes, &len,
				err);

	if (rc == 0 && *bytes == '{') {
		rc = fail_plain(call, bytes, len, err);
	} else if (rc == 0) {
		rc = egs_sealed_decode(reader, bytes, &why);
		if (rc == EGS_CRED_NO_MUNGED)
			rc = fail_unreachable(call, why.msg, err);
		else if (rc < 0)
			rc = fail_forged(call, why.msg, err);
	}
	free(bytes);
	return rc;
}

/* Has the daemon closed the connection?  It makes room for others while a
 * client waits for its munged.
 */
static bool is_closed(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* Send a request and receive all parts of its answer. */
static int exchange_sealed(const struct call *call, int fd,
			   struct egs_sealed_reader *reader,
			   struct egs_err *err)
{
	char *text = NULL;
	struct egs_err why;
	int rc;

	if (egs_cred_encode(&call->endpoint->cred, call->text, call->len, &text,
			    &reader->id, &why) < 0)
		return fail_unreachable(call, why.msg, err);
	if (is_closed(fd)) {
		free(text);
		fail_unreachable(call, "connection closed without an answer",
				 err);
		return CLOSED_EARLY;
	}
	rc = send_packet(call, fd, text, strlen(text), err);
	free(text);
	while (rc == 0 && !reader->complete)
		rc = receive_part(call, fd, reader, err);
	return rc;
}

static int put_uid_before(const struct egs_sealed_reader *reader, char **bytes,
			  size_t *len)
{
	*len = sizeof(reader->uid) + reader->answer.used;
	*bytes = malloc(*len);
	if (!*bytes)
		return -1;
	memcpy(*bytes, &reader->uid, sizeof(reader->uid));
	memcpy(*bytes + sizeof(reader->uid), reader->answer.bytes,
	       reader->answer.used);
	return 0;
}

/* Without a listener there is no work for munged. */
static int call_host_once(const struct call *call, uint64_t connect_until_ms,
			  char **bytes, size_t *len, struct egs_err *err)
{
	struct egs_sealed_reader reader = {
		.conf = call->endpoint->cred,
		.slurm_user = call->endpoint->slurm_user,
	};
	struct egs_err why;
	int fd = egs_connect_host(call->at, call->at_len, connect_until_ms,
				  &why);
	int rc;

	if (fd < 0)
		return fail_unreachable(call, why.msg, err);
	rc = exchange_sealed(call, fd, &reader, err);
	close(fd);
	if (rc == 0 && put_uid_before(&reader, bytes, len) < 0)
		rc = fail_unreachable(call, "out of memory", err);
	egs_buf_clear(&reader.answer);
	return rc;
}

/* A daemon that others keep busy refuses a request before it is read, or closes
 * the connection before it is sent: try again until the deadline.
 */
static int call_host(const struct call *call, uint64_t connect_until_ms,
		     char **bytes, size_t *len, struct egs_err *err)
{
	uint64_t pause_ms = BUSY_PAUSE_MS;
	int closed = 0, rc;

	for (;;) {
		rc = call_host_once(call, connect_until_ms, bytes, len, err);
		if (rc == CLOSED_EARLY && ++closed == CLOSED_MAX)
			return EGS_CLIENT_UNREACHABLE;
		if (rc != CLOSED_EARLY && rc != EGS_CLIENT_RETRY)
			return rc;
		/* Clients that were refused together do not come together. */
		pause_ms += (uint64_t)(egs_now_us() + (uint64_t)getpid()) %
			    BUSY_PAUSE_MS;
		if (egs_now_ms() + pause_ms >= call->deadline_ms)
			return EGS_CLIENT_UNREACHABLE;
		poll(NULL, 0, (int)pause_ms);
		if (connect_until_ms < egs_now_ms())
			connect_until_ms = call->deadline_ms;
		pause_ms = pause_ms < BUSY_PAUSE_MAX_MS ? pause_ms
							: BUSY_PAUSE_MAX_MS;
	}
}

/* A dead host does not refuse a connection, and a stranger's listener may say
 * nothing.  So each host gets half of the remaining time, besides the time that
 * the daemon may hold its answer, and the last host all of it.
 */
static uint64_t limit_host(struct call *call, bool is_last)
{
	uint64_t now = egs_now_ms(), end = call->deadline_ms;
	uint32_t hold = call->endpoint->hold_ms;
	uint32_t most = call->endpoint->connect_ms;
	uint64_t half = end > now + hold ? (end - now - hold) / 2 : 0;

	if (!is_last)
		call->deadline_ms = now + half + hold;
	if (most && (is_last || most < half) && now + most < end)
		return now + most;
	return is_last ? end : now + half;
}

/* Ask each host until one gives an authentic answer.  A host that answers for
 * the daemon and is not the daemon is worth more words than one that is down.
 */
static int call_tcp(const void *arg, char **bytes, size_t *len,
		    struct egs_err *err)
{
	const struct call *whole = arg;
	struct call call = *whole;
	int rc = EGS_CLIENT_UNREACHABLE;

	for (call.at = call.endpoint->address; *call.at;
	     call.at += call.at_len + (call.at[call.at_len] == ',')) {
		uint64_t connect_until_ms;
		struct egs_err why;
		int one;

		call.at_len = strcspn(call.at, ",");
		call.deadline_ms = whole->deadline_ms;
		connect_until_ms = limit_host(&call, !call.at[call.at_len]);
		one = call_host(&call, connect_until_ms, bytes, len, &why);
		if (one == 0)
			return 0;
		if (rc != EGS_CLIENT_FORGED || one == EGS_CLIENT_FORGED)
			*err = why;
		if (one == EGS_CLIENT_FORGED)
			rc = one;
	}
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
	return rc == EGS_CLIENT_FORGED || rc == 0 ? rc : EGS_CLIENT_UNREACHABLE;
}

/* ---- answers ---- */

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

/* Parse what the child wrote; set the uid of the daemon, unless it is NULL. */
static int parse_checked(const struct call *call, const char *bytes, size_t len,
			 struct egs_msg **answer, uid_t *uid,
			 struct egs_err *err)
{
	if (len < sizeof(*uid))
		return fail_unreachable(call, "invalid answer", err);
	if (uid)
		memcpy(uid, bytes, sizeof(*uid));
	return parse_answer(call, bytes + sizeof(*uid), len - sizeof(*uid),
			    answer, err);
}

static struct call make_call(const struct egs_endpoint *endpoint)
{
	return (struct call){ .endpoint = endpoint,
			      .at = endpoint->address,
			      .at_len = strlen(endpoint->address) };
}

/* Prepare a call; -1 if its request is too long. */
static int prepare_call(struct call *call, const struct egs_endpoint *endpoint,
			const struct egs_msg *request, int timeout_ms,
			struct egs_err *err)
{
	*call = make_call(endpoint);
	call->timeout_ms = timeout_ms;
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
		       struct egs_msg **answer, uid_t *uid, struct egs_err *err)
{
	const struct call call = make_call(endpoint);
	int rc = egs_child_read(child, err);

	if (rc == 0)
		return parse_checked(&call, child->bytes, child->len, answer,
				     uid, err);
	return rc > 0 || rc == EGS_CLIENT_FORGED ? rc : EGS_CLIENT_UNREACHABLE;
}

int egs_client_call(const struct egs_endpoint *endpoint,
		    const struct egs_msg *request, struct egs_msg **answer,
		    int timeout_ms, struct egs_err *err)
{
	char *bytes = NULL;
	struct call call;
	size_t len = 0;
	bool local = strchr(endpoint->address, '/') != NULL;
	int rc;

	if (prepare_call(&call, endpoint, request, timeout_ms, err) < 0)
		return -1;
	rc = local ? call_unix(&call, &bytes, &len, err)
		   : call_in_child(&call, &bytes, &len, err);
	if (rc == 0)
		rc = local ? parse_answer(&call, bytes, len, answer, err)
			   : parse_checked(&call, bytes, len, answer, NULL,
					   err);
	free(bytes);
	return rc;
}
