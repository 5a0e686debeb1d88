/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_stream.h - a GPU's stream of EU stall rows: opens, reads and reopens it
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/intel/gpu_node.h"
#include "collect/intel/stalls.h"

struct eu_stream;
struct eu_driver;
enum { MAX_EU_ENGINES = 32 };

/* Min time between two reads of a stream. */
enum { EU_STREAM_PAUSE_NS = 5000000 };

/* The sampling that a GPU's driver offers. */
struct eu_stream_facts {
	const struct eu_driver *driver;
	const struct eu_stall_layout *layout;
	uint32_t gt;           /* index of its GT */
	uint32_t major, minor; /* graphics IP of the GT */
	uint64_t rate_cycles;  /* cycles between two samples */
	uint64_t late_ns;      /* max delay from a sample to the moment when its row can be read */
	/* i915: the compute engines */
	uint32_t engines_count;
	uint16_t engines[MAX_EU_ENGINES];
};

struct eu_stream_counts {
	uint64_t rows;
	/* Number of times that the hardware dropped rows; the number of rows is unknown. */
	uint64_t hardware_losses;
	uint64_t resets; /* resets of the GPU; rows not read before a reset are lost */
	uint64_t breaks; /* other ends of the stream */
	uint64_t lost;   /* rows without room here */
	/* The stream has ended and could not be reopened yet: the time of the end
	 * (CLOCK_MONOTONIC), and the errno of the last attempt, or of the end. 0: it is open. */
	uint64_t ended_ns;
	int error;
};

/* nth: index among the GPU's compute GTs. wanted_cycles: the driver's nearest rate is used; 0: the
 * driver's default. Errors, with the error chain: -ENOENT: the GPU has fewer GTs; -ENOTSUP: the GPU
 * or its driver cannot sample; -errno. */
int eu_stream_ask(const struct gpu_node *node, uint32_t nth, uint64_t wanted_cycles,
		  struct eu_stream_facts *ret_facts);

/* node, budget: borrowed until close. Errors, with the remedy in the error chain: -EACCES, -EBUSY,
 * -errno. */
int eu_stream_open(const struct gpu_node *node, const struct eu_stream_facts *facts,
		   struct quota *budget, struct eu_stream **ret_stream);
/* Reads what is available, then stops the thread. The counts can still be taken. */
void eu_stream_stop(struct eu_stream *stream);
void eu_stream_close(struct eu_stream *stream); /* NULL-safe */

/* Sets the error chain for an errno of eu_stream_counts. */
int eu_stream_refused(const struct eu_stream *stream, int error);

/* Earliest time of the samples that were delivered since emitted_ns, for a stream that was opened
 * at opened_ns. It allows for the driver's polling of the hardware and our polling of the driver.
 * All times are CLOCK_MONOTONIC. */
uint64_t eu_stream_sampled_since(const struct eu_stream_facts *facts, uint64_t opened_ns,
				 uint64_t emitted_ns);

/* Delivers the counts since the last call. Reading continues meanwhile. */
void eu_stream_emit(struct eu_stream *stream, stalls_on_counts on_counts, void *context);
void eu_stream_counted(struct eu_stream *stream, struct eu_stream_counts *ret_counts);
