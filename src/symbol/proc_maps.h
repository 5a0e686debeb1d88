/* SPDX-License-Identifier: MIT
 *
 * symbol/proc_maps.h - the mappings of a process, from /proc/PID/maps
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum proc_mapping_kind {
	PROC_MAPPING_ANONYMOUS, /* without a path, or named by prctl: [anon:NAME] */
	PROC_MAPPING_FILE,
	PROC_MAPPING_MEMORY,  /* a file without a name in any folder: memfd, shared memory */
	PROC_MAPPING_SPECIAL, /* [heap], [stack], [vdso], … */
};

struct proc_mapping {
	uint64_t start, end, file_offset;
	uint64_t inode;
	uint32_t device_major, device_minor;
	enum proc_mapping_kind kind;
	bool is_readable, is_writable, is_executable, is_shared;
	/* the kernel appended " (deleted)" to the path, which is removed here; a file whose name
	 * really ends so looks the same */
	bool is_deleted;
	const char *path; /* "": none */
};

struct proc_maps {
	struct proc_mapping *mappings; /* sorted by start, as the kernel writes them */
	size_t count;
	size_t damaged_count; /* invalid lines, left out */
	char *texts;
};

/* text: `size` bytes. Errors: -ENOMEM. */
int proc_maps_parse(const char *text, size_t size, struct proc_maps *ret_maps);

/* Reads the mappings of a running process. Errors: -errno, with the error chain. */
int proc_maps_read(pid_t pid, struct proc_maps *ret_maps);

void proc_maps_fini(struct proc_maps *maps); /* NULL-safe */

/* The mapping that contains `address`; NULL: none. */
const struct proc_mapping *proc_maps_find(const struct proc_maps *maps, uint64_t address);
