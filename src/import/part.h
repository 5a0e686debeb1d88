/* SPDX-License-Identifier: MIT
 *
 * import/part.h - the temporary file that an import writes until its trace is complete
 */
#pragma once

#include <stdbool.h>

#include "base/file/output_file.h"

struct import_part {
	const char *output; /* borrowed */
	struct output_place place;
	char *path; /* path of the part; owned */
	char *name; /* its name below `above`; owned */
	int above;  /* the descriptor of `place`, or AT_FDCWD */
	char *made; /* path of the output if this import created it, otherwise NULL; owned */
	int fd;     /* the part */
	int target; /* the output, into which the part is copied; -1: the part is renamed */
};

/* Errors: -errno with a text; no file is left then. A signal that ends the process removes the
 * part. */
int import_part_open(struct import_part *part, const char *output);

/* Replaces the output by the part, or removes the part if `error` is not 0. Returns `error`, or
 * -errno with a text. */
int import_part_close(struct import_part *part, int error);
