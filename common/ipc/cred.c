/* cred.c - requests from other hosts, authenticated by MUNGE
 *
 * A payload is "egs2 AUDIENCE ID\n" and the request; ID is 16 hexadecimal
 * digits.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/ipc/cred.h"
#include "common/ipc/munge_call.h"

#define MAGIC	  "egs2 "
#define OLD_MAGIC "egs1 "

enum { ID_DIGITS = 16 };

static char *build_payload(const struct egs_cred_conf *conf, const char *bytes,
			   size_t len, uint64_t id, size_t *total)
{
	char head[EGS_CRED_AUDIENCE_MAX + 64];
	char *payload;
	int n = snprintf(head, sizeof(head), MAGIC "%s %016" PRIx64 "\n",
			 conf->audience, id);

	if (n < 0 || (size_t)n >= sizeof(head))
		return NULL;
	payload = malloc((size_t)n + len);
	if (payload) {
		memcpy(payload, head, (size_t)n);
		memcpy(payload + n, bytes, len);
		*total = (size_t)n + len;
	}
	return payload;
}

int egs_cred_encode(const struct egs_cred_conf *conf, const char *bytes,
		    size_t len, char **text, uint64_t *id, struct egs_err *err)
{
	char *payload = NULL;
	size_t total = 0;
	int rc;

	if (getrandom(id, sizeof(*id), 0) == sizeof(*id))
		payload = build_payload(conf, bytes, len, *id, &total);
	if (!payload)
		return egs_errf(err, "no credential: out of memory, or the "
				     "name of the cluster is too long");
	rc = egs_munge_call_encode(conf->munge_socket, EGS_MUNGE_ANY_UID,
				   payload, total, text, err);
	free(payload);
	return rc;
}

void egs_cred_map_ipv4(in_addr_t ipv4, struct in6_addr *ipv6)
{
	*ipv6 = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
	memcpy(&ipv6->s6_addr[12], &ipv4, sizeof(ipv4));
}

static bool has_audience(const char *payload, size_t head, const char *audience)
{
	return head == strlen(audience) + ID_DIGITS + 1 &&
	       strncmp(payload, audience, strlen(audience)) == 0 &&
	       payload[strlen(audience)] == ' ';
}

/* A client that expects answers without a credential. */
static bool is_old_request(const struct egs_cred *cred)
{
	return cred->len > strlen(OLD_MAGIC) &&
	       strncmp(cred->payload, OLD_MAGIC, strlen(OLD_MAGIC)) == 0;
}

/* Check and remove the first line of the payload. */
static int strip_head(const char *audience, struct egs_cred *cred,
		      struct egs_err *err)
{
	size_t magic = strlen(MAGIC);
	const char *end = memchr(cred->payload, '\n', cred->len);
	size_t head = end ? (size_t)(end - cred->payload) : 0;
	char *digits_end;

	if (is_old_request(cred))
		return egs_errf(err, "the request is of an older EGS; install "
				     "the same version on all hosts");
	if (head <= magic + ID_DIGITS ||
	    strncmp(cred->payload, MAGIC, magic) != 0)
		return egs_errf(err, "the credential has no request");
	if (!has_audience(cred->payload + magic, head - magic, audience))
		return egs_errf(err,
				"the request is meant for another daemon "
				"than %s",
				audience);
	cred->id = strtoull(end - ID_DIGITS, &digits_end, 16);
	if (digits_end != end)
		return egs_errf(err, "the credential has no request");
	cred->len -= head + 1;
	memmove(cred->payload, end + 1, cred->len);
	cred->payload[cred->len] = '\0';
	return 0;
}

int egs_cred_decode(const struct egs_cred_conf *conf, const char *text,
		    struct egs_cred *cred, struct egs_err *err)
{
	struct egs_cred new;
	int rc = egs_munge_call_decode(conf->munge_socket, text, &new, err);

	if (rc < 0)
		return rc;
	rc = strip_head(conf->audience, &new, err);
	if (rc == 0)
		*cred = new;
	else
		egs_cred_clear(&new);
	return rc;
}

void egs_cred_clear(struct egs_cred *cred)
{
	free(cred->payload);
	cred->payload = NULL;
	cred->len = 0;
}
