/* SPDX-License-Identifier: MIT
 *
 * collect/stack/retained_files.h - keeps files open until the end of a recording, to archive those
 * that are deleted or replaced
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kept_file {
	int fd; /* owned */
	char *path, *build_id;
	dev_t device;
	ino_t inode;
};

/* All zero: empty. */
struct retained_files {
	struct kept_file *files; /* owned */
	size_t count, capacity;
};

/* Each file takes a descriptor. */
enum { MAX_KEPT_FILES = 256 };

/* Takes ownership of the descriptor. True if the file is held, also from an earlier call. False:
 * too many or too large files, or out of memory. */
bool retained_files_add(struct retained_files *kept, int fd, const char *path,
			const char *build_id);

/* Copies the files that are no longer at their path into `folder` (NULL: no copies), as
 * .build-id/xx/yyy or by path. Then closes all. Returns the number of files that could not be
 * copied. */
size_t retained_files_finish(struct retained_files *kept, const char *folder);
