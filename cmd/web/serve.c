/* serve.c - answer browsers: the page, its data, and nothing else */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/web/headers.h"
#include "cmd/web/page.h"
#include "cmd/web/serve.h"
#include "common/base/clock.h"
#include "common/base/read_file.h"
#include "common/ipc/msg.h"

enum {
	CONNECTIONS_MAX = 400,
	CROWDED = 200,
	STRANGERS_MAX = 200,
	BACKLOG = 256,
	/* The longest life of a connection, alone and in a crowd. */
	LIFE_MS = 30000,
	CROWDED_LIFE_MS = 2000,
	TICK_MS = 250,
	/* Request line and headers of one connection, and the answer's. */
	CONNECTION_MEMORY = 32 << 10,
	METRICS_MAX = 64 << 20,
};

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct web_connection {
	TAILQ_ENTRY(web_connection) link;
	int fd;
	bool is_stranger;
	uint64_t since_ms;
};
TAILQ_HEAD(web_connections, web_connection);

struct egs_web_server {
	struct egs_web_conf conf;
	struct MHD_Daemon *mhd;
	struct egs_watch *watch, *timer;
	struct web_connections connections; /* the oldest first */
	unsigned int nconnections, nstrangers;
	struct MHD_Response *sums; /* metrics without jobs; NULL: not read */
	struct stat sums_of;	   /* the file they are from */
};

/* ---- answers ---- */

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned int status,
				 const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result rc = MHD_NO;

	if (!r)
		return MHD_NO;
	egs_web_add_headers(r, "text/plain; charset=utf-8");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result send_file(struct MHD_Connection *c,
				 const struct egs_page_file *file)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		file->len, (void *)file->bytes, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	egs_web_add_headers(r, file->type);
	rc = MHD_queue_response(c, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return rc;
}

/* ---- metrics ---- */

/* The file is replaced as a whole, so one descriptor sees one state of it. */
static struct MHD_Response *open_metrics(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct MHD_Response *r = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		r = MHD_create_response_from_fd((size_t)st.st_size, fd);
	if (r)
		egs_web_add_headers(r, METRICS_TYPE);
	else if (fd >= 0)
		close(fd);
	return r;
}

/* Drop the lines that tell whose job has which GPU. */
static void drop_jobs(struct egs_file_text *file)
{
	static const char job[] = "egs_gpu_job{";
	size_t kept = 0, len;

	for (size_t at = 0; at < file->size; at += len) {
		const char *line = file->text + at;
		const char *end = memchr(line, '\n', file->size - at);

		len = end ? (size_t)(end - line) + 1 : file->size - at;
		if (len >= strlen(job) && memcmp(line, job, strlen(job)) == 0)
			continue;
		memmove(file->text + kept, line, len);
		kept += len;
	}
	file->size = kept;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* What nobody in particular sees: one copy for all, as long as the file is the
 * same.
 */
static struct MHD_Response *find_sums(struct egs_web_server *s)
{
	struct egs_file_text file;
	struct stat now;

	if (stat(s->conf.metrics_path, &now) < 0)
		return NULL;
	if (s->sums && is_same_file(&now, &s->sums_of))
		return s->sums;
	if (egs_read_file(&file, s->conf.metrics_path, METRICS_MAX, NULL) < 0)
		return NULL;
	if (s->sums)
		MHD_destroy_response(s->sums);
	drop_jobs(&file);
	s->sums = MHD_create_response_from_buffer(file.size, file.text,
						  MHD_RESPMEM_MUST_FREE);
	s->sums_of = now;
	if (s->sums)
		egs_web_add_headers(s->sums, METRICS_TYPE);
	else
		free(file.text);
	return s->sums;
}

static enum MHD_Result send_metrics(struct egs_web_server *s,
				    struct MHD_Connection *c)
{
	char viewer[64] = "";
	struct MHD_Response *r;
	enum MHD_Result rc;
	struct egs_err err;

	if (s->conf.identify &&
	    s->conf.identify(s->conf.arg, c, viewer, &err) < 0)
		return send_text(c, MHD_HTTP_FORBIDDEN, err.msg);
	r = *viewer ? open_metrics(s->conf.metrics_path) : find_sums(s);
	if (!r)
		return send_text(c, MHD_HTTP_NOT_FOUND, "not found\n");
	rc = MHD_queue_response(c, MHD_HTTP_OK, r);
	if (r != s->sums)
		MHD_destroy_response(r);
	return rc;
}

/* ---- data ---- */

static const char *get_argument(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
}

/* Fill 'doc' from the address.  False: it names no document. */
static bool parse_document(struct MHD_Connection *c, struct egs_document *doc)
{
	const char *name, *arg;

	*doc = (struct egs_document){ .kind = egs_document_find_kind(
					      get_argument(c, "what")) };
	if (doc->kind == EGS_DOCUMENT_KINDS)
		return false;
	name = egs_document_arg_name(doc->kind);
	if (!name)
		return true;
	arg = get_argument(c, name);
	if (!arg || !*arg || strlen(arg) >= sizeof(doc->arg))
		return false;
	memcpy(doc->arg, arg, strlen(arg));
	return true;
}

/* A viewer without a name sees no job and no workload.  egs-policyd is not
 * asked, so that such viewers do not fill the cache.
 */
#define NOT_SHOWN "{\"error\": \"only users who logged in see this\"}"
static const char not_shown[] =
	"{\"viewer\": \"\", \"why\": " NOT_SHOWN ", \"gpus\": " NOT_SHOWN
	", \"life\": " NOT_SHOWN ", \"losses\": " NOT_SHOWN
	", \"workload\": " NOT_SHOWN ", \"workload_life\": " NOT_SHOWN
	", \"workload_usage\": " NOT_SHOWN "}\n";

/* Send {"error": "one sentence"}, which the page shows. */
static enum MHD_Result send_error(struct MHD_Connection *c, unsigned int status,
				  const struct egs_err *err)
{
	struct egs_msg *msg = egs_msg_new();
	const char *text = NULL;
	enum MHD_Result rc;
	size_t len;

	if (msg) {
		egs_msg_set_str(msg, "error", err->msg);
		text = egs_msg_to_text(msg, &len);
	}
	rc = send_text(c, status, text ? text : "{}");
	egs_msg_free(msg);
	return rc;
}

static enum MHD_Result send_document(struct egs_web_server *s,
				     struct MHD_Connection *c,
				     const struct egs_document *doc)
{
	struct MHD_Response *r = NULL;
	struct egs_err err;

	if (egs_web_cache_get(s->conf.cache, doc, &r, &err) < 0)
		return send_error(c, MHD_HTTP_TOO_MANY_REQUESTS, &err);
	if (r)
		return MHD_queue_response(c, MHD_HTTP_OK, r);
	egs_errf(&err, "not read yet");
	return send_error(c, MHD_HTTP_SERVICE_UNAVAILABLE, &err);
}

static enum MHD_Result send_data(struct egs_web_server *s,
				 struct MHD_Connection *c)
{
	struct egs_document doc;
	struct egs_err err;

	if (!parse_document(c, &doc))
		return send_text(c, MHD_HTTP_BAD_REQUEST,
				 "what=now, today, job&id=, workload&name=\n");
	if (s->conf.identify &&
	    s->conf.identify(s->conf.arg, c, doc.viewer, &err) < 0)
		return send_error(c, MHD_HTTP_FORBIDDEN, &err);
	if (s->conf.identify && !*doc.viewer && *doc.arg)
		return send_text(c, MHD_HTTP_OK, not_shown);
	return send_document(s, c, &doc);
}

/* ---- paths ---- */

/* The time does not depend on the place of the first difference. */
static bool is_equal(const char *a, const char *b, size_t len)
{
	unsigned char differ = 0;

	for (size_t i = 0; i < len; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

/* Has the path "/TOKEN/..." the token? */
static bool has_token(const char *url, const char *token)
{
	const char *end = *url == '/' ? strchr(url + 1, '/') : NULL;

	return end && (size_t)(end - url - 1) == strlen(token) &&
	       is_equal(url + 1, token, strlen(token));
}

static enum MHD_Result answer_request(struct egs_web_server *s,
				      struct MHD_Connection *c, const char *url)
{
	const char *slash = strrchr(url, '/');
	const char *name = slash ? slash + 1 : url;
	const struct egs_page_file *file;

	if (s->conf.token && !has_token(url, s->conf.token))
		return send_text(c, MHD_HTTP_NOT_FOUND, "not found\n");
	if (strcmp(name, "data.json") == 0)
		return send_data(s, c);
	if (s->conf.metrics_path && strcmp(name, "metrics") == 0)
		return send_metrics(s, c);
	file = egs_page_find(*name ? name : "page.html");
	return file ? send_file(c, file)
		    : send_text(c, MHD_HTTP_NOT_FOUND, "not found\n");
}

/* A request with a body is answered before the body is read. */
static enum MHD_Result handle_request(void *arg, struct MHD_Connection *c,
				      const char *url, const char *method,
				      const char *version, const char *data,
				      size_t *size, void **context)
{
	(void)version;
	(void)data;
	(void)size;
	(void)context;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_text(c, MHD_HTTP_METHOD_NOT_ALLOWED,
				 "only GET and HEAD\n");
	return answer_request(arg, c, url);
}

/* ---- connections ---- */

static void forget_connection(struct egs_web_server *s,
			      struct web_connection *w)
{
	TAILQ_REMOVE(&s->connections, w, link);
	s->nconnections--;
	s->nstrangers -= w->is_stranger;
	free(w);
}

/* A stranger too many ends at once, so that nobody else waits for a place. */
static struct web_connection *add_connection(struct egs_web_server *s, int fd)
{
	struct web_connection *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fd = fd;
	w->since_ms = egs_now_ms();
	w->is_stranger =
		s->conf.is_stranger && s->conf.is_stranger(s->conf.arg, fd);
	TAILQ_INSERT_TAIL(&s->connections, w, link);
	s->nconnections++;
	s->nstrangers += w->is_stranger;
	if (w->is_stranger && s->nstrangers > STRANGERS_MAX)
		shutdown(fd, SHUT_RDWR);
	return w;
}

static void note_connection(void *arg, struct MHD_Connection *c, void **context,
			    enum MHD_ConnectionNotificationCode what)
{
	struct egs_web_server *s = arg;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED && *context) {
		forget_connection(s, *context);
		*context = NULL;
	}
	if (what != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		*context = add_connection(s, info->connect_fd);
}

/* MHD sees the end of the connection and closes it. */
static void end_old_connections(struct egs_web_server *s)
{
	uint64_t life = s->nconnections > CROWDED ? CROWDED_LIFE_MS : LIFE_MS;
	uint64_t now_ms = egs_now_ms();
	struct web_connection *w = NULL;

	TAILQ_FOREACH(w, &s->connections, link)
	{
		if (now_ms - w->since_ms < life)
			break;
		shutdown(w->fd, SHUT_RDWR);
	}
}

/* Old connections end with each event, too: a crowd that never stops to send
 * would put off the timer for ever.
 */
static void run_server(void *arg, uint32_t events)
{
	struct egs_web_server *s = arg;
	MHD_UNSIGNED_LONG_LONG wait_ms = TICK_MS;

	(void)events;
	end_old_connections(s);
	MHD_run(s->mhd);
	if (MHD_get_timeout(s->mhd, &wait_ms) != MHD_YES || wait_ms > TICK_MS)
		wait_ms = TICK_MS;
	egs_timer_start(s->timer, wait_ms);
}

/* ---- start and end ---- */

static int start_mhd(struct egs_web_server *s, struct egs_err *err)
{
	const union MHD_DaemonInfo *info;

	s->mhd = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, handle_request, s,
		MHD_OPTION_LISTEN_SOCKET, s->conf.listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, 10U,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, s,
		MHD_OPTION_END);
	info = s->mhd ? MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD)
		      : NULL;
	if (!info)
		return egs_errf(err, "libmicrohttpd cannot start");
	s->watch = egs_loop_add_fd(s->conf.loop, info->epoll_fd, EPOLLIN,
				   run_server, s, err);
	if (s->watch)
		s->timer = egs_loop_add_timer(s->conf.loop, run_server, s, err);
	if (!s->timer)
		return -1;
	egs_timer_start(s->timer, 0);
	return 0;
}

struct egs_web_server *egs_web_server_new(const struct egs_web_conf *conf,
					  struct egs_err *err)
{
	struct egs_web_server *s = calloc(1, sizeof(*s));

	if (!s) {
		close(conf->listen_fd);
		egs_errf(err, "out of memory");
		return NULL;
	}
	s->conf = *conf;
	TAILQ_INIT(&s->connections);
	if (start_mhd(s, err) < 0) {
		egs_web_server_free(s);
		return NULL;
	}
	return s;
}

void egs_web_server_free(struct egs_web_server *s)
{
	if (!s)
		return;
	egs_watch_free(s->watch);
	egs_watch_free(s->timer);
	if (s->mhd)
		MHD_stop_daemon(s->mhd);
	else
		close(s->conf.listen_fd);
	if (s->sums)
		MHD_destroy_response(s->sums);
	free(s);
}

int egs_web_listen_loopback(unsigned int *port, struct egs_err *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)*port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) < 0 ||
	    listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) < 0) {
		egs_errf(err, "127.0.0.1:%u: %s", *port, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*port = ntohs(at.sin_port);
	return fd;
}
