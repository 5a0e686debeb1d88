/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_stream.h - a GPU's stream of EU-stall rows: opened, read as it comes, and opened again
 */
#ifndef COLLECT_INTEL_EU_STREAM_H
#define COLLECT_INTEL_EU_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/intel/gpu_node.h"
#include "collect/intel/stalls.h"

struct eu_stream;
struct eu_driver;
enum { EU_ENGINES_MOST = 32 };

/* How often at most a stream is read. */
enum { EU_STREAM_PAUSE_NS = 5000000 };

/* What a GPU's driver says of its sampling. */
struct eu_stream_facts {
	const struct eu_driver *driver;
	const struct eu_stall_layout *layout;
	uint32_t gt;           /* the number of its GT */
	uint32_t major, minor; /* its graphics IP */
	uint64_t rate_cycles;  /* between two samples */
	uint64_t late_ns; /* so much later than it is sampled a row is there to be read, at most */
	/* of i915: the engines that compute */
	uint32_t engines_count;
	uint16_t engines[EU_ENGINES_MOST];
};

struct eu_stream_counts {
	uint64_t rows;
	uint64_t
		hardware_losses; /* times that the hardware had no room for rows; nobody knows for how many */
	uint64_t resets; /* of the GPU: what was not read before is lost */
	uint64_t breaks; /* other ends of the stream */
	uint64_t lost;   /* rows without room here */
	/* The stream has ended and could not be opened again yet: since when (CLOCK_MONOTONIC), and the errno of the last
	 * attempt, or of its end. 0: it is open. */
	uint64_t ended_ns;
	int error;
};

/* nth: of its GTs that compute. wanted_cycles 0: the driver's usual rate; else the next one that it has. Errors, with the
 * error chain: -ENOENT: it has not so many GTs; -ENOTSUP where the GPU or its driver cannot sample; -errno. */
int eu_stream_ask(const struct gpu_node *node, uint32_t nth, uint64_t wanted_cycles,
		  struct eu_stream_facts *ret_facts);

/* node, budget: borrowed to the end. Errors, with what mends it in the error chain: -EACCES, -EBUSY, -errno. */
int eu_stream_open(const struct gpu_node *node, const struct eu_stream_facts *facts,
		   struct stalls_budget *budget, struct eu_stream **ret_stream);
/* Reads what is there, and no more: it can be told still. */
void eu_stream_stop(struct eu_stream *stream);
void eu_stream_close(struct eu_stream *stream); /* NULL-safe */

/* What it says of an errno of eu_stream_counts: the error chain. */
int eu_stream_refused(const struct eu_stream *stream, int error);

/* When what has come since told_ns was sampled at the earliest, of a stream that was opened at opened_ns: between a sample and
 * its row there are a look of the driver's at the hardware and one of ours at the driver. All CLOCK_MONOTONIC. */
uint64_t eu_stream_sampled_since(const struct eu_stream_facts *facts, uint64_t opened_ns,
				 uint64_t told_ns);

/* What has come since the last time. The stream is read on meanwhile. */
void eu_stream_tell(struct eu_stream *stream, stalls_on_counts on_counts, void *context);
void eu_stream_counted(struct eu_stream *stream, struct eu_stream_counts *ret_counts);

#endif
