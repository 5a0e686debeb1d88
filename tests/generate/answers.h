/* SPDX-License-Identifier: MIT
 *
 * tests/generate/answers.h - what a trace holds, counted while it is made
 *
 * Nothing here shares code with analyze/: a wrong answer must not be wrong twice.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event/event.h"

#define ANSWERS_FUNCTIONS 40
#define ANSWERS_KERNELS   8
#define ANSWERS_DEVICES   2

struct count_total {
	uint64_t count, failures, total_ns, minimum_ns, maximum_ns;
};

struct interval {
	uint64_t begin, end;
};

/* Union of intervals that come in any order but never begin before the watermark. */
struct busy {
	struct interval *heap; /* smallest begin first */
	size_t count, capacity;
	uint64_t end; /* of the union so far */
	uint64_t total, pieces;
};

enum { ANSWERS_MARKER = COMMAND_COUNT, ANSWERS_COMMANDS };

struct copy_answer {
	uint64_t launches, launched_bytes;
	uint64_t matched, matched_bytes; /* timed or not */
	uint64_t timed, timed_bytes, total_ns;
};

struct device_answer {
	struct busy busy;
	uint64_t executions, kernels, copies; /* timed */
	double rate;                          /* device nanoseconds in one of the host's */
};

struct answers {
	const char *shape;
	uint64_t seed;
	const char *function_names[ANSWERS_FUNCTIONS];
	struct count_total functions[ANSWERS_FUNCTIONS];
	size_t function_count;
	const char *kernel_names[ANSWERS_KERNELS];
	uint32_t kernel_devices[ANSWERS_KERNELS];
	struct count_total kernels[ANSWERS_KERNELS];
	uint64_t kernel_launches[ANSWERS_KERNELS], kernel_matched[ANSWERS_KERNELS];
	size_t kernel_count;
	/* by enum event_command, and markers, which the file has as barriers */
	struct copy_answer commands[ANSWERS_DEVICES][ANSWERS_COMMANDS];
	struct device_answer devices[ANSWERS_DEVICES];
	uint64_t rows[EVENT_KIND_COUNT];
	uint64_t launched, executed, matched, dropped, rejected, untimed;
	uint64_t lost_calls; /* API rows lost: not part of the ledger */
	uint64_t begin_ns, end_ns;
};

void count_total_add(struct count_total *total, uint64_t duration_ns);

/* Errors: -ENOMEM. */
int busy_add(struct busy *busy, uint64_t begin, uint64_t end);
/* Nothing will begin before `watermark`. */
void busy_advance(struct busy *busy, uint64_t watermark);

int answers_write(const struct answers *answers, FILE *file);
void answers_fini(struct answers *answers);
