/* SPDX-License-Identifier: MIT
 *
 * symbol/remote_memory.c - memory of another process, read while that runs
 *
 * Runs in:  the recorder
 * Gets:     a process's id, addresses   Gives: copies
 * Owns:     nothing
 * Fails:    -EFAULT, -ESRCH, -EPERM; by returning less
 * Why:      one system call for many pieces: a call takes 2 us, a piece more of it 0.3
 */
#include "symbol/remote_memory.h"

#include <errno.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/array.h"

enum { PIECES_MOST = 1024 /* UIO_MAXIOV: of one call */ };

static int64_t gather_some(struct remote_memory *memory, const struct remote_piece *pieces,
			   size_t count, void *to, size_t *ret_asked)
{
	struct iovec remote[PIECES_MOST], local = {.iov_base = to};
	ssize_t got;

	for (size_t i = 0; i < count; i++) {
		remote[i].iov_base = (void *)(uintptr_t)pieces[i].address;
		remote[i].iov_len = pieces[i].size;
		local.iov_len += pieces[i].size;
	}
	*ret_asked = local.iov_len;
	memory->calls++;
	got = process_vm_readv((pid_t)memory->pid, &local, 1, remote, count, 0);
	if (got >= 0)
		return got;
	return errno == ESRCH || errno == EPERM ? -errno : 0;
}

int64_t remote_memory_gather(struct remote_memory *memory, const struct remote_piece *pieces,
			     size_t count, void *to)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i += PIECES_MOST) {
		size_t asked, some = count - i < PIECES_MOST ? count - i : PIECES_MOST;
		int64_t got = gather_some(memory, pieces + i, some, (char *)to + sum, &asked);

		if (got < 0)
			return got;
		sum += got;
		if ((size_t)got < asked)
			break;
	}
	return sum;
}

int remote_memory_read(struct remote_memory *memory, uint64_t address, void *to, size_t size)
{
	const struct remote_piece piece = {address, size};
	int64_t got = remote_memory_gather(memory, &piece, 1, to);

	if (got < 0)
		return (int)got;
	return (size_t)got == size ? 0 : -EFAULT;
}
