/* web.c - requests of browsers, through libmicrohttpd and our callbacks
 *
 * The first byte chooses egs web, which needs its token, or egs-webd, whose
 * proxy this process is.  The rest is what a client sends before an empty line.
 *
 * runs: 10000, because each is a connection
 */
#include "egs_config.h"

#include <ctype.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cmd/web/headers.h"
#include "cmd/web/identify.h"
#include "cmd/web/serve.h"
#include "t/fuzz/fuzz.h"

#define TOKEN "c0ffee"

enum { PATIENCE_MS = 10 };

static struct egs_loop *loop;
static struct egs_identify who = { .header = "X-User",
				   .has_proxy = true,
				   .is_unix = true };

/* A server, and where it listens. */
static struct door {
	struct sockaddr_un at;
	socklen_t size;
} doors[2];

/* ---- the cache: what gets here is bounded and clean ---- */

int egs_web_cache_get(struct egs_web_cache *cache,
		      const struct egs_document *doc,
		      struct MHD_Response **response, struct egs_err *err)
{
	static struct MHD_Response *r;

	(void)cache;
	fuzz_check(doc->kind < EGS_DOCUMENT_KINDS);
	fuzz_check(strnlen(doc->arg, sizeof(doc->arg)) < sizeof(doc->arg));
	fuzz_check((*doc->arg != '\0') ==
		   (egs_document_arg_name(doc->kind) != NULL));
	fuzz_check(strcmp(doc->viewer, "root") != 0);
	for (const char *c = doc->viewer; *c; c++)
		fuzz_check(isalnum((unsigned char)*c) || strchr("._-", *c));
	if (*doc->arg == '0')
		return egs_errf(err, "too many");
	if (!r) {
		r = MHD_create_response_from_buffer(2, (void *)"{}",
						    MHD_RESPMEM_PERSISTENT);
		egs_web_add_headers(r, "application/json");
	}
	*response = *doc->arg == '1' ? NULL : r;
	return 0;
}

/* ---- servers ---- */

static int listen_somewhere(struct door *door)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	door->at.sun_family = AF_UNIX;
	door->size = sizeof(door->at);
	/* An address without a path: the kernel chooses a name. */
	fuzz_check(bind(fd, (struct sockaddr *)&door->at,
			sizeof(sa_family_t)) == 0 &&
		   listen(fd, 16) == 0 &&
		   getsockname(fd, (struct sockaddr *)&door->at, &door->size) ==
			   0);
	return fd;
}

static void start_servers(void)
{
	static char metrics[64];
	struct egs_err err;

	signal(SIGPIPE, SIG_IGN);
	who.proxy_uid = geteuid();
	loop = egs_loop_new(&err);
	fuzz_check(loop);
	snprintf(metrics, sizeof(metrics), "%s",
		 fuzz_file((const uint8_t *)"a 1\negs_gpu_job{} 1\n", 20));
	for (int i = 0; i < 2; i++) {
		const struct egs_web_conf conf = {
			.loop = loop,
			.listen_fd = listen_somewhere(&doors[i]),
			.token = i ? NULL : TOKEN,
			.metrics_path = i ? metrics : NULL,
			.identify = egs_identify_viewer,
			.arg = &who,
		};

		fuzz_check(egs_web_server_new(&conf, &err));
	}
}

/* ---- a client ---- */

struct client {
	int fd;
	char answer[256]; /* its beginning */
	size_t len;
};

static void read_answer(void *arg, uint32_t events)
{
	struct client *c = arg;
	char bytes[4096];
	ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	(void)events;
	if (n <= 0) {
		egs_loop_stop(loop);
		return;
	}
	for (ssize_t i = 0; i < n && c->len < sizeof(c->answer) - 1; i++)
		c->answer[c->len++] = bytes[i];
}

static void stop_loop(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	egs_loop_stop(loop);
}

/* Send all of it, and read until the server closes, or waits for more. */
static void talk(struct client *c, const struct door *door, const uint8_t *data,
		 size_t size)
{
	static struct egs_watch *timer;
	struct egs_watch *watch;
	struct egs_err err;

	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fuzz_check(connect(c->fd, (const struct sockaddr *)&door->at,
			   door->size) == 0);
	send(c->fd, data, size, MSG_NOSIGNAL);
	send(c->fd, "\r\n\r\n", 4, MSG_NOSIGNAL);
	watch = egs_loop_add_fd(loop, c->fd, EPOLLIN, read_answer, c, &err);
	if (!timer)
		timer = egs_loop_add_timer(loop, stop_loop, NULL, &err);
	fuzz_check(watch && timer);
	egs_timer_start(timer, PATIENCE_MS);
	fuzz_check(egs_loop_run(loop, &err) == 0);
	egs_watch_free(watch);
	close(c->fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client c = { .len = 0 };
	bool needs_token = size && !(data[0] & 1);

	if (!loop)
		start_servers();
	if (!size)
		return 0;
	talk(&c, &doors[!needs_token], data + 1, size - 1);
	fuzz_check(!c.len || strncmp(c.answer, "HTTP/1.", 7) == 0);
	if (needs_token && strncmp(c.answer + 8, " 200", 4) == 0)
		fuzz_check(memmem(data, size, TOKEN, strlen(TOKEN)));
	return 0;
}
