/* SPDX-License-Identifier: MIT
 *
 * ring/handshake.h - the program's half of ring/session.h: find a recorder, ask it for rings, map them
 *
 * Runs in:  the profiled process: guests and libduet
 * Manners:  never prints, allocates or takes a lock; waits for an answer no longer than it is told to; each keeps errno no
 *           better than libc does
 */
#ifndef RING_HANDSHAKE_H
#define RING_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/ring.h"
#include "ring/session.h"

#pragma GCC visibility push(hidden)

/* From the environment, once: the program may change it while another thread looks. */
struct handshake_environment {
	char names[SESSION_NAMES_BYTES]; /* "": not set */
	bool is_recorder_filtered;
	long recorder_filters; /* seccomp filters that the recorder has too; -1: not known */
};
void handshake_read_environment(struct handshake_environment *ret_environment);
/* From what a recorder says instead: the values of SESSION_VARIABLE and SESSION_SECCOMP_VARIABLE; NULL: not set. */
void handshake_take_environment(const char *names, const char *filters,
				struct handshake_environment *ret_environment);

/* Of a recorder that is started from here: it has the filters that this thread has now. */
void handshake_take_own_filters(struct handshake_environment *environment);

/* False: the program has put a seccomp filter on itself, which may kill for a socket. */
bool handshake_may_use_sockets(const struct handshake_environment *environment);

/* A connection to the first of names, separated by ',', that listens and is our user's or root's; -1: none does. */
int handshake_connect(const char *names);
/* … to a recorder of the whole machine. */
int handshake_connect_any(void);

/* What a recorder has given. */
struct handshake_rings {
	struct ring_region *region; /* owned mapping; a child of a fork has it not */
	uint32_t ring_count, ring_bytes;
};

/* Says hello as `guest`. Errors: -ECONNREFUSED. */
int handshake_say_hello(int fd, const char *guest);

/* Maps what comes back, as many rings as the program's own limits leave room for. Errors: -ETIMEDOUT: no answer within
 * wait_ms, it may come yet; -ENODATA: it wants nothing of us; -ECONNREFUSED: it has hung up; -EPROTO: what it gave makes
 * no sense; else what mmap said. */
int handshake_rings_open(int fd, uint32_t wait_ms, struct handshake_rings *ret_rings);
void handshake_rings_close(struct handshake_rings *rings);

/* Waits until there is something to read, or the other end has hung up; the program's own signals may interrupt the
 * wait, not end it. */
bool handshake_wait(int fd, uint32_t wait_ms);

#pragma GCC visibility pop

#endif
