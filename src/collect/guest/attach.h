/* SPDX-License-Identifier: MIT
 *
 * collect/guest/attach.h - the sockets to which guests connect
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/session.h"

/* ATTACH_SPARE: descriptors that are kept free to attach one guest: its pidfd, its rings, files of
 * /proc. ATTACH_BACKLOG: guests connect without waiting for room in the backlog; the kernel lowers
 * the number to net.core.somaxconn. */
enum { ATTACH_LISTENERS = 3, ATTACH_PENDING = 256, ATTACH_SPARE = 8, ATTACH_BACKLOG = 4096 };

struct attach {
	int listeners[ATTACH_LISTENERS]; /* owned; -1: not open */
	/* Owned; connections that have not said hello yet, oldest first. */
	int pending[ATTACH_PENDING];
	size_t pending_count;
	/* Owned; the folder of the socket that has a path. -1: there is no such socket. */
	int folder_fd;
	char folder[128];
	char addresses[256]; /* value of the variable DUET_SESSION */
	/* Programs of this user are recorded; root's machine-wide recorder records all users. */
	uid_t uid;
	/* The recorder's user when it opened the sockets; an agent changes its user later. */
	uid_t opener;
	int max_descriptors;     /* limit of this process (RLIMIT_NOFILE) */
	bool is_resting;         /* no descriptor is left; connections wait until attach_resume */
	unsigned int any_number; /* machine-wide name: 1 to SESSION_ANY_NAMES; 0: none */
	uint64_t turned_away;    /* connections for which no descriptor was left */
	uint64_t evicted;        /* silent connections that were closed to make room for others */
	/* Hellos that were read after their guest had ended or stopped waiting. */
	uint64_t late;
	/* The first peer of a user whose programs are not recorded; pid 0: there was none. */
	struct ucred foreign;
};

/* Sets all descriptors to -1. attach_close may then be called. */
void attach_init(struct attach *attach);

/* any: listen under the machine-wide name as well. owner: the user that runs the program. Errors:
 * -errno; -EADDRINUSE if SESSION_ANY_NAMES machine-wide recordings are running or other processes
 * use their names. */
int attach_open(struct attach *attach, bool any, uid_t owner, gid_t group);
/* Takes an earlier machine-wide name that another recorder has left. Guests try the first name
 * before the others. Call it each second. */
void attach_move_up(struct attach *attach);
/* From now on running programs may connect to the machine-wide socket. Each waits in a call until
 * it gets an answer, so the caller must be about to answer. */
void attach_begin(const struct attach *attach);
void attach_close(struct attach *attach);

/* Adds the descriptors to poll. Returns the number of entries used, at most ATTACH_LISTENERS +
 * ATTACH_PENDING. */
size_t attach_poll(const struct attach *attach, struct pollfd *entries);

/* attach_rest is called after a descriptor was refused: connections then wait, and the recorder
 * does not loop. attach_resume ends that. Call it every second. */
void attach_rest(struct attach *attach);
void attach_resume(struct attach *attach);

/* One hello. fd is its connection and pid_fd its process; both belong to the caller. pid_fd is -1
 * if the kernel has no pidfds. */
struct attach_hello {
	int fd;
	int pid_fd;
	pid_t pid; /* in the recorder's pid namespace */
	uid_t uid;
	struct session_hello hello;
};

/* Gets the next hello that has arrived; false: there is none. Connections that stay silent may be
 * closed to make room for new ones. */
bool attach_next(struct attach *attach, struct attach_hello *ret_hello);

/* Answers a hello. region_fd -1: the guest is refused. The connection stays open for the guest's
 * farewell. */
int attach_answer(int fd, uint32_t ring_count, uint32_t ring_bytes, int region_fd);
