/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rights.c - why perf events or ptrace access are refused, and the commands that
 * allow them
 *
 * Runs in:  the recorder; duet doctor
 * Gets:     the kernel's error number; sysctl values
 * Gives:    sentences for messages
 * Owns:     nothing
 * Fails:    never; a value that cannot be read is left out of the sentence
 * Why:      perf events are refused for three reasons, each with its own remedy:
 *           kernel.perf_event_paranoid above 2 (a value that only the kernels of Debian and Ubuntu
 *           check), a container's seccomp filter, a kernel built without perf. Inspection of
 *           threads needs the rights of a debugger; Yama's usual scope 1 grants those for
 *           descendants only.
 */
#include "collect/cpu/perf_rights.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/start/rights.h"

#define LET_IN                                                         \
	"allow it there (docker, podman: --cap-add PERFMON; systemd: " \
	"SystemCallFilter=perf_event_open)"

static int number_in(const char *path)
{
	auto_free char *text = NULL;

	if (read_file(path, 16, &text, NULL)) {
		error_clear();
		return -1;
	}
	return atoi(text);
}

int perf_paranoid(void)
{
	return number_in("/proc/sys/kernel/perf_event_paranoid");
}

void perf_rights_sysctl(int level, char *ret_text, size_t size)
{
	snprintf(ret_text, size, PERF_SYSCTL "%d", level);
}

void perf_rights_text(int level, char *ret_text, size_t size)
{
	char sysctl[64], setcap[PATH_MAX + 100];

	perf_rights_sysctl(level, sysctl, sizeof(sysctl));
	rights_setcap_text(0, setcap, sizeof(setcap));
	snprintf(ret_text, size, "run '%s', or %s", sysctl, setcap);
}

/* ---- inspection of threads (ptrace access) --------------------------------------------------- */

/* Values of kernel.yama.ptrace_scope: an ordinary user may inspect own processes, own descendants,
 * nothing; nothing until reboot. */
enum { SCOPE_ALL, SCOPE_CHILDREN, SCOPE_NOTHING, SCOPE_FOR_GOOD };
#define SCOPE_SYSCTL "sudo sysctl kernel.yama.ptrace_scope="

int ptrace_scope(void)
{
	return number_in("/proc/sys/kernel/yama/ptrace_scope");
}

bool ptrace_is_limited(int scope)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (scope < SCOPE_CHILDREN || scope == SCOPE_FOR_GOOD || syscall(SYS_capget, &head, sets))
		return scope >= SCOPE_CHILDREN;
	return !(sets[0].effective & 1u << CAP_SYS_PTRACE);
}

void ptrace_rights_text(int scope, bool is_ours, int error, char *ret_text, size_t size)
{
	char setcap[PATH_MAX + 100];

	rights_setcap_text(RIGHTS_LOOKS, setcap, sizeof(setcap));
	if (scope >= SCOPE_FOR_GOOD)
		snprintf(ret_text, size,
			 "kernel.yama.ptrace_scope is %d, which cannot be changed before a reboot; "
			 "set it to 1 in /etc/sysctl.d and reboot",
			 scope);
	else if (scope == SCOPE_NOTHING || (scope == SCOPE_CHILDREN && !is_ours))
		snprintf(ret_text, size,
			 "kernel.yama.ptrace_scope is %d: run '" SCOPE_SYSCTL "%d', or %s", scope,
			 is_ours ? SCOPE_CHILDREN : SCOPE_ALL, setcap);
	else if (is_ours)
		snprintf(ret_text, size,
			 "%s: a seccomp filter of this container or service refuses "
			 "process_vm_readv, or its "
			 "/proc shows no threads: allow it there (docker, podman: --cap-add "
			 "SYS_PTRACE; "
			 "systemd: SystemCallFilter=process_vm_readv)",
			 strerror(-error));
	else
		snprintf(ret_text, size,
			 "%s; a security policy of this system refuses debuggers: record as root, "
			 "or %s",
			 strerror(-error), setcap);
}

/* ---- perf events ----------------------------------------------------------------------------- */

int perf_refused(int error)
{
	char rights[PATH_MAX + 200];
	int paranoid = perf_paranoid();

	if (error == -ENOSYS)
		return error_set(error, "perf events: perf_event_open is missing; a seccomp filter "
					"of this container or service hides it: " LET_IN
					", or this kernel was built without it");
	if (error == -EMFILE || error == -ENFILE)
		return error_set(error,
				 "perf events: %s; raise the limit of open files (ulimit -Hn): "
				 "each thread needs three per processor",
				 strerror(-error));
	if (error == -ENOENT || error == -EOPNOTSUPP)
		return error_set(error, "perf events: this machine does not have the event; omit "
					"-e to use the best one available");
	if (error != -EPERM && error != -EACCES)
		return error_set(error, "perf events: %s", strerror(-error));
	if (paranoid > 2) {
		perf_rights_text(2, rights, sizeof(rights));
		return error_set(error, "perf events: kernel.perf_event_paranoid is %d: %s",
				 paranoid, rights);
	}
	return error_set(
		error,
		"perf events are refused (%s) although kernel.perf_event_paranoid is %d: a "
		"seccomp filter of this container or service refuses perf_event_open: " LET_IN,
		strerror(-error), paranoid);
}
