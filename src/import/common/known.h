/* SPDX-License-Identifier: MIT
 *
 * import/common/known.h - files of other programs that duet does not import, and how to convert
 * them
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct import_probe;

/* Writes what the file is and how to convert it. Returns false for an unknown file. */
bool import_known_advise(const struct import_probe *probe, char *text, size_t size);
