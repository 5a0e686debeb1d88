/* SPDX-License-Identifier: MIT
 *
 * collect/intel/launches.h - turns submissions to Intel GPUs into rows of a recording
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recording.h"
#include "event/submit_record.h"

enum { LAUNCHES_A_BATCH = 256 };

/* A GPU, indexed by the minor number of its render node. driver "": no GPU. */
struct launch_gpu {
	char address[64]; /* PCI address "0000:03:00.0"; otherwise its name on its bus */
	char driver[16];
	uint32_t device;     /* id of the trace; 0: not described yet */
	uint32_t generation; /* enum batch_generation and 1; 0: not known */
};

struct launches_counts {
	uint64_t submissions;
	uint64_t has_runtime; /* submissions left out, because a guest records their process's
				 runtime */
	uint64_t kernels;     /* launches of kernels */
	uint64_t relative;    /* kernels whose address is known only relative to an unknown base */
	uint64_t left_out; /* kernels above LAUNCHES_A_BATCH, or above a limit of the BPF program */
	uint64_t no_memory; /* new kernels without room in the recorder's memory */
	uint64_t forgotten; /* kernels ended early, because their end may be lost */
	/* Batches that could not be read to the end, or were given up before. */
	uint64_t incomplete;
	uint64_t looping; /* batches that never end, as those of direct submission */
	uint64_t cut;     /* batches with more commands than are read, or without commands */
	uint64_t mismatched, unresolved, too_deep; /* commands, as in struct batch_counts */
	uint64_t no_space; /* submissions to address spaces that were created before */
	uint64_t no_generation;
	uint64_t beyond;    /* submissions with more than MAX_SUBMIT_BATCHES batches */
	uint64_t unmatched; /* results for batches that were given up here before */
	uint64_t stackless; /* submissions without a user stack */
	/* Set at the end. */
	uint64_t refused_stacks;   /* stacks that were reported but could not be stored */
	uint64_t no_memory_stacks; /* stacks without room in the recorder's memory */
	uint64_t unkept;           /* submissions whose stack is in one of the two */
	uint64_t malformed;
};

struct launches;

/* function: the driver's submission function. gpus: MAX_SUBMIT_MINORS entries, borrowed. is_timed:
 * jobs are recorded, which give the times of batches. NULL: out of memory. */
struct launches *launches_new(struct recording *recording, const char *function,
			      struct launch_gpu *gpus, bool is_timed);
void launches_free(struct launches *launches); /* NULL-safe */

/* Called when a user stack is dropped here, so that the BPF program reports it again. */
void launches_on_forgotten(struct launches *launches,
			   void (*on_forgotten)(void *context, uint64_t user_stack), void *context);

/* Takes a record of src/bpf/submit/submit.bpf.h, in the kernel's order. Its rows are written now or
 * by launches_settle. */
void launches_take(struct launches *launches, const void *record, size_t size);

/* Writes waiting records, after all guest rings have been read up to the time of these records. */
void launches_settle(struct launches *launches);

/* Ends all kernels, because records with unbinds and process ends may be among those lost. Later
 * launches refer to new kernels. */
void launches_lost(struct launches *launches, uint64_t now_ns);

/* Drops processes that have ended. */
void launches_each_second(struct launches *launches, uint64_t now_ns);

/* Gives up open batches and names the kernel's frames. */
void launches_end(struct launches *launches);

const struct launches_counts *launches_counted(const struct launches *launches);
