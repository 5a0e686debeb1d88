/* SPDX-License-Identifier: MIT
 *
 * tests/unit/export/test_perfetto.c - protobuf messages, moments in order, verdicts, packets
 *
 * What the whole export says is compared in tests/e2e/test_perfetto.py, with a reader of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../checker/description.h"
#include "analyze/model.h"
#include "base/error.h"
#include "export/exporter.h"
#include "analyze/join/ordered_points.h"
#include "analyze/join/launch_outcomes.h"
#include "analyze/output_options.h"
#include "export/common/protobuf.h"
#include "harness.h"

static void check_bytes(const struct protobuf *message, const char *bytes, size_t size)
{
	CHECK_EQUAL(message->error, 0);
	CHECK_EQUAL(message->size, size);
	CHECK(message->size == size && memcmp(message->bytes, bytes, size) == 0);
}

#define CHECK_MESSAGE(message, text) check_bytes(message, text, sizeof(text) - 1)

TEST(scalars)
{
	struct protobuf message;

	protobuf_init(&message);
	protobuf_u64(&message, 1, 150);
	CHECK_MESSAGE(&message, "\x08\x96\x01");
	protobuf_clear(&message);
	protobuf_u64(&message, 47, UINT64_MAX);
	CHECK_MESSAGE(&message, "\xf8\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_clear(&message);
	protobuf_i64(&message, 4, -2);
	CHECK_MESSAGE(&message, "\x20\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_clear(&message);
	protobuf_fixed64(&message, 47, 0x0102030405060708);
	CHECK_MESSAGE(&message, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01");
	protobuf_fini(&message);
}

/* A length above 127 takes a second byte, and what is inside moves; so does what is around. */
TEST(messages_in_messages)
{
	struct protobuf message;
	char text[201] = {0};
	size_t outer, inner;

	memset(text, 'x', 200);
	protobuf_init(&message);
	outer = protobuf_begin(&message, 1);
	inner = protobuf_begin(&message, 2);
	protobuf_end(&message, inner);
	inner = protobuf_begin(&message, 2);
	protobuf_text(&message, 3, text);
	protobuf_end(&message, inner);
	protobuf_u64(&message, 4, 7);
	protobuf_end(&message, outer);
	CHECK_EQUAL(message.size, 213);
	CHECK(memcmp(message.bytes, "\x0a\xd2\x01\x12\x00\x12\xcb\x01\x1a\xc8\x01xxx", 14) == 0);
	CHECK(memcmp(message.bytes + 210, "x\x20\x07", 3) == 0);
	protobuf_fini(&message);
}

TEST(texts_become_utf8)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"", ""},
		{"plain", "plain"},
		{"\xe2\x82\xac \xf0\x9f\x9a\x80", "\xe2\x82\xac \xf0\x9f\x9a\x80"},
		{"\xff", "\xef\xbf\xbd"},
		{"a\xe2\x82", "a\xef\xbf\xbd"},
		{"\xc0\x80z", "\xef\xbf\xbd\xef\xbf\xbdz"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\x1b[0m\n", "\x1b[0m\n"},
	};
	struct protobuf message;

	protobuf_init(&message);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t length = strlen(cases[i].want);

		protobuf_clear(&message);
		protobuf_text(&message, 1, cases[i].text);
		CHECK_EQUAL(message.size, length + 2);
		CHECK_EQUAL(message.bytes[1], length);
		CHECK(memcmp(message.bytes + 2, cases[i].want, length) == 0);
	}
	protobuf_fini(&message);
}

/* "B1" and "E1": begin and end of slice 1. */
static void check_order(struct moments *moments, uint64_t limit, const char *want)
{
	char text[128] = "";
	struct moment moment;
	uint64_t last = 0;
	size_t used = 0;

	while (moments_take(moments, limit, &moment)) {
		CHECK(moment.time >= last);
		last = moment.time;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c%u",
					 used ? " " : "", moment_is_end(&moment) ? 'E' : 'B',
					 moment.slice);
	}
	CHECK_TEXT(text, want);
}

TEST(moments_in_order)
{
	struct moments moments = {0};

	/* nested, with one begin; the inner one is given first */
	CHECK_EQUAL(moments_add(&moments, 1, 10, 20, true), 0);
	CHECK_EQUAL(moments_add(&moments, 2, 10, 90, true), 0);
	check_order(&moments, 10, "");
	check_order(&moments, 20, "B2 B1");
	/* one after the other, the middle one without duration */
	CHECK_EQUAL(moments_add(&moments, 3, 20, 20, true), 0);
	CHECK_EQUAL(moments_add(&moments, 4, 20, 30, true), 0);
	check_order(&moments, UINT64_MAX, "E1 B4 B3 E3 E4 E2");
	/* commands keep their order, and come after the call that launched them */
	CHECK_EQUAL(moments_add(&moments, 5, 40, 40, false), 0);
	CHECK_EQUAL(moments_add(&moments, 6, 40, 50, false), 0);
	CHECK_EQUAL(moments_add(&moments, 7, 40, 45, true), 0);
	check_order(&moments, UINT64_MAX, "B7 B5 E5 B6 E7 E6");
	CHECK_EQUAL(moments_add(&moments, 8, UINT64_MAX, UINT64_MAX, false), 0);
	check_order(&moments, UINT64_MAX, "B8 E8");
	/* single ones: an end before the begin of another, one that comes and goes behind its own
	 * begin */
	CHECK_EQUAL(moments_add_point(&moments, 1, 5, false, true), 0);
	CHECK_EQUAL(moments_add_point(&moments, 2, 5, true, false), 0);
	CHECK_EQUAL(moments_add_point(&moments, 1, 5, true, true), 0);
	check_order(&moments, UINT64_MAX, "E2 B1 E1");
	moments_fini(&moments);
}

static struct model *open_text(const char *text)
{
	char path[] = "/tmp/duet-export-XXXXXX";
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct model *model = NULL;
	int error;

	close(mkstemp(path));
	error = description_write(file, path);
	fclose(file);
	if (!error)
		error = model_open(path, &model);
	if (error)
		printf("# %d: %s\n", error, error_text());
	unlink(path);
	return model;
}

static enum launch_outcome verdict_at(const struct verdicts *verdicts, uint64_t enter,
				      bool is_untimed)
{
	const struct event_launch row = {.enter = enter,
					 .thread = 1,
					 .queue = 1,
					 .correlation = enter,
					 .flags = is_untimed ? LAUNCH_UNTIMED : 0};

	return verdicts_of(verdicts, &row);
}

/* The execution of the launch at 400 comes before it, by more than any clock's error. */
TEST(verdicts)
{
	struct model *model = open_text("window 0 1000\ndevice 1 gpu\nthread 1 1\nqueue 1 1\n"
					"launch 1 1 1 100 110 kernel name=k\n"
					"execution 1 1 1 101 102 120 130\n"
					"launch 2 1 1 200 210 kernel name=k\n"
					"launch 3 1 1 300 310 kernel name=k untimed=1\n"
					"execution 1 3 1 - - - - seen=330\n"
					"execution 1 4 1 - - 370 380\n"
					"launch 4 1 1 400 410 kernel name=k\n");
	struct verdicts verdicts;

	REQUIRE(model);
	CHECK_EQUAL(verdicts_init(&verdicts, model, 0, UINT64_MAX), 0);
	CHECK_EQUAL(verdict_at(&verdicts, 100, false), VERDICT_DRAWN);
	CHECK_EQUAL(verdict_at(&verdicts, 200, false), VERDICT_NEVER);
	CHECK_EQUAL(verdict_at(&verdicts, 300, true), VERDICT_UNTIMED);
	CHECK_EQUAL(verdict_at(&verdicts, 400, false), VERDICT_DRAWN_BEFORE);
	CHECK_EQUAL(verdicts.map.count, 2); /* only what the rows do not tell */
	CHECK_EQUAL(verdicts.delay_ns, 30);
	verdicts_fini(&verdicts);
	CHECK_EQUAL(verdicts_init(&verdicts, model, 0, 120), 0);
	CHECK_EQUAL(verdict_at(&verdicts, 100, false), VERDICT_OUTSIDE);
	verdicts_fini(&verdicts);
	CHECK(!verdict_text(VERDICT_DRAWN) && !verdict_text(VERDICT_DRAWN_BEFORE));
	for (enum launch_outcome i = VERDICT_FAILED_CALL; i <= VERDICT_OUTSIDE; i++)
		CHECK(verdict_text(i) && *verdict_text(i));
	model_close(model);
}

/* The bytes of a file: every packet is field 1 with its length. */
static size_t count_packets(const uint8_t *bytes, size_t size)
{
	size_t count = 0, at = 0;

	while (at < size) {
		uint64_t length = 0;
		unsigned int shift = 0;

		CHECK_EQUAL(bytes[at++], 0x0a);
		do {
			length |= (uint64_t)(bytes[at] & 0x7f) << shift;
			shift += 7;
		} while (bytes[at++] & 0x80);
		at += length;
		count++;
	}
	CHECK_EQUAL(at, size);
	return count;
}

TEST(a_file_is_packets)
{
	const struct output_options options = {0}, nobody = {.pid = 1};
	struct model *model = open_text("window 90 500\ndevice 1 gpu\nthread 1 1\nqueue 1 1\n"
					"call 1 150 400 wait clFinish\n"
					"launch 1 1 1 100 140 kernel name=saxpy\n"
					"execution 1 1 1 110 120 200 300 seen=410\n");
	const struct exporter *exporter = exporter_find("perfetto");
	size_t size, packets;
	char *bytes = NULL;
	uint64_t rows = 0;
	FILE *file = open_memstream(&bytes, &size);

	REQUIRE(model && file && exporter);
	CHECK(exporter->is_binary);
	CHECK_EQUAL(exporter->write(model, &options, file, &rows), 0);
	fflush(file);
	CHECK_EQUAL(rows, 3);
	/* first, 2 clock snapshots, 5 tracks, 1 instant, 2 counters, 3 begins and ends */
	CHECK_EQUAL(packets = count_packets((const uint8_t *)bytes, size), 1 + 2 + 5 + 1 + 2 + 6);
	fclose(file);
	free(bytes);
	bytes = NULL;
	file = open_memstream(&bytes, &size);
	CHECK_EQUAL(exporter->write(model, &nobody, file, &rows), 0);
	fflush(file);
	CHECK_EQUAL(rows, 0);
	CHECK(count_packets((const uint8_t *)bytes, size) < packets);
	fclose(file);
	free(bytes);
	model_close(model);
}

TEST(a_full_disk_is_told)
{
	const struct output_options options = {0};
	struct model *model = open_text("window 90 500\n");
	FILE *file = fopen("/dev/full", "we");
	uint64_t rows;

	REQUIRE(model && file);
	CHECK_EQUAL(exporter_find("perfetto")->write(model, &options, file, &rows), -ENOSPC);
	CHECK(*error_text());
	error_clear();
	fclose(file);
	model_close(model);
}

int main(void)
{
	RUN(scalars);
	RUN(messages_in_messages);
	RUN(texts_become_utf8);
	RUN(moments_in_order);
	RUN(verdicts);
	RUN(a_file_is_packets);
	RUN(a_full_disk_is_told);
	return harness_end();
}
