/* egs-web.c - the program behind "egs web": the page for the user who runs it
 *
 * It listens on the loopback address of this host, and answers only requests
 * whose path begins with a random token.  It asks egs-policyd as the user.
 */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd/lib/options.h"
#include "cmd/web/serve.h"
#include "common/base/array.h"

enum { DONE = 0, FAILED = 1, TOKEN_BYTES = 20 };

static int print_error(const struct egs_err *err)
{
	fprintf(stderr, "egs: %s\n", err->msg);
	return FAILED;
}

static int make_token(char token[2 * TOKEN_BYTES + 1], struct egs_err *err)
{
	unsigned char bytes[TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return egs_errf(err, "getrandom: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int parse_port(const char *text, unsigned int *port, struct egs_err *err)
{
	char *end = NULL;
	unsigned long n = text ? strtoul(text, &end, 10) : 0;

	if (text && (!*text || *end || n < 1024 || n > 65535))
		return egs_errf(err,
				"--port=%s is not a number from 1024 to 65535",
				egs_printable(text).text);
	*port = (unsigned int)n;
	return 0;
}

/* Standard output may be a pipe: whoever reads it waits for the address. */
static int print_address(unsigned int port, const char *token,
			 struct egs_err *err)
{
	char host[256] = "this-host";

	gethostname(host, sizeof(host) - 1);
	printf("http://127.0.0.1:%u/%s/\n\n"
	       "From your own machine, first:  ssh -N -L %u:127.0.0.1:%u %s\n"
	       "The address is a secret: it shows what you may see.  Ctrl-C "
	       "ends it.\n",
	       port, token, port, port, host);
	if (fflush(stdout) != 0)
		return egs_errf(err, "the address could not be written");
	return 0;
}

static int name_viewer(void *arg, struct MHD_Connection *connection,
		       char viewer[64], struct egs_err *err)
{
	(void)connection;
	(void)err;
	snprintf(viewer, 64, "%s", (const char *)arg);
	return 0;
}

static void name_user(char viewer[64])
{
	const struct passwd *user = getpwuid(geteuid());

	snprintf(viewer, 64, "%s", user ? user->pw_name : "you");
}

static void stop_loop(void *arg, uint32_t signo)
{
	(void)signo;
	egs_loop_stop(arg);
}

static int catch_signals(struct egs_loop *loop, struct egs_err *err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (!egs_loop_add_signal(loop, signals[i], stop_loop, loop,
					 err))
			return -1;
	return 0;
}

/* Serve until a signal. */
static int run_page(struct egs_loop *loop,
		    const struct egs_document_source *source, unsigned int port,
		    char *viewer, struct egs_err *err)
{
	struct egs_web_cache *cache =
		egs_web_cache_new(loop, egs_document_read, source, err);
	char token[2 * TOKEN_BYTES + 1];
	struct egs_web_conf conf = { .loop = loop,
				     .cache = cache,
				     .token = token,
				     .identify = name_viewer,
				     .arg = viewer };
	struct egs_web_server *server = NULL;
	int rc = -1;

	if (cache && make_token(token, err) == 0)
		conf.listen_fd = egs_web_listen_loopback(&port, err);
	else
		conf.listen_fd = -1;
	if (conf.listen_fd >= 0)
		server = egs_web_server_new(&conf, err);
	if (server && print_address(port, token, err) == 0)
		rc = egs_loop_run(loop, err);
	egs_web_server_free(server);
	egs_web_cache_free(cache);
	return rc;
}

int main(int argc, char **argv)
{
	struct egs_document_source source = { .address = NULL };
	const char *port_text = NULL;
	const struct egs_option rows[] = {
		{ 0, "port", NULL, &port_text, "N",
		  "the port on the loopback address" },
		{ 0, "socket", NULL, &source.address, "PLACE",
		  "the daemon's PATH or HOST:PORT" },
		{ 'M', "cluster", NULL, &source.cluster, "NAME",
		  "the cluster of HOST:PORT" },
	};
	const struct egs_options options = { "egs-web", NULL, 0, rows,
					     ARRAY_SIZE(rows) };
	struct egs_loop *loop;
	unsigned int port = 0;
	struct egs_err err;
	char viewer[64];
	int rc = -1;

	switch (egs_options_read(&options, &argc, argv, &err)) {
	case EGS_OPTIONS_DONE:
		return DONE;
	case EGS_OPTIONS_BAD:
		return print_error(&err);
	default:
		break;
	}
	if (parse_port(port_text, &port, &err) < 0)
		return print_error(&err);
	name_user(viewer);
	loop = egs_loop_new(&err);
	if (loop && catch_signals(loop, &err) == 0)
		rc = run_page(loop, &source, port, viewer, &err);
	egs_loop_free(loop);
	return rc < 0 ? print_error(&err) : DONE;
}
