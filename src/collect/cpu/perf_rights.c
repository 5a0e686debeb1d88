/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rights.c - what rights are missing, and the commands that give them
 *
 * Runs in:  the recorder; duet doctor
 * Gets:     what the kernel said   Gives: sentences for people
 * Owns:     nothing
 * Fails:    never: what cannot be found out is left out of the sentence
 * Why:      three rules refuse perf events, and each is mended elsewhere: Debian's and Ubuntu's kernels by a
 *           sysctl above 2, which others do not look at; a container's seccomp filter; a kernel without them
 */
#include "collect/cpu/perf_rights.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

/* The kernel's names are told to those who may see its addresses: with a level above 1 that takes cap_syslog. */
#define CAPABILITIES "cap_perfmon,cap_syslog+ep"
#define LET_IN                                                          \
	"let it in there (docker, podman: --cap-add PERFMON; systemd: " \
	"SystemCallFilter=perf_event_open)"

int perf_paranoid(void)
{
	auto_free char *text = NULL;

	if (read_file("/proc/sys/kernel/perf_event_paranoid", 16, &text, NULL)) {
		error_clear();
		return -1;
	}
	return atoi(text);
}

void perf_rights_sysctl(int level, char *ret_text, size_t size)
{
	snprintf(ret_text, size, PERF_SYSCTL "%d", level);
}

void perf_rights_text(int level, char *ret_text, size_t size)
{
	char sysctl[64], duet[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", duet, sizeof(duet) - 1);

	perf_rights_sysctl(level, sysctl, sizeof(sysctl));
	if (length < 0)
		length = snprintf(duet, sizeof(duet), "FILE");
	duet[length] = '\0';
	snprintf(ret_text, size,
		 "run '%s', or give duet alone the right: 'sudo setcap " CAPABILITIES " %s'",
		 sysctl, duet);
}

int perf_refused(int error)
{
	char rights[PATH_MAX + 200];
	int paranoid = perf_paranoid();

	if (error == -ENOSYS)
		return error_set(
			error, "perf events: there is no perf_event_open: a seccomp filter of this "
			       "container or service says so: " LET_IN
			       ", or this kernel was built without it");
	if (error == -EMFILE || error == -ENFILE)
		return error_set(error,
				 "perf events: %s: each thread takes three for each processor; "
				 "raise the limit (ulimit -Hn)",
				 strerror(-error));
	if (error == -ENOENT || error == -EOPNOTSUPP)
		return error_set(error,
				 "perf events: this machine has no such event (without -e the "
				 "best that it has is taken)");
	if (error != -EPERM && error != -EACCES)
		return error_set(error, "perf events: %s", strerror(-error));
	if (paranoid > 2) {
		perf_rights_text(2, rights, sizeof(rights));
		return error_set(error, "perf events: kernel.perf_event_paranoid is %d: %s",
				 paranoid, rights);
	}
	return error_set(error,
			 "perf events are refused (%s), though kernel.perf_event_paranoid is %d: a "
			 "seccomp filter of this container or service allows no "
			 "perf_event_open: " LET_IN,
			 strerror(-error), paranoid);
}
