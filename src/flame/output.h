/* SPDX-License-Identifier: MIT
 *
 * flame/output.h - buffer bytes and write them in large pieces
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct flame_output {
	FILE *file;
	char *buffer;
	size_t used;
	int error; /* the first one; later output is ignored */
};

int flame_output_init(struct flame_output *output, FILE *file); /* -ENOMEM */
void flame_output_fini(struct flame_output *output);            /* NULL-safe; does not write */

void flame_output_bytes(struct flame_output *output, const void *bytes, size_t size);
void flame_output_text(struct flame_output *output, const char *text);
void flame_output_u64(struct flame_output *output, uint64_t value);
/* Writes hundredths without trailing zeros: 1250 is 12.5. */
void flame_output_hundredths(struct flame_output *output, uint64_t value);

/* Writes the rest of the buffer and flushes the file: 0, or -errno with a text. */
int flame_output_end(struct flame_output *output);
