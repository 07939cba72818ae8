/* munge_call.c - encode and decode bytes with munged */
#include <munge.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/munge_call.h"

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

static munge_ctx_t new_munge_ctx(const char *socket)
{
	munge_ctx_t ctx = munge_ctx_create();

	if (ctx && socket &&
	    munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) {
		munge_ctx_destroy(ctx);
		ctx = NULL;
	}
	return ctx;
}

int egs_munge_call_encode(const char *socket, uid_t only_for, const char *bytes,
			  size_t len, char **text, struct egs_err *err)
{
	munge_ctx_t ctx = new_munge_ctx(socket);
	munge_err_t why;
	int rc = 0;

	if (!ctx)
		return egs_errf(err, "out of memory");
	munge_ctx_set(ctx, MUNGE_OPT_TTL, EGS_CRED_TTL_S);
	munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, only_for);
	why = munge_encode(text, ctx, bytes, (int)len);
	if (why != EMUNGE_SUCCESS)
		rc = set_munge_error(ctx, why, err);
	munge_ctx_destroy(ctx);
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

static void read_origin(munge_ctx_t ctx, struct egs_cred *cred)
{
	struct in_addr ipv4 = { .s_addr = 0 };

	munge_ctx_get(ctx, MUNGE_OPT_ADDR4, &ipv4);
	egs_cred_map_ipv4(ipv4.s_addr, &cred->origin);
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

int egs_munge_call_decode(const char *socket, const char *text,
			  struct egs_cred *cred, struct egs_err *err)
{
	struct egs_cred new = { .only_for = EGS_MUNGE_ANY_UID };
	munge_ctx_t ctx = new_munge_ctx(socket);
	void *bytes = NULL;
	int len = 0, rc = 0;
	munge_err_t why;

	if (!ctx)
		return egs_errf(err, "out of memory");
	why = munge_decode(text, ctx, &bytes, &len, &new.uid, &new.gid);
	read_origin(ctx, &new);
	munge_ctx_get(ctx, MUNGE_OPT_UID_RESTRICTION, &new.only_for);
	if (why != EMUNGE_SUCCESS)
		rc = set_munge_error(ctx, why, err);
	else if (is_too_old(ctx, &new))
		rc = egs_errf(err, "the credential is older than %d s",
			      EGS_CRED_TTL_S);
	else if (copy_payload(&new, bytes, (size_t)len) < 0)
		rc = egs_errf(err, "out of memory");
	munge_ctx_destroy(ctx);
	free(bytes);
	if (rc == 0)
		*cred = new;
	return rc;
}
