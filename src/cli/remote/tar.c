/* SPDX-License-Identifier: MIT
 *
 * cli/remote/tar.c - write a tar archive into memory
 *
 * Runs in:  our own process
 * Gets:     names and bytes of files
 * Gives:    an archive of format ustar
 * Owns:     nothing
 * Fails:    -ENAMETOOLONG; lack of memory stays in the builder
 * Why:      tar(1) would need a folder with copies or links of files that lie in several places,
 *           and its archives contain dates, so a bundle could not be named by its hash
 */
#include "cli/remote/tar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"

enum { BLOCK = 512, NAME_SIZE = 100 };

/* The fields of a header of POSIX 1003.1-1988 (ustar). */
struct header {
	char name[NAME_SIZE], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type,
		target[NAME_SIZE], magic[6], version[2], user[32], group[32], major[8], minor[8],
		prefix[155], unused[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

static void append_zeros(struct string_builder *tar, size_t count)
{
	static const char zeros[2 * BLOCK];

	string_builder_append_bytes(tar, zeros, count);
}

/* The sum of all bytes, with spaces in its own place. */
static void set_checksum(struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	unsigned sum = 0;

	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += bytes[i];
	snprintf(header->checksum, sizeof(header->checksum), "%06o", sum & 0777777);
}

int tar_append(struct string_builder *tar, const char *name, unsigned mode, const void *bytes,
	       size_t size, const char *target)
{
	struct header header = {.type = target ? '2' : '0', .version = {'0', '0'}};

	if (strlen(name) > NAME_SIZE || (target && strlen(target) > NAME_SIZE))
		return -ENAMETOOLONG;
	if (size > 077777777777)
		return -EFBIG;
	memcpy(header.name, name, strlen(name));
	if (target)
		memcpy(header.target, target, strlen(target));
	memcpy(header.magic, "ustar", sizeof(header.magic));
	snprintf(header.mode, sizeof(header.mode), "%07o", mode & 07777);
	snprintf(header.uid, sizeof(header.uid), "%07o", 0);
	snprintf(header.gid, sizeof(header.gid), "%07o", 0);
	snprintf(header.size, sizeof(header.size), "%011zo", size);
	snprintf(header.mtime, sizeof(header.mtime), "%011o", 0);
	set_checksum(&header);
	string_builder_append_bytes(tar, &header, sizeof(header));
	string_builder_append_bytes(tar, bytes, size);
	append_zeros(tar, (BLOCK - size % BLOCK) % BLOCK);
	return 0;
}

void tar_end(struct string_builder *tar)
{
	append_zeros(tar, 2 * BLOCK);
}
