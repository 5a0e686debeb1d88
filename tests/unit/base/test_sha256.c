/* SPDX-License-Identifier: MIT
 *
 * tests/unit/base/test_sha256.c - digests of FIPS 180-4, in pieces of every size
 */
#include "harness.h"

#include <string.h>

#include "base/file/sha256.h"

static const char *hash_pieces(const char *text, size_t size, size_t piece,
			       char digits[SHA256_TEXT_SIZE])
{
	struct sha256 hash;

	sha256_init(&hash);
	for (size_t at = 0; at < size; at += piece)
		sha256_add(&hash, text + at, size - at < piece ? size - at : piece);
	sha256_format(&hash, digits);
	return digits;
}

TEST(known_digests)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char digits[SHA256_TEXT_SIZE];

	CHECK_TEXT(hash_pieces("", 0, 1, digits),
		   "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	CHECK_TEXT(hash_pieces("abc", 3, 3, digits),
		   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	CHECK_TEXT(hash_pieces(two, strlen(two), 56, digits),
		   "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(pieces_of_every_size)
{
	char million[1000000], digits[SHA256_TEXT_SIZE];

	memset(million, 'a', sizeof(million));
	for (size_t piece = 1; piece < 200; piece += 9)
		CHECK_TEXT(hash_pieces(million, sizeof(million), piece, digits),
			   "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
	RUN(known_digests);
	RUN(pieces_of_every_size);
	return harness_end();
}
