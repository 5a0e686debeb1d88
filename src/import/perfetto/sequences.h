/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/sequences.h - the state of each writer of packets: its numbers of texts, its
 * clocks and defaults
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/perfetto/clocks.h"

struct import_target;

struct perfetto_sequence {
	struct hash_map interned; /* list << 56 | number -> text, index of a frame, or stack */
	struct hash_map values;   /* uuid -> sum of an incremental counter */
	struct hash_map cpus;     /* CPU -> counter of samples */
	struct perfetto_own_clock clocks[PERFETTO_CLOCKS - PERFETTO_GLOBAL_CLOCKS];
	uint64_t track;    /* default of its events */
	uint32_t clock;    /* default of its times; 0: the primary clock */
	uint32_t timebase; /* text: name of the sampled event; 0: unknown */
};

struct perfetto_frame {
	uint32_t function, mapping; /* texts */
	uint32_t kind;              /* PF_KIND_… */
};

struct perfetto_sequences {
	struct string_table texts; /* texts of all sequences */
	size_t texts_bytes;
	struct perfetto_sequence **rows;
	size_t count, capacity;
	struct hash_map by_id; /* trusted_packet_sequence_id -> index + 1 */
	struct perfetto_frame *frames;
	size_t frames_count, frames_capacity;
	uint64_t entries;             /* interned numbers, of all sequences */
	struct import_target *target; /* that gets stacks; NULL: in this pass there are none */
};

void perfetto_sequences_init(struct perfetto_sequences *sequences);
void perfetto_sequences_fini(struct perfetto_sequences *sequences);
/* Forgets all but the texts, before another pass over the file. */
void perfetto_sequences_clear(struct perfetto_sequences *sequences);

/* NULL without memory or above 16384 sequences, with an error set. */
struct perfetto_sequence *perfetto_sequences_find(struct perfetto_sequences *sequences,
						  uint64_t id);

/* Forgets the numbers and the sums of incremental counters, when the writer does. */
void perfetto_sequence_clear(struct perfetto_sequences *sequences,
			     struct perfetto_sequence *sequence);

/* Take TracePacketDefaults and InternedData. Errors: -ENOMEM, -EFBIG with a text. */
int perfetto_sequence_set_defaults(struct perfetto_sequences *sequences,
				   struct perfetto_sequence *sequence, struct wire defaults);
int perfetto_sequence_intern(struct perfetto_sequences *sequences,
			     struct perfetto_sequence *sequence, struct wire data);

/* The value of a number in a list of InternedData; 0: none. */
uint64_t perfetto_sequence_get(const struct perfetto_sequence *sequence, unsigned int list,
			       uint64_t number);

/* Id of a text in the field; 0 for an empty one. Errors: -ENOMEM, -EFBIG with a text. */
int perfetto_sequences_text(struct perfetto_sequences *sequences, const struct wire_field *field,
			    uint32_t *ret_text);
