/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/lazy_bytes.c - a part of a file that is read on demand
 *
 * Runs in:  the recorder
 * Gets:     a file, or an image of one
 * Gives:    bytes at stable addresses
 * Owns:     address space for the whole part, memory for the blocks that were read, and for a large
 *           part a descriptor if one is left
 * Fails:    -ENODATA, -ENOMEM; a file that is shortened later gives no more bytes
 * Why:      a lookup in the unwind tables of libLLVM needs 20 KB of their 6.7 MB. Copying all of it
 *           took 10 ms, while a program waited for the recorder. The tables are not mapped, because
 *           a file that is shortened would kill the recorder (SIGBUS).
 */
#include "symbol/elf/lazy_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/elf/source.h"

enum {
	BLOCK_BYTES = 8 << 10,
	SMALL_BYTES = 256 << 10 /* up to this size everything is read at once, without keeping a
				 * descriptor */
};

struct lazy_bytes {
	struct elf_source source; /* fd -1: everything is read */
	uint64_t offset, size;
	uint8_t *bytes;   /* mapped */
	uint8_t *is_read; /* a byte per block; NULL: everything is read */
};

static uint64_t count_blocks(uint64_t size)
{
	return (size + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

/* Checked before memory is allocated: a length in a damaged header is often beyond the end of the
 * file. */
static int check_end(const struct elf_source *source, uint64_t offset, uint64_t size,
		     uint64_t max_bytes)
{
	uint8_t last;

	if (!size || size > max_bytes || offset > UINT64_MAX - size)
		return -ENODATA;
	return elf_source_read(source, &last, 1, offset + size - 1);
}

/* False: no free descriptor, or no memory. */
static bool keep_file(struct lazy_bytes *bytes, const struct elf_source *source)
{
	int fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return false;
	bytes->is_read = calloc(count_blocks(bytes->size), 1);
	if (!bytes->is_read) {
		close(fd);
		return false;
	}
	bytes->source = *source;
	bytes->source.fd = fd;
	return true;
}

int lazy_bytes_open(const struct elf_source *source, uint64_t offset, uint64_t size,
		    uint64_t max_bytes, struct lazy_bytes **ret_bytes)
{
	int error = check_end(source, offset, size, max_bytes);
	struct lazy_bytes *bytes;

	if (error)
		return error;
	bytes = calloc(1, sizeof(*bytes));
	if (!bytes)
		return -ENOMEM;
	*bytes = (struct lazy_bytes){.source = {.fd = -1}, .offset = offset, .size = size};
	bytes->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes->bytes == MAP_FAILED) {
		free(bytes);
		return -ENOMEM;
	}
	if (source->fd < 0 || size <= SMALL_BYTES || !keep_file(bytes, source))
		error = elf_source_read(source, bytes->bytes, size, offset);
	if (error) {
		lazy_bytes_close(bytes);
		return error;
	}
	*ret_bytes = bytes;
	return 0;
}

void lazy_bytes_close(struct lazy_bytes *bytes)
{
	if (!bytes)
		return;
	munmap(bytes->bytes, bytes->size);
	if (bytes->source.fd >= 0)
		close(bytes->source.fd);
	free(bytes->is_read);
	free(bytes);
}

static int read_block(struct lazy_bytes *bytes, uint64_t block)
{
	const uint64_t at = block * BLOCK_BYTES;
	const uint64_t size = bytes->size - at < BLOCK_BYTES ? bytes->size - at : BLOCK_BYTES;
	int error = elf_source_read(&bytes->source, bytes->bytes + at, size, bytes->offset + at);

	bytes->is_read[block] = !error;
	return error;
}

const uint8_t *lazy_bytes_at(struct lazy_bytes *bytes, uint64_t at, uint64_t size)
{
	if (at > bytes->size || size > bytes->size - at)
		return NULL;
	for (uint64_t block = at / BLOCK_BYTES; bytes->is_read && block * BLOCK_BYTES < at + size;
	     block++)
		if (!bytes->is_read[block] && read_block(bytes, block))
			return NULL;
	return bytes->bytes + at;
}
