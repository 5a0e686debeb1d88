/* SPDX-License-Identifier: MIT
 *
 * bpf/xe.bpf.c - what is handed to Intel's GPUs by the driver xe, and which kernels are in it
 *
 * Runs in:  the kernel, in threads that call the driver
 * Gets:     address spaces, binds, queues, buffers and submissions of all processes
 * Gives:    see bpf/submit.h
 * Why:      a batch names kernels by addresses of the GPU, and is read by addresses of its process: binds say which
 *           object is where on the GPU, mappings where the process has it.
 *           There are three ways to the same: the driver's functions by fentry and fexit, where its types are known;
 *           by kprobe; or drm_ioctl, the way into all drivers, with what the program wrote. The recorder loads one.
 */
#define SUBMIT_FIND find_range
#include "bpf/submit.h"

#include "event/xe_abi.h"

enum {
	BUCKETS_MOST = 8192,
	BINDS_MOST = 1024, /* of one call */
	LOCK_TRIES = 64,
	ALL_OBJECTS = 0
};

enum {
	CALL_EXEC = SUBMIT_XE_EXEC,
	CALL_VM_CREATE = SUBMIT_XE_VM_CREATE,
	CALL_VM_BIND = SUBMIT_XE_VM_BIND,
	CALL_QUEUE_CREATE = SUBMIT_XE_QUEUE_CREATE,
	CALL_MMAP_OFFSET = SUBMIT_XE_MMAP_OFFSET,
	CALL_MMAP = SUBMIT_XE_MMAP
};

/* Address spaces: number in the file -> ours. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct submit_id);
	__type(value, __u64);
} vms SEC(".maps");

/* Those that are not there any more are taken out with their address space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BUCKETS_MOST);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gpu_bucket_key);
	__type(value, struct gpu_bucket);
} buckets SEC(".maps");

static const struct gpu_bucket no_bucket;

/* Of an object in an address space, or of all of them: what was bound up to a number is not any more. */
struct forgotten_key {
	__u64 vm, object;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct forgotten_key);
	__type(value, __u64);
} forgotten SEC(".maps");

__u32 forgets;       /* there is any */
__u64 forgets_until; /* … of all address spaces: there was no room to keep it apart */

#define GPU_RANGES_NOTHING 0

/* ---- where what is ----------------------------------------------------------------------------- */

static __always_inline void forget(__u64 vm, __u64 object)
{
	const struct forgotten_key key = {vm, object};
	const __u64 number = new_number();

	forgets = 1;
	if (!bpf_map_update_elem(&forgotten, &key, &number, BPF_ANY))
		return;
	count(SUBMIT_COUNT_BINDINGS);
	forgets_until = number;
}

static __always_inline bool is_forgotten_by(__u64 vm, __u64 object, __u64 number)
{
	const struct forgotten_key key = {vm, object};
	const __u64 *until = bpf_map_lookup_elem(&forgotten, &key);

	return until && number <= *until;
}

static __always_inline bool is_forgotten(__u64 vm, const struct gpu_range *range)
{
	return forgets &&
	       (range->number <= forgets_until || is_forgotten_by(vm, ALL_OBJECTS, range->number) ||
		is_forgotten_by(vm, range->object, range->number));
}

/* Whoever changes it meanwhile makes it odd, and then even and another. */
static __always_inline bool find_in_bucket(const struct gpu_bucket_key *key, __u64 address,
					   struct gpu_range *ret_range)
{
	struct gpu_bucket *bucket = bpf_map_lookup_elem(&buckets, key);
	__u32 version;
	bool is_found;

	if (!bucket)
		return false;
	version = *(volatile __u32 *)&bucket->version;
	is_found = gpu_bucket_find(bucket, address, ret_range);
	return is_found && !(version & 1) && version == *(volatile __u32 *)&bucket->version;
}

static __always_inline bool find_range(struct submit_scratch *scratch, __u64 address,
				       struct gpu_range *ret_range)
{
	const __u64 vm = scratch->open.vm;

	for (__u32 level = 0; level < GPU_RANGE_LEVELS; level++) {
		const struct gpu_bucket_key key = {vm, address >> gpu_range_shift(level), level, 0};

		if (find_in_bucket(&key, address, ret_range))
			return !is_forgotten(vm, ret_range);
	}
	return false;
}

/* ---- binds ------------------------------------------------------------------------------------- */

struct bind {
	struct gpu_range range; /* object 0: nothing is bound there from now on */
	__u64 vm;
	__u32 level;
	__u32 failed;
};

/* Global, as the functions of event/gpu_ranges.h are: checked once. */
__attribute__((noinline)) int lock_bucket(struct gpu_bucket *bucket)
{
	if (!bucket)
		return 0;
	for (int i = 0; i < LOCK_TRIES; i++)
		if (!__sync_val_compare_and_swap(&bucket->lock, 0, 1)) {
			__sync_fetch_and_add(&bucket->version, 1);
			return 1;
		}
	return 0;
}

static __always_inline void unlock_bucket(struct gpu_bucket *bucket)
{
	__sync_fetch_and_add(&bucket->version, 1);
	__sync_fetch_and_and(&bucket->lock, 0);
}

/* What is lost in a bucket is counted when it is let go. */
static __always_inline void count_lost(struct gpu_bucket *bucket, __u32 before)
{
	if (bucket->lost != before)
		count(SUBMIT_COUNT_BINDINGS);
}

static __always_inline struct gpu_bucket_key bucket_key(__u64 vm, __u64 number, __u32 level)
{
	return (struct gpu_bucket_key){vm, number, level, 0};
}

/* The so-manieth of all buckets that a part of a range may be in, the smallest first. */
static long cut_one(__u32 index, struct bind *bind)
{
	const __u64 begin = bind->range.begin, end = bind->range.end;
	__u64 left = index;
	__u32 level = 0;
	struct gpu_bucket_key key;
	struct gpu_bucket *bucket;
	__u32 lost;

	for (int i = 0; i < GPU_RANGE_LEVELS - 1; i++) {
		const __u64 here = gpu_range_buckets(begin, end, level);

		if (left < here)
			break;
		left -= here;
		level++;
	}
	key = bucket_key(bind->vm, (begin >> gpu_range_shift(level)) + left, level);
	bucket = bpf_map_lookup_elem(&buckets, &key);
	if (!bucket)
		return 0;
	if (!lock_bucket(bucket)) {
		bind->failed = 1;
		return 1;
	}
	lost = bucket->lost;
	gpu_bucket_cut(bucket, begin, end);
	count_lost(bucket, lost);
	unlock_bucket(bucket);
	return 0;
}

/* What was there is not any more. */
static __always_inline void cut_all(struct bind *bind)
{
	__u64 all = 0;

	for (__u32 level = 0; level < GPU_RANGE_LEVELS; level++)
		all += gpu_range_buckets(bind->range.begin, bind->range.end, level);
	if (all <= GPU_RANGE_BUCKETS_MOST)
		bpf_loop((__u32)all, cut_one, bind, 0);
	if (all > GPU_RANGE_BUCKETS_MOST || bind->failed) {
		count(SUBMIT_COUNT_BINDINGS);
		forget(bind->vm, ALL_OBJECTS);
	}
}

static __always_inline struct gpu_bucket *bucket_of(const struct gpu_bucket_key *key)
{
	struct gpu_bucket *bucket = bpf_map_lookup_elem(&buckets, key);

	if (bucket)
		return bucket;
	bpf_map_update_elem(&buckets, key, &no_bucket, BPF_NOEXIST);
	return bpf_map_lookup_elem(&buckets, key);
}

static long put_one(__u32 index, struct bind *bind)
{
	const __u64 number = (bind->range.begin >> gpu_range_shift(bind->level)) + index;
	const struct gpu_bucket_key key = bucket_key(bind->vm, number, bind->level);
	struct gpu_bucket *bucket = bucket_of(&key);
	struct gpu_range part = bind->range;
	__u32 lost;

	gpu_range_clip(&part, number, bind->level);
	if (!bucket || !lock_bucket(bucket)) {
		count(SUBMIT_COUNT_BINDINGS);
		return 0;
	}
	lost = bucket->lost;
	gpu_bucket_put(bucket, &part);
	count_lost(bucket, lost);
	unlock_bucket(bucket);
	return 0;
}

static __always_inline void tell_unbound(__u64 vm, __u64 begin, __u64 end)
{
	struct submit_unbound *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record) {
		count(SUBMIT_COUNT_RECORDS);
		return;
	}
	fill_head(&record->head, SUBMIT_RECORD_UNBOUND);
	record->vm = vm;
	record->begin = begin;
	record->end = end;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void apply(struct bind *bind)
{
	bind->failed = 0;
	cut_all(bind);
	bind->range.number = new_number();
	bind->level = gpu_range_level(bind->range.end - bind->range.begin);
	if (bind->range.object == GPU_RANGES_NOTHING) {
		tell_unbound(bind->vm, bind->range.begin, bind->range.end);
	} else if (bind->level >= GPU_RANGE_LEVELS) {
		count(SUBMIT_COUNT_BINDINGS);
	} else {
		bpf_loop((__u32)gpu_range_buckets(bind->range.begin, bind->range.end, bind->level),
			 put_one, bind, 0);
	}
}

static __always_inline void take_bind(struct bind *bind, __u64 file,
				      const struct xe_vm_bind_op *operation)
{
	bind->range.begin = batch_plain_address(&(struct batch_state){.generation = BATCH_XE3P},
						operation->addr);
	bind->range.end = bind->range.begin + operation->range;
	switch (operation->op) {
	case XE_BIND_MAP:
		bind->range.object = object_number(file, operation->obj);
		bind->range.offset = operation->obj_offset;
		break;
	case XE_BIND_MAP_USERPTR:
		bind->range.object = SUBMIT_USER_POINTER | bpf_get_current_pid_tgid() >> 32;
		bind->range.offset = operation->userptr;
		break;
	case XE_BIND_UNMAP:
		bind->range.object = GPU_RANGES_NOTHING;
		break;
	case XE_BIND_UNMAP_ALL:
		forget(bind->vm, object_number(file, operation->obj));
		return;
	default:
		return;
	}
	if (bind->range.end > bind->range.begin)
		apply(bind);
}

struct further {
	struct bind bind;
	__u64 vector, file;
	struct submit_scratch *scratch;
};

static long take_further(__u32 index, struct further *further)
{
	struct xe_vm_bind_op *operation = &((struct xe_vm_bind *)further->scratch->arguments)->bind;

	/* one is where several begin */
	if (further->vector &&
	    bpf_probe_read_user(operation, sizeof(*operation),
				(const void *)(further->vector + index * sizeof(*operation))))
		return 1;
	take_bind(&further->bind, further->file, operation);
	return 0;
}

static __always_inline void on_vm_bind(const struct submit_call *call,
				       struct submit_scratch *scratch)
{
	struct xe_vm_bind *arguments = (struct xe_vm_bind *)scratch->arguments;
	struct further further = {.scratch = scratch};
	struct submit_id key;
	__u32 number;

	if (!read_data(arguments, sizeof(*arguments), call->data, call->is_user))
		return;
	key.file = further.file = file_number(call->file);
	key.id = arguments->vm_id;
	further.bind.vm = number_of(&vms, &key);
	number = arguments->num_binds;
	further.vector = number > 1 ? arguments->vector_of_binds : 0;
	if (number > BINDS_MOST) {
		count(SUBMIT_COUNT_BINDINGS);
		forget(further.bind.vm, ALL_OBJECTS);
		number = BINDS_MOST;
	}
	bpf_loop(number, take_further, &further, 0);
}

/* ---- address spaces, queues, buffers ----------------------------------------------------------- */

static long drop_bucket(void *map, const struct gpu_bucket_key *key, void *bucket, const __u64 *vm)
{
	struct gpu_bucket_key own;

	if (key->vm != *vm)
		return 0;
	own = *key;
	bpf_map_delete_elem(&buckets, &own);
	return 0;
}

static long drop_forgotten(void *map, const struct forgotten_key *key, void *value, const __u64 *vm)
{
	struct forgotten_key own;

	if (key->vm != *vm)
		return 0;
	own = *key;
	bpf_map_delete_elem(&forgotten, &own);
	return 0;
}

SUBMIT_CALL on_vm_create(const struct submit_call *call)
{
	struct xe_vm_create arguments;
	struct submit_id key;
	__u64 number = new_number();

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		return;
	key.file = file_number(call->file);
	key.id = arguments.vm_id;
	bpf_map_update_elem(&vms, &key, &number, BPF_ANY);
	tell_met();
}

/* Before the driver does it: another thread may get its number at once. */
static __always_inline void on_vm_destroy(const void *data, const void *file, __u32 is_user)
{
	struct xe_vm_destroy arguments;
	struct submit_id key;
	__u64 *known, vm;

	if (!read_data(&arguments, sizeof(arguments), data, is_user))
		return;
	key.file = file_number(file);
	key.id = arguments.vm_id;
	known = bpf_map_lookup_elem(&vms, &key);
	if (!known)
		return;
	vm = *known;
	bpf_map_delete_elem(&vms, &key);
	bpf_for_each_map_elem(&buckets, drop_bucket, &vm, 0);
	if (forgets)
		bpf_for_each_map_elem(&forgotten, drop_forgotten, &vm, 0);
	tell_unbound(vm, 0, 0);
}

SUBMIT_CALL on_queue_create(const struct submit_call *call)
{
	struct xe_exec_queue_create arguments;
	struct submit_queue queue = {0};
	struct submit_id key;

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		return;
	key.file = file_number(call->file);
	key.id = arguments.vm_id;
	queue.vm = number_of(&vms, &key);
	key.id = arguments.exec_queue_id;
	bpf_map_update_elem(&queues, &key, &queue, BPF_ANY);
}

static __always_inline void on_queue_destroy(const void *data, const void *file, __u32 is_user)
{
	struct xe_exec_queue_destroy arguments;
	struct submit_id key;

	if (!read_data(&arguments, sizeof(arguments), data, is_user))
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

static __always_inline void on_gem_close(const void *data, const void *file, __u32 is_user)
{
	__u32 handle;

	if (read_data(&handle, sizeof(handle), data, is_user))
		forget_handle(file, handle);
}

static long drop_vm(void *map, const struct submit_id *key, const __u64 *number, const __u64 *file)
{
	struct submit_id own;
	__u64 vm;

	if (key->file != *file)
		return 0;
	own = *key;
	vm = *number;
	bpf_map_delete_elem(&vms, &own);
	bpf_for_each_map_elem(&buckets, drop_bucket, &vm, 0);
	if (forgets)
		bpf_for_each_map_elem(&forgotten, drop_forgotten, &vm, 0);
	return 0;
}

/* With its number all that it numbers is out of reach; what fills a table is taken out as well. */
static __always_inline void on_file_close(const void *file)
{
	const __u64 key = (__u64)file;
	__u64 *known = bpf_map_lookup_elem(&files, &key);
	__u64 number;

	if (!known)
		return;
	number = *known;
	forget_file(file);
	bpf_for_each_map_elem(&vms, drop_vm, &number, 0);
}

/* ---- submissions ------------------------------------------------------------------------------- */

static __always_inline void on_exec(const struct submit_call *call, struct submit_scratch *scratch)
{
	struct xe_exec *arguments = (struct xe_exec *)scratch->arguments;
	struct submit_open *open = &scratch->open;
	struct submit_queue *queue;
	struct submit_id key;
	__u64 address;

	if (!read_data(arguments, sizeof(*arguments), call->data, call->is_user))
		return;
	/* it waits and signals, and runs nothing */
	if (!arguments->num_batch_buffer)
		return;
	address = arguments->address;
	open->file = key.file = file_number(call->file);
	open->queue = key.id = arguments->exec_queue_id;
	queue = bpf_map_lookup_elem(&queues, &key);
	open->vm = queue ? queue->vm : 0;
	open->number = new_number();
	open->objects_count = open->next_left = 0;
	if (arguments->num_batch_buffer > 1) {
		open->next = address + sizeof(address);
		open->next_left = arguments->num_batch_buffer - 1;
		if (bpf_probe_read_user(&address, sizeof(address), (const void *)address))
			address = 0;
	}
	tell_submission(scratch, call, address, queue);
}

static __always_inline void end_bind(const struct submit_call *call)
{
	struct submit_scratch *scratch = take_scratch();

	if (!scratch) {
		count(SUBMIT_COUNT_BINDINGS);
		forgets = 1;
		forgets_until = new_number();
		return;
	}
	on_vm_bind(call, scratch);
	put_scratch(scratch);
}

/* What else the driver has done. */
static __always_inline void on_done(__u32 what, const struct submit_call *call)
{
	if (what == CALL_VM_BIND)
		end_bind(call);
	else if (what == CALL_VM_CREATE)
		on_vm_create(call);
	else if (what == CALL_QUEUE_CREATE)
		on_queue_create(call);
	else if (what == CALL_MMAP_OFFSET)
		on_mmap_offset(call);
}

/* Of drm_ioctl; 0: nothing to be seen. */
static __always_inline __u32 call_of(__u32 command)
{
	switch (command) {
	case XE_GEM_MMAP_OFFSET:
		return CALL_MMAP_OFFSET;
	case XE_VM_CREATE:
		return CALL_VM_CREATE;
	case XE_VM_BIND:
		return CALL_VM_BIND;
	case XE_EXEC_QUEUE_CREATE:
		return CALL_QUEUE_CREATE;
	case XE_EXEC:
		return CALL_EXEC;
	default:
		return 0;
	}
}

/* … what it does before the driver does. */
static __always_inline void on_before(__u32 command, const void *data, const void *file)
{
	if (command == XE_VM_DESTROY)
		on_vm_destroy(data, file, 1);
	else if (command == XE_EXEC_QUEUE_DESTROY)
		on_queue_destroy(data, file, 1);
}

static const char driver_name[] = "xe";

#include "bpf/submit_programs.h"

/* ---- by the driver's functions, with their types ------------------------------------------------ */

ON_ENTRY(exec_enter, xe_exec_ioctl, CALL_EXEC)
ON_EXIT(exec_exit, xe_exec_ioctl, CALL_EXEC)
ON_ENTRY(vm_create_enter, xe_vm_create_ioctl, CALL_VM_CREATE)
ON_EXIT(vm_create_exit, xe_vm_create_ioctl, CALL_VM_CREATE)
ON_ENTRY(vm_bind_enter, xe_vm_bind_ioctl, CALL_VM_BIND)
ON_EXIT(vm_bind_exit, xe_vm_bind_ioctl, CALL_VM_BIND)
ON_ENTRY(queue_create_enter, xe_exec_queue_create_ioctl, CALL_QUEUE_CREATE)
ON_EXIT(queue_create_exit, xe_exec_queue_create_ioctl, CALL_QUEUE_CREATE)
ON_ENTRY(mmap_offset_enter, xe_gem_mmap_offset_ioctl, CALL_MMAP_OFFSET)
ON_EXIT(mmap_offset_exit, xe_gem_mmap_offset_ioctl, CALL_MMAP_OFFSET)
ON_BEGIN(vm_destroy, xe_vm_destroy_ioctl, on_vm_destroy)
ON_BEGIN(queue_destroy, xe_exec_queue_destroy_ioctl, on_queue_destroy)
ON_BEGIN(gem_close, drm_gem_close_ioctl, on_gem_close)

ON_CLOSE(file_close, xe_file_close)
ON_MMAP(mmap_enter, mmap_exit, drm_gem_mmap)

/* ---- by the driver's functions, without types -------------------------------------------------- */

ON_PROBE(probe_exec, xe_exec_ioctl, CALL_EXEC)
ON_RETURN(return_exec, xe_exec_ioctl, CALL_EXEC)
ON_PROBE(probe_vm_create, xe_vm_create_ioctl, CALL_VM_CREATE)
ON_RETURN(return_vm_create, xe_vm_create_ioctl, CALL_VM_CREATE)
ON_PROBE(probe_vm_bind, xe_vm_bind_ioctl, CALL_VM_BIND)
ON_RETURN(return_vm_bind, xe_vm_bind_ioctl, CALL_VM_BIND)
ON_PROBE(probe_queue_create, xe_exec_queue_create_ioctl, CALL_QUEUE_CREATE)
ON_RETURN(return_queue_create, xe_exec_queue_create_ioctl, CALL_QUEUE_CREATE)
ON_PROBE(probe_mmap_offset, xe_gem_mmap_offset_ioctl, CALL_MMAP_OFFSET)
ON_RETURN(return_mmap_offset, xe_gem_mmap_offset_ioctl, CALL_MMAP_OFFSET)
ON_PROBE_BEGIN(probe_vm_destroy, xe_vm_destroy_ioctl, on_vm_destroy)
ON_PROBE_BEGIN(probe_queue_destroy, xe_exec_queue_destroy_ioctl, on_queue_destroy)
ON_PROBE_BEGIN(probe_gem_close, drm_gem_close_ioctl, on_gem_close)

ON_PROBE_CLOSE(probe_file_close, xe_file_close)
ON_PROBE_MMAP(probe_mmap, return_mmap, drm_gem_mmap)

/* ---- by the way into all drivers --------------------------------------------------------------- */

ON_WAY_IN(way_enter, way_exit)

/* ---- without a driver -------------------------------------------------------------------------- */

static __always_inline void run_mmap(const struct submit_request *request)
{
	const struct submit_id key = {file_number((const void *)request->file), request->offset};
	const __u64 *object = bpf_map_lookup_elem(&offsets, &key);

	if (object)
		add_mapping(*object, request->address, 0);
}

/* Never attached: what the programs above do, with a caller's memory and nobody's file. */
SEC("syscall")
int run_call(struct submit_request *request)
{
	const void *data = (const void *)request->data, *file = (const void *)request->file;
	struct submit_frames *frames;
	struct submit_call *call;

	switch (request->call) {
	case SUBMIT_XE_VM_DESTROY:
		on_vm_destroy(data, file, 1);
		return 0;
	case SUBMIT_XE_QUEUE_DESTROY:
		on_queue_destroy(data, file, 1);
		return 0;
	case SUBMIT_XE_GEM_CLOSE:
		on_gem_close(data, file, 1);
		return 0;
	case SUBMIT_XE_FILE_CLOSE:
		on_file_close(file);
		return 0;
	case SUBMIT_XE_ANY:
		try_again();
		return 0;
	case SUBMIT_XE_MMAP:
		run_mmap(request);
		return 0;
	default:
		call = begin_call(request->call, data, file, 1);
	}
	frames = call && request->call == SUBMIT_XE_EXEC ? need_frames(call, 0) : NULL;
	if (frames)
		put_frames(frames,
			   bpf_get_task_stack(bpf_get_current_task_btf(), frames->all,
					      sizeof(frames->all), 0),
			   0);
	return finish(request->call, request->result);
}
