/* SPDX-License-Identifier: MIT
 *
 * ring/session.h - how a guest and a recorder find each other
 *
 * Runs in:  guests and the recorder
 * Protocol: one SOCK_SEQPACKET connection per attachment. The guest sends a session_hello; the
 *           recorder answers with a session_welcome and the region's descriptor (SCM_RIGHTS); the
 *           guest maps it, sends a session_attached and closes both. Each side checks the other's
 *           uid by SO_PEERCRED: a guest serves its own user or root; a recorder accepts programs of
 *           its own user, as root of all users.
 * Where:    DUET_SESSION holds up to two addresses separated by ',': a path, and an abstract name
 *           with a leading '@' for programs that do not share the recorder's file system. Without
 *           it a guest tries the machine-wide recorders SESSION_ANY of its own user and of root.
 * Taken:    any user can take an abstract name. A guest does not trust a listener of another user,
 *           so a taken name only prevents recordings from starting (they report the owner of the
 *           name), and reveals no data of the guest.
 * Again:    a guest that saw no heartbeat of the recorder for 10 s sends a session_hello again. If
 *           its earlier region is still mapped in the process, the recorder treats it as the same
 *           guest and gives it a new region. No records are missing between the two regions if the
 *           earlier one records that the guest had left it. A guest of another name in the same
 *           process gets another region. A name may end in ':' and a suffix that distinguishes
 *           several guests of one kind: libduet may be in a process more than once.
 * Entered:  a process that a recorder injects a guest into has no variables in its environment. The
 *           recorder passes both values to the guest's entry function: SESSION_VARIABLE's and,
 *           after a newline, SESSION_SECCOMP_VARIABLE's.
 * Owner:    a program that starts its own recorder (libduet) hands it one end of a SOCK_SEQPACKET
 *           pair. The recorder sends a session_ready when it records. It ends the recording when
 *           the other end sends no more (shut down, or gone with the program), and sends a
 *           session_ended when the file is complete.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define SESSION_MAGIC   0x74657564u /* "duet" */
#define SESSION_VERSION 6u

#define SESSION_VARIABLE         "DUET_SESSION"
/* "MODE" or "MODE:FILTERS": the recorder's own seccomp mode (0, 1, 2) and, from Linux 5.9 on, its
 * number of filters (Seccomp: and Seccomp_filters: of /proc/self/status). A program inherits its
 * parents' filters. If it has a filter and the recorder had none, or if it has more than the
 * recorder had, it has installed one itself, which may kill it for socket(); the guest then stays
 * quiet. If the kernel does not count filters, or only MODE was passed, the guest can only compare
 * modes. Without the variable (record -a) there is nothing to compare with, and the welcome cannot
 * help since the socket comes before it: with any filter the guest stays quiet. */
#define SESSION_SECCOMP_VARIABLE "DUET_SECCOMP"
/* "@" and a printf format for the uid */
#define SESSION_ANY              "@duet-any-%u"
/* Further machine-wide recorders: the uid, and 2 to SESSION_ANY_NAMES. A guest tries the next one
 * if a recorder refuses it, because it may record other processes. */
#define SESSION_ANY_FURTHER      "@duet-any-%u.%u"

enum { SESSION_ANY_NAMES = 4 };

/* Results of the guest's entry function. */
enum session_entered {
	SESSION_ENTERED,
	SESSION_ENTERED_UNHEARD, /* no recorder has answered */
	SESSION_ENTERED_TAKEN,   /* another one records this process */
	SESSION_ENTERED_LEAVING, /* the rings of an earlier recording have not ended yet */
	SESSION_ENTERED_REFUSED  /* by the runtime; the ring contains the reason */
};

enum { SESSION_NAMES_BYTES = 256 }; /* size of the value of DUET_SESSION, including its NUL */

struct session_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;   /* in the guest's pid namespace */
	char guest[20]; /* "opencl", "rocm", "ranges:7f12c0a41" */
};

struct session_welcome {
	uint32_t magic;
	uint32_t version;
	uint32_t ring_count; /* 0: guest not wanted, no descriptor follows */
	uint32_t ring_bytes;
};

struct session_attached {
	uint32_t magic;
	uint32_t ring_count; /* rings mapped; 0: none */
	int32_t error;       /* errno of the mapping that failed, otherwise 0 */
};

struct session_ready {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;                    /* the recorder's */
	char names[SESSION_NAMES_BYTES]; /* as in DUET_SESSION */
};

struct session_ended {
	uint32_t magic;
	int32_t status; /* the recorder's exit status */
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
	/* A path ends with a NUL, an abstract name at its length. */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] != '@'));
}
