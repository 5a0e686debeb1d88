/* SPDX-License-Identifier: MIT
 *
 * ring/session.h - how a guest and a recorder find each other
 *
 * Runs in:  guests and the recorder
 * Protocol: one SOCK_SEQPACKET connection per attachment. The guest sends a session_hello; the recorder
 *           answers with a session_welcome and the region's descriptor (SCM_RIGHTS); the guest maps it,
 *           sends a session_attached and closes both. Each side checks the other's uid by SO_PEERCRED:
 *           a guest serves its own user or root, a recorder takes its own user's programs, or as root
 *           everybody's.
 * Where:    DUET_SESSION holds up to two addresses separated by ',': a path, and an abstract name with a
 *           leading '@' for programs that do not share the recorder's file system. Without it a guest
 *           tries the machine-wide recorders SESSION_ANY of its own user and of root.
 * Taken:    an abstract name is anybody's to take. A guest does not believe a listener of another user, so
 *           a taken name keeps recordings from starting (they say who has it) and reveals nothing.
 * Again:    a guest that saw no beat for 10 s says hello again. A recorder that finds its earlier region
 *           still mapped in the process takes it for the same one and gives it a new region; nothing is
 *           missing between the two where the earlier one says that the guest had left it. A guest of
 *           another name in the same process gets a region beside that. A name may end in ':' and what tells
 *           several guests of one kind apart: libduet may be in a process more than once.
 * Entered:  where a recorder brings a guest into a process that runs, nothing is in that one's environment: the guest's entry
 *           is given both values, SESSION_VARIABLE's and behind a line's end SESSION_SECCOMP_VARIABLE's.
 * Owner:    a program that starts a recorder of its own (libduet) hands it one end of a SOCK_SEQPACKET pair.
 *           The recorder sends a session_ready when it records; it ends the recording when the other end
 *           sends no more (shut down, or gone with the program), and sends a session_ended when the file is
 *           complete.
 */
#ifndef RING_SESSION_H
#define RING_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SESSION_MAGIC   0x74657564u /* "duet" */
#define SESSION_VERSION 3u

#define SESSION_VARIABLE         "DUET_SESSION"
/* "MODE" or "MODE:FILTERS": the recorder's own seccomp mode (0, 1, 2) and, from Linux 5.9 on, how many filters
 * it has (Seccomp: and Seccomp_filters: of /proc/self/status). A program has those of its parents. One that has
 * a filter where the recorder had none, or more than the recorder had, has put it on itself, and may have
 * chosen death as the answer to socket(); the guest then stays quiet. A guest whose kernel does not count, or
 * that got a MODE alone, can only compare modes. Without the variable (record -a) there is nothing to compare
 * with, nor can the welcome help, since the socket comes before it: with any filter the guest stays quiet. */
#define SESSION_SECCOMP_VARIABLE "DUET_SECCOMP"
/* "@" and a printf format for the uid */
#define SESSION_ANY              "@duet-any-%u"

/* What such an entry returns. */
enum session_entered {
	SESSION_ENTERED,
	SESSION_ENTERED_UNHEARD, /* no recorder has answered */
	SESSION_ENTERED_TAKEN,   /* another one records this process */
	SESSION_ENTERED_LEAVING, /* what was there from an earlier recording does not come to its end */
	SESSION_ENTERED_REFUSED /* by the runtime, which the recorder is told in a ring */
};

enum { SESSION_NAMES_BYTES = 256 }; /* of the value of DUET_SESSION, its NUL included */

struct session_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;   /* as the guest's namespace counts */
	char guest[20]; /* "opencl", "rocm", "ranges:7f12c0a41" */
};

struct session_welcome {
	uint32_t magic;
	uint32_t version;
	uint32_t ring_count; /* 0: not wanted, no descriptor follows */
	uint32_t ring_bytes;
};

struct session_attached {
	uint32_t magic;
	uint32_t ring_count; /* rings mapped; 0: none */
	int32_t error;       /* errno of the mapping that failed, else 0 */
};

struct session_ready {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;                    /* the recorder's */
	char names[SESSION_NAMES_BYTES]; /* as in DUET_SESSION */
};

struct session_ended {
	uint32_t magic;
	int32_t status; /* with which the recorder exits */
};

/* The socket address of one of the names above; 0: too long, or empty. */
static inline socklen_t session_address(const char *name, size_t length,
					struct sockaddr_un *ret_address)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (length == 0 || length >= sizeof(address.sun_path))
		return 0;
	memcpy(address.sun_path, name, length);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	*ret_address = address;
	/* A path ends with a NUL, an abstract name where its length says. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] != '@'));
}

#endif
