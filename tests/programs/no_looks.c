/* SPDX-License-Identifier: MIT
 *
 * tests/programs/no_looks.c - for LD_PRELOAD of a recorder: one process may not be looked at, as
 * kernel.yama.ptrace_scope=1 has it for whom the recorder did not start
 *
 *	NO_LOOKS=PID LD_PRELOAD=no_looks.so duet record -p PID
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int forbidden_pid(void)
{
	const char *pid = getenv("NO_LOOKS");

	return pid ? atoi(pid) : 0;
}

/* /proc/PID/task/TID/syscall: the kernel lets it be opened, and not be read. */
static int is_forbidden(int fd)
{
	char link[64], path[256], prefix[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	snprintf(prefix, sizeof(prefix), "/proc/%d/task/", forbidden_pid());
	return strncmp(path, prefix, strlen(prefix)) == 0 && strstr(path, "/syscall");
}

EXPORT ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset)
{
	if (is_forbidden(fd)) {
		errno = EPERM;
		return -1;
	}
	return syscall(SYS_pread64, fd, bytes, size, offset);
}

EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
				const struct iovec *remote, unsigned long remote_count,
				unsigned long flags)
{
	if (pid == forbidden_pid()) {
		errno = EPERM;
		return -1;
	}
	return syscall(SYS_process_vm_readv, pid, local, local_count, remote, remote_count, flags);
}
