/* SPDX-License-Identifier: MIT
 *
 * bpf/batch.bpf.c - parse batch buffers of Intel GPUs in the memory of a process
 *
 * Runs in:  the kernel, on request (BPF_PROG_TEST_RUN), in the calling thread: it reads that
 *           thread's memory
 * Gets:     struct batch_request with the task, and `mappings`
 * Gives:    its results in `states`, where an incomplete parse also continues
 * Fails:    memory that is not mapped, or not present, makes the result incomplete, without an
 *           error
 * Why:      only the process that maps a batch can read it. This program has the same parser as the
 *           BPF programs that run at a driver's submissions, but needs no driver and no GPU. So the
 *           parser's results inside the kernel can be compared with those of isa/batch.c.
 */
#include "bpf/kernel_types.h"
#include "bpf/maps.h"

#define BATCH_FUNCTION                                      static __attribute__((noinline))
#define BATCH_READ                                          read_memory
#define BATCH_SEE(context, address, number, header, dwords) ((void)(address))
#include "event/batch.h"

static long read_memory(void *context, __u64 vm, __u64 address, __u32 bytes, void *target);

#include "shared/batch_parser.h"

enum { MAX_LOOPS = 1 << 23 }; /* the kernel's max */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

MAP(mappings, ARRAY, MAX_BATCH_MAPPINGS, __u32, struct batch_mapping);
MAP(states, ARRAY, 1, __u32, struct batch_state);

struct work {
	struct batch_state *state;
	__u32 mappings_count;
	__u32 may_sleep;
};

static __always_inline bool is_in(const struct batch_mapping *mapping, __u64 vm, __u64 address)
{
	return mapping->vm == vm && address - mapping->gpu < mapping->bytes;
}

/* NULL: no mapping there. */
static __always_inline const struct batch_mapping *find_mapping(const struct work *work, __u64 vm,
								__u64 address)
{
	for (__u32 i = 0; i < MAX_BATCH_MAPPINGS; i++) {
		const struct batch_mapping *mapping;
		__u32 key = i;

		if (i >= work->mappings_count)
			return NULL;
		mapping = bpf_map_lookup_elem(&mappings, &key);
		if (!mapping)
			return NULL;
		if (is_in(mapping, vm, address))
			return mapping;
	}
	return NULL;
}

static __attribute__((noinline)) long read_memory(void *context, __u64 vm, __u64 address,
						  __u32 bytes, void *target)
{
	const struct work *work = context;
	const struct batch_mapping *mapping = find_mapping(work, vm, address);
	const void *source;
	__u64 left;
	long error;

	if (!mapping)
		return -1;
	left = mapping->bytes - (address - mapping->gpu);
	source = (const void *)(mapping->cpu + (address - mapping->gpu));
	if (left < bytes)
		bytes = left;
	/* The compiler knows this limit; the verifier of 6.1 accepts a limit only from a constant.
	 */
	barrier_var(bytes);
	if (!bytes || bytes > BATCH_WINDOW_BYTES)
		return -1;
	error = work->may_sleep ? bpf_copy_from_user(target, bytes, source)
				: bpf_probe_read_user(target, bytes, source);
	return error ? -1 : bytes;
}

static long step(__u32 index, void *context)
{
	struct work *work = context;

	return batch_step(work->state, context);
}

SEC("syscall")
int parse_batch(struct batch_request *request)
{
	struct work work = {.mappings_count = request->mappings_count,
			    .may_sleep = request->may_sleep};
	__u32 first = 0;

	work.state = bpf_map_lookup_elem(&states, &first);
	if (!work.state)
		return -1;
	work.state->max_steps = request->max_steps;
	if (request->goes_on) {
		batch_resume(work.state);
	} else {
		work.state->vm = request->vm;
		work.state->generation = request->generation;
		work.state->bases = request->bases;
		batch_begin(work.state, request->address);
	}
	bpf_loop(MAX_LOOPS, step, &work, 0);
	if (work.state->status == BATCH_GOING)
		work.state->status = BATCH_LIMIT;
	return work.state->status;
}
