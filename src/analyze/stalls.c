/* SPDX-License-Identifier: MIT
 *
 * analyze/stalls.c - why an instruction of a device waits: what each reason means, and what is usually done about it
 *
 * Runs in:  the readers
 * Gets:     a vendor's name of a reason   Gives: two sentences
 * Owns:     nothing
 * Fails:    NULL for a name that nobody knows
 * Why here: lists, reports and tooltips must say the same of one reason. The reasons are those of the counters that Intel's
 *           EU stall records have, and of AMD's perf_snapshot_data (event/pc_sampling.h).
 */
#include "analyze/stalls.h"

#include <string.h>

#include "base/array.h"

const struct stall_reason stall_reasons[] = {
	{"active", "Intel", "the instruction was issued: this is work, no waiting",
	 "do less of it: fewer instructions, wider SIMD, cheaper math functions or smaller types"},
	{"control", "Intel",
	 "a branch, call or loop end had to be decided before anything could "
	 "follow",
	 "let the work items of a subgroup take the same way, unroll short loops, replace short "
	 "branches by a selection"},
	{"pipestall", "Intel", "the pipe that executes it was full of other threads' instructions",
	 "spread the work over pipes: mix integer and floating point, use fewer math functions and "
	 "64-bit types"},
	{"send", "Intel",
	 "a message (memory, sampler, gateway) could not leave: the queue for "
	 "messages was full",
	 "send fewer and wider ones: neighbouring work items should use neighbouring addresses, "
	 "and "
	 "block loads instead of single ones"},
	{"dist_acc", "Intel",
	 "it waits for the result of an instruction just before it in the same "
	 "pipe, or for the accumulator",
	 "put independent instructions between the two: unroll, more than one sum at a time"},
	{"sbid", "Intel",
	 "it waits for the result of a message or of a long operation: mostly a "
	 "load from memory",
	 "ask for data earlier, keep it in registers or local memory, use caches better, have more "
	 "threads at once (fewer registers of each)"},
	{"sync", "Intel",
	 "a sync instruction waits: for a barrier, or until earlier messages were "
	 "done",
	 "use fewer and smaller barriers and fences, and give the work items in front of them "
	 "equal "
	 "work"},
	{"inst_fetch", "Intel",
	 "its bytes were not yet there: the instruction cache had to load "
	 "them",
	 "make hot code smaller: unroll less, inline less, split kernels that do several things"},
	{"other", "Intel", "the hardware names no reason",
	 "look at the instructions around it, and at the other reasons of the same kernel"},
	{"tdr", "Intel", "a thread was being dispatched to the execution unit or retired from it",
	 "launch work-groups that live longer: more work for each work item, fewer tiny kernels"},
	{"no_instruction_available", "AMD",
	 "its bytes were not yet there: the instruction cache or "
	 "its queue was empty",
	 "make hot code smaller: unroll less, inline less"},
	{"alu_dependency", "AMD", "it waits for the result of an arithmetic instruction before it",
	 "put independent instructions between the two: unroll, more than one sum at a time"},
	{"waitcnt", "AMD", "an s_waitcnt waits for memory, local memory or messages",
	 "ask for data earlier, use caches and local memory better, have more waves at once"},
	{"internal_instruction", "AMD",
	 "an instruction that the sequencer executes itself (sleep, "
	 "priority, nothing) was next",
	 "mostly none is needed: look at the instructions around it"},
	{"barrier_wait", "AMD", "it waits for the other waves of its work-group at a barrier",
	 "use fewer barriers and smaller work-groups, and give their waves equal work"},
	{"arbiter_not_win", "AMD", "another wave was chosen to issue to the same kind of pipe",
	 "spread the work over pipes: that unit is busy with others"},
	{"arbiter_win_ex_stall", "AMD", "it was chosen, but its pipe could take nothing",
	 "use less of that pipe: fewer wide memory accesses, conflict-free local memory"},
	{"other_wait", "AMD", "the hardware names no reason",
	 "look at the instructions around it, and at the other reasons of the same kernel"},
};

const size_t stall_reasons_count = ARRAY_COUNT(stall_reasons);

const struct stall_reason *stall_reason_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(stall_reasons); i++)
		if (strcmp(stall_reasons[i].name, name) == 0)
			return &stall_reasons[i];
	return NULL;
}
