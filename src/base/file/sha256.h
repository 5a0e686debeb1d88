/* SPDX-License-Identifier: MIT
 *
 * base/file/sha256.h - SHA-256, piece by piece
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sha256 {
	uint32_t state[8];
	uint8_t block[64];
	uint64_t size_bytes; /* added so far */
};

enum { SHA256_TEXT_SIZE = 65 };

void sha256_init(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t size);

/* Writes the digits that sha256sum(1) prints. No more bytes can be added. */
void sha256_format(struct sha256 *hash, char ret_text[SHA256_TEXT_SIZE]);
