/* SPDX-License-Identifier: MIT
 *
 * tests/generate/world.h - the processes, threads, devices and queues of a made-up recording
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answers.h"
#include "trace/writer.h"

/* Clock domains. All stamps of the host are of the TSC, whose map back is exact to the nanosecond:
 * 2596 MHz are 649 ticks in 250 ns, and the pairs are read at whole microseconds. */
enum { CLOCK_TSC = 2, CLOCK_RAW = 3, CLOCK_FIRST_DEVICE = 4 };

#define BEGIN_NS      1000000000000u /* CLOCK_MONOTONIC when the recording begins */
#define RAW_BEHIND_NS 245267486u
#define DRIFT_PPM     40 /* of the second device, whose zero is at OTHER_ZERO */
#define OTHER_ZERO    998877665544u

#define THREADS 7
#define QUEUES  5
#define LANES   3

enum { PROCESSES = 3 };

/* How a trace is made: one row of the table in world.c. */
struct shape {
	const char *name, *help;
	uint32_t threads, queues; /* the first so many of the world */
	uint32_t gap_ns;          /* mean host time between two calls */
	uint64_t backlog_ns;      /* a thread waits for its queue when so much is ahead of it */
	uint32_t outstanding;     /* … or so many commands */
	uint32_t kernel_ns;       /* shortest kernel */
	uint32_t harvest_ns;      /* completions are seen together, this far apart; 0: at once */
	uint32_t in_flight;       /* commands that never complete */
	bool has_trouble;         /* failing calls, drops, rejected stamps */
	bool is_blocking;         /* some reads wait for their completion */
	bool is_empty;
};

struct thread {
	uint32_t id, process;
	uint32_t queues[2];
	uint64_t free_ns; /* when it comes back from its call */
};

struct queue {
	uint32_t id, process, device;
	bool is_out_of_order, is_untimed;
	uint32_t lanes;
	uint64_t lane_free_ns[LANES];
	uint32_t outstanding;
};

struct world {
	struct trace_writer *writer;
	struct answers *answers;
	const struct shape *shape;
	struct thread threads[THREADS];
	struct queue queues[QUEUES];
	uint32_t function_strings[ANSWERS_FUNCTIONS];
	uint64_t correlations[PROCESSES + 1];
	uint64_t random;
	int error; /* first one of the writer, or -ENOMEM */
};

struct function {
	const char *name;
	uint32_t command; /* enum event_command; COMMAND_COUNT: launches nothing */
	uint32_t weight;
};
extern const struct function functions[];
extern const size_t function_count;

extern const struct shape shapes[];
extern const size_t shape_count;

/* Which kernels run on a device. */
#define KERNELS 5
struct kernel {
	const char *name;
	uint32_t device;
};
extern const struct kernel kernels[KERNELS];
/* Code id of a kernel as built by a process. */
uint32_t kernel_code(uint32_t process, uint32_t kernel);

uint64_t random_next(struct world *world);
static inline uint64_t random_below(struct world *world, uint64_t limit)
{
	return (uint64_t)(((unsigned __int128)random_next(world) * limit) >> 64);
}

uint64_t tsc_at(uint64_t host_ns);
uint64_t device_at(uint32_t device, uint64_t host_ns);

/* Appends a row and counts it. */
void world_row(struct world *world, enum event_kind kind, uint32_t source, uint32_t clock,
	       const void *row);
/* Readings of the TSC and of MONOTONIC_RAW next to the host's clock. */
void world_pairs(struct world *world, uint64_t host_ns);

void world_describe(struct world *world);             /* at the begin */
void world_end(struct world *world, uint64_t end_ns); /* things end, threads and processes exit */

const struct shape *shape_find(const char *name); /* may be NULL */

/* Writes a trace and fills in its answers, which the caller releases with answers_fini. */
int world_write(const char *path, const struct shape *shape, uint64_t events, uint64_t seed,
		struct answers *answers);

/* simulate.c */
void simulate(struct world *world, uint64_t events);
