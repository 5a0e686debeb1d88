/* SPDX-License-Identifier: MIT
 *
 * import/chrome_file.h - a Chrome trace, event by event
 */
#ifndef IMPORT_CHROME_FILE_H
#define IMPORT_CHROME_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"

struct import_source;

/* Numbers that may be there. */
struct chrome_number {
	bool is_known;
	int64_t value;
};

struct chrome_arguments {
	struct string_builder name, labels, command, queue, stream, no_launch, no_execution, domain;
	struct chrome_number correlation, pid, bytes, result, status, further;
	struct chrome_number queued_to_submitted, submitted_to_started; /* ns */
	uint64_t global[3], local[3]; /* 0: not known; as the file counts them: */
	uint64_t grid[3], block[3];   /* groups, and items of a group */
	uint32_t dimensions;          /* of global */
};

/* Texts are "" where they are not there. pid and tid are texts: a number as it is written. */
struct chrome_event {
	struct string_builder phase, name, category, pid, tid, stack;
	struct chrome_number ts_ns, dur_ns;
	struct chrome_arguments arguments;
	uint64_t line, byte; /* where it begins */
};

struct chrome_frame {
	struct string_builder id, name, category, parent;
};

struct chrome_sample {
	struct string_builder tid, name, stack;
	struct chrome_number ts_ns, weight, cpu;
};

/* Each may be NULL: not wanted. They end the reading with what is not 0. */
struct chrome_visitor {
	int (*on_event)(void *context, const struct chrome_event *event);
	int (*on_frame)(void *context, const struct chrome_frame *frame);
	int (*on_sample)(void *context, const struct chrome_sample *sample);
};

/* *ret_is_cut: it is an array without its ']', which the format allows whoever may be killed while writing. Errors: -EBADMSG
 * with line and byte, what the source fails with, -ENOMEM. */
int chrome_file_read(struct import_source *source, const struct chrome_visitor *visitor,
		     void *context, bool *ret_is_cut);

/* -EBADMSG that says where the event is. */
__attribute__((format(printf, 2, 3))) int chrome_file_fail(const struct chrome_event *event,
							   const char *format, ...);

#endif
