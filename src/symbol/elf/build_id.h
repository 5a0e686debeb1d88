/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/build_id.h - the build id that a linker puts into a program or library
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BUILD_ID_BYTES     64                       /* a longer one counts as none */
#define BUILD_ID_TEXT_SIZE (2 * BUILD_ID_BYTES + 1) /* lower-case hexadecimal and a NUL */

/* Whether a text from a trace is a valid build id: an even number of lower-case hexadecimal digits,
 * at most BUILD_ID_DIGITS. "" means none and is valid. Checked because the text becomes part of
 * paths and of requests to servers. */
enum { BUILD_ID_DIGITS = 64 };
bool build_id_is_text(const char *text);

/* Reads a file's build id. Errors: -ENODATA: it has none; -ENOEXEC: not an ELF file of this
 * machine's byte order; -errno of open or read. Does not set the error chain, because files without
 * a build id are common. */
int build_id_read_file(const char *path, char ret_text[BUILD_ID_TEXT_SIZE]);

/* Reads the build id of an image as loaded into memory, from its first PT_LOAD on: a mapped
 * library, the vdso, or a copy from another process. size: bytes available. Errors: as above. */
int build_id_read_image(const void *image, size_t size, char ret_text[BUILD_ID_TEXT_SIZE]);

/* From the bytes of a note section or segment; alignment 4 or 8. Errors: -ENODATA. */
int build_id_read_notes(const void *notes, size_t size, size_t alignment,
			char ret_text[BUILD_ID_TEXT_SIZE]);
