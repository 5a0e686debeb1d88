/* SPDX-License-Identifier: MIT
 *
 * bpf/submit/identities.bpf.h - numbers for files, address spaces and objects that are never reused
 *
 * Runs in:  the kernel, in the thread that calls the driver
 * Gives:    numbers by pointer and handle
 * Fails:    an object beyond the size of a map has no number
 *
 * A part of submit.bpf.h. Include with these macros defined, or functions: find_range, on_found,
 * on_missed.
 */
#pragma once

/* ---- identities ------------------------------------------------------------------------------ */

/* Address of an open file -> its number. */
MAP(files, LRU_HASH, 8192, __u64, __u64);

/* An id that is unique only within a file. */
struct submit_id {
	__u64 file;
	__u64 id;
};

MAP(handles, LRU_HASH, 16384, struct submit_id, __u64);

/* File offsets by which buffers are mapped. */
MAP(offsets, LRU_HASH, 16384, struct submit_id, __u64);

/* State that commands have set in a queue, and the queue's address space: for xe its id in the
 * file, because the space may become void; for i915 our number. */
struct submit_queue {
	__u64 vm;
	struct batch_bases bases;
	__u64 bases_by, descriptors_by; /* the last submission that set them */
};

MAP(queues, LRU_HASH, 4096, struct submit_id, struct submit_queue);

static __always_inline __u64 number_of(void *map, const void *key)
{
	__u64 *known = bpf_map_lookup_elem(map, key);
	__u64 number;

	if (known)
		return *known;
	number = new_number();
	/* two threads may add it at the same time: the first one's number stays */
	bpf_map_update_elem(map, key, &number, BPF_NOEXIST);
	known = bpf_map_lookup_elem(map, key);
	return known ? *known : number;
}

static __always_inline __u64 file_number(const void *file)
{
	const __u64 key = (__u64)file;

	return number_of(&files, &key);
}

/* Owner of a file, by our number. Used if the end of a file is visible only through calls of its
 * process. */
struct submit_owner {
	__u64 file; /* address */
	__u32 tgid, reserved;
};

MAP(owners, LRU_HASH, 8192, __u64, struct submit_owner);

__u32 has_owners;

/* All files whose process has ended; used in place of a file's number. */
#define SUBMIT_FILES_GONE (~0ULL)

static __always_inline bool is_of_file(__u64 file, __u64 sought)
{
	return sought == SUBMIT_FILES_GONE ? !bpf_map_lookup_elem(&owners, &file) : file == sought;
}

static __always_inline void forget_file(const void *file)
{
	const __u64 key = (__u64)file;

	bpf_map_delete_elem(&files, &key);
}

static __always_inline __u64 object_number(__u64 file, __u32 handle)
{
	const struct submit_id key = {file, handle};

	return number_of(&handles, &key);
}

static __always_inline void forget_handle(const void *file, __u32 handle)
{
	const struct submit_id key = {file_number(file), handle};

	bpf_map_delete_elem(&handles, &key);
}

static __always_inline __u32 minor_of(const struct drm_file *file)
{
	/* a kernel without GPU drivers lacks the types: BPF_PROG_TEST_RUN is used there too */
	if (!bpf_core_type_exists(struct drm_file))
		return 0;
	return BPF_CORE_READ(file, minor, dev, render, index);
}
