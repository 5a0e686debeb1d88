/* SPDX-License-Identifier: MIT
 *
 * collect/stack/images.h - finds the file that a process has mapped at a code address
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/start/lookup_budget.h"

/* An executable mapping. */
struct image_mapping {
	uint64_t start, end, inode;
	uint32_t device_major, device_minor;
	bool is_deleted, is_special; /* special: [vdso] */
	const char *path;            /* in images.texts */
};

/* The executable mappings of a process. All zero: not read yet. */
struct images {
	struct image_mapping *mappings; /* owned; sorted by start */
	char *texts;                    /* owned */
	size_t count;
	uint64_t next_ns; /* next regular reading; a doubt causes an earlier one */
	uint32_t doubts;  /* number of readings before next_ns, because a name did not match */
	char *folder;     /* owned; working folder when the guest connected; NULL: not known */
};

/* The process whose mappings are read. */
struct images_process {
	uint32_t pid;
	int pid_fd; /* -1: the kernel has no pidfds */
	const char *exe;
	struct lookup_budget *looks; /* time budget of the process's user for reading mappings */
};

struct image {
	char path[PATH_MAX];
	/* The file's size and time; 0: not known. modified_ns is FRAME_FILE_GONE if the file is no
	 * longer at its path. */
	uint64_t size_bytes, modified_ns;
	bool is_gone;
	int fd; /* the caller closes it; -1: not requested, or could not be opened */
};

void images_fini(struct images *images); /* NULL-safe */

/* Reads the mappings when a guest connects, because the process may end before its first stack. */
void images_begin(struct images *images, const struct images_process *process);

/* Finds the file at an address. `reported_path` is its path by the process's loader; build_id "":
 * none. An absolute path is used as it is. A relative one is resolved by the mappings while the
 * process lives, otherwise from its first working folder. If both fail it stays relative.
 * wants_file: also opens the file. */
void images_find(struct images *images, const struct images_process *process, uint64_t address,
		 const char *reported_path, const char *build_id, bool wants_file,
		 struct image *ret_image);

/* Finds the path of an executable mapping by its file name. Otherwise returns that name in the
 * process's first working folder, without a check. False: neither is known. */
bool images_find_name(struct images *images, const struct images_process *process, const char *name,
		      char ret_path[PATH_MAX]);

/* Opens a regular file for reading, by its path below the process's root folder, out of which no
 * link of the process leads. Errors: -errno. */
int images_open_file(uint32_t pid, const char *path);
