/* SPDX-License-Identifier: MIT
 *
 * collect/stack/process_reader.c - reads /proc files and memory of processes, with cached
 * descriptors
 *
 * Runs in:  the recorder
 * Gets:     pid, tid, address
 * Gives:    the content of the file or the memory at the time of the call
 * Owns:     PROCESS_READER_FILES open files
 * Fails:    with -1, or fewer bytes
 * Why:      inspecting a blocked thread takes two small reads; opening the files each time would
 *           triple the cost. After an exec or a reuse of the pid, an open file still belongs to the
 *           old image or process, so the data read from it is checked.
 */
#include "collect/stack/process_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { PAGE_BYTES = 4096, PAGES_MAX = 5 };

/* ---- files ----------------------------------------------------------------------------------- */

static int open_file(uint32_t pid, uint32_t tid)
{
	char path[64];

	if (tid)
		snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	else
		snprintf(path, sizeof(path), "/proc/%u/pagemap", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void close_file(struct process_reader_file *file)
{
	if (file->pid)
		close(file->fd);
	*file = (struct process_reader_file){0};
}

void process_reader_fini(struct process_reader *reader)
{
	for (size_t i = 0; i < PROCESS_READER_FILES; i++)
		close_file(&reader->files[i]);
}

static struct process_reader_file *slot_of(struct process_reader *reader, uint32_t pid,
					   uint32_t tid)
{
	return &reader->files[(tid ? tid : pid * 31 + 7) % PROCESS_READER_FILES];
}

void process_reader_remove(struct process_reader *reader, uint32_t pid, uint32_t tid)
{
	struct process_reader_file *slot = slot_of(reader, pid, tid);

	if (slot->pid == pid && slot->tid == tid)
		close_file(slot);
}

/* Reads from the cached file, or opens it. is_good: whether the data can be of the present thread
 * or image; otherwise the file is opened again. */
static ssize_t read_at(struct process_reader *reader, uint32_t pid, uint32_t tid, void *ret_bytes,
		       size_t size, off_t offset,
		       bool (*is_good)(const void *bytes, ssize_t length))
{
	struct process_reader_file *slot = slot_of(reader, pid, tid);
	ssize_t length;

	if (slot->pid == pid && slot->tid == tid) {
		length = pread(slot->fd, ret_bytes, size, offset);
		if (length > 0 && is_good(ret_bytes, length))
			return length;
	}
	close_file(slot);
	*slot = (struct process_reader_file){pid, tid, open_file(pid, tid)};
	if (slot->fd < 0) {
		slot->pid = 0;
		return -1;
	}
	return pread(slot->fd, ret_bytes, size, offset);
}

static ssize_t read_file_of(struct process_reader *reader, uint32_t pid, uint32_t tid,
			    void *ret_bytes, size_t size, off_t offset,
			    bool (*is_good)(const void *bytes, ssize_t length))
{
	auto_close int fd = -1;

	if (reader)
		return read_at(reader, pid, tid, ret_bytes, size, offset, is_good);
	fd = open_file(pid, tid);
	return fd < 0 ? -1 : pread(fd, ret_bytes, size, offset);
}

static bool is_text(const void *bytes, ssize_t length)
{
	return true;
}

ssize_t process_reader_call(struct process_reader *reader, uint32_t pid, uint32_t tid,
			    void *ret_bytes, size_t size)
{
	return read_file_of(reader, pid, tid, ret_bytes, size, 0, is_text);
}

#define PRESENT (UINT64_C(1) << 63)

/* The pagemap of an image that exec has replaced has no pages. */
static bool has_page(const void *bytes, ssize_t length)
{
	uint64_t entry = 0;

	if (length >= (ssize_t)sizeof(entry))
		memcpy(&entry, bytes, sizeof(entry));
	return entry & PRESENT;
}

/* Number of bytes from an address on that lie in present pages. */
static size_t present_bytes(struct process_reader *reader, uint32_t pid, uint64_t address,
			    size_t size)
{
	uint64_t first = address / PAGE_BYTES, entries[PAGES_MAX];
	size_t pages = (size_t)((address + size - 1) / PAGE_BYTES - first) + 1, there = 0;
	ssize_t got;

	if (pages > PAGES_MAX)
		pages = PAGES_MAX;
	got = read_file_of(reader, pid, 0, entries, pages * sizeof(*entries),
			   (off_t)(first * sizeof(*entries)), has_page);
	while (got >= (ssize_t)((there + 1) * sizeof(*entries)) && (entries[there] & PRESENT))
		there++;
	if (!there)
		return 0;
	there = (size_t)((first + there) * PAGE_BYTES - address);
	return there < size ? there : size;
}

size_t process_reader_memory(struct process_reader *reader, uint32_t pid, uint64_t address,
			     void *ret_bytes, size_t size)
{
	size_t there = present_bytes(reader, pid, address, size);
	struct iovec here = {ret_bytes, there}, remote = {(void *)(uintptr_t)address, there};
	ssize_t got = there ? process_vm_readv((pid_t)pid, &here, 1, &remote, 1, 0) : 0;

	return got > 0 ? (size_t)got : 0;
}
