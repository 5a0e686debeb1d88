/* SPDX-License-Identifier: MIT
 *
 * collect/target_identity.h - which process and which program image an attempt to enter began with
 */
#ifndef COLLECT_TARGET_IDENTITY_H
#define COLLECT_TARGET_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/proc_maps.h"

enum { IDENTITY_RANDOM_BYTES = 16 };

/* Real, effective, saved and file system id. */
struct target_ids {
	uint32_t user[4], group[4];
};

struct target_identity {
	pid_t pid;
	int pid_fd; /* owned; says that the number is still this process's; -1: before Linux 5.3 */
	int memory_fd;        /* owned; the memory of this image and of no later one */
	uint64_t start_ticks; /* of the process */
	dev_t program_device; /* of /proc/PID/exe */
	ino_t program_inode;
	struct target_ids ids;
	uint64_t random_address; /* AT_RANDOM: bytes that the kernel draws for each exec */
	uint8_t random[IDENTITY_RANDOM_BYTES];
	struct proc_mapping
		library; /* the C library's text; its path is not kept. start 0: not yet known */
};

/* To be opened before anything else is read of the process. Errors: -errno; -EXDEV: its real, effective, saved and file
 * system ids are not the same, *ret_ids holds them. The error chain is left alone. */
int target_identity_open(pid_t pid, struct target_identity *identity, struct target_ids *ret_ids);
void target_identity_close(struct target_identity *identity); /* safe where open failed */

void target_identity_set_library(struct target_identity *identity, const struct proc_mapping *text);

/* Compares the process, and the credentials of thread `tid`, with what was seen at first. Conclusive for a thread that is
 * stopped by ptrace: it can end, but not run another program. Errors: -ESTALE: another one. */
int target_identity_check(const struct target_identity *identity, pid_t tid);

/* The same of the C library's mapping. */
int target_identity_check_library(const struct target_identity *identity);

/* Writes all of it into the memory of this image, past its protection. Errors: -ESTALE: the process runs another image by
 * now, into which nothing was written; -errno. */
int target_identity_write(const struct target_identity *identity, uint64_t address,
			  const void *bytes, size_t size);

/* Reads all of it from the memory of this image. Errors: as above. */
int target_identity_read(const struct target_identity *identity, uint64_t address, void *bytes,
			 size_t size);

/* Sends a signal to this process and to no later one of its number. */
void target_identity_signal(const struct target_identity *identity, int signal);

#endif
