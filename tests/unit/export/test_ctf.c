/* SPDX-License-Identifier: MIT
 *
 * tests/unit/export/test_ctf.c - where packets of a CTF stream end
 *
 * What the whole export says is read by babeltrace2 in tests/e2e/test_ctf.py.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/file/output_file.h"
#include "export/ctf/stream.h"
#include "harness.h"

enum { HEAD_BYTES = 80, EVENT_HEAD_BYTES = 10 };

static const uint8_t uuid[CTF_UUID_BYTES] = {1, 2, 3};

/* Content size in bytes, discarded events and times of the packet at an offset. */
struct head {
	uint64_t begin_ns, end_ns, bytes, number, discarded;
};

static struct head head_at(const char *data, size_t offset)
{
	uint64_t context[6];

	memcpy(context, data + offset + 32, sizeof(context));
	return (struct head){context[0], context[1], context[3] / 8, context[4], context[5]};
}

static void open_stream(struct ctf_stream *stream, char *folder)
{
	struct output_folder output;

	REQUIRE(mkdtemp(folder) && output_folder_init(&output, folder) == 0);
	CHECK_EQUAL(ctf_stream_open(stream, &output, "stream", 0, uuid, 5), 0);
	output_folder_fini(&output);
}

static char *close_and_read(struct ctf_stream *stream, const char *folder, size_t *ret_size)
{
	char path[64], *data = NULL;

	CHECK_EQUAL(ctf_stream_close(stream), 0);
	snprintf(path, sizeof(path), "%s/stream", folder);
	CHECK_EQUAL(read_file(path, 0, &data, ret_size), 0);
	unlink(path);
	rmdir(folder);
	return data;
}

static void put_event(struct ctf_stream *stream, uint64_t time_ns, size_t length)
{
	char *text = malloc(length + 1);

	memset(text, 'x', length);
	text[length] = 0;
	ctf_stream_begin(stream, 7, time_ns);
	ctf_stream_text(stream, text);
	CHECK_EQUAL(ctf_stream_end(stream), 0);
	free(text);
}

TEST(an_event_that_does_not_fit_begins_the_next_packet)
{
	char folder[] = "/tmp/duet-ctf-XXXXXX";
	struct ctf_stream stream;
	size_t size;
	char *data;

	open_stream(&stream, folder);
	put_event(&stream, 10, 40000);
	put_event(&stream, 20, 40000);
	put_event(&stream, 30, 100);
	data = close_and_read(&stream, folder, &size);
	CHECK_EQUAL(head_at(data, 0).bytes, HEAD_BYTES + EVENT_HEAD_BYTES + 40001);
	CHECK_EQUAL(head_at(data, 0).begin_ns, 10);
	CHECK_EQUAL(head_at(data, 0).end_ns, 10);
	CHECK_EQUAL(head_at(data, head_at(data, 0).bytes).begin_ns, 20);
	CHECK_EQUAL(head_at(data, head_at(data, 0).bytes).end_ns, 30);
	CHECK_EQUAL(head_at(data, head_at(data, 0).bytes).number, 1);
	CHECK_EQUAL(head_at(data, 0).bytes + head_at(data, head_at(data, 0).bytes).bytes, size);
	free(data);
}

TEST(an_event_larger_than_a_packet_has_its_own)
{
	char folder[] = "/tmp/duet-ctf-XXXXXX";
	struct ctf_stream stream;
	size_t size, at = 0;
	char *data;

	open_stream(&stream, folder);
	put_event(&stream, 10, 10);
	put_event(&stream, 20, 200000);
	put_event(&stream, 30, 10);
	data = close_and_read(&stream, folder, &size);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_EQUAL(head_at(data, at).number, i);
		CHECK_EQUAL(head_at(data, at).begin_ns, 10 * (i + 1));
		CHECK_EQUAL(head_at(data, at).end_ns, 10 * (i + 1));
		at += head_at(data, at).bytes;
	}
	CHECK_EQUAL(at, size);
	free(data);
}

TEST(losses_are_between_packets)
{
	char folder[] = "/tmp/duet-ctf-XXXXXX";
	struct ctf_stream stream;
	size_t size, at = 0;
	char *data;

	open_stream(&stream, folder);
	CHECK_EQUAL(ctf_stream_discard(&stream, 6, 3), 0);
	CHECK_EQUAL(ctf_stream_discard(&stream, 7, 4), 0);
	put_event(&stream, 10, 10);
	CHECK_EQUAL(ctf_stream_discard(&stream, 20, 5), 0);
	data = close_and_read(&stream, folder, &size);
	CHECK_EQUAL(head_at(data, at).discarded,
		    0); /* nothing is known of what was before the first */
	CHECK_EQUAL(head_at(data, at).bytes, HEAD_BYTES);
	CHECK_EQUAL(head_at(data, at).begin_ns, 5);
	at += head_at(data, at).bytes;
	CHECK_EQUAL(head_at(data, at).discarded, 7);
	CHECK_EQUAL(head_at(data, at).begin_ns, 10);
	at += head_at(data, at).bytes;
	CHECK_EQUAL(head_at(data, at).discarded, 12);
	CHECK_EQUAL(head_at(data, at).end_ns, 20);
	CHECK_EQUAL(at + head_at(data, at).bytes, size);
	free(data);
}

TEST(a_full_disk_is_told)
{
	struct ctf_stream stream = {.uuid = uuid, .file = fopen("/dev/full", "w")};
	int error = 0;

	REQUIRE(stream.file);
	for (uint64_t i = 0; i < 100 && !error; i++) {
		ctf_stream_begin(&stream, 7, i);
		for (int k = 0; k < 4000; k++)
			ctf_stream_u64(&stream, i);
		error = ctf_stream_end(&stream);
	}
	CHECK_EQUAL(error, -ENOSPC);
	CHECK(strstr(error_text(), "No space left"));
	CHECK_EQUAL(ctf_stream_close(&stream), -ENOSPC);
}

int main(void)
{
	RUN(an_event_that_does_not_fit_begins_the_next_packet);
	RUN(an_event_larger_than_a_packet_has_its_own);
	RUN(losses_are_between_packets);
	RUN(a_full_disk_is_told);
	return harness_end();
}
