/* SPDX-License-Identifier: MIT
 *
 * analyze/stalls.c - why an instruction of a device waits: what each reason means, and what is usually done about it
 *
 * Runs in:  the readers
 * Gets:     a vendor's name of a reason   Gives: two sentences
 * Owns:     nothing
 * Fails:    NULL for a name that nobody knows
 * Why here: lists, reports and tooltips must say the same of one reason. The reasons are those of the counters that Intel's
 *           EU stall records have, of AMD's perf_snapshot_data (event/pc_sampling.h), and of NVIDIA's PC sampling (CUPTI 13.0 and
 *           its metrics' library; the part of a name behind smsp__pcsamp_warps_issue_stalled_).
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
	{"selected", "NVIDIA", "the warp was chosen and issued it: this is work, no waiting",
	 "do less of it: fewer instructions, wider loads, cheaper math functions, tensor cores "
	 "where they fit"},
	{"not_selected", "NVIDIA",
	 "it could have been issued, and another warp was chosen: there are warps enough",
	 "mostly none is needed: with fewer warps each may have more registers"},
	{"long_scoreboard", "NVIDIA",
	 "it waits for data from global or local memory, a texture or a surface",
	 "ask for data earlier and for neighbouring addresses, keep it in shared memory or "
	 "registers, have more warps at once"},
	{"short_scoreboard", "NVIDIA",
	 "it waits for shared memory, a special function or another answer that comes by the same "
	 "short way",
	 "remove bank conflicts of shared memory, use fewer special functions, put independent "
	 "work between"},
	{"wait", "NVIDIA", "it waits a fixed number of cycles for the instruction before it",
	 "put independent instructions between the two: unroll, more than one sum at a time"},
	{"barrier", "NVIDIA", "it waits for the other warps of its block at a barrier",
	 "use fewer barriers and smaller blocks, and give the warps in front of them equal work"},
	{"membar", "NVIDIA", "a memory fence waits until earlier stores can be seen",
	 "use fewer fences and of the smallest scope that is right, such as a block's"},
	{"branch_resolving", "NVIDIA",
	 "the target of a branch had to be found before anything could follow",
	 "let the threads of a warp take the same way, unroll short loops, replace short branches "
	 "by a selection"},
	{"no_instructions", "NVIDIA",
	 "its bytes were not yet there: the instruction cache had to load them, or the warp has "
	 "jumped",
	 "make hot code smaller: unroll less, inline less, keep loops short"},
	{"imc_miss", "NVIDIA", "a constant was not in the cache for immediate constants",
	 "let all threads of a warp read the same constant, and keep constants together"},
	{"math_pipe_throttle", "NVIDIA",
	 "the pipe that executes it was full of other warps' instructions",
	 "spread the work over pipes: mix integer and floating point, use fewer of that kind"},
	{"mio_throttle", "NVIDIA",
	 "the queue for shared memory, special functions and dynamic branches was full",
	 "send fewer and wider ones: shared memory by 8 or 16 bytes, fewer special functions"},
	{"lg_throttle", "NVIDIA", "the queue for local and global memory was full",
	 "load and store fewer times and more bytes each, and avoid spilled registers"},
	{"tex_throttle", "NVIDIA", "the queue for textures was full",
	 "fetch fewer times, or read through ordinary loads, which have another queue"},
	{"dispatch_stall", "NVIDIA",
	 "it was chosen and could not be dispatched: the hardware was busy or in conflict",
	 "look at the other reasons of the same kernel: this one is rarely the first"},
	{"drain", "NVIDIA", "the warp has ended and waits until its stores have left",
	 "store neighbouring addresses, and earlier than at the very end"},
	{"sleeping", "NVIDIA", "the program put the warp to sleep",
	 "sleep shorter, or wait for less"},
	{"warpgroup_arrive", "NVIDIA",
	 "it waits for the other warps of its group, or for its registers, before a matrix "
	 "operation of the group",
	 "give the warps of a group equal work, and ask for matrix operations earlier"},
	{"misc", "NVIDIA", "the hardware names no reason",
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
