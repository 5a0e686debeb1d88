/* SPDX-License-Identifier: MIT
 *
 * collect/guest/losses.h - counts of a guest become losses, notes and the guest's own time
 */
#ifndef COLLECT_GUEST_LOSSES_H
#define COLLECT_GUEST_LOSSES_H

#include "collect/guest/injected.h"

/* Writes a loss since the last call of injected_count_losses. thread: id of the trace, or 0. */
void injected_put_loss(struct injected *injected, uint32_t thread, uint32_t kind, uint32_t reason,
		       uint64_t count, uint64_t now_ns);
/* Writes losses of one ring, whose thread ends. */
void injected_count_ring_losses(struct injected *injected, struct injected_ring *ring,
				uint64_t now_ns);
/* Write the notes for the end of a guest. */
void injected_note_facts(const struct injected *injected);
void injected_note_untimed_queues(const struct injected *injected);

#endif
