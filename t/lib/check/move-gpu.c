/* move-gpu.c - have a GPU open where a scan of open files hardly finds it
 *
 * usage: move-gpu FILE READY
 *
 * The file is in flight in one of two Unix sockets and goes to the other one
 * every 10 ms.  Writes a byte to the file READY for each way there and back.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOVES_MS = 10 };

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static struct msghdr make_message(union control *control, struct iovec *byte)
{
	struct msghdr msg = { .msg_iov = byte,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(*control) };

	memset(control, 0, sizeof(*control));
	control->head.cmsg_len = CMSG_LEN(sizeof(int));
	control->head.cmsg_level = SOL_SOCKET;
	control->head.cmsg_type = SCM_RIGHTS;
	return msg;
}

static int send_file(int to, int fd)
{
	union control control;
	struct iovec byte = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = make_message(&control, &byte);

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(to, &msg, 0) == 1 ? close(fd) : -1;
}

static int move_file(int from, int to)
{
	union control control;
	char c;
	struct iovec byte = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = make_message(&control, &byte);
	int fd;

	if (recvmsg(from, &msg, 0) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return send_file(to, fd);
}

int main(int argc, char **argv)
{
	int a[2], b[2], fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	int ready = argc == 3
			    ? open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600)
			    : -1;

	if (fd < 0 || ready < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, a) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, b) < 0 ||
	    send_file(a[0], fd) < 0)
		return 1;
	while (write(ready, "x", 1) == 1) {
		poll(NULL, 0, MOVES_MS);
		if (move_file(a[1], b[0]) < 0)
			return 1;
		poll(NULL, 0, MOVES_MS);
		if (move_file(b[1], a[0]) < 0)
			return 1;
	}
	return 1;
}
