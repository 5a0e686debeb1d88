/* SPDX-License-Identifier: MIT
 *
 * ring/descriptor.h - messages with a file descriptor over a Unix socket
 *
 * Runs in:  guests and the recorder
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sends a message without waiting. descriptor -1: none. False: errno is set. */
static inline bool descriptor_send(int fd, const void *bytes, size_t size, int descriptor)
{
	_Alignas(struct cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {(void *)(size_t)bytes, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (descriptor >= 0) {
		struct cmsghdr *head;

		message.msg_control = space;
		message.msg_controllen = sizeof(space);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* Takes the descriptor that came with a received message; -1: none. A message may carry more than
 * one: the others are closed. */
static inline int descriptor_take(struct msghdr *message)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(message);
	int taken = -1;

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
		return -1;
	for (size_t at = CMSG_LEN(0); at + sizeof(int) <= head->cmsg_len; at += sizeof(int)) {
		int fd;

		memcpy(&fd, (char *)head + at, sizeof(fd));
		if (taken < 0)
			taken = fd;
		else
			close(fd);
	}
	return taken;
}
