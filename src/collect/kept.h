/* SPDX-License-Identifier: MIT
 *
 * collect/kept.h - files that are held until the end of a recording, to be archived if their paths lose them
 */
#ifndef COLLECT_KEPT_H
#define COLLECT_KEPT_H

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

/* All zero: nothing. */
struct kept_files {
	struct kept_file *files; /* owned */
	size_t count, capacity;
};

/* A descriptor each. */
enum { KEPT_FILES_MOST = 256 };

/* Takes the descriptor. False where there are too many, or no memory; a file that is held already is no
 * trouble. */
bool kept_files_add(struct kept_files *kept, int fd, const char *path, const char *build_id);

/* Copies those that are not at their path any more into `folder` (NULL: none), as .build-id/xx/yyy or by path, and
 * lets go of all. Returns how many could not be copied. */
size_t kept_files_finish(struct kept_files *kept, const char *folder);

#endif
