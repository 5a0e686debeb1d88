/* SPDX-License-Identifier: MIT
 *
 * collect/decode.h - a guest's record becomes a row of the trace
 */
#ifndef COLLECT_DECODE_H
#define COLLECT_DECODE_H

#include "collect/injected.h"

/* Whatever the bytes say, nothing outside the record is touched; a record that makes no sense is counted
 * in injected->broken_times. The record is a private copy of record->size bytes. */
void decode_record(struct injected *injected, struct injected_ring *ring,
		   const struct record *record);

/* Writes executions that waited for their queue's description; at the end (final) also those whose
 * description never came. */
void decode_waiting(struct injected *injected, bool final);

/* A content that was still arriving is given up: its code object is written without it. */
void decode_end_assembly(struct injected *injected, struct injected_ring *ring);

#endif
