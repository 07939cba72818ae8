/* pass_file.h - send an open file through a Unix socket
 *
 *	send_file(SOCKET, FD)	and close it here
 *	receive_file(SOCKET)	returns its number here
 *
 * A process that cannot do so ends with status 1.
 */
#ifndef EGS_PASS_FILE_H
#define EGS_PASS_FILE_H

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A message with one file, or with room for one. */
struct file_message {
	char text[1];
	struct iovec byte;
	struct msghdr msg;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
};

static inline struct msghdr *set_message(struct file_message *m)
{
	memset(m, 0, sizeof(*m));
	m->control.head.cmsg_len = CMSG_LEN(sizeof(int));
	m->control.head.cmsg_level = SOL_SOCKET;
	m->control.head.cmsg_type = SCM_RIGHTS;
	m->byte.iov_base = m->text;
	m->byte.iov_len = 1;
	m->msg.msg_iov = &m->byte;
	m->msg.msg_iovlen = 1;
	m->msg.msg_control = &m->control;
	m->msg.msg_controllen = sizeof(m->control);
	return &m->msg;
}

static inline void send_file(int socket, int fd)
{
	struct file_message m;
	struct msghdr *msg = set_message(&m);

	memcpy(CMSG_DATA(&m.control.head), &fd, sizeof(fd));
	if (sendmsg(socket, msg, 0) < 0)
		_exit(1);
	close(fd);
}

static inline int receive_file(int socket)
{
	struct file_message m;
	int fd;

	if (recvmsg(socket, set_message(&m), 0) <= 0)
		_exit(1);
	memcpy(&fd, CMSG_DATA(&m.control.head), sizeof(fd));
	return fd;
}

#endif
