/* SPDX-License-Identifier: MIT
 *
 * bpf/i915.bpf.c - what is handed to Intel's GPUs by the driver i915, and which kernels are in it
 *
 * Runs in:  the kernel, in threads that call the driver
 * Gets:     buffers and submissions of all processes
 * Gives:    see bpf/submit.h
 * Why:      a submission brings a list of all its objects, with their addresses on the GPU: there are no binds to be
 *           followed. The list is kept as long as its batch may be looked at again.
 */
#define SUBMIT_FIND find_range
#include "bpf/submit.h"

#include "event/i915_abi.h"

enum call {
	CALL_EXEC = 1,
	CALL_CONTEXT_CREATE,
	CALL_MMAP_OFFSET,
	CALL_GEM_MMAP,
	CALL_USERPTR,
	CALL_MMAP
};

/* Of an object that is memory of its process. */
struct user_memory {
	__u64 begin, bytes;
	__u64 tgid;
};

/* Object -> where it is. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct user_memory);
} user_memories SEC(".maps");

/* An object's size is not in the list, and the address space is its process's own: so far as it is mapped it is readable, and
 * up to the next one of the list it is this one. */
#define BYTES_MOST (1ULL << 40)

/* ---- where what is ----------------------------------------------------------------------------- */

/* The object that begins nearest below an address, and where the next one does. */
struct nearest {
	__u64 address, begin, next;
	__u32 handle, is_found;
};

struct looking {
	struct nearest nearest;
	const struct submit_open *open;
};

static long look_at(__u32 index, struct looking *looking)
{
	const struct submit_object *object =
		&looking->open->objects[index & (SUBMIT_OBJECTS_MOST - 1)];
	struct nearest *nearest = &looking->nearest;

	if (object->address > nearest->address) {
		if (object->address < nearest->next)
			nearest->next = object->address;
	} else if (!nearest->is_found || object->address >= nearest->begin) {
		nearest->begin = object->address;
		nearest->handle = object->handle;
		nearest->is_found = 1;
	}
	return 0;
}

static __always_inline bool find_range(struct submit_scratch *scratch, __u64 address,
				       struct gpu_range *ret_range)
{
	struct looking looking = {.nearest = {.address = address, .next = address + BYTES_MOST},
				  .open = &scratch->open};
	const struct nearest *nearest = &looking.nearest;
	const struct user_memory *memory;
	struct submit_id key = {0};
	__u64 *object;

	bpf_loop(scratch->open.objects_count, look_at, &looking, 0);
	key.file = scratch->open.file;
	key.id = nearest->handle;
	object = nearest->is_found ? bpf_map_lookup_elem(&handles, &key) : NULL;
	if (!object)
		return false;
	ret_range->begin = nearest->begin;
	ret_range->end = nearest->next;
	ret_range->offset = 0;
	/* a handle that was given anew since has a later one */
	ret_range->object = ret_range->number = *object;
	memory = bpf_map_lookup_elem(&user_memories, object);
	if (!memory)
		return true;
	if (ret_range->end - ret_range->begin > memory->bytes)
		ret_range->end = ret_range->begin + memory->bytes;
	ret_range->object = SUBMIT_USER_POINTER | memory->tgid;
	ret_range->offset = memory->begin;
	return address < ret_range->end;
}

/* ---- contexts, buffers ------------------------------------------------------------------------- */

SUBMIT_CALL on_context_create(const struct submit_call *call)
{
	struct i915_context_create arguments;
	struct submit_queue queue = {0};
	struct submit_id key;

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		return;
	queue.vm = new_number();
	key.file = file_number(call->file);
	key.id = arguments.ctx_id;
	bpf_map_update_elem(&queues, &key, &queue, BPF_ANY);
	tell_met();
}

static __always_inline void on_context_destroy(const void *data, const void *file, __u32 is_user)
{
	struct i915_context_destroy arguments;
	struct submit_id key;

	if (!read_data(&arguments, sizeof(arguments), data, is_user))
		return;
	key.file = file_number(file);
	key.id = arguments.ctx_id;
	bpf_map_delete_elem(&queues, &key);
}

SUBMIT_CALL on_mmap_offset(const struct submit_call *call)
{
	struct i915_mmap_offset arguments;
	struct submit_id key;
	__u64 object;

	/* what older programs wrote has the same begin */
	if (!read_data(&arguments, __builtin_offsetof(struct i915_mmap_offset, flags), call->data,
		       call->is_user))
		return;
	key.file = file_number(call->file);
	key.id = arguments.offset;
	object = object_number(key.file, arguments.handle);
	bpf_map_update_elem(&offsets, &key, &object, BPF_ANY);
}

SUBMIT_CALL on_gem_mmap(const struct submit_call *call)
{
	struct i915_mmap arguments;

	if (read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		add_mapping(object_number(file_number(call->file), arguments.handle),
			    arguments.addr_ptr, arguments.offset);
}

SUBMIT_CALL on_userptr(const struct submit_call *call)
{
	struct user_memory memory = {0};
	struct i915_userptr arguments;
	__u64 object;

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		return;
	memory.begin = arguments.user_ptr;
	memory.bytes = arguments.user_size;
	memory.tgid = bpf_get_current_pid_tgid() >> 32;
	object = object_number(file_number(call->file), arguments.handle);
	bpf_map_update_elem(&user_memories, &object, &memory, BPF_ANY);
}

static __always_inline void on_gem_close(const void *data, const void *file, __u32 is_user)
{
	__u32 handle;

	if (read_data(&handle, sizeof(handle), data, is_user))
		forget_handle(file, handle);
}

static __always_inline void on_file_close(const void *file)
{
	forget_file(file);
}

/* ---- submissions ------------------------------------------------------------------------------- */

struct list {
	struct submit_open *open;
	__u64 objects;
};

static long take_object(__u32 index, struct list *list)
{
	struct i915_exec_object object;
	struct submit_object *to = &list->open->objects[index & (SUBMIT_OBJECTS_MOST - 1)];

	if (bpf_probe_read_user(&object, sizeof(object),
				(const void *)(list->objects + index * sizeof(object))))
		return 1;
	to->address = object.offset & ((1ULL << 48) - 1);
	to->handle = object.handle;
	list->open->objects_count = index + 1;
	return 0;
}

/* Address of the batch; 0: it is not among those that are kept. */
static __always_inline __u64 take_objects(struct submit_open *open,
					  const struct i915_execbuffer2 *arguments,
					  struct i915_exec_object *batch)
{
	struct list list = {open, arguments->buffers_ptr};
	__u32 number = arguments->buffer_count;
	__u32 place = arguments->flags & I915_EXEC_BATCH_FIRST ? 0 : number - 1;
	const void *at = (const void *)(list.objects + place * sizeof(*batch));

	open->objects_count = 0;
	if (bpf_probe_read_user(batch, sizeof(*batch), at))
		return 0;
	/* one place is the batch's, wherever it stands in the list */
	if (number > SUBMIT_OBJECTS_MOST - 1)
		number = SUBMIT_OBJECTS_MOST - 1;
	bpf_loop(number, take_object, &list, 0);
	number = open->objects_count & (SUBMIT_OBJECTS_MOST - 1);
	open->objects[number].address = batch->offset & ((1ULL << 48) - 1);
	open->objects[number].handle = batch->handle;
	open->objects_count = number + 1;
	return open->objects[number].address + arguments->batch_start_offset;
}

/* A context is there from the begin; others may have been made before we were. */
static __always_inline struct submit_queue *queue_of(const struct submit_id *key)
{
	struct submit_queue *queue = bpf_map_lookup_elem(&queues, key);
	struct submit_queue fresh = {0};

	if (queue)
		return queue;
	fresh.vm = new_number();
	bpf_map_update_elem(&queues, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&queues, key);
}

static __always_inline void on_exec(const struct submit_call *call, struct submit_scratch *scratch)
{
	struct i915_execbuffer2 *arguments = (struct i915_execbuffer2 *)scratch->arguments;
	struct submit_open *open = &scratch->open;
	struct submit_queue *queue;
	struct submit_id key;
	__u64 address;

	if (!read_data(arguments, sizeof(*arguments), call->data, call->is_user) ||
	    !arguments->buffer_count)
		return;
	open->file = key.file = file_number(call->file);
	open->queue = key.id = (__u32)arguments->rsvd1;
	queue = queue_of(&key);
	open->vm = queue ? queue->vm : 0;
	open->next_left = 0;
	address = take_objects(open, arguments, (struct i915_exec_object *)(arguments + 1));
	open->number = new_number();
	tell_submission(scratch, call, address, queue);
}

/* What else the driver has done. */
static __always_inline void on_done(__u32 what, const struct submit_call *call)
{
	if (what == CALL_CONTEXT_CREATE)
		on_context_create(call);
	else if (what == CALL_MMAP_OFFSET)
		on_mmap_offset(call);
	else if (what == CALL_GEM_MMAP)
		on_gem_mmap(call);
	else if (what == CALL_USERPTR)
		on_userptr(call);
}

/* Of drm_ioctl; 0: nothing to be seen. */
static __always_inline __u32 call_of(__u32 command)
{
	switch (command) {
	case I915_GEM_MMAP:
		return CALL_GEM_MMAP;
	case I915_GEM_MMAP_OFFSET:
		return CALL_MMAP_OFFSET;
	case I915_GEM_EXECBUFFER2:
		return CALL_EXEC;
	case I915_GEM_CONTEXT_CREATE:
		return CALL_CONTEXT_CREATE;
	case I915_GEM_USERPTR:
		return CALL_USERPTR;
	default:
		return 0;
	}
}

/* … what it does before the driver does. */
static __always_inline void on_before(__u32 command, const void *data, const void *file)
{
	if (command == I915_GEM_CONTEXT_DESTROY)
		on_context_destroy(data, file, 1);
}

static const char driver_name[] = "i915";

#include "bpf/submit_programs.h"

/* ---- by the driver's functions, with their types ------------------------------------------------ */

ON_ENTRY(exec_enter, i915_gem_execbuffer2_ioctl, CALL_EXEC)
ON_EXIT(exec_exit, i915_gem_execbuffer2_ioctl, CALL_EXEC)
ON_ENTRY(context_create_enter, i915_gem_context_create_ioctl, CALL_CONTEXT_CREATE)
ON_EXIT(context_create_exit, i915_gem_context_create_ioctl, CALL_CONTEXT_CREATE)
ON_ENTRY(mmap_offset_enter, i915_gem_mmap_offset_ioctl, CALL_MMAP_OFFSET)
ON_EXIT(mmap_offset_exit, i915_gem_mmap_offset_ioctl, CALL_MMAP_OFFSET)
ON_ENTRY(gem_mmap_enter, i915_gem_mmap_ioctl, CALL_GEM_MMAP)
ON_EXIT(gem_mmap_exit, i915_gem_mmap_ioctl, CALL_GEM_MMAP)
ON_ENTRY(userptr_enter, i915_gem_userptr_ioctl, CALL_USERPTR)
ON_EXIT(userptr_exit, i915_gem_userptr_ioctl, CALL_USERPTR)
ON_BEGIN(context_destroy, i915_gem_context_destroy_ioctl, on_context_destroy)
ON_BEGIN(gem_close, drm_gem_close_ioctl, on_gem_close)
ON_CLOSE(file_close, i915_driver_postclose)
ON_MMAP(mmap_enter, mmap_exit, i915_gem_mmap)

/* ---- by the driver's functions, without types -------------------------------------------------- */

ON_PROBE(probe_exec, i915_gem_execbuffer2_ioctl, CALL_EXEC)
ON_RETURN(return_exec, i915_gem_execbuffer2_ioctl, CALL_EXEC)
ON_PROBE(probe_context_create, i915_gem_context_create_ioctl, CALL_CONTEXT_CREATE)
ON_RETURN(return_context_create, i915_gem_context_create_ioctl, CALL_CONTEXT_CREATE)
ON_PROBE(probe_mmap_offset, i915_gem_mmap_offset_ioctl, CALL_MMAP_OFFSET)
ON_RETURN(return_mmap_offset, i915_gem_mmap_offset_ioctl, CALL_MMAP_OFFSET)
ON_PROBE(probe_gem_mmap, i915_gem_mmap_ioctl, CALL_GEM_MMAP)
ON_RETURN(return_gem_mmap, i915_gem_mmap_ioctl, CALL_GEM_MMAP)
ON_PROBE(probe_userptr, i915_gem_userptr_ioctl, CALL_USERPTR)
ON_RETURN(return_userptr, i915_gem_userptr_ioctl, CALL_USERPTR)
ON_PROBE_BEGIN(probe_context_destroy, i915_gem_context_destroy_ioctl, on_context_destroy)
ON_PROBE_BEGIN(probe_gem_close, drm_gem_close_ioctl, on_gem_close)
ON_PROBE_CLOSE(probe_file_close, i915_driver_postclose)
ON_PROBE_MMAP(probe_mmap, return_mmap, i915_gem_mmap)

/* ---- by the way into all drivers --------------------------------------------------------------- */

ON_WAY_IN(way_enter, way_exit)
