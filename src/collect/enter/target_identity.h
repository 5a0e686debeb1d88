/* SPDX-License-Identifier: MIT
 *
 * collect/enter/target_identity.h - detects that a process being injected ended or runs another
 * program
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/proc_maps.h"

enum { IDENTITY_RANDOM_BYTES = 16 };

/* Real, effective, saved and file system ids. */
struct target_ids {
	uint32_t user[4], group[4];
};

struct target_identity {
	pid_t pid;
	int pid_fd;           /* owned pidfd, to detect reuse of the pid; -1: before Linux 5.3 */
	int memory_fd;        /* owned; /proc/PID/mem of this image; fails after an exec */
	uint64_t start_ticks; /* start time of the process */
	dev_t program_device; /* device and inode of /proc/PID/exe */
	ino_t program_inode;
	struct target_ids ids;
	uint64_t random_address; /* AT_RANDOM: random bytes that the kernel creates at each exec */
	uint8_t random[IDENTITY_RANDOM_BYTES];
	/* the C library's executable mapping, without its path. start 0: not known yet */
	struct proc_mapping library;
};

/* To be called before anything else is read from the process. Errors: -errno; -EXDEV: its real,
 * effective, saved and file system ids differ; *ret_ids has them. Does not set the error chain. */
int target_identity_open(pid_t pid, struct target_identity *identity, struct target_ids *ret_ids);
void target_identity_close(struct target_identity *identity); /* safe after a failed open */

void target_identity_set_library(struct target_identity *identity, const struct proc_mapping *text);

/* Compares the process, and the credentials of thread `tid`, with the recorded identity. If ptrace
 * has stopped the thread, the result stays valid: the thread can end, but not run another program.
 * Errors: -ESTALE: they differ. */
int target_identity_check(const struct target_identity *identity, pid_t tid);

/* Does the same for the C library's mapping. */
int target_identity_check_library(const struct target_identity *identity);

/* Writes `size` bytes into the memory of this image, also into write-protected pages. Errors:
 * -ESTALE: the process now runs another image, and nothing was written; -errno. */
int target_identity_write(const struct target_identity *identity, uint64_t address,
			  const void *bytes, size_t size);

/* Reads `size` bytes from the memory of this image. Errors: as above. */
int target_identity_read(const struct target_identity *identity, uint64_t address, void *bytes,
			 size_t size);

/* Sends a signal to this process, but not to a later one with the same pid. */
void target_identity_signal(const struct target_identity *identity, int signal);
