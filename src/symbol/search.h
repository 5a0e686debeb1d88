/* SPDX-License-Identifier: MIT
 *
 * symbol/search.h - find a program's file and its debug files
 *
 * Only symbol/ includes this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/elf/build_id.h"

struct debuginfod;

/* Search paths. The strings are copies that search_fini frees. */
struct search {
	char **roots; /* like /usr/lib/debug, which is the last one */
	size_t root_count;
	char *archive; /* NULL: none */
	bool may_download;
	struct debuginfod *debuginfod; /* opened at the first use */
	bool has_asked;                /* whether opening was tried */
};

/* The file to search. */
struct search_wanted {
	const char *path;        /* as recorded */
	const char *build_id;    /* "": unknown */
	const char *alternative; /* NULL: none */
	/* Without a build id: size and time when it was recorded; 0: unknown. A time of all ones:
	 * it had already lost its path, so that only copies match. */
	uint64_t file_size_bytes, file_modified_ns;
};

/* debug_folders: `count` texts. Errors: -ENOMEM. */
int search_init(struct search *search, const char *const *debug_folders, size_t count,
		const char *archive, bool may_download);
void search_fini(struct search *search); /* NULL-safe */

/* The file itself. *ret_is_replaced: the file at the path is another one. Errors: -ENOENT, -ENOMEM.
 */
int search_program(struct search *search, const struct search_wanted *wanted, char **ret_path,
		   bool *ret_is_replaced);

/* A debug file by .gnu_debuglink (link NULL: none) and then by build id. `path`: the file that
 * contains the link. Errors: -ENOENT, -ENOMEM. */
int search_debug(struct search *search, const char *path, const char *build_id, const char *link,
		 uint32_t link_crc, char **ret_path);

/* The file that several debug files share (.gnu_debugaltlink); `path`: a file that names it.
 * Errors: -ENOENT, -ENOMEM. */
int search_shared_debug(struct search *search, const char *path, const char *link,
			const char *build_id, char **ret_path);
