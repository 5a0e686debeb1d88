/* SPDX-License-Identifier: MIT
 *
 * collect/attach.h - the sockets on which guests say hello
 */
#ifndef COLLECT_ATTACH_H
#define COLLECT_ATTACH_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/session.h"

/* SPARE: descriptors that are kept for taking one guest in: its pid, its rings, files of /proc. BACKLOG: a
 * guest does not wait for a place in it; the kernel allows so many (net.core.somaxconn). */
enum { ATTACH_LISTENERS = 3, ATTACH_PENDING = 256, ATTACH_SPARE = 8, ATTACH_BACKLOG = 4096 };

struct attach {
	int listeners[ATTACH_LISTENERS]; /* owned; -1: not there */
	int pending
		[ATTACH_PENDING]; /* owned; connections that have not said hello yet, oldest first */
	size_t pending_count;
	int folder_fd; /* owned; of the socket with a path; -1 where there is none */
	char folder[128];
	char addresses[256];  /* value of DUET_SESSION */
	uid_t uid;            /* whose programs are taken; root's recorder: everybody's */
	int most_descriptors; /* of this process, by its limit */
	bool is_resting;      /* no descriptor is left: connections wait until attach_resume */
	uint64_t turned_away; /* connections for which no descriptor was left */
	uint64_t evicted;     /* … that had said nothing when many others came */
	uint64_t late; /* hellos whose guests were gone or had given up when they were read */
	struct ucred
		foreign; /* the first of a user whose programs are not taken; pid 0: none came */
};

/* Nothing open; attach_close is allowed. */
void attach_init(struct attach *attach);

/* any: also under the machine-wide name. owner: who runs the program. Errors: -errno; -EADDRINUSE where
 * another machine-wide recording is running, or somebody else has taken its name. */
int attach_open(struct attach *attach, bool any, uid_t owner, gid_t group);
void attach_close(struct attach *attach);

/* Adds what is to be waited for; returns the number of entries used (at most LISTENERS + PENDING). */
size_t attach_poll(const struct attach *attach, struct pollfd *entries);

/* Where a descriptor was refused: connections are left waiting, without a busy loop, until the next
 * attach_resume, which is to be called every second. */
void attach_rest(struct attach *attach);
void attach_resume(struct attach *attach);

/* One hello. fd, pid_fd: the connection and the process, now the caller's; pid_fd -1 where the kernel has
 * none. */
struct attach_hello {
	int fd;
	int pid_fd;
	pid_t pid; /* in the recorder's pid namespace */
	uid_t uid;
	struct session_hello hello;
};

/* The next hello that has arrived; false when there is none. Only connections that have said nothing are
 * given up for new ones. */
bool attach_next(struct attach *attach, struct attach_hello *ret_hello);

/* Answers a hello; region_fd -1: not wanted. The connection stays open for the guest's farewell. */
int attach_answer(int fd, uint32_t ring_count, uint32_t ring_bytes, int region_fd);

#endif
