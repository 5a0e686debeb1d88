/* SPDX-License-Identifier: MIT
 *
 * import/chrome/categories.h - the kind of an event of a Chrome trace, from its categories
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct chrome_event;

/* Bits of the words in "cat". */
enum chrome_category {
	CATEGORY_KERNEL = 1 << 0,
	CATEGORY_COPY = 1 << 1,
	CATEGORY_FILL = 1 << 2,
	CATEGORY_COMMAND = 1 << 3,
	CATEGORY_REJECTED = 1 << 4,
	CATEGORY_RANGE = 1 << 5,
	CATEGORY_OVERHEAD = 1 << 6,
	CATEGORY_FUNCTION = 1 << 7,
	CATEGORY_OPERATOR = 1 << 8,
	CATEGORY_RUNTIME = 1 << 9,
	CATEGORY_LAUNCH = 1 << 10,
	CATEGORY_WAIT = 1 << 11,
	CATEGORY_TWICE = 1 << 12, /* the profiler's own span, or a copy of another event */
	CATEGORY_ACCELERATOR = 1 << 13,
	CATEGORY_OPERATION = 1 << 14, /* a command of rpd2tracing; args.desc is its type */
	CATEGORY_ARROW = 1 << 15,     /* from a call to an operation */
	CATEGORY_COMMANDS = CATEGORY_KERNEL | CATEGORY_COPY | CATEGORY_FILL | CATEGORY_COMMAND |
			    CATEGORY_REJECTED | CATEGORY_OPERATION
};

/* The use of an event. */
enum chrome_kind {
	KIND_LEFT_OUT,
	KIND_META,     /* a name of a process or thread */
	KIND_OVERHEAD, /* time of the driver or the profiler */
	KIND_COMMAND,
	KIND_SLICE,
	KIND_BEGIN, /* a slice begins */
	KIND_END,
	KIND_MEMORY, /* the size of a memory */
	KIND_ARROW,
	KIND_INVALID /* without its times */
};

uint32_t chrome_categories(const char *text);
enum chrome_kind chrome_kind_of(const struct chrome_event *event);

/* Whether a slice is a range that the program named itself. */
bool chrome_is_range(const struct chrome_event *event);

/* Whether a slice is a frame of the stacks inside of it. A range with a digit in its name is often
 * one of a series ("ProfilerStep#3"), so the stacks of each would differ. */
bool chrome_is_frame(const struct chrome_event *event);

/* enum event_api_type of a slice. A range of PyTorch itself is an operator as part of a stack. */
uint32_t chrome_call_type(const struct chrome_event *event);
