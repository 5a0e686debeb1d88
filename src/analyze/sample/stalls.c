/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/stalls.c - meaning and usual remedy of each stall reason of a device instruction
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the vendor's name of a reason
 * Gives:    two texts: meaning and remedy
 * Owns:     nothing
 * Fails:    NULL for an unknown name
 * Why one table: lists, reports and tooltips must explain a reason with the same words. Intel's
 *           reasons are the counters of EU stall records, AMD's are from perf_snapshot_data
 *           (event/pc_sampling.h). NVIDIA's are from PC sampling (CUPTI 13.0 and its metrics
 *           library), without the prefix smsp__pcsamp_warps_issue_stalled_.
 */
#include "analyze/sample/stalls.h"

#include <string.h>

#include "base/array.h"

const struct stall_reason stall_reasons[] = {
	{"active", "Intel", "the instruction was issued: the thread did work and did not wait",
	 "reduce the work: fewer instructions, wider SIMD, cheaper math functions or smaller "
	 "types"},
	{"control", "Intel",
	 "a branch, call or loop end had to be resolved before the next instruction",
	 "let the work items of a subgroup take the same branch, unroll short loops, replace "
	 "short branches by select"},
	{"pipestall", "Intel",
	 "the pipe that executes the instruction was full of instructions of other threads",
	 "spread the work over pipes: mix integer and floating point, use fewer math functions "
	 "and 64-bit types"},
	{"send", "Intel",
	 "a message (memory, sampler, gateway) could not be sent because the message queue was "
	 "full",
	 "send fewer and wider messages: let neighbouring work items use neighbouring "
	 "addresses, use block loads instead of single ones"},
	{"dist_acc", "Intel",
	 "the instruction waits for the result of a recent one in the same pipe, or for the "
	 "accumulator",
	 "put independent instructions between producer and consumer: unroll loops, use several "
	 "accumulators"},
	{"sbid", "Intel",
	 "the instruction waits for the result of a message or a long operation, usually a load "
	 "from memory",
	 "load data earlier, keep it in registers or local memory, use caches better, run more "
	 "threads at once (fewer registers per thread)"},
	{"sync", "Intel",
	 "a sync instruction waits for a barrier or for earlier messages to complete",
	 "use fewer and smaller barriers and fences, and give work items equal work before "
	 "them"},
	{"inst_fetch", "Intel",
	 "the instruction was not in the instruction cache and had to be loaded",
	 "make hot code smaller: unroll less, inline less, split kernels that do several "
	 "things"},
	{"other", "Intel", "the hardware reports no reason",
	 "look at the neighbouring instructions and at the other reasons of the same kernel"},
	{"tdr", "Intel", "a thread was being dispatched to the execution unit or retired from it",
	 "launch work-groups that run longer: more work for each work item, fewer tiny kernels"},
	{"issued", "AMD", "the wave issued the instruction: it did work and did not wait",
	 "reduce the work: fewer instructions, wider loads, cheaper math functions, matrix "
	 "instructions if possible"},
	{"no_instruction_available", "AMD",
	 "no instruction was available: it was not in the instruction cache, or the wave's queue "
	 "was empty",
	 "make hot code smaller: unroll less, inline less"},
	{"alu_dependency", "AMD",
	 "the instruction waits for the result of an earlier arithmetic instruction",
	 "put independent instructions between producer and consumer: unroll loops, use several "
	 "accumulators"},
	{"waitcnt", "AMD", "an s_waitcnt instruction waits for memory, local memory or messages",
	 "load data earlier, use caches and local memory better, run more waves at once"},
	{"internal_instruction", "AMD",
	 "the next instruction is one that the sequencer executes itself (sleep, priority, "
	 "no-op)",
	 "usually no change is needed; look at the neighbouring instructions"},
	{"barrier_wait", "AMD", "the wave waits for the other waves of its work-group at a barrier",
	 "use fewer barriers and smaller work-groups, and give their waves equal work"},
	{"arbiter_not_win", "AMD",
	 "the wave was ready, but another wave was chosen to issue to the same kind of pipe",
	 "spread the work over several pipes; other waves keep this one busy"},
	{"arbiter_win_ex_stall", "AMD",
	 "the wave was chosen to issue, but the pipe could not accept the instruction",
	 "use less of that pipe: fewer wide memory accesses, local memory without bank "
	 "conflicts"},
	{"sleep_wait", "AMD", "the wave sleeps (s_sleep)",
	 "wait for less: a loop that polls memory sleeps between two reads"},
	{"other_wait", "AMD", "the hardware reports no reason",
	 "look at the neighbouring instructions and at the other reasons of the same kernel"},
	{"selected", "NVIDIA", "the warp issued the instruction: it did work and did not wait",
	 "reduce the work: fewer instructions, wider loads, cheaper math functions, tensor "
	 "cores if possible"},
	{"not_selected", "NVIDIA",
	 "the warp could issue, but another warp was chosen: there are enough warps",
	 "usually no change is needed; with fewer warps, each warp could have more registers"},
	{"instruction_fetch", "NVIDIA",
	 "the next instruction was not in the instruction cache (GPUs before Volta)",
	 "make hot code smaller: unroll less, inline less, keep loops short"},
	{"execution_dependency", "NVIDIA",
	 "the instruction waits for the result of an earlier one (GPUs before Volta)",
	 "put independent instructions between producer and consumer: unroll loops, use several "
	 "accumulators"},
	{"memory_dependency", "NVIDIA",
	 "the instruction waits for data from memory (GPUs before Volta)",
	 "load data earlier and from neighbouring addresses, keep it in shared memory or "
	 "registers, run more warps at once"},
	{"texture", "NVIDIA", "too many requests to the texture unit are pending",
	 "use fewer texture reads, and let neighbouring threads read neighbouring texels"},
	{"synchronization", "NVIDIA",
	 "the warp waits for the other warps of its block at a barrier (GPUs before Volta)",
	 "use fewer barriers and smaller blocks, and give the warps equal work before the "
	 "barrier"},
	{"constant_memory_dependency", "NVIDIA",
	 "the warp waits for a constant that was not in the cache for constants",
	 "let all threads of a warp read the same constant, and keep constants together"},
	{"pipe_busy", "NVIDIA",
	 "the pipe that executes the instruction was full of instructions of other warps",
	 "mix integer, floating-point and memory instructions, use fewer math functions"},
	{"memory_throttle", "NVIDIA",
	 "too many memory requests are pending, so no further one can be sent",
	 "send fewer and wider requests: load several values at once from neighbouring "
	 "addresses"},
	{"long_scoreboard", "NVIDIA",
	 "the warp waits for data from global or local memory, a texture or a surface",
	 "load data earlier and from neighbouring addresses, keep it in shared memory or "
	 "registers, run more warps at once"},
	{"short_scoreboard", "NVIDIA",
	 "the warp waits for shared memory, a special function or another memory input/output "
	 "(MIO) unit",
	 "remove bank conflicts of shared memory, use fewer special functions, put independent "
	 "instructions in between"},
	{"wait", "NVIDIA", "the warp waits a fixed number of cycles after its previous instruction",
	 "put independent instructions between producer and consumer: unroll loops, use several "
	 "accumulators"},
	{"barrier", "NVIDIA", "the warp waits for the other warps of its block at a barrier",
	 "use fewer barriers and smaller blocks, and give the warps equal work before the "
	 "barrier"},
	{"membar", "NVIDIA", "a memory fence waits until earlier stores are visible",
	 "use fewer fences, with the smallest scope that is correct, such as one block"},
	{"branch_resolving", "NVIDIA", "the warp waits until the target of a branch is computed",
	 "let the threads of a warp take the same branch, unroll short loops, replace short "
	 "branches by select"},
	{"no_instructions", "NVIDIA",
	 "the next instruction was not in the instruction cache, or the warp has just jumped",
	 "make hot code smaller: unroll less, inline less, keep loops short"},
	{"imc_miss", "NVIDIA",
	 "the warp waits for a constant that was not in the cache for immediate constants",
	 "let all threads of a warp read the same constant, and keep constants together"},
	{"math_pipe_throttle", "NVIDIA",
	 "the pipe that executes the instruction was full of instructions of other warps",
	 "spread the work over pipes: mix integer and floating point, use fewer instructions "
	 "of that kind"},
	{"mio_throttle", "NVIDIA",
	 "the warp waits because the queue for shared memory, special functions and dynamic "
	 "branches was full",
	 "issue fewer and wider accesses: 8 or 16 bytes of shared memory at a time, fewer "
	 "special functions"},
	{"lg_throttle", "NVIDIA",
	 "the warp waits because the queue for local and global memory was full",
	 "load and store less often, with more bytes each time; avoid spilling registers to "
	 "memory"},
	{"tex_throttle", "NVIDIA", "the warp waits because the queue for textures was full",
	 "fetch fewer textures, or use ordinary loads, which have another queue"},
	{"dispatch_stall", "NVIDIA",
	 "the warp was chosen, but the hardware could not dispatch its instruction: it was busy or "
	 "in "
	 "conflict",
	 "look at the other reasons of the same kernel: dispatch_stall is rarely the main one"},
	{"drain", "NVIDIA", "the warp has ended and waits until its stores are written",
	 "store to neighbouring addresses, and store earlier in the kernel"},
	{"sleeping", "NVIDIA", "the program put the warp to sleep",
	 "sleep for a shorter time, or wait less often"},
	{"warpgroup_arrive", "NVIDIA",
	 "the warp waits for the other warps of its group, or for its registers, before a matrix "
	 "operation of the group",
	 "give the warps of a group equal work, and issue matrix operations earlier"},
	{"misc", "NVIDIA", "the hardware reports no reason",
	 "look at the neighbouring instructions and at the other reasons of the same kernel"},
};

const size_t stall_reasons_count = ARRAY_COUNT(stall_reasons);

const struct stall_reason *stall_reason_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(stall_reasons); i++)
		if (strcmp(stall_reasons[i].name, name) == 0)
			return &stall_reasons[i];
	return NULL;
}
