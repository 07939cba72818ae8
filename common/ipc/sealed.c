/* sealed.c - answers to other hosts, authenticated by MUNGE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/msg.h"
#include "common/ipc/munge_call.h"
#include "common/ipc/packet.h"
#include "common/ipc/sealed.h"
#include "common/ipc/trust.h"

#define MAGIC "egs-answer "

enum { HEAD_MAX = EGS_CRED_AUDIENCE_MAX + 64 };

/* ---- encode ---- */

static char *build_part(const char *audience, uint64_t id, uint32_t part,
			bool more, const char *bytes, size_t len, size_t *total)
{
	char head[HEAD_MAX], *payload;
	int n = snprintf(head, sizeof(head),
			 MAGIC "%s %016" PRIx64 " %" PRIu32 " %c\n", audience,
			 id, part, more ? '+' : '.');

	if (n < 0 || (size_t)n >= sizeof(head))
		return NULL;
	payload = malloc((size_t)n + len);
	if (!payload)
		return NULL;
	memcpy(payload, head, (size_t)n);
	if (len)
		memcpy(payload + n, bytes, len);
	*total = (size_t)n + len;
	return payload;
}

static int append_packet(struct egs_buf *out, const char *text)
{
	size_t len = strlen(text);
	char *to = egs_buf_reserve(out, EGS_PACKET_HEAD_SIZE + len);

	if (!to)
		return -1;
	egs_packet_put_head(to, len);
	memcpy(to + EGS_PACKET_HEAD_SIZE, text, len);
	out->used += EGS_PACKET_HEAD_SIZE + len;
	return 0;
}

static int encode_part(const struct egs_cred_conf *conf,
		       const struct egs_sealed_request *request, uint32_t part,
		       bool more, const char *bytes, size_t len,
		       struct egs_buf *out, struct egs_err *err)
{
	size_t total = 0;
	char *payload = build_part(conf->audience, request->id, part, more,
				   bytes, len, &total);
	char *text = NULL;
	int rc;

	if (!payload)
		return egs_errf(err, "no credential: out of memory, or the "
				     "name of the cluster is too long");
	rc = egs_munge_call_encode(conf->munge_socket, request->uid, payload,
				   total, &text, err);
	if (rc == 0 && append_packet(out, text) < 0)
		rc = egs_errf(err, "out of memory");
	free(payload);
	free(text);
	return rc;
}

int egs_sealed_encode(const struct egs_cred_conf *conf,
		      const struct egs_sealed_request *request, uint32_t part,
		      bool more, const char *bytes, size_t len,
		      struct egs_buf *out, struct egs_err *err)
{
	size_t n;
	int rc;

	do {
		n = len < EGS_SEALED_PART_MAX ? len : EGS_SEALED_PART_MAX;
		len -= n;
		rc = encode_part(conf, request, part++, more || len, bytes, n,
				 out, err);
		bytes += n;
	} while (rc == 0 && len);
	return rc;
}

/* ---- decode ---- */

/* If 'text' is next in the payload, skip it. */
static bool skip_text(const struct egs_cred *cred, size_t *at, const char *text)
{
	size_t len = strlen(text);

	if (cred->len - *at < len ||
	    memcmp(cred->payload + *at, text, len) != 0)
		return false;
	*at += len;
	return true;
}

/* Set '*at' to the first byte behind the head. */
static int check_head(struct egs_sealed_reader *reader,
		      const struct egs_cred *cred, size_t *at,
		      struct egs_err *err)
{
	char id[32], part[32];

	snprintf(id, sizeof(id), "%016" PRIx64 " ", reader->id);
	snprintf(part, sizeof(part), "%" PRIu32 " ", reader->part);
	*at = 0;
	if (!skip_text(cred, at, MAGIC))
		return egs_errf(err, "its credential has no answer");
	if (!skip_text(cred, at, reader->conf.audience) ||
	    !skip_text(cred, at, " "))
		return egs_errf(err, "it is of another daemon than %s",
				reader->conf.audience);
	if (!skip_text(cred, at, id))
		return egs_errf(err, "it belongs to another request");
	if (!skip_text(cred, at, part))
		return egs_errf(err, "part %" PRIu32 " is missing",
				reader->part);
	reader->complete = skip_text(cred, at, ".\n");
	if (!reader->complete && !skip_text(cred, at, "+\n"))
		return egs_errf(err, "its credential has no answer");
	return 0;
}

static int check_users(const struct egs_sealed_reader *reader,
		       const struct egs_cred *cred, struct egs_err *err)
{
	if (egs_trust_check(cred->uid, reader->slurm_user, err) < 0)
		return -1;
	if (cred->only_for != geteuid())
		return egs_errf(err, "its credential is not only for uid %lu",
				(unsigned long)geteuid());
	return 0;
}

static int append_bytes(struct egs_buf *answer, const char *bytes, size_t len,
			struct egs_err *err)
{
	char *to;

	if (answer->used + len > EGS_MSG_ANSWER_MAX)
		return egs_errf(err, "it has more than %u bytes",
				EGS_MSG_ANSWER_MAX);
	to = egs_buf_reserve(answer, len + 1);
	if (!to)
		return egs_errf(err, "out of memory");
	memcpy(to, bytes, len);
	answer->used += len;
	return 0;
}

int egs_sealed_decode(struct egs_sealed_reader *reader, const char *text,
		      struct egs_err *err)
{
	struct egs_cred cred;
	size_t at = 0;
	int rc = egs_munge_call_decode(reader->conf.munge_socket, text, &cred,
				       err);

	if (rc < 0)
		return rc;
	rc = check_users(reader, &cred, err);
	if (rc == 0)
		rc = check_head(reader, &cred, &at, err);
	if (rc == 0)
		rc = append_bytes(&reader->answer, cred.payload + at,
				  cred.len - at, err);
	if (rc == 0) {
		reader->uid = cred.uid;
		reader->part++;
	}
	egs_cred_clear(&cred);
	return rc;
}
