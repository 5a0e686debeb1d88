/* SPDX-License-Identifier: MIT
 *
 * collect/guest/decode.h - turns a guest's record into a row of the trace
 */
#pragma once

#include "collect/guest/injected.h"

/* record is a private copy of record->size bytes, whose content may be anything. No byte outside it
 * is touched. A record that makes no sense is counted in injected->losses.broken_times. */
void decode_record(struct injected *injected, struct injected_ring *ring,
		   const struct record *record);

/* Writes executions that waited for the description of their queue. final: also those whose
 * description never came. */
void decode_waiting(struct injected *injected, bool final);

/* Gives up a content that is still incomplete: its code object is written without it. */
void decode_end_assembly(struct injected *injected, struct injected_ring *ring);
