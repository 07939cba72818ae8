/* cred.c - requests from other hosts, authenticated by MUNGE
 *
 * A payload is "egs1 AUDIENCE ID\n" and the request; ID is 16 hexadecimal
 * digits.
 */
#include <munge.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/ipc/cred.h"

#define MAGIC "egs1 "

enum { ID_DIGITS = 16 };

/* Set the sentence for a failure of munge.  Returns its kind. */
static int set_munge_error(munge_ctx_t ctx, munge_err_t why,
			   struct egs_err *err)
{
	const char *text = ctx ? munge_ctx_strerror(ctx) : NULL;

	if (!text)
		text = munge_strerror(why);
	if (why == EMUNGE_SOCKET || why == EMUNGE_TIMEOUT) {
		egs_errf(err, "munged does not answer: %s", text);
		return EGS_CRED_NO_MUNGED;
	}
	egs_errf(err, "%s", text);
	return EGS_CRED_BAD;
}

static munge_ctx_t new_munge_ctx(const struct egs_cred_conf *conf)
{
	munge_ctx_t ctx = munge_ctx_create();

	if (ctx && conf->munge_socket &&
	    munge_ctx_set(ctx, MUNGE_OPT_SOCKET, conf->munge_socket) !=
		    EMUNGE_SUCCESS) {
		munge_ctx_destroy(ctx);
		ctx = NULL;
	}
	return ctx;
}

static char *build_payload(const struct egs_cred_conf *conf, const char *bytes,
			   size_t len, size_t *total)
{
	char head[EGS_CRED_AUDIENCE_MAX + 64];
	unsigned long long id;
	char *payload;
	int n;

	if (getrandom(&id, sizeof(id), 0) != sizeof(id))
		return NULL;
	n = snprintf(head, sizeof(head), MAGIC "%s %016llx\n", conf->audience,
		     id);
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
		    size_t len, char **text, struct egs_err *err)
{
	size_t total = 0;
	char *payload = build_payload(conf, bytes, len, &total);
	munge_ctx_t ctx = new_munge_ctx(conf);
	munge_err_t why;
	int rc = 0;

	if (!payload || !ctx) {
		rc = egs_errf(err, "no credential: out of memory, or the name "
				   "of the cluster is too long");
	} else {
		munge_ctx_set(ctx, MUNGE_OPT_TTL, EGS_CRED_TTL_S);
		why = munge_encode(text, ctx, payload, (int)total);
		if (why != EMUNGE_SUCCESS)
			rc = set_munge_error(ctx, why, err);
	}
	munge_ctx_destroy(ctx);
	free(payload);
	return rc;
}

/* The sender chooses how long munged accepts a credential.  We have our own
 * limit.
 */
static bool is_too_old(munge_ctx_t ctx, struct egs_cred *cred)
{
	time_t now = 0;

	munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &cred->encoded_at);
	munge_ctx_get(ctx, MUNGE_OPT_DECODE_TIME, &now);
	return cred->encoded_at > now + EGS_CRED_TTL_S ||
	       cred->encoded_at < now - EGS_CRED_TTL_S;
}

void egs_cred_map_ipv4(in_addr_t ipv4, struct in6_addr *ipv6)
{
	*ipv6 = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
	memcpy(&ipv6->s6_addr[12], &ipv4, sizeof(ipv4));
}

static void read_origin(munge_ctx_t ctx, struct egs_cred *cred)
{
	struct in_addr ipv4 = { .s_addr = 0 };

	munge_ctx_get(ctx, MUNGE_OPT_ADDR4, &ipv4);
	egs_cred_map_ipv4(ipv4.s_addr, &cred->origin);
}

static bool has_audience(const char *payload, size_t head, const char *audience)
{
	return head == strlen(audience) + ID_DIGITS + 1 &&
	       strncmp(payload, audience, strlen(audience)) == 0 &&
	       payload[strlen(audience)] == ' ';
}

/* Check and remove the first line of the payload. */
static int strip_head(const char *audience, struct egs_cred *cred,
		      struct egs_err *err)
{
	size_t magic = strlen(MAGIC);
	const char *end = memchr(cred->payload, '\n', cred->len);
	size_t head = end ? (size_t)(end - cred->payload) : 0;
	char *digits_end;

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

static int copy_payload(struct egs_cred *cred, const void *bytes, size_t len)
{
	cred->payload = malloc(len + 1);
	if (!cred->payload)
		return -1;
	if (len)
		memcpy(cred->payload, bytes, len);
	cred->payload[len] = '\0';
	cred->len = len;
	return 0;
}

int egs_cred_decode(const struct egs_cred_conf *conf, const char *text,
		    struct egs_cred *cred, struct egs_err *err)
{
	struct egs_cred new = { .payload = NULL };
	munge_ctx_t ctx = new_munge_ctx(conf);
	void *bytes = NULL;
	int len = 0, rc = 0;
	munge_err_t why;

	if (!ctx)
		return egs_errf(err, "out of memory");
	why = munge_decode(text, ctx, &bytes, &len, &new.uid, &new.gid);
	read_origin(ctx, &new);
	if (why != EMUNGE_SUCCESS)
		rc = set_munge_error(ctx, why, err);
	else if (is_too_old(ctx, &new))
		rc = egs_errf(err, "the credential is older than %d s",
			      EGS_CRED_TTL_S);
	else if (copy_payload(&new, bytes, (size_t)len) < 0)
		rc = egs_errf(err, "out of memory");
	else
		rc = strip_head(conf->audience, &new, err);
	munge_ctx_destroy(ctx);
	free(bytes);
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
