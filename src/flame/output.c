/* SPDX-License-Identifier: MIT
 *
 * flame/output.c - buffer bytes and write them in large pieces
 *
 * Runs in:  our own process
 * Gets:     bytes and numbers
 * Gives:    writes of about 256 KiB; a larger piece is written directly
 * Owns:     the buffer; the caller owns the file
 * Fails:    keeps -errno; flame_output_end returns it, with a message
 * Why not stdio alone: a line of folded text and a box of a picture consist of a dozen pieces. Each
 *           one would lock the file and pass through its 4 KiB buffer.
 */
#include "flame/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define BUFFER_SIZE ((size_t)256 * 1024)

int flame_output_init(struct flame_output *output, FILE *file)
{
	*output = (struct flame_output){.file = file, .buffer = malloc(BUFFER_SIZE)};
	return output->buffer ? 0 : -ENOMEM;
}

void flame_output_fini(struct flame_output *output)
{
	if (!output)
		return;
	free(output->buffer);
	*output = (struct flame_output){0};
}

static void write_out(struct flame_output *output, const void *bytes, size_t size)
{
	if (output->error || !size)
		return;
	errno = 0;
	if (fwrite(bytes, 1, size, output->file) != size)
		output->error = errno ? -errno : -EIO;
}

void flame_output_bytes(struct flame_output *output, const void *bytes, size_t size)
{
	if (size > BUFFER_SIZE - output->used) {
		write_out(output, output->buffer, output->used);
		output->used = 0;
	}
	if (size > BUFFER_SIZE) {
		write_out(output, bytes, size);
		return;
	}
	if (size)
		memcpy(output->buffer + output->used, bytes, size);
	output->used += size;
}

void flame_output_text(struct flame_output *output, const char *text)
{
	flame_output_bytes(output, text, strlen(text));
}

void flame_output_u64(struct flame_output *output, uint64_t value)
{
	char digits[20];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	flame_output_bytes(output, digits + first, sizeof(digits) - first);
}

void flame_output_hundredths(struct flame_output *output, uint64_t value)
{
	char digits[3] = {'.', (char)('0' + value / 10 % 10), (char)('0' + value % 10)};

	flame_output_u64(output, value / 100);
	if (value % 100)
		flame_output_bytes(output, digits, value % 10 ? 3 : 2);
}

int flame_output_end(struct flame_output *output)
{
	write_out(output, output->buffer, output->used);
	output->used = 0;
	errno = 0;
	if (!output->error && fflush(output->file) != 0)
		output->error = errno ? -errno : -EIO;
	if (output->error)
		return error_set(output->error, "write: %s", strerror(-output->error));
	return 0;
}
