/* SPDX-License-Identifier: MIT
 *
 * collect/limit/limit.h - holds the cost of recording a process below a limit (--max-overhead)
 *
 * Pure: it gets readings and gives the level at which the guest records until the next reading.
 * docs/design/overhead.md has the rules and their reasons.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/limit/estimate.h"

/* The ladder, most expensive first. */
enum limit_level {
	LIMIT_STACKS,      /* the stack of every launch */
	LIMIT_SOME_STACKS, /* stacks of every 8th launch of a call site */
	LIMIT_FEW_STACKS,  /* stacks of every 64th */
	LIMIT_SPANS,       /* launches without stacks */
	LIMIT_COUNTERS,    /* launches are counted only */
	LIMIT_LEVELS
};

struct limit_options {
	double max;         /* 0.02: 2 % */
	bool has_stacks;    /* false: the ladder begins at LIMIT_SPANS */
	bool can_leave_out; /* the guest can leave out launches; otherwise nothing is measured */
	uint32_t seed;
};

/* Sums since the start. */
struct limit_reading {
	uint64_t now_ns;
	uint64_t launches;
	/* Time of the guest in the program, as it measured itself: in short pieces while the
	 * program runs, and in long pieces that may contain waits for a processor. */
	uint64_t guest_ns, long_ns;
	uint64_t recorder_ns; /* the recorder's part of all processors */
	/* Time between looks at the program's threads, and the part of it in which they waited for
	 * a processor. 0: not known. */
	uint64_t known_ns, waited_ns;
};

enum limit_method {
	LIMIT_BY_WINDOWS,  /* launches per second with and without recording were compared */
	LIMIT_BY_OWN_TIME, /* that was not possible: duet's own time */
	LIMIT_BY_NOTHING   /* too short for either */
};

/* The cost in an interval in which the level did not change. */
struct limit_result {
	uint64_t begin_ns, end_ns;
	enum limit_level level;
	enum limit_method method;
	double cost, half_width; /* 0.01: 1 %. half_width: only by windows */
	uint32_t pairs;          /* that the cost comes from */
};

/* Measurements of one level. */
struct limit_arm {
	struct estimate costs; /* one value per block */
	uint64_t on_ns, guest_ns, long_ns, recorder_ns;
	double run_ns; /* on_ns without waiting for a processor */
};

enum limit_phase { LIMIT_REST, LIMIT_FIRST, LIMIT_MIDDLE, LIMIT_LAST };

struct limit {
	struct limit_options options;
	enum limit_level level;
	struct limit_arm here, above; /* `level`, and the next more expensive one */
	/* The present window. */
	enum limit_phase phase;
	bool is_inverse; /* the block begins without recording */
	bool is_above;   /* the block is one of `above` */
	uint64_t window_ns, due_ns;
	/* Sums of the present block. */
	uint64_t on_launches, on_ns, off_launches, off_ns;
	struct limit_reading last;
	double known_ns, waited_ns;      /* sums of about the last second */
	uint64_t rest_launches, rest_ns; /* sums of the rest before the block */
	uint64_t idle_ns;                /* without a block */
	uint64_t period_ns;
	uint32_t thin; /* blocks in a row with too few launches */
	uint32_t random;
	uint32_t blocks; /* at this level */
	uint64_t changed_ns;
	uint64_t above_after_ns, hold_ns;
	/* The interval of the next result. */
	uint64_t begin_ns, above_ns;
	uint32_t pairs;
	struct limit_result result;
	bool has_result;
};

void limit_init(struct limit *limit, const struct limit_options *options, uint64_t now_ns);

/* Takes a reading at the end of a window. Returns the time of the next one. */
uint64_t limit_step(struct limit *limit, const struct limit_reading *reading);

/* The level until the next reading. LIMIT_COUNTERS in a window without recording. */
enum limit_level limit_now(const struct limit *limit);
/* Whether the present window leaves launches out. */
bool limit_is_off(const struct limit *limit);

/* Ends the present interval. */
void limit_end(struct limit *limit, uint64_t now_ns);
/* Takes a finished interval. False: none. Call after each step and after the end. */
bool limit_take(struct limit *limit, struct limit_result *ret_result);

/* Mean number of launches of a call site between two stacks; 0: no stacks are captured. */
uint32_t limit_every(enum limit_level level);
const char *limit_level_name(enum limit_level level);
