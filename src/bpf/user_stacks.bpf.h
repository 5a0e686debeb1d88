/* SPDX-License-Identifier: MIT
 *
 * bpf/user_stacks.bpf.h - send each user stack once, and later only its number
 *
 * Runs in:  the kernel, in the thread whose stack is read
 * Gives:    struct kernel_stack in a ring, and a number that identifies the stack in later records
 *
 * Include with these macros defined, after a ring, the map `counts` and count():
 *
 *	USER_STACKS_RING	the ring
 *	USER_STACKS_LOST	the count for stacks that find no room in it
 *	USER_STACKS_OVER	the count for stacks over the recorder's limit; optional
 *	USER_STACKS_TOP		number of words that identify a stack: 64 times a power of two
 *	USER_STACKS_PYTHON	with the Python frames of the thread; optional, after python.bpf.h
 */
#pragma once

#include "bpf/kernel_types.h"
#include "bpf/maps.h"
#include "event/kernel_record.h"

enum {
	PAGE_BYTES = 4096,
	TOP_WORDS = USER_STACKS_TOP,
	/* near its outer end a stack is shorter than that */
	TOP_HALVINGS = 3,
	PART_WORDS = TOP_WORDS >> TOP_HALVINGS, /* the least that is read */
	MAX_STACK = 8 << 20,
	LOWEST = 0x10000, /* nothing is mapped below it */
};
#define MAX_MAPPINGS                                                                  \
	(1ULL << 40) /* below the start of mappings, or above it if they grow upwards \
		      */

MAP(sent_stacks, LRU_HASH, 65536, __u64, __u8);

struct words {
	__u64 words[PART_WORDS];
};

struct top {
	struct words parts[TOP_WORDS / PART_WORDS];
};

MAP(tops, PERCPU_ARRAY, 1, __u32, struct top);

/* How many more stacks may be sent; the recorder refills it. */
MAP(allowance, ARRAY, 1, __u32, __s64);

/* Address ranges of a process's code, data and heap: its program, and the start of mappings. A
 * kernel may place them anywhere, so the upper bits of a word identify nothing; and times in
 * nanoseconds look like addresses for a day of each machine's life. */
struct layout {
	__u64 program, program_bytes;
	__u64 mappings, mappings_bytes;
	__u64 sp; /* not the stack itself: counters on it would make each stack a new one */
};

static __always_inline bool is_place(__u64 word, const struct layout *layout)
{
	/* most words are small numbers */
	if (word < LOWEST)
		return false;
	return (word - layout->program < layout->program_bytes ||
		word - layout->mappings < layout->mappings_bytes) &&
	       word - layout->sp >= MAX_STACK;
}

static __always_inline void lay_out(struct layout *layout, const struct mm_struct *mm, __u64 sp)
{
	layout->program = BPF_CORE_READ(mm, start_code);
	layout->program_bytes = BPF_CORE_READ(mm, brk) - layout->program;
	layout->mappings = BPF_CORE_READ(mm, mmap_base) - MAX_MAPPINGS;
	layout->mappings_bytes = 2 * MAX_MAPPINGS;
	layout->sp = sp;
}

/* Neither static nor inlined, so that the kernel checks each path through it once, and not in each
 * of the parts and on each path to them, which took it 60 ms. */
__attribute__((noinline)) __u64 mix_places(const struct words *part, __u64 hash,
					   const struct layout *layout)
{
	if (!part || !layout)
		return 0;
	for (int i = 0; i < PART_WORDS; i++)
		if (is_place(part->words[i], layout))
			hash = mix(hash, part->words[i]);
	return hash;
}

/* 0: nothing of it can be read. */
static __always_inline __u64 know_stack(struct task_struct *task, __u64 ip, __u64 sp, __u64 bp)
{
	const struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct layout layout;
	const __u32 key = 0;
	struct top *top = bpf_map_lookup_elem(&tops, &key);
	__u64 hash = mix(mix(mix(task->tgid, ip), sp), bp);
	int parts = TOP_WORDS / PART_WORDS;

	if (!top || !mm)
		return 0;
	lay_out(&layout, mm, sp);
	for (int i = 0; i <= TOP_HALVINGS; i++) {
		if (!bpf_probe_read_user(top, sizeof(*top) >> i, (void *)sp))
			break;
		parts /= 2;
	}
	if (parts < TOP_WORDS / PART_WORDS >> TOP_HALVINGS)
		return 0;
	for (int i = 0; i < TOP_WORDS / PART_WORDS && i < parts; i++)
		hash = mix_places(&top->parts[i], hash, &layout);
	return hash ? hash : 1;
}

/* least: number of stacks that this one must leave for others. */
static __always_inline bool may_send_stack(__s64 least)
{
	const __u32 key = 0;
	__s64 *left = bpf_map_lookup_elem(&allowance, &key);

	return left && *left > least && __sync_fetch_and_add(left, -1) > 0;
}

/* Reads the pages that are present, from sp on: this program cannot wait for a page. */
static __always_inline bool send_stack(__u64 known, __u32 tgid, __u64 ip, __u64 sp, __u64 bp)
{
	struct kernel_stack *record = bpf_ringbuf_reserve(&USER_STACKS_RING, sizeof(*record), 0);
	__u32 bytes = 0, first = PAGE_BYTES - (sp & (PAGE_BYTES - 1));

	if (!record) {
		count(USER_STACKS_LOST);
		return false;
	}
	record->user_stack = known;
	record->ip = ip;
	record->sp = sp;
	record->bp = bp;
	record->tgid = tgid;
	if (first <= PAGE_BYTES && !bpf_probe_read_user(record->stack, first, (void *)sp))
		bytes = first;
	for (int i = 0; i < KERNEL_STACK_BYTES / PAGE_BYTES - 1 && bytes; i++) {
		if (bytes >= KERNEL_STACK_BYTES ||
		    bpf_probe_read_user(record->stack + bytes, PAGE_BYTES, (void *)(sp + bytes)))
			break;
		bytes += PAGE_BYTES;
	}
	record->bytes = bytes;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return true;
}

#ifdef USER_STACKS_PYTHON
static __always_inline bool send_python_of(struct kernel_python_stack *python, __u64 known)
{
	if (!python)
		return true;
	python->user_stack = known;
	if (send_python(&USER_STACKS_RING, python))
		return true;
	count(USER_STACKS_LOST);
	return false;
}
#endif

/* least: see may_send_stack. has_python: with Python frames, if USER_STACKS_PYTHON is defined. */
static __always_inline __u64 find_stack_leaving(struct task_struct *task, __s64 least,
						bool has_python)
{
	struct pt_regs *registers = (struct pt_regs *)bpf_task_pt_regs(task);
	const __u64 ip = registers->ip, sp = registers->sp, bp = registers->bp;
	__u64 known = know_stack(task, ip, sp, bp);
	const __u8 one = 1;
#ifdef USER_STACKS_PYTHON
	struct kernel_python_stack *python =
		known && has_python ? read_python(task, PYTHON_OF_SWITCH) : NULL;

	if (python)
		known = mix(known, python->user_stack) | 1;
#endif

	if (!known || bpf_map_lookup_elem(&sent_stacks, &known))
		return known;
	if (!may_send_stack(least)) {
#ifdef USER_STACKS_OVER
		count(USER_STACKS_OVER);
#endif
		return 0;
	}
#ifdef USER_STACKS_PYTHON
	if (!send_python_of(python, known))
		return 0;
#endif
	if (!send_stack(known, task->tgid, ip, sp, bp))
		return 0;
	bpf_map_update_elem(&sent_stacks, &known, &one, BPF_ANY);
	return known;
}

static __always_inline __u64 find_stack(struct task_struct *task)
{
	return find_stack_leaving(task, 0, false);
}
