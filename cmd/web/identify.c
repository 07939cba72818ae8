/* identify.c - who looks, by the word of a proxy */
#include "egs_config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "cmd/web/identify.h"
#include "common/base/text.h"

/* Values of a header: the first one, and their number. */
struct header_values {
	const char *name, *first;
	unsigned int count;
};

static enum MHD_Result count_value(void *arg, enum MHD_ValueKind kind,
				   const char *key, const char *value)
{
	struct header_values *h = arg;

	(void)kind;
	if (strcasecmp(key, h->name) == 0 && h->count++ == 0)
		h->first = value ? value : "";
	return MHD_YES;
}

bool egs_identify_is_stranger(void *arg, int fd)
{
	const struct egs_identify *who = arg;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !who->is_unix ||
	       getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	       peer.uid != who->proxy_uid;
}

static bool is_proxy(struct egs_identify *who, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return who->has_proxy && info &&
	       !egs_identify_is_stranger(who, info->connect_fd);
}

static bool is_user_name(const char *name)
{
	return *name != '-' && strlen(name) < 64 &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")];
}

int egs_identify_viewer(void *arg, struct MHD_Connection *c, char viewer[64],
			struct egs_err *err)
{
	struct egs_identify *who = arg;
	struct header_values h = { .name = who->header };

	if (!is_proxy(who, c))
		return 0;
	MHD_get_connection_values(c, MHD_HEADER_KIND, count_value, &h);
	if (!h.count || !*h.first)
		return 0;
	if (h.count > 1)
		return egs_errf(err, "%s is there twice", who->header);
	if (!is_user_name(h.first) || strcmp(h.first, "root") == 0)
		return egs_errf(err, "%s: '%s' is not a user of this page",
				who->header, egs_printable(h.first).text);
	snprintf(viewer, 64, "%s", h.first);
	return 0;
}
