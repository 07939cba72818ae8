/* doorbell.c - datagrams to egs-policyd on its doorbell */
#include <sys/socket.h>

#include "common/ipc/doorbell.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd[2] = { -1, -1 };
	struct egs_doorbell_claim got;

	if (fd[0] < 0)
		fuzz_check(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0,
				      fd) == 0);
	if (send(fd[0], data, size, 0) < 0)
		return 0;
	if (egs_doorbell_read(fd[1], &got) > 0)
		fuzz_check(got.msg.nparts <= EGS_DOORBELL_PARTS_MAX &&
			   got.msg.event < EGS_DOORBELL_EVENT_COUNT);
	return 0;
}
