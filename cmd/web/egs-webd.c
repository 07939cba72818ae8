/* egs-webd.c - the page for a site: a wall screen, or behind a proxy
 *
 * It runs as a user without rights and knows its viewers only from a proxy: a
 * header that comes over the Unix socket from the proxy's own uid.  Everybody
 * else sees sums without names of users and jobs.
 */
#include "egs_config.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/lib/find_daemon.h"
#include "cmd/lib/options.h"
#include "cmd/web/identify.h"
#include "cmd/web/serve.h"
#include "common/base/array.h"

#define DEFAULT_SOCKET "/run/egs-webd/web.sock"
#define DEFAULT_HEADER "X-Forwarded-User"

enum { DONE = 0, FAILED = 1, BACKLOG = 256 };

struct webd {
	const char *listen, *proxy_user, *metrics;
	struct egs_document_source source;
	struct egs_identify who;
};

static int print_error(const struct egs_err *err)
{
	fprintf(stderr, "egs-webd: %s\n", err->msg);
	return FAILED;
}

/* ---- where it listens ---- */

/* An old socket is of an earlier process. */
static int listen_unix(const char *path, struct egs_err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat st;
	int fd;

	if (strlen(path) >= sizeof(at.sun_path))
		return egs_errf(err, "--listen=%s is too long",
				egs_printable(path).text);
	memcpy(at.sun_path, path, strlen(path));
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    chmod(path, 0666) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	egs_errf(err, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A path, or a port of the loopback address. */
static int open_listener(struct webd *w, struct egs_err *err)
{
	unsigned int port;
	char *end;

	w->who.is_unix = strchr(w->listen, '/') != NULL;
	if (w->who.is_unix)
		return listen_unix(w->listen, err);
	port = (unsigned int)strtoul(w->listen, &end, 10);
	if (*end || !port || port > 65535)
		return egs_errf(err,
				"--listen=%s is neither a path nor a port; it "
				"listens on loopback only, behind a proxy",
				egs_printable(w->listen).text);
	return egs_web_listen_loopback(&port, err);
}

static int find_proxy(struct webd *w, struct egs_err *err)
{
	const struct passwd *user;

	if (!w->proxy_user)
		return 0;
	user = getpwnam(w->proxy_user);
	if (!user)
		return egs_errf(err, "--proxy-user=%s: there is no such user",
				egs_printable(w->proxy_user).text);
	w->who.proxy_uid = user->pw_uid;
	w->who.has_proxy = true;
	return 0;
}

/* ---- run ---- */

static void stop_loop(void *arg, uint32_t signo)
{
	(void)signo;
	egs_loop_stop(arg);
}

static int serve_page(struct webd *w, struct egs_loop *loop,
		      struct egs_err *err)
{
	struct egs_web_cache *cache =
		egs_web_cache_new(loop, egs_document_read, &w->source, err);
	struct egs_web_conf conf = { .loop = loop,
				     .cache = cache,
				     .listen_fd = -1,
				     .metrics_path = w->metrics,
				     .identify = egs_identify_viewer,
				     .arg = &w->who };
	struct egs_web_server *server = NULL;
	int rc = -1;

	if (cache)
		conf.listen_fd = open_listener(w, err);
	if (w->who.has_proxy && w->who.is_unix)
		conf.is_stranger = egs_identify_is_stranger;
	if (conf.listen_fd >= 0)
		server = egs_web_server_new(&conf, err);
	if (server)
		rc = egs_loop_run(loop, err);
	egs_web_server_free(server);
	egs_web_cache_free(cache);
	if (server && w->who.is_unix)
		unlink(w->listen);
	return rc;
}

static int run_webd(struct webd *w, struct egs_err *err)
{
	struct egs_loop *loop;
	int rc = -1;

	if (geteuid() == 0)
		return egs_errf(err, "it does not run as root: it needs no "
				     "rights; see egs-webd(8)");
	if (find_proxy(w, err) < 0)
		return -1;
	loop = egs_loop_new(err);
	signal(SIGPIPE, SIG_IGN);
	if (loop && egs_loop_add_signal(loop, SIGTERM, stop_loop, loop, err) &&
	    egs_loop_add_signal(loop, SIGINT, stop_loop, loop, err))
		rc = serve_page(w, loop, err);
	egs_loop_free(loop);
	return rc;
}

int main(int argc, char **argv)
{
	struct webd w = { .listen = DEFAULT_SOCKET,
			  .who.header = DEFAULT_HEADER,
			  .source.for_viewer = true };
	const struct egs_option rows[] = {
		{ 0, "listen", NULL, &w.listen, "PLACE",
		  "a Unix socket (" DEFAULT_SOCKET ") or a port on loopback" },
		{ 0, "proxy-user", NULL, &w.proxy_user, "NAME",
		  "the user of the proxy, whose header is believed" },
		{ 0, "header", NULL, &w.who.header, "NAME",
		  "the header with the viewer (" DEFAULT_HEADER ")" },
		{ 0, "metrics", NULL, &w.metrics, "FILE",
		  "the file to serve as metrics (RunDir/metrics)" },
		{ 0, "socket", NULL, &w.source.address, "PLACE",
		  "the daemon's PATH or HOST:PORT" },
		{ 'M', "cluster", NULL, &w.source.cluster, "NAME",
		  "the cluster of HOST:PORT" },
	};
	static const struct egs_verb_help help[] = {
		{ NULL, "[OPTIONS]", NULL, NULL },
	};
	const struct egs_options options = { "egs-webd", help, 1, rows,
					     ARRAY_SIZE(rows) };
	struct egs_err err;

	switch (egs_options_read(&options, &argc, argv, &err)) {
	case EGS_OPTIONS_DONE:
		return DONE;
	case EGS_OPTIONS_BAD:
		return print_error(&err);
	default:
		return run_webd(&w, &err) < 0 ? print_error(&err) : DONE;
	}
}
