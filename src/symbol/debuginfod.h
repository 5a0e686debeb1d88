/* SPDX-License-Identifier: MIT
 *
 * symbol/debuginfod.h - download debug files from debuginfod servers, if the user has configured
 * any
 *
 * Only symbol/ includes this.
 */
#pragma once

#include <stdbool.h>

struct debuginfod;

/* NULL if DEBUGINFOD_URLS is not set, libdebuginfod is missing or memory has run out. */
struct debuginfod *debuginfod_open(void);
void debuginfod_close(struct debuginfod *debuginfod); /* NULL-safe */

/* Path of a file in the client's cache, freed by the caller; is_debug: the debug file, otherwise
 * the program or library itself. Errors: -errno of the client; -ENOSYS for debuginfod NULL. */
int debuginfod_find(struct debuginfod *debuginfod, const char *build_id, bool is_debug,
		    char **ret_path);
