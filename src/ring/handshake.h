/* SPDX-License-Identifier: MIT
 *
 * ring/handshake.h - the program's side of ring/session.h: find a recorder, ask it for rings, map
 * them
 *
 * Runs in:  the profiled process: guests and libduet
 * Manners:  never prints, allocates or takes a lock; waits for an answer no longer than wait_ms;
 *           changes errno as libc does
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ring/ring.h"
#include "ring/session.h"

#pragma GCC visibility push(hidden)

/* Copied from the environment once: the program may change it while another thread reads it. */
struct handshake_environment {
	char names[SESSION_NAMES_BYTES]; /* "": not set */
	bool is_recorder_filtered;
	/* number of seccomp filters that the recorder has too; -1: unknown */
	long recorder_filters;
};
void handshake_read_environment(struct handshake_environment *ret_environment);
/* The same from the recorder's values of SESSION_VARIABLE and SESSION_SECCOMP_VARIABLE instead of
 * the environment; NULL: not set. */
void handshake_take_environment(const char *names, const char *filters,
				struct handshake_environment *ret_environment);

/* For a recorder that is started from here: it has the filters that this thread has now. */
void handshake_take_own_filters(struct handshake_environment *environment);

/* False: the program has installed a seccomp filter, which may kill for a socket. */
bool handshake_may_use_sockets(const struct handshake_environment *environment);

/* False: reading the time stamp counter kills this thread (PR_SET_TSC), and so does each clock that
 * the C library reads by it. Call it only if sockets may be used: a filter may kill for this as
 * well. */
bool handshake_may_read_counter(void);

/* Connects to the first listening name of `names`, separated by ',', that belongs to our user or
 * root; -1: none does. */
int handshake_connect(const char *names);
/* Connects to the next recorder of the whole machine: those of our own user come first, then
 * root's. The place is 0 for the first search; -1: there are no more. */
int handshake_connect_any(uint32_t *inout_place);

/* Rings received from a recorder. */
struct handshake_rings {
	struct ring_region *region; /* owned mapping; not inherited by a forked child */
	uint32_t ring_count, ring_bytes;
};

/* Says hello as `guest`. Errors: -ECONNREFUSED. */
int handshake_say_hello(int fd, const char *guest);

/* Maps the rings of the answer, as many as the program's own limits leave room for. Errors:
 * -ETIMEDOUT: no answer within wait_ms, it may still come; -ENODATA: the recorder does not want
 * this guest; -ECONNREFUSED: it has hung up; -EPROTO: the answer is invalid; -EOPNOTSUPP: no clock
 * can be read here; otherwise the error of mmap. */
int handshake_rings_open(int fd, uint32_t wait_ms, struct handshake_rings *ret_rings);
void handshake_rings_close(struct handshake_rings *rings);

/* Waits until there is something to read, or the other end has hung up; the program's own signals
 * may interrupt the wait but not end it. */
bool handshake_wait(int fd, uint32_t wait_ms);

#pragma GCC visibility pop
