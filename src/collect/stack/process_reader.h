/* SPDX-License-Identifier: MIT
 *
 * collect/stack/process_reader.h - reads /proc files and memory of processes, with cached
 * descriptors
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Files of /proc that stay open, because opening one costs more than reading it. All zero: none is
 * open. */
enum { PROCESS_READER_FILES = 64 };
struct process_reader {
	struct process_reader_file {
		uint32_t pid, tid; /* tid 0: a file of the process */
		int fd;            /* owned; valid if pid is not 0 */
	} files[PROCESS_READER_FILES];
};

void process_reader_fini(struct process_reader *reader);

/* Closes the file of a thread, or of a process (tid 0), that has ended. */
void process_reader_remove(struct process_reader *reader, uint32_t pid, uint32_t tid);

/* Reads /proc/PID/task/TID/syscall. reader NULL: does not keep the file open. Returns the length;
 * -1: see errno. */
ssize_t process_reader_call(struct process_reader *reader, uint32_t pid, uint32_t tid,
			    void *ret_bytes, size_t size);

/* Reads at most `size` bytes of memory and returns the number. Stops before a page that is not
 * present: reading it would wait until it is loaded, and forever if the program itself must load it
 * (userfaultfd, FUSE). */
size_t process_reader_memory(struct process_reader *reader, uint32_t pid, uint64_t address,
			     void *ret_bytes, size_t size);
