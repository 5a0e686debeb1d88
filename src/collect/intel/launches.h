/* SPDX-License-Identifier: MIT
 *
 * collect/intel/launches.h - submissions to Intel's GPUs, as rows of a recording
 */
#ifndef COLLECT_INTEL_LAUNCHES_H
#define COLLECT_INTEL_LAUNCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recording.h"
#include "event/submit_record.h"

enum { LAUNCHES_A_BATCH = 256 };

/* A GPU, by the minor of its render node. driver "": there is none. */
struct launch_gpu {
	char address[64]; /* PCI, "0000:03:00.0"; else what its bus calls it */
	char driver[16];
	uint32_t device;     /* the trace's; 0: not described yet */
	uint32_t generation; /* enum batch_generation and 1; 0: not known */
};

struct launches_counts {
	uint64_t submissions;
	uint64_t told;     /* … left out: a runtime of their process tells of its own work */
	uint64_t kernels;  /* launches of them */
	uint64_t relative; /* … whose address is not known, but how far behind an unknown one */
	uint64_t left_out; /* … beyond LAUNCHES_A_BATCH, or what a batch is kept apart by */
	uint64_t no_memory; /* … of kernels that were new when the recorder had as much as it may */
	uint64_t
		forgotten; /* kernels that were ended as nobody knows whether they are there still */
	uint64_t
		incomplete; /* batches that could not be read to the end, or were given up before … */
	uint64_t looping; /* … that never end, as those of direct submission */
	uint64_t cut; /* … that have more commands than are looked at, or no commands in them */
	uint64_t mismatched, unresolved, too_deep; /* commands, as in struct batch_counts */
	uint64_t no_space;                         /* address spaces that were made before */
	uint64_t no_generation;
	uint64_t beyond;    /* submissions with more than SUBMIT_BATCHES_MOST batches */
	uint64_t unmatched; /* later looks at batches that were given up here before */
	uint64_t stackless; /* submissions whose user stack was not told */
	/* Known at the end. */
	uint64_t refused_stacks;   /* stacks that were told, and not kept */
	uint64_t no_memory_stacks; /* … as the recorder had as much memory as it may */
	uint64_t unkept;           /* submissions with a stack of either kind */
	uint64_t malformed;
};

struct launches;

/* function: the driver's, that is called. gpus: SUBMIT_MINORS_MOST, borrowed. is_timed: jobs are recorded, which tell when
 * a batch was executed. NULL: out of memory. */
struct launches *launches_new(struct recording *recording, const char *function,
			      struct launch_gpu *gpus, bool is_timed);
void launches_free(struct launches *launches); /* NULL-safe */

/* Who is told that a user's stack is not known here any more, and that the kernel has to tell it again. */
void launches_on_forgotten(struct launches *launches,
			   void (*on_forgotten)(void *context, uint64_t user_stack), void *context);

/* A record of src/bpf/submit.h, in the kernel's order. Its rows are written now or by launches_settle. */
void launches_take(struct launches *launches, const void *record, size_t size);

/* All that guests had told of when the records came is known by now. */
void launches_settle(struct launches *launches);

/* Some records had no room: what was unbound, and who has ended, may be among them. No kernel goes on, and what is launched from
 * now on is another one. */
void launches_lost(struct launches *launches, uint64_t now_ns);

/* Nothing more comes of who has ended. */
void launches_each_second(struct launches *launches, uint64_t now_ns);

/* No batch is open any more, and the kernel's frames get their names. */
void launches_end(struct launches *launches);

const struct launches_counts *launches_counted(const struct launches *launches);

#endif
