/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_iaprof.c - libFuzzer target: any bytes as a profile of iaprof
 *
 *	fuzz_iaprof tests/golden/iaprof		runs on the profiles that are there, and goes on
 *		from them
 *
 * What is taken must be a whole trace, whose counts have a sum; what is refused must say why.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "event/event.h"
#include "import/formats.h"
#include "import/source.h"
#include "import/target.h"
#include "trace/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t sum_of(struct trace_reader *reader)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
		const struct event_instruction_sample *rows;
		void *decoded = NULL;
		size_t count;

		if (trace_reader_chunk(reader, i)->kind != EVENT_INSTRUCTION_SAMPLE)
			continue;
		if (trace_reader_rows(reader, i, &decoded, &count))
			abort();
		rows = decoded;
		for (size_t k = 0; k < count; k++)
			if (!rows[k].count || __builtin_add_overflow(sum, rows[k].count, &sum))
				abort();
		free(decoded);
	}
	return sum;
}

static void check_trace(const char *path)
{
	struct trace_reader *reader;

	if (trace_reader_open(path, &reader) || sum_of(reader) > INT64_MAX)
		abort();
	trace_reader_close(reader);
}

static void import(const char *from, const char *to)
{
	struct import_source *source;
	struct import_target *target;
	int error;

	if (import_source_open(from, &source) || import_target_open(to, &target))
		abort();
	error = import_iaprof.read(source, target);
	if (error)
		import_target_abandon(target);
	else if (import_target_finish(target, NULL))
		abort();
	if (error && (error != -EBADMSG || !*error_text()))
		abort();
	import_source_close(source);
	if (!error)
		check_trace(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	char from[64], to[64];

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	snprintf(to, sizeof(to), "/dev/shm/fuzz-iaprof-%d", (int)getpid());
	import(from, to);
	unlink(to);
	close(fd);
	return 0;
}
