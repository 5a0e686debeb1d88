/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/memory.bpf.h - the program's mappings of objects, and reads through them
 *
 * Runs in:  the kernel, in the thread that calls the driver
 * Gives:    the bytes at an address of the GPU
 * Fails:    false if the object is not mapped by the program
 *
 * A part of submit.bpf.h. Include with these macros defined, or functions: find_range, on_found,
 * on_missed.
 */
#pragma once

/* ---- memory ---------------------------------------------------------------------------------- */

/* A process's mapping of a part of an object. */
struct submit_mapping {
	__u64 begin, end;
	__u64 offset;              /* offset of `begin` in the object */
	__u64 file, private, page; /* from the kernel's own list of mappings, to recognize it */
};

struct submit_mappings {
	__u32 next, reserved;
	struct submit_mapping all[SUBMIT_MAPPINGS];
};

struct submit_mappings_key {
	__u64 object;
	__u64 tgid;
};

MAP(mappings, LRU_HASH, 8192, struct submit_mappings_key, struct submit_mappings);

static const struct submit_mappings no_mappings;

static __always_inline struct submit_mappings_key mappings_key(__u64 object)
{
	return (struct submit_mappings_key){object, bpf_get_current_pid_tgid() >> 32};
}

/* NULL: no room. */
static __always_inline struct submit_mapping *new_mapping(__u64 object)
{
	const struct submit_mappings_key key = mappings_key(object);
	struct submit_mappings *known = bpf_map_lookup_elem(&mappings, &key);

	if (!known) {
		bpf_map_update_elem(&mappings, &key, &no_mappings, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&mappings, &key);
	}
	return known ? &known->all[known->next++ & (SUBMIT_MAPPINGS - 1)] : NULL;
}

static __always_inline void fill_mapping(struct submit_mapping *mapping,
					 const struct vm_area_struct *area)
{
	mapping->begin = BPF_CORE_READ(area, vm_start);
	mapping->end = BPF_CORE_READ(area, vm_end);
	mapping->page = BPF_CORE_READ(area, vm_pgoff);
	mapping->file = (__u64)BPF_CORE_READ(area, vm_file);
	mapping->private = (__u64)BPF_CORE_READ(area, vm_private_data);
}

/* A driver's mmap: at its start, because it may change the file offset, and at its end. */
static __always_inline void begin_mmap(const struct file *file, struct vm_area_struct *area)
{
	struct submit_call *call =
		begin_call(SUBMIT_MMAP, NULL, BPF_CORE_READ(file, private_data), 0);

	if (!call)
		return;
	call->area = area;
	call->offset = BPF_CORE_READ(area, vm_pgoff) << PAGE_SHIFT;
}

static __always_inline void end_mmap(int result)
{
	struct submit_call *call = find_call(SUBMIT_MMAP);
	struct submit_mapping *mapping;
	struct submit_id key = {0};
	__u64 *object;

	if (!call)
		return;
	key.file = file_number(call->file);
	key.id = call->offset;
	object = result ? NULL : bpf_map_lookup_elem(&offsets, &key);
	mapping = object ? new_mapping(*object) : NULL;
	if (mapping) {
		fill_mapping(mapping, call->area);
		mapping->offset = 0;
	}
	end_call();
}

static long fill_from_area(struct task_struct *task, struct vm_area_struct *area,
			   struct submit_mapping *mapping)
{
	mapping->begin = area->vm_start;
	mapping->end = area->vm_end;
	mapping->page = area->vm_pgoff;
	mapping->file = (__u64)area->vm_file;
	mapping->private = (__u64)area->vm_private_data;
	return 0;
}

/* For a driver that maps a buffer itself, at an address of the current process. */
static __always_inline void add_mapping(__u64 object, __u64 address, __u64 offset)
{
	struct submit_mapping found = {0};
	struct submit_mapping *mapping;

	if (bpf_find_vma(bpf_get_current_task_btf(), address, fill_from_area, &found, 0))
		return;
	found.page += (address - found.begin) >> PAGE_SHIFT;
	found.begin = address;
	found.offset = offset;
	mapping = new_mapping(object);
	if (mapping)
		*mapping = found;
}

/* A part of a GPU address space, and its address in the current process. */
struct submit_piece {
	__u64 begin, bytes;
	__u64 cpu;
};

/* An object of a list that comes with a submission, and its GPU address. */
struct submit_object {
	__u64 address;
	__u32 handle, reserved;
};

/* A submission whose batches are being parsed. */
struct submit_open {
	__u64 number;
	__u64 vm;
	__u64 file;
	__u64 enter_ns;
	struct gpu_range rest; /* used if no other object is known at an address; end 0: none */
	/* The next batches: the program may have overwritten their addresses when they are read
	 * again. */
	__u64 further[MAX_SUBMIT_BATCHES];
	__u32 further_count, further_next;
	__u32 queue, tries, minor;
	__u32 objects_count, found_sent, found_before;
	struct submit_object objects[MAX_SUBMIT_OBJECTS];
	struct batch_state state;
};

struct submit_scratch {
	__u32 is_taken, reserved;
	struct submit_piece piece;
	struct gpu_range range; /* the range that `piece` is in */
	/* A key, too large for the stack in kernels that count frames in steps of 32 bytes. */
	struct submit_id id;
	struct submit_open open;
	struct submit_record record;
	__u64 arguments[64];
	__u64 work[32]; /* for the including file, too large for the stack */
};

MAP(scratches, ARRAY, SUBMIT_SCRATCHES, __u32, struct submit_scratch);

/* Not per processor, because some kinds of programs can be interrupted by others. NULL: all are in
 * use. */
static __always_inline struct submit_scratch *take_scratch(void)
{
	enum { PROBES = 8 };
	const __u32 first = bpf_get_smp_processor_id();

	for (__u32 i = 0; i < PROBES; i++) {
		const __u32 key = (first + i) & (SUBMIT_SCRATCHES - 1);
		struct submit_scratch *scratch = bpf_map_lookup_elem(&scratches, &key);

		if (scratch && !__sync_val_compare_and_swap(&scratch->is_taken, 0, 1))
			return scratch;
	}
	return NULL;
}

static __always_inline void put_scratch(struct submit_scratch *scratch)
{
	__sync_fetch_and_and(&scratch->is_taken, 0);
}

struct submit_look {
	const struct submit_mapping *known;
	__u64 address;
	__u64 begin, end; /* the current mapping */
	__u64 is_same;
};

static long look_at_area(struct task_struct *task, struct vm_area_struct *area,
			 struct submit_look *look)
{
	const __u64 page = area->vm_pgoff + ((look->address - area->vm_start) >> PAGE_SHIFT);

	look->begin = area->vm_start;
	look->end = area->vm_end;
	look->is_same =
		(__u64)area->vm_file == look->known->file &&
		(__u64)area->vm_private_data == look->known->private &&
		page == look->known->page + ((look->address - look->known->begin) >> PAGE_SHIFT);
	return 0;
}

/* True if the mapping is unchanged. */
static __always_inline bool is_mapped(struct submit_look *look)
{
	return !bpf_find_vma(bpf_get_current_task_btf(), look->address, look_at_area, look, 0) &&
	       look->is_same;
}

/* The part of [range) around an address that lies in a mapping. */
static __always_inline bool clip_piece(struct submit_piece *piece, const struct gpu_range *range,
				       const struct submit_mapping *mapping, __u64 address)
{
	struct submit_look look = {.known = mapping};
	__u64 before, behind;

	look.address =
		mapping->begin + (range->offset + (address - range->begin) - mapping->offset);
	if (!is_mapped(&look))
		return false;
	if (look.begin < mapping->begin)
		look.begin = mapping->begin;
	if (look.end > mapping->end)
		look.end = mapping->end;
	before = look.address - look.begin;
	if (before > address - range->begin)
		before = address - range->begin;
	behind = look.end - look.address;
	if (behind > range->end - address)
		behind = range->end - address;
	piece->begin = address - before;
	piece->cpu = look.address - before;
	piece->bytes = before + behind;
	return true;
}

static __always_inline bool find_in_object(struct submit_scratch *scratch, __u64 address)
{
	struct submit_piece *piece = &scratch->piece;
	const struct gpu_range *range = &scratch->range;
	const __u64 offset = range->offset + (address - range->begin);
	const struct submit_mappings_key key = mappings_key(range->object);
	const struct submit_mappings *known = bpf_map_lookup_elem(&mappings, &key);

	if (!known)
		return false;
	for (int i = 0; i < SUBMIT_MAPPINGS; i++) {
		const struct submit_mapping *mapping = &known->all[i];

		if (offset - mapping->offset < mapping->end - mapping->begin &&
		    clip_piece(piece, range, mapping, address))
			return true;
	}
	return false;
}

/* The part of it that the current process can read. */
static __always_inline bool find_piece(struct submit_scratch *scratch, __u64 address)
{
	struct submit_piece *piece = &scratch->piece;
	struct gpu_range *range = &scratch->range;

	piece->bytes = 0;
	/* bound after the batch was submitted: another object */
	if (!find_range(scratch, address, range) || range->number > scratch->open.number)
		return false;
	if (!(range->object & SUBMIT_USER_POINTER))
		return find_in_object(scratch, address);
	if ((__u32)range->object != bpf_get_current_pid_tgid() >> 32)
		return false;
	piece->begin = range->begin;
	piece->bytes = range->end - range->begin;
	piece->cpu = range->offset;
	return true;
}

struct submit_work {
	struct submit_scratch *scratch;
};

/* Reads into the parser's window, its only buffer. Neither static nor inlined, so that the kernel
 * checks it once and not on each path to it: 0.8 s. */
__attribute__((noinline)) int submit_read(struct submit_scratch *scratch, __u64 address,
					  __u32 bytes)
{
	struct submit_piece *piece;
	__u64 left;

	if (!scratch)
		return -1;
	piece = &scratch->piece;
	if (address - piece->begin >= piece->bytes && !find_piece(scratch, address))
		return -1;
	left = piece->bytes - (address - piece->begin);
	if (left < bytes)
		bytes = left;
	/* The compiler knows this limit; the verifier of 6.1 accepts a limit only from a constant.
	 */
	barrier_var(bytes);
	if (!bytes || bytes > BATCH_WINDOW_BYTES)
		return -1;
	return bpf_probe_read_user(scratch->open.state.window, bytes,
				   (const void *)(piece->cpu + (address - piece->begin)))
		       ? -1
		       : (int)bytes;
}

static __always_inline long submit_fetch(void *context, __u64 vm, __u64 address, __u32 bytes,
					 void *target)
{
	return submit_read(((struct submit_work *)context)->scratch, address, bytes);
}
