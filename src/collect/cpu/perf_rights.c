/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rights.c - what rights are missing, and the commands that give them
 *
 * Runs in:  the recorder; duet doctor
 * Gets:     what the kernel said   Gives: sentences for people
 * Owns:     nothing
 * Fails:    never: what cannot be found out is left out of the sentence
 * Why:      three rules refuse perf events, and each is mended elsewhere: Debian's and Ubuntu's kernels by a
 *           sysctl above 2, which others do not look at; a container's seccomp filter; a kernel without them. Looks at
 *           threads need what a debugger needs, and Yama's scope 1, the usual one, gives that for children alone
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
#include "collect/rights.h"

#define LET_IN                                                          \
	"let it in there (docker, podman: --cap-add PERFMON; systemd: " \
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

/* ---- looks at threads -------------------------------------------------------------------------- */

/* What Yama's scopes let an ordinary user look at. */
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
			 "kernel.yama.ptrace_scope is %d, which holds until the machine is started "
			 "anew: set 1 in /etc/sysctl.d, and do that",
			 scope);
	else if (scope == SCOPE_NOTHING || (scope == SCOPE_CHILDREN && !is_ours))
		snprintf(ret_text, size,
			 "kernel.yama.ptrace_scope is %d: run '" SCOPE_SYSCTL "%d', or %s", scope,
			 is_ours ? SCOPE_CHILDREN : SCOPE_ALL, setcap);
	else if (is_ours)
		snprintf(
			ret_text, size,
			"%s: a seccomp filter of this container or service allows no "
			"process_vm_readv, or its /proc shows no threads: let it in there (docker, "
			"podman: --cap-add SYS_PTRACE; systemd: SystemCallFilter=process_vm_readv)",
			strerror(-error));
	else
		snprintf(ret_text, size,
			 "%s: a rule of this system lets no debugger in: record as root, or %s",
			 strerror(-error), setcap);
}

/* ---- perf events ------------------------------------------------------------------------------- */

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
