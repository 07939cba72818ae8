/* packet.h - a packet of a stream: four bytes of length, then the message
 *
 * On a Unix socket a packet is a message (msg.h).  On TCP a request is a
 * credential that contains the message (cred.h), and an answer is one or more
 * (sealed.h).  The length is in network byte order.
 */
#ifndef EGS_IPC_PACKET_H
#define EGS_IPC_PACKET_H

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EGS_PACKET_HEAD_SIZE sizeof(uint32_t)

static inline void egs_packet_put_head(char *to, size_t len)
{
	uint32_t n = htonl((uint32_t)len);

	memcpy(to, &n, sizeof(n));
}

static inline size_t egs_packet_get_head(const char *from)
{
	uint32_t n;

	memcpy(&n, from, sizeof(n));
	return ntohl(n);
}

#endif
