/* SPDX-License-Identifier: MIT
 *
 * import/common/twins.h - detect a file that is named twice, or a copy of another one
 */
#pragma once

#include <stddef.h>

/* Checks that all files differ. A file that cannot be read is left to its importer. Errors:
 * -EINVAL with a text that names both files; -ENOMEM. */
int import_twins_check(char *const *paths, size_t count);
