/* SPDX-License-Identifier: MIT
 *
 * bpf/python.bpf.h - read the Python frames of the current thread
 *
 * Runs in:  the kernel, in the thread whose frames are read
 * Gets:     processes with an interpreter in `pythons`, from the recorder
 * Gives:    struct kernel_python_stack
 * Owns:     the thread's Python state, which is searched once
 * Fails:    without frames: none, more than MAX_KERNEL_PYTHON, or a page is not in memory
 * Why:      the thread itself cannot run meanwhile, so its frames match its native stack. The
 *           recorder reads a running thread's frames later, when functions have returned. 26 frames
 *           take 1.1 us.
 */
#pragma once

#include "bpf/kernel_types.h"
#include "bpf/maps.h"
#include "event/kernel_record.h"

enum {
	PYTHON_FRAME_BYTES = 128, /* above kernel_python.frame_bytes; a power of two */
	MAX_PYTHON_STATES = 256
};

/* A program can interrupt another one on the same processor, so each kind has its own memory. */
enum python_user { PYTHON_OF_SWITCH, PYTHON_OF_SAMPLE, PYTHON_USERS };

MAP(pythons, HASH, 4096, __u32, struct kernel_python);

/* A thread's state. newest: the newest state of its process when it was searched. */
struct python_found_state {
	__u64 state; /* 0: it has none */
	__u64 newest;
};

MAP(python_states, LRU_HASH, 4096, __u32, struct python_found_state);

struct python_scratch {
	__u64 frame[PYTHON_FRAME_BYTES / sizeof(__u64)];
	struct kernel_python_stack stack;
};

MAP(python_scratches, PERCPU_ARRAY, PYTHON_USERS, __u32, struct python_scratch);

static __always_inline __u64 read_user(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/* bpf_loop makes the kernel check the body of a loop once, and not in each round, which took it 60
 * ms. It exists since Linux 5.17. */
struct python_search {
	const struct kernel_python *python;
	__u64 identity;
	__u64 state, found;
};

static long look_at_python_state(__u32 index, void *context)
{
	struct python_search *search = context;

	if (!search->state)
		return 1;
	if (read_user(search->state + search->python->thread_id) == search->identity)
		search->found = search->state;
	search->state = read_user(search->state + search->python->thread_next);
	return 0;
}

/* If several states have the thread's identity, the last one is its own: the state of a new thread
 * first has the identity of its creator. */
static __always_inline __u64 search_python_state(const struct kernel_python *python, __u64 newest,
						 __u64 identity)
{
	struct python_search search = {.python = python, .identity = identity, .state = newest};

	bpf_loop(MAX_PYTHON_STATES, look_at_python_state, &search, 0);
	return search.found;
}

static __always_inline __u64 python_frame_of(const struct kernel_python *python, __u64 state)
{
	const __u64 frame = read_user(state + python->thread_frame);

	return python->cframe && frame ? read_user(frame + python->cframe_frame) : frame;
}

/* Whether the thread collects garbage: its interpreter does so, and the thread holds the lock. */
static __always_inline bool is_collecting(const struct kernel_python *python, __u64 state)
{
	const __u64 interpreter = read_user(state + python->thread_interpreter);
	const __u64 flag = python->collecting_at ? python->collecting_at
						 : interpreter + python->interpreter_collecting;
	__u64 lock;

	if (!(__u32)read_user(flag))
		return false;
	lock = python->lock_at ? python->lock_at
			       : read_user(interpreter + python->interpreter_lock);
	return read_user(lock + python->lock_holder) == state &&
	       (__u32)read_user(lock + python->lock_taken) == 1;
}

/* The innermost frame of the current thread; 0: it runs no Python code. A state that has no frame
 * may have been freed, and the thread may have another one. */
static __always_inline __u64 find_python_frame(const struct kernel_python *python,
					       const struct task_struct *task, __u64 *ret_state)
{
	const __u32 tid = task->pid;
	const __u64 identity = BPF_CORE_READ(task, thread.fsbase);
	const struct python_found_state *known = bpf_map_lookup_elem(&python_states, &tid);
	const __u64 newest = read_user(python->newest_at);
	struct python_found_state found;
	__u64 frame = 0;

	if (known && known->state && read_user(known->state + python->thread_id) == identity) {
		*ret_state = known->state;
		frame = python_frame_of(python, known->state);
	}
	if (frame || !newest || (known && known->newest == newest))
		return frame;
	found.state = search_python_state(python, newest, identity);
	found.newest = newest;
	bpf_map_update_elem(&python_states, &tid, &found, BPF_ANY);
	*ret_state = found.state;
	return found.state ? python_frame_of(python, found.state) : 0;
}

struct python_copy {
	const struct kernel_python *python;
	struct python_scratch *scratch;
	__u64 frame;
	__u64 hash;
	__u32 count;
};

static long copy_python_frame(__u32 index, void *context)
{
	const __u32 mask = PYTHON_FRAME_BYTES - 1, words = PYTHON_FRAME_BYTES / sizeof(__u64) - 1;
	struct python_copy *copy = context;
	const struct kernel_python *python = copy->python;
	const __u64 *frame = copy->scratch->frame;
	struct kernel_python_frame *out;

	if (index >= MAX_KERNEL_PYTHON || !copy->frame ||
	    bpf_probe_read_user(copy->scratch->frame, python->frame_bytes & mask,
				(void *)copy->frame))
		return 1;
	out = &copy->scratch->stack.frames[index];
	out->address = copy->frame;
	out->code = frame[python->frame_code / sizeof(__u64) & words];
	out->instruction = frame[python->frame_instruction / sizeof(__u64) & words];
	out->owner = ((const __u8 *)frame)[python->frame_owner & mask];
	out->entry = ((const __u8 *)frame)[python->frame_entry & mask];
	copy->frame = frame[python->frame_previous / sizeof(__u64) & words];
	copy->hash = mix(mix(copy->hash, out->code), out->instruction);
	copy->count = index + 1;
	return 0;
}

/* Reads the frames of the current thread. stack->user_stack is their hash. NULL: there are none, or
 * not all could be read. */
static __always_inline struct kernel_python_stack *read_python(const struct task_struct *task,
							       enum python_user user)
{
	const __u32 key = user, tgid = task->tgid;
	const struct kernel_python *python = bpf_map_lookup_elem(&pythons, &tgid);
	struct python_copy copy = {.python = python,
				   .scratch = bpf_map_lookup_elem(&python_scratches, &key)};
	struct kernel_python_stack *stack;
	__u64 state = 0;

	if (!python || !copy.scratch)
		return NULL;
	copy.frame = find_python_frame(python, task, &state);
	if (copy.frame)
		bpf_loop(MAX_KERNEL_PYTHON, copy_python_frame, &copy, 0);
	if (copy.frame || !copy.count)
		return NULL;
	stack = &copy.scratch->stack;
	stack->is_collecting = is_collecting(python, state);
	stack->user_stack = mix(copy.hash, stack->is_collecting);
	stack->time_ns = 0;
	stack->tgid = tgid;
	stack->tid = task->pid;
	stack->count = copy.count;
	return stack;
}

/* False: the ring has no room. */
static __always_inline bool send_python(void *ring, struct kernel_python_stack *stack)
{
	__u32 count = stack->count;

	if (count > MAX_KERNEL_PYTHON)
		return false;
	return !bpf_ringbuf_output(ring, stack,
				   offsetof(struct kernel_python_stack, frames) +
					   count * sizeof(stack->frames[0]),
				   BPF_RB_NO_WAKEUP);
}
