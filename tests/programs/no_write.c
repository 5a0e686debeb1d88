/* SPDX-License-Identifier: MIT
 *
 * tests/programs/no_write.c - for LD_PRELOAD: the N-th change of a regular file fails, or a signal
 * comes in its place
 *
 *	NO_WRITE_AT=N		from 1 on; counted are write, pwrite, writev, ftruncate, fallocate,
 *		fsync, fdatasync and
 *				fclose on regular files, and rename
 *	NO_WRITE_STICKY=1	and each one after it
 *	NO_WRITE_ERRNO=E	28 (ENOSPC) by default
 *	NO_WRITE_SIGNAL=S	the call does its work, and the process gets signal S before it
 *	NO_WRITE_COUNT=FILE	how many calls there were is written to FILE at the end
 *
 * Only the process that has it loaded first is counted, not what that one starts.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
	unsigned long calls, at; /* at 0: none */
	int is_sticky, error, signal;
	pid_t pid;
	char count_path[512];
} shim;

static int is_regular(int fd)
{
	struct stat about;

	return fd > 2 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

static int fails(void)
{
	unsigned long call;

	if (getpid() != shim.pid)
		return 0;
	call = __atomic_add_fetch(&shim.calls, 1, __ATOMIC_RELAXED);
	if (!shim.at || call < shim.at || (call > shim.at && !shim.is_sticky))
		return 0;
	if (shim.signal) {
		kill(shim.pid, shim.signal); /* not raise: this thread may block all */
		return 0;
	}
	errno = shim.error;
	return 1;
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
	return is_regular(fd) && fails() ? -1 : NEXT(write)(fd, bytes, size);
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	return is_regular(fd) && fails() ? -1 : NEXT(pwrite)(fd, bytes, size, offset);
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return is_regular(fd) && fails() ? -1 : NEXT(writev)(fd, parts, count);
}

EXPORT int ftruncate(int fd, off_t size)
{
	return is_regular(fd) && fails() ? -1 : NEXT(ftruncate)(fd, size);
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t size)
{
	return is_regular(fd) && fails() ? -1 : NEXT(fallocate)(fd, mode, offset, size);
}

EXPORT int fsync(int fd)
{
	return is_regular(fd) && fails() ? -1 : NEXT(fsync)(fd);
}

EXPORT int fdatasync(int fd)
{
	return is_regular(fd) && fails() ? -1 : NEXT(fdatasync)(fd);
}

EXPORT int rename(const char *from, const char *to)
{
	return fails() ? -1 : NEXT(rename)(from, to);
}

/* What stdio writes itself does not come by here. */
EXPORT int fclose(FILE *file)
{
	int failed = is_regular(fileno(file)) &&
		     (fcntl(fileno(file), F_GETFL) & O_ACCMODE) != O_RDONLY && fails();
	int error = errno, status = NEXT(fclose)(file);

	if (!failed)
		return status;
	errno = error;
	return EOF;
}

static int number_of(const char *name, int otherwise)
{
	const char *text = getenv(name);
	int number = text ? atoi(text) : otherwise;

	unsetenv(name);
	return number;
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("NO_WRITE_COUNT");

	if (path)
		snprintf(shim.count_path, sizeof(shim.count_path), "%s", path);
	shim.at = (unsigned long)number_of("NO_WRITE_AT", 0);
	shim.is_sticky = number_of("NO_WRITE_STICKY", 0);
	shim.error = number_of("NO_WRITE_ERRNO", ENOSPC);
	shim.signal = number_of("NO_WRITE_SIGNAL", 0);
	unsetenv("NO_WRITE_COUNT");
	unsetenv("LD_PRELOAD");
	shim.pid = getpid();
}

__attribute__((destructor)) static void end(void)
{
	FILE *file =
		getpid() == shim.pid && shim.count_path[0] ? fopen(shim.count_path, "we") : NULL;

	if (!file)
		return;
	fprintf(file, "%lu\n", shim.calls);
	NEXT(fclose)(file);
}
