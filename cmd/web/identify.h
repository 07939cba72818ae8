/* identify.h - who looks, by the word of a proxy
 *
 * The name of a viewer is believed only from a Unix socket whose other end is
 * the proxy, as the kernel says.
 */
#ifndef EGS_WEB_IDENTIFY_H
#define EGS_WEB_IDENTIFY_H

#include <microhttpd.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/base/err.h"

struct egs_identify {
	const char *header; /* has the name */
	bool has_proxy;	    /* false: nobody has a name */
	uid_t proxy_uid;
	bool is_unix; /* the server listens on a Unix socket */
};

/* For struct egs_web_conf, where 'arg' is a struct egs_identify.  Without a
 * header, or if it is not the proxy's, 'viewer' stays "".  Returns 0, or -1
 * with 'err' set if the proxy names nobody who may look.
 */
int egs_identify_viewer(void *arg, struct MHD_Connection *c, char viewer[64],
			struct egs_err *err);

/* Is the other end of this connection another than the proxy?  The kernel knows
 * that of a Unix socket.  'arg' as above.
 */
bool egs_identify_is_stranger(void *arg, int fd);

#endif
