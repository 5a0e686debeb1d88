/* SPDX-License-Identifier: MIT
 *
 * bpf/xe.bpf.c - submissions to Intel's GPUs through the driver xe, and the kernels in them
 *
 * Runs in:  the kernel, in threads that call the driver
 * Gets:     address spaces, binds, queues, buffers and submissions of all processes
 * Gives:    see bpf/submit/submit.bpf.h
 * Why:      a batch names kernels by GPU addresses, and the batch itself is read at addresses of
 *           its process. Binds map GPU addresses to objects, and mappings map objects to the
 *           process. There are three ways to the same data: the driver's functions by fentry and
 *           fexit, if its types are known; by kprobe; or drm_ioctl, the entry to all drivers, with
 *           the program's arguments. The recorder loads the programs of one way.
 */
#include "bpf/submit/submit.bpf.h"

#include "abi/xe.h"
#include "bpf/submit/functions.h"

enum {
	MAX_BUCKETS = 8192,
	LOCK_TRIES = 64,
	/* Per call: bounds the time that a program keeps a processor inside the kernel, whatever it
	 * binds. */
	MAX_STEPS = 16384,
	MAX_SENDS = 1024,
	/* Costs in steps; a step is a lookup of a missing bucket. */
	STEPS_A_CUT = 3,
	STEPS_A_PUT = 6,
	STEPS_A_TAKE = 12,
	STEPS_A_WALK = 2048, /* through the whole table */
	WALK_FROM = 1024     /* with more buckets than this, a walk is faster than lookups */
};

/* An address space. It gets a new number when its binds are no longer known. */
struct space {
	__u64 number;
	struct gpu_range rest; /* applies to all other addresses, as in struct submit_open */
};

/* By its id in the file. */
MAP(spaces, LRU_HASH, 4096, struct submit_id, struct space);

/* Buckets are removed with their address space, or its file. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_BUCKETS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gpu_bucket_key);
	__type(value, struct gpu_bucket);
} buckets SEC(".maps");

static const struct gpu_bucket no_bucket;

/* Binds up to this number are unknown, in any address space: a bind was seen, but not its address
 * space. */
__u64 forgets_until;

#define GPU_RANGES_NOTHING 0

#include "bpf/xe_binds.bpf.h"

/* ---- address spaces, queues, buffers --------------------------------------------------------- */

SUBMIT_CALL on_vm_create(const struct submit_call *call)
{
	struct xe_vm_create arguments;
	struct submit_id key;
	struct space space = {.number = new_number()};

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		return;
	key.file = file_number(call->file);
	key.id = arguments.vm_id;
	bpf_map_update_elem(&spaces, &key, &space, BPF_ANY);
	send_met();
}

/* The driver has done it, and the id may already be reused. It may refuse while the space's queues
 * still run. */
static __always_inline void on_vm_destroy(const struct submit_call *call)
{
	const struct space *space = bpf_map_lookup_elem(&spaces, &call->space);

	if (!call->vm)
		return;
	if (space && space->number == call->vm)
		bpf_map_delete_elem(&spaces, &call->space);
	drop_space(call->vm);
}

static long drop_of_file(void *map, const struct submit_id *key, const struct space *space,
			 const __u64 *file)
{
	struct submit_id own;

	if (!is_of_file(key->file, *file))
		return 0;
	send_unbound(space->number, 0, 0);
	own = *key;
	bpf_map_delete_elem(&spaces, &own);
	return 0;
}

static __always_inline void drop_files(__u64 number)
{
	struct dropping dropping = {.owner = number};

	bpf_for_each_map_elem(&spaces, drop_of_file, &dropping.owner, 0);
	bpf_for_each_map_elem(&buckets, drop_bucket, &dropping, 0);
}

/* False: not given, or unreadable now; *ret_key then has the file. */
static __always_inline bool read_space(__u32 what, const void *data, const void *file,
				       __u32 is_user, struct submit_id *ret_key)
{
	const __u64 place = what == SUBMIT_XE_VM_BIND
				    ? __builtin_offsetof(struct xe_vm_bind, vm_id)
				    : __builtin_offsetof(struct xe_vm_destroy, vm_id);
	__u32 id = 0;
	const bool is_read = read_data(&id, sizeof(id), (const char *)data + place, is_user);

	ret_key->file = file_number(file);
	ret_key->id = id;
	return is_read;
}

static __always_inline bool has_space(__u32 what)
{
	return what == SUBMIT_XE_VM_BIND || what == SUBMIT_XE_VM_DESTROY;
}

/* The program names the address space of a call, and its memory may be readable here for the last
 * time. */
static __always_inline void on_begin(__u32 what, struct submit_call *call)
{
	const struct space *space;
	struct submit_id key;

	if (!has_space(what) || !read_space(what, call->data, call->file, call->is_user, &key))
		return;
	call->space = key;
	space = bpf_map_lookup_elem(&spaces, &call->space);
	call->vm = space ? space->number : 0;
}

/* An address space of the file has been changed, but which one is unknown. */
SUBMIT_CALL void_file(__u64 file)
{
	count(SUBMIT_COUNT_VOIDED);
	drop_files(file);
}

/* Binds have known ends. */
static __always_inline void on_found(struct submit_scratch *scratch)
{
}

static __always_inline void on_missed(const struct submit_call *call)
{
	if (call->what == SUBMIT_EXEC)
		count(SUBMIT_COUNT_CALLS);
	else if (has_space(call->what) && call->space.file)
		void_space(&call->space);
	else if (has_space(call->what))
		void_file(file_number(call->file));
}

/* Handles the end of a call whose start was not seen. Without a file it may belong to any
 * process. */
SUBMIT_CALL on_lost(__u32 what, const void *data, const void *file, __u32 is_user)
{
	struct submit_id key;

	if (!has_space(what))
		return;
	count(SUBMIT_COUNT_MISSED);
	if (!file)
		forgets_until = new_number();
	else if (read_space(what, data, file, is_user, &key))
		void_space(&key);
	else
		void_file(key.file);
}

SUBMIT_CALL on_queue_create(const struct submit_call *call)
{
	struct xe_exec_queue_create arguments;
	struct submit_queue queue = {0};
	struct submit_id key;

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		return;
	key.file = file_number(call->file);
	queue.vm = arguments.vm_id;
	key.id = arguments.exec_queue_id;
	bpf_map_update_elem(&queues, &key, &queue, BPF_ANY);
}

SUBMIT_CALL on_queue_destroy(const void *data, const void *file, __u32 is_user)
{
	struct xe_exec_queue_destroy arguments;
	struct submit_id key;

	/* the driver refuses other fields */
	if (!read_data(&arguments, sizeof(arguments), data, is_user) || arguments.pad ||
	    arguments.reserved[0] || arguments.reserved[1])
		return;
	key.file = file_number(file);
	key.id = arguments.exec_queue_id;
	bpf_map_delete_elem(&queues, &key);
}

SUBMIT_CALL on_mmap_offset(const struct submit_call *call)
{
	struct xe_gem_mmap_offset arguments;
	struct submit_id key;
	__u64 object;

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		return;
	key.file = file_number(call->file);
	key.id = arguments.offset;
	object = object_number(key.file, arguments.handle);
	bpf_map_update_elem(&offsets, &key, &object, BPF_ANY);
}

SUBMIT_CALL on_gem_close(const void *data, const void *file, __u32 is_user)
{
	__u32 handle;

	if (read_data(&handle, sizeof(handle), data, is_user))
		forget_handle(file, handle);
}

/* Without its number, everything numbered in the file is unreachable; entries that fill a table are
 * removed as well. */
SUBMIT_CALL on_file_close(const void *file)
{
	const __u64 key = (__u64)file;
	__u64 *known = bpf_map_lookup_elem(&files, &key);
	__u64 number;

	if (!known)
		return;
	number = *known;
	forget_file(file);
	drop_files(number);
}

/* ---- submissions ----------------------------------------------------------------------------- */

/* The batches of a call: *inout_address is the address of their addresses, and on return that of
 * the first batch. */
static __always_inline void take_batches(struct submit_open *open, const struct xe_exec *arguments,
					 __u64 *inout_address)
{
	const __u64 all = *inout_address;
	__u32 number = arguments->num_batch_buffer;

	open->further_next = open->further_count = 0;
	if (number < 2)
		return;
	if (bpf_probe_read_user(inout_address, sizeof(all), (const void *)all))
		*inout_address = 0;
	open->further_count = --number;
	if (number > MAX_SUBMIT_BATCHES)
		number = MAX_SUBMIT_BATCHES;
	barrier_var(number);
	if (number > MAX_SUBMIT_BATCHES ||
	    bpf_probe_read_user(open->further, number * sizeof(open->further[0]),
				(const void *)(all + sizeof(all))))
		open->further_count = 0;
}

static __always_inline void on_exec(const struct submit_call *call, struct submit_scratch *scratch)
{
	struct xe_exec *arguments = (struct xe_exec *)scratch->arguments;
	struct submit_open *open = &scratch->open;
	const struct space *space;
	struct submit_id *key = &scratch->id;
	struct submit_queue *queue;
	__u64 address;

	if (!read_data(arguments, sizeof(*arguments), call->data, call->is_user))
		return;
	/* it waits and signals, and runs nothing */
	if (!arguments->num_batch_buffer)
		return;
	address = arguments->address;
	take_batches(open, arguments, &address);
	open->file = key->file = file_number(call->file);
	open->queue = key->id = arguments->exec_queue_id;
	queue = bpf_map_lookup_elem(&queues, key);
	key->id = queue ? queue->vm : 0;
	space = queue ? bpf_map_lookup_elem(&spaces, key) : NULL;
	open->vm = space ? space->number : 0;
	if (space)
		open->rest = space->rest;
	else
		open->rest.end = 0;
	open->number = new_number();
	open->objects_count = 0;
	parse_submission(scratch, call, address, queue);
}

SUBMIT_CALL end_bind(const struct submit_call *call)
{
	struct submit_scratch *scratch = take_scratch();

	if (!scratch) {
		void_space(&call->space);
		return;
	}
	on_vm_bind(call, scratch);
	put_scratch(scratch);
}

/* The program's memory may be present now although it was not when the call started. False: it is
 * not, and its file is void. */
static __attribute__((noinline)) bool begin_late(struct submit_call *call)
{
	on_begin(call->what, call);
	if (call->space.file)
		return true;
	void_file(file_number(call->file));
	return false;
}

/* Other calls that the driver has completed. */
static __always_inline void on_done(__u32 what, struct submit_call *call)
{
	if (has_space(what) && !call->space.file && !begin_late(call))
		return;
	if (what == SUBMIT_XE_VM_BIND)
		end_bind(call);
	else if (what == SUBMIT_XE_VM_CREATE)
		on_vm_create(call);
	else if (what == SUBMIT_XE_VM_DESTROY)
		on_vm_destroy(call);
	else if (what == SUBMIT_XE_QUEUE_CREATE)
		on_queue_create(call);
	else if (what == SUBMIT_XE_MMAP_OFFSET)
		on_mmap_offset(call);
}

/* The call number of a drm_ioctl; 0: not of interest. */
static __always_inline __u32 call_of(__u32 command)
{
	switch (command) {
	case XE_GEM_MMAP_OFFSET:
		return SUBMIT_XE_MMAP_OFFSET;
	case XE_VM_CREATE:
		return SUBMIT_XE_VM_CREATE;
	case XE_VM_DESTROY:
		return SUBMIT_XE_VM_DESTROY;
	case XE_VM_BIND:
		return SUBMIT_XE_VM_BIND;
	case XE_EXEC_QUEUE_CREATE:
		return SUBMIT_XE_QUEUE_CREATE;
	case XE_EXEC:
		return SUBMIT_EXEC;
	default:
		return 0;
	}
}

/* Work to do before the driver runs. */
static __always_inline void on_before(__u32 command, const void *data, const void *file)
{
	if (command == XE_EXEC_QUEUE_DESTROY)
		on_queue_destroy(data, file, 1);
}

/* The same for a simulated call. False: it is not such a call. */
static __always_inline bool run_before(__u32 what, const void *data, const void *file)
{
	if (what != SUBMIT_XE_QUEUE_DESTROY)
		return false;
	on_queue_destroy(data, file, 1);
	return true;
}

static const char driver_name[] = "xe";

#include "bpf/submit/programs.bpf.h"

/* ---- the programs ---------------------------------------------------------------------------- */

ON_CALL(exec, xe_exec_ioctl, SUBMIT_EXEC, NULL)
XE_FUNCTIONS(ON_CALL, ON_BEGIN)
ON_CLOSE(xe_file_close)
ON_MMAP(drm_gem_mmap)

#include "bpf/submit/syscalls.bpf.h"
