/* serve.h - answer browsers: the page, its data, and nothing else
 *
 * Only GET and HEAD.  A path may have any prefix, as a proxy sends it: its last
 * part names the file.  A connection serves one request and ends after some
 * seconds, sooner if there are many: slow readers and crowds hold nothing.
 */
#ifndef EGS_WEB_SERVE_H
#define EGS_WEB_SERVE_H

#include <stdbool.h>

#include "cmd/web/cache.h"

struct egs_web_server;

/* All pointers must outlive the server. */
struct egs_web_conf {
	struct egs_loop *loop;
	struct egs_web_cache *cache;
	int listen_fd; /* the server closes it */
	/* The first part of every path; NULL: any path.  Without it there is no
	 * answer but "not found".
	 */
	const char *token;
	const char *metrics_path; /* served as "metrics"; NULL: not served */
	/* Sets the name of the user who looks, "": nobody in particular.
	 * Returns 0, or -1 with 'err' set to refuse.
	 */
	int (*identify)(void *arg, struct MHD_Connection *connection,
			char viewer[64], struct egs_err *err);
	/* Is the other end of this connection a stranger, beside a proxy whose
	 * viewers need room?  Strangers have half of all connections.  NULL:
	 * all are equal.
	 */
	bool (*is_stranger)(void *arg, int fd);
	void *arg; /* of both */
};

/* NULL with 'err' set. */
struct egs_web_server *egs_web_server_new(const struct egs_web_conf *conf,
					  struct egs_err *err);
void egs_web_server_free(struct egs_web_server *server);

/* Listen on 127.0.0.1 at '*port' (0: any; then the port is set).  Returns the
 * descriptor, or -1 with 'err' set.
 */
int egs_web_listen_loopback(unsigned int *port, struct egs_err *err);

#endif
