/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/memory.c - read memory of another process while it runs
 *
 * Runs in:  the recorder
 * Gets:     a process's id, addresses
 * Gives:    copies
 * Owns:     a file of /proc, if there is no better way
 * Fails:    -EFAULT, -ESRCH, -EPERM; by returning less
 * Why:      one system call reads many pieces: a call with one piece takes 1.1 us, each further
 *           piece 0.4 us. Reading a page that is not in memory waits until it is brought in. That
 *           wait never ends if the program itself provides the page (userfaultfd, FUSE), and only
 *           SIGKILL interrupts it. So each read first checks which pages are present. move_pages
 *           without a target answers for all of them at once, 0.9 us and 0.15 us a page;
 *           /proc/PID/pagemap takes 0.95 us a page. Pages that were present at the previous read
 *           usually still are. But skipping the check would save only a microsecond, and a harmless
 *           program may free a page between two reads. A hostile program can free it between check
 *           and read: then it blocks only the recorder that records it.
 */
#include "symbol/remote/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	MAX_PIECES = 1024, /* UIO_MAXIOV: per call */
	MAX_PAGES = 512,   /* per move_pages call */
	PAGE_BYTES = 4096,
	SEEN = 64 /* a power of two: repeated pages of several pieces are checked once */
};

#define PRESENT    (UINT64_C(1) << 63)
#define USER_PAGES (UINT64_C(1) << 35)

void remote_memory_init(struct remote_memory *memory, uint32_t pid)
{
	*memory = (struct remote_memory){.pid = pid, .pagemap_fd = -1};
}

void remote_memory_fini(struct remote_memory *memory)
{
	if (memory && memory->pagemap_fd >= 0)
		close(memory->pagemap_fd);
}

/* ---- pages in memory ------------------------------------------------------------------------- */

struct question {
	void *pages[MAX_PAGES];
	size_t pieces[MAX_PAGES]; /* the piece of each page */
	size_t count;
	uint64_t seen[SEEN];
};

static int open_pagemap(struct remote_memory *memory)
{
	char path[64];

	if (memory->pagemap_fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/pagemap", memory->pid);
	memory->pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (memory->pagemap_fd >= 0)
		return 0;
	return errno == ENOENT || errno == ESRCH ? -ESRCH : -EPERM;
}

/* Checks pages one by one, neighbours together. *ret_there: how many of the first ones are present.
 */
static int ask_file(struct remote_memory *memory, const struct question *question,
		    size_t *ret_there)
{
	uint64_t entries[MAX_PAGES];
	int r = open_pagemap(memory);
	size_t there = 0;

	while (!r && there < question->count) {
		const uint64_t first = (uintptr_t)question->pages[there] / PAGE_BYTES;
		size_t run = 1;
		ssize_t got;

		while (there + run < question->count &&
		       (uintptr_t)question->pages[there + run] / PAGE_BYTES == first + run)
			run++;
		memory->calls++;
		got = pread(memory->pagemap_fd, entries, run * sizeof(entries[0]),
			    (off_t)(first * sizeof(entries[0])));
		if (got == 0 && first < USER_PAGES)
			r = -ESRCH; /* the process has no memory any more */
		for (size_t i = 0; i < run; i++) {
			if (got < (ssize_t)((i + 1) * sizeof(entries[0])) ||
			    !(entries[i] & PRESENT)) {
				*ret_there = there + i;
				return r;
			}
		}
		there += run;
	}
	*ret_there = there;
	return r;
}

/* Kernels without NUMA, and containers that forbid moving pages, lack this call. */
static int check_pages(struct remote_memory *memory, struct question *question, size_t *ret_there)
{
	int nodes[MAX_PAGES];
	size_t there = 0;

	if (memory->is_by_file)
		return ask_file(memory, question, ret_there);
	memory->calls++;
	if (syscall(SYS_move_pages, memory->pid, question->count, question->pages, NULL, nodes,
		    0)) {
		if (errno == ESRCH || errno == EINVAL) /* EINVAL: the process has no memory any more
							*/
			return -ESRCH;
		memory->is_by_file = true;
		return ask_file(memory, question, ret_there);
	}
	while (there < question->count && nodes[there] >= 0)
		there++;
	*ret_there = there;
	return 0;
}

/* False: an earlier piece already added it. */
static bool add_page(struct question *question, uint64_t page, size_t piece)
{
	uint64_t *seen = &question->seen[page / PAGE_BYTES % SEEN];

	if (*seen == page)
		return false;
	*seen = page;
	question->pieces[question->count] = piece;
	question->pages[question->count++] = (void *)(uintptr_t)page;
	return true;
}

/* Sends the question and empties it. count: number of pieces. *ret_present: count, or the index of
 * the first piece that is not in memory. */
static int check_question(struct remote_memory *memory, struct question *question, size_t count,
			  size_t *ret_present)
{
	size_t there = 0;
	int r = check_pages(memory, question, &there);

	*ret_present = r ? 0 : there < question->count ? question->pieces[there] : count;
	question->count = 0;
	return r;
}

/* The number of leading pieces that are in memory. */
static int count_present(struct remote_memory *memory, const struct remote_piece *pieces,
			 size_t count, size_t *ret_present)
{
	struct question question;
	size_t present = count;
	int r = 0;

	question.count = 0;
	memset(question.seen, 0, sizeof(question.seen));
	for (size_t i = 0; i < count && present == count; i++) {
		const uint64_t end = pieces[i].address + pieces[i].size;

		for (uint64_t page = pieces[i].address & -(uint64_t)PAGE_BYTES;
		     page < end && present == count; page += PAGE_BYTES)
			if (add_page(&question, page, i) && question.count == MAX_PAGES)
				r = check_question(memory, &question, count, &present);
	}
	if (question.count && present == count)
		r = check_question(memory, &question, count, &present);
	*ret_present = present;
	return r;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t gather_some(struct remote_memory *memory, const struct remote_piece *pieces,
			   size_t count, void *to, size_t *ret_asked)
{
	struct iovec remote[MAX_PIECES], local = {.iov_base = to};
	size_t present;
	ssize_t got;
	int r = count_present(memory, pieces, count, &present);

	*ret_asked = 0;
	for (size_t i = 0; i < count; i++)
		*ret_asked += pieces[i].size;
	if (r || !present)
		return r;
	for (size_t i = 0; i < present; i++) {
		remote[i].iov_base = (void *)(uintptr_t)pieces[i].address;
		remote[i].iov_len = pieces[i].size;
		local.iov_len += pieces[i].size;
	}
	memory->calls++;
	got = process_vm_readv((pid_t)memory->pid, &local, 1, remote, present, 0);
	if (got >= 0)
		return got;
	return errno == ESRCH || errno == EPERM ? -errno : 0;
}

int64_t remote_memory_gather(struct remote_memory *memory, const struct remote_piece *pieces,
			     size_t count, void *to)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i += MAX_PIECES) {
		size_t asked, some = count - i < MAX_PIECES ? count - i : MAX_PIECES;
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
