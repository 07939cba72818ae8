/* sealed.h - answers to other hosts, authenticated by MUNGE
 *
 * Anybody can listen on the port of egs-policyd while it does not run.  So an
 * answer over TCP is sealed: it travels in MUNGE credentials of the daemon,
 * which only the asker's uid can decode.  Their payload is
 *
 *	egs-answer AUDIENCE ID PART +|.\n BYTES
 *
 * AUDIENCE names the daemon of one cluster.  ID is the random number of the
 * request (cred.h), so an answer cannot be used for another request.  munged
 * limits a credential to 1 MiB, and an answer may have 64 MiB: so an answer is
 * one part or several, each a packet of its own, with numbers from 0.  The last
 * part has '.', all others '+'.  A part may have no bytes.
 *
 * A key for each conversation and a MAC of our own would save munged's work for
 * each part.  But it needs a cipher library on every host, and it would be
 * another protocol to get right.  MUNGE is there and reviewed.
 *
 * Encoding and decoding call munged and may block for seconds: see child.h.
 */
#ifndef EGS_IPC_SEALED_H
#define EGS_IPC_SEALED_H

#include "common/base/buf.h"
#include "common/ipc/cred.h"

/* The most bytes of a part, and of the packet that carries it. */
#define EGS_SEALED_PART_MAX   (512U << 10)
#define EGS_SEALED_PACKET_MAX (1U << 20)

/* The request that an answer belongs to. */
struct egs_sealed_request {
	uid_t uid; /* of the asker */
	uint64_t id;
};

/* Append the packets of an answer to 'out', whose parts begin with 'part'.
 * With 'more', other parts follow later.  Returns 0, or EGS_CRED_BAD or
 * EGS_CRED_NO_MUNGED with 'err' set.
 */
int egs_sealed_encode(const struct egs_cred_conf *conf,
		      const struct egs_sealed_request *request, uint32_t part,
		      bool more, const char *bytes, size_t len,
		      struct egs_buf *out, struct egs_err *err);

/* Reads the parts of an answer.  The caller sets the first three fields. */
struct egs_sealed_reader {
	struct egs_cred_conf conf;
	const char *slurm_user; /* as in trust.h */
	uint64_t id;		/* of the request */
	uint32_t part;		/* the next one */
	uid_t uid;		/* of the answer */
	bool complete;
	struct egs_buf answer;
};

/* Check the packet 'text' and append its bytes to the answer.  Returns 0, or
 * EGS_CRED_BAD or EGS_CRED_NO_MUNGED with 'err' set: a clause that says why the
 * answer is not authentic.
 */
int egs_sealed_decode(struct egs_sealed_reader *reader, const char *text,
		      struct egs_err *err);

#endif
