/* cred.c - heads of requests and answers, inside credentials of MUNGE
 *
 * The bytes are the payload of a credential that root has encoded for us.
 */
#include "common/ipc/munge_call.h"
#include "common/ipc/sealed.h"
#include "t/fuzz/fuzz.h"

static const uint8_t *payload;
static size_t payload_len;

int egs_munge_call_encode(const char *socket, uid_t only_for, const char *bytes,
			  size_t len, char **text, struct egs_err *err)
{
	(void)socket;
	(void)only_for;
	(void)bytes;
	(void)len;
	*text = NULL;
	return egs_errf(err, "no munged");
}

int egs_munge_call_decode(const char *socket, const char *text,
			  struct egs_cred *cred, struct egs_err *err)
{
	(void)socket;
	(void)text;
	(void)err;
	*cred = (struct egs_cred){ .only_for = geteuid(),
				   .payload = fuzz_text(payload, payload_len),
				   .len = payload_len };
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct egs_cred_conf conf = { .audience = "egs-policyd:deep" };
	struct egs_sealed_reader reader = { .conf = conf,
					    .slurm_user = "",
					    .id = 0x0123456789abcdef };
	struct egs_cred cred = { .payload = NULL };
	struct egs_err err;

	payload = data;
	payload_len = size;
	if (egs_cred_decode(&conf, "", &cred, &err) == 0)
		fuzz_check(cred.len < size && cred.payload[cred.len] == '\0');
	egs_cred_clear(&cred);
	if (egs_sealed_decode(&reader, "", &err) == 0)
		fuzz_check(reader.answer.used < size);
	egs_buf_clear(&reader.answer);
	return 0;
}
