/* SPDX-License-Identifier: MIT
 *
 * tests/unit/export/test_pieces.c - what several formats are made of: spools, packed lists,
 * escapes, gzip
 */
#include <stdlib.h>
#include <zlib.h>

#include "analyze/analysis.h"
#include "base/string.h"
#include "export/common/escape.h"
#include "export/common/gzip.h"
#include "analyze/text/incomplete.h"
#include "export/common/protobuf.h"
#include "export/common/multi_stream.h"
#include "harness.h"

static char *spooled(struct spool *spool, size_t stream)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQUAL(spool_copy(spool, stream, file), 0);
	fclose(file);
	return text;
}

TEST(streams_stay_apart)
{
	struct spool *spool = NULL;
	char line[32], *even, *odd, *none;
	size_t wrong = 0, at[2] = {0};

	CHECK_EQUAL(spool_new(&spool), 0);
	CHECK(spool_is_empty(spool, 0));
	for (unsigned int i = 0; i < 20000; i++) {
		int size = snprintf(line, sizeof(line), "%u\n", i);

		CHECK_EQUAL(spool_write(spool, 2 * (i % 2), line, (size_t)size), 0);
	}
	CHECK(!spool_is_empty(spool, 0));
	CHECK(spool_is_empty(spool, 1));
	even = spooled(spool, 0);
	none = spooled(spool, 1);
	odd = spooled(spool, 2);
	for (unsigned int i = 0; i < 20000; i++) {
		size_t size = (size_t)snprintf(line, sizeof(line), "%u\n", i);

		wrong += strncmp((i % 2 ? odd : even) + at[i % 2], line, size) != 0;
		at[i % 2] += size;
	}
	CHECK_EQUAL(wrong, 0);
	CHECK_EQUAL(strlen(even), at[0]);
	CHECK_EQUAL(strlen(odd), at[1]);
	CHECK_TEXT(none, "");
	free(even);
	free(none);
	free(odd);
	spool_free(spool);
}

TEST(packed_lists)
{
	const uint64_t values[] = {0, 127, 128, UINT64_MAX};
	static const uint8_t wanted[] = {0x0a, 14,   0x00, 0x7f, 0x80, 0x01, 0xff, 0xff,
					 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	struct protobuf message;

	protobuf_init(&message);
	protobuf_packed(&message, 1, values, 0);
	CHECK_EQUAL(message.size, 0);
	protobuf_packed(&message, 1, values, 4);
	CHECK_EQUAL(message.size, sizeof(wanted));
	CHECK(message.bytes && memcmp(message.bytes, wanted, sizeof(wanted)) == 0);
	protobuf_fini(&message);
}

TEST(escapes)
{
	struct string_builder text;

	string_builder_init(&text);
	escape_append(&text, "a b\\\n\xff\xe2\x82\xac");
	CHECK_TEXT(string_builder_text(&text), "a b\\x5c\\x0a\\xff\xe2\x82\xac");
	string_builder_clear(&text);
	escape_append_word(&text, "a b");
	CHECK_TEXT(string_builder_text(&text), "a\\x20b");
	string_builder_clear(&text);
	string_builder_append_utf8(&text, "a\xc0\x80\xe2\x82");
	CHECK_TEXT(string_builder_text(&text), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	string_builder_fini(&text);
}

TEST(gzip_comes_back)
{
	static char bytes[100000], back[sizeof(bytes) + 1];
	char path[] = "/tmp/duet-gzip-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w+e");
	struct gzip gzip;
	gzFile reader;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * i >> 7);
	CHECK_EQUAL(gzip_init(&gzip, file), 0);
	gzip_write(&gzip, bytes, 1);
	gzip_write(&gzip, bytes + 1, 0);
	gzip_write(&gzip, bytes + 1, sizeof(bytes) - 1);
	gzip_end(&gzip);
	gzip_fini(&gzip);
	fclose(file);
	reader = gzopen(path, "rb");
	CHECK_EQUAL(gzread(reader, back, sizeof(back)), (int)sizeof(bytes));
	CHECK(memcmp(bytes, back, sizeof(bytes)) == 0);
	gzclose(reader);
	remove(path);
}

TEST(samples_and_accounts_that_contradict_are_named_apart)
{
	struct analysis analysis = {.checks.inexact = 1, .ledger = {.contradictions = 3}};

	CHECK_TEXT(incomplete_analysis(&analysis).text,
		   "2 samples contradict the account; 1 account does not add up");
	analysis.ledger.contradictions = 1;
	CHECK_TEXT(incomplete_analysis(&analysis).text, "1 account does not add up");
}

/* UndefinedBehaviorSanitizer reports a NULL that is handed to fwrite. */
TEST(an_empty_message_is_written)
{
	struct protobuf message;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	protobuf_init(&message);
	protobuf_write(&message, file);
	protobuf_u64(&message, 1, 7);
	protobuf_write(&message, file);
	fclose(file);
	CHECK_EQUAL(size, 2);
	CHECK(!memcmp(text, "\x08\x07", 2));
	protobuf_fini(&message);
	free(text);
}

int main(void)
{
	RUN(samples_and_accounts_that_contradict_are_named_apart);
	RUN(an_empty_message_is_written);
	RUN(streams_stay_apart);
	RUN(packed_lists);
	RUN(escapes);
	RUN(gzip_comes_back);
	return harness_end();
}
