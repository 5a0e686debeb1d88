/* SPDX-License-Identifier: MIT
 *
 * collect/images.h - the files that a process executes: which one lies at an address
 */
#ifndef COLLECT_IMAGES_H
#define COLLECT_IMAGES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/look_time.h"

/* A mapping with code in it. */
struct image_mapping {
	uint64_t start, end, inode;
	uint32_t device_major, device_minor;
	bool is_deleted, is_special; /* special: [vdso] */
	const char *path;            /* in the block of texts */
};

/* Of one process. All zero: nothing looked at yet. */
struct images {
	struct image_mapping *mappings; /* owned; sorted by start */
	char *texts;                    /* owned */
	size_t count;
	uint64_t next_ns; /* not read again before, but for a doubt */
	uint32_t doubts;  /* readings out of turn */
	char *folder;     /* owned; where the process stood at its hello; NULL: not known */
};

/* Whose. */
struct images_process {
	uint32_t pid;
	int pid_fd; /* -1: the kernel has none */
	const char *exe;
	struct look_time *looks; /* its user's time for reading mappings */
};

struct image {
	char path[PATH_MAX];
	/* Of the file; 0: not known; IMAGE_GONE: it is not at its path any more. */
	uint64_t size_bytes, modified_ns;
	bool is_gone;
	int fd; /* the caller's to close; -1: not asked for, or not to be had */
};

void images_fini(struct images *images); /* NULL-safe */

/* What a process executes as it says hello, in case it does not live long. */
void images_begin(struct images *images, const struct images_process *process);

/* The file at an address, which the process itself calls `told`, with this build id ("": none): an absolute path as
 * told; another one by what the kernel says while the process lives, else from where it stood, else as told.
 * wants_file: opened for reading. */
void images_find(struct images *images, const struct images_process *process, uint64_t address,
		 const char *told, const char *build_id, bool wants_file, struct image *ret_image);

/* The path of a mapped file with code that has this name, or of one that may be it in the folder where the process
 * stood at its hello. False: neither. */
bool images_find_name(struct images *images, const struct images_process *process, const char *name,
		      char ret_path[PATH_MAX]);

/* Opens a regular file for reading by a path as the process sees it. Errors: -errno. */
int images_open_file(uint32_t pid, const char *path);

#endif
