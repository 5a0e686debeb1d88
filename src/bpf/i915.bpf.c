/* SPDX-License-Identifier: MIT
 *
 * bpf/i915.bpf.c - submissions to Intel's GPUs through the driver i915, and the kernels in them
 *
 * Runs in:  the kernel, in threads that call the driver
 * Gets:     buffers and submissions of all processes
 * Gives:    see bpf/submit/submit.bpf.h
 * Why:      a submission carries a list of all its objects with their GPU addresses, so binds need
 *           not be tracked. The list is kept as long as the batch of its submission may be parsed
 *           again.
 */
#include "bpf/submit/submit.bpf.h"

#include "abi/i915.h"
#include "bpf/submit/functions.h"

enum { MAX_EXTENSIONS = 16, PLACES = 16384, MAX_KNOWN = 32 };

/* Address spaces by their ids in the file: a context uses one of them, or has its own. */
MAP(spaces, LRU_HASH, 4096, struct submit_id, __u64);

/* By our number: how many contexts and ids in files refer to it. The address space ends with the
 * last of them. */
MAP(holders, LRU_HASH, 8192, __u64, __u64);

/* Address of a known kernel, and its object. Each kernel has one slot in the table, by its address:
 * a hash table took a third of the cost of a submission. */
struct place {
	__u64 vm, address; /* address 0: a free slot, or it is being changed */
	__u64 object;
	__u64 homes_ended; /* value of homes_ended at that time */
};

MAP(places, ARRAY, PLACES, __u32, struct place);

__u64 homes_ended; /* counter: entries from before must be checked again */

/* The part of an object that contains kernels. It ends when the object is closed. */
struct home {
	__u64 vm, begin, end;
};

MAP(homes, LRU_HASH, 4096, __u64, struct home);

/* An object that is memory of its process. */
struct user_memory {
	__u64 begin, bytes;
	__u64 tgid;
};

/* Object -> its home. */
MAP(user_memories, LRU_HASH, 4096, __u64, struct user_memory);

/* An object's size is not in the list, and the address space is its process's own. So the object is
 * assumed to extend, as far as it is mapped, up to the next one of the list. */
#define MAX_BYTES (1ULL << 40)

/* ---- lookups --------------------------------------------------------------------------------- */

/* The object that starts nearest below an address, and the start of the next one. */
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
		&looking->open->objects[index & (MAX_SUBMIT_OBJECTS - 1)];
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

static __always_inline __u64 *find_object(struct looking *looking)
{
	struct submit_id key;

	bpf_loop(looking->open->objects_count, look_at, looking, 0);
	key.file = looking->open->file;
	key.id = looking->nearest.handle;
	return looking->nearest.is_found ? bpf_map_lookup_elem(&handles, &key) : NULL;
}

static __always_inline bool find_range(struct submit_scratch *scratch, __u64 address,
				       struct gpu_range *ret_range)
{
	struct looking looking = {.nearest = {.address = address, .next = address + MAX_BYTES},
				  .open = &scratch->open};
	const __u64 *object = find_object(&looking);
	const struct user_memory *memory;

	if (!object)
		return false;
	ret_range->begin = looking.nearest.begin;
	ret_range->end = looking.nearest.next;
	ret_range->offset = 0;
	/* a reused handle has a later number */
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

/* ---- kernels' ends --------------------------------------------------------------------------- */

struct settling {
	struct submit_scratch *scratch;
	__u64 first;
};

static __always_inline void widen_home(__u64 object, __u64 vm, __u64 address)
{
	const struct home fresh = {vm, address, address + 1};
	struct home *home = bpf_map_lookup_elem(&homes, &object);

	if (!home || home->vm != vm) {
		bpf_map_update_elem(&homes, &object, &fresh, BPF_ANY);
		return;
	}
	if (address < home->begin)
		home->begin = address;
	if (address >= home->end)
		home->end = address + 1;
}

/* Usually no object has been closed since the last check. */
static __always_inline bool is_settled(struct place *place, __u64 vm, __u64 address)
{
	const __u64 now = homes_ended;

	if (place->address != address || place->vm != vm)
		return false;
	if (place->homes_ended == now)
		return true;
	if (!bpf_map_lookup_elem(&homes, &place->object))
		return false;
	place->homes_ended = now;
	return true;
}

static __always_inline struct place *place_of(const struct submit_open *open, __u64 address)
{
	const __u32 key = (address >> 6 ^ address >> 20 ^ open->vm) & (PLACES - 1);

	return bpf_map_lookup_elem(&places, &key);
}

static __always_inline __u64 address_of(const struct submit_open *open, __u32 index)
{
	return open->state.found[index & (MAX_BATCH_FOUND - 1)].address;
}

/* For a kernel that was found: searches its object once per submission, because the list of objects
 * is long. */
static long settle_one(__u32 index, struct settling *settling)
{
	const struct submit_open *open = &settling->scratch->open;
	const __u64 address = address_of(open, settling->first + index), now = homes_ended;
	struct looking looking = {.nearest = {.address = address, .next = address + MAX_BYTES},
				  .open = open};
	struct place *place = place_of(open, address);
	const __u64 *object;

	if (!place || is_settled(place, open->vm, address))
		return 0;
	object = find_object(&looking);
	if (!object)
		return 0;
	widen_home(*object, open->vm, address);
	__sync_lock_test_and_set(&place->address, 0);
	place->vm = open->vm;
	place->object = *object;
	place->homes_ended = now;
	__sync_lock_test_and_set(&place->address, address);
	return 0;
}

/* The first kernels are usually known, and are checked without a call for each. */
static __always_inline __u32 first_unsettled(const struct submit_open *open)
{
	__u32 first = open->found_before;

	for (__u32 i = 0; i < MAX_KNOWN && first < open->found_sent; i++) {
		const __u64 address = address_of(open, first);
		struct place *place = place_of(open, address);

		if (!place || !is_settled(place, open->vm, address))
			break;
		first++;
	}
	return first;
}

static __always_inline void on_found(struct submit_scratch *scratch)
{
	struct settling settling = {scratch, first_unsettled(&scratch->open)};

	if (settling.first < scratch->open.found_sent)
		bpf_loop(scratch->open.found_sent - settling.first, settle_one, &settling, 0);
}

/* ---- address spaces -------------------------------------------------------------------------- */

static __always_inline void hold_space(__u64 vm)
{
	const __u64 one = 1;
	__u64 *held = bpf_map_lookup_elem(&holders, &vm);

	if (held)
		__sync_fetch_and_add(held, 1);
	else
		bpf_map_update_elem(&holders, &vm, &one, BPF_ANY);
}

SUBMIT_CALL release_space(__u64 vm)
{
	__u64 *held = bpf_map_lookup_elem(&holders, &vm);

	if (held && __sync_fetch_and_add(held, -1) > 1)
		return;
	bpf_map_delete_elem(&holders, &vm);
	send_unbound(vm, 0, 0);
}

static __always_inline __u64 find_space(__u64 file, __u64 id)
{
	const struct submit_id key = {file, id};
	const __u64 *known = bpf_map_lookup_elem(&spaces, &key);

	return known ? *known : 0;
}

/* For a context, or an id in a file: replaces its former address space. */
static __always_inline void put_space(__u64 file, __u64 id, __u64 vm)
{
	const struct submit_id key = {file, id};
	const __u64 before = find_space(file, id);

	hold_space(vm);
	bpf_map_update_elem(&spaces, &key, &vm, BPF_ANY);
	if (before)
		release_space(before);
}

SUBMIT_CALL on_vm_create(const struct submit_call *call)
{
	struct i915_vm arguments;

	if (read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		put_space(file_number(call->file), arguments.vm_id, new_number());
}

/* Contexts keep using it. The driver refuses a call with other fields set. */
SUBMIT_CALL on_vm_destroy(const void *data, const void *file, __u32 is_user)
{
	struct i915_vm arguments;
	struct submit_id key;
	__u64 vm;

	if (!read_data(&arguments, sizeof(arguments), data, is_user) || arguments.extensions ||
	    arguments.flags)
		return;
	key.file = file_number(file);
	key.id = arguments.vm_id;
	vm = find_space(key.file, key.id);
	if (vm && !bpf_map_delete_elem(&spaces, &key))
		release_space(vm);
}

/* ---- contexts, buffers ----------------------------------------------------------------------- */

/* The address space that the parameters of a new context request; 0: one of its own. */
static __always_inline __u64 asked_space(const struct i915_context_create *arguments, __u64 file)
{
	struct i915_context_extension extension;
	__u64 next = arguments->flags & I915_CONTEXT_HAS_EXTENSIONS ? arguments->extensions : 0;
	__u64 vm = 0;

	for (int i = 0; i < MAX_EXTENSIONS && next; i++) {
		if (bpf_probe_read_user(&extension, sizeof(extension), (const void *)next))
			break;
		if (extension.name == I915_EXTENSION_SETPARAM &&
		    extension.param.param == I915_CONTEXT_VM)
			vm = find_space(file, extension.param.value);
		next = extension.next;
	}
	return vm;
}

SUBMIT_CALL on_context_create(const struct submit_call *call)
{
	struct i915_context_create arguments;
	struct submit_queue queue = {0};
	struct submit_id key;

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user))
		return;
	key.file = file_number(call->file);
	key.id = arguments.ctx_id;
	queue.vm = asked_space(&arguments, key.file);
	if (!queue.vm)
		queue.vm = new_number();
	hold_space(queue.vm);
	bpf_map_update_elem(&queues, &key, &queue, BPF_ANY);
	send_met();
}

/* The driver refuses this for the default context of a file, and with other fields set. */
SUBMIT_CALL on_context_destroy(const void *data, const void *file, __u32 is_user)
{
	struct i915_context_destroy arguments;
	struct submit_queue *queue;
	struct submit_id key;
	__u64 vm;

	if (!read_data(&arguments, sizeof(arguments), data, is_user) || !arguments.ctx_id ||
	    arguments.pad)
		return;
	key.file = file_number(file);
	key.id = arguments.ctx_id;
	queue = bpf_map_lookup_elem(&queues, &key);
	if (!queue)
		return;
	vm = queue->vm;
	if (!bpf_map_delete_elem(&queues, &key))
		release_space(vm);
}

/* The default context exists from the start; others may have been made before these programs were
 * loaded. */
static __attribute__((noinline)) struct submit_queue *queue_of(const struct submit_id *key)
{
	struct submit_queue *queue = bpf_map_lookup_elem(&queues, key);
	struct submit_queue fresh = {0};

	if (queue)
		return queue;
	fresh.vm = new_number();
	hold_space(fresh.vm);
	bpf_map_update_elem(&queues, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&queues, key);
}

/* is_set: the context gets an address space; otherwise the file gets an id for the context's. */
SUBMIT_CALL on_param(const struct submit_call *call, bool is_set)
{
	struct i915_context_param arguments;
	struct submit_queue *queue;
	struct submit_id key;
	__u64 vm, before;

	if (!read_data(&arguments, sizeof(arguments), call->data, call->is_user) ||
	    arguments.param != I915_CONTEXT_VM)
		return;
	key.file = file_number(call->file);
	key.id = arguments.ctx_id;
	queue = queue_of(&key);
	if (!queue)
		return;
	before = queue->vm;
	if (!is_set) {
		put_space(key.file, arguments.value, before);
		return;
	}
	vm = find_space(key.file, arguments.value);
	/* address spaces made before these programs were loaded are unknown */
	queue->vm = vm ? vm : new_number();
	hold_space(queue->vm);
	release_space(before);
}

SUBMIT_CALL on_mmap_offset(const struct submit_call *call)
{
	struct i915_mmap_offset arguments;
	struct submit_id key;
	__u64 object;

	/* the older struct has the same beginning */
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

/* The object no longer contains kernels, whatever replaces it. */
SUBMIT_CALL end_home(__u64 object)
{
	const struct home *home = bpf_map_lookup_elem(&homes, &object);
	struct home ended;

	if (!home)
		return;
	ended = *home;
	if (bpf_map_delete_elem(&homes, &object))
		return;
	__sync_fetch_and_add(&homes_ended, 1);
	send_unbound(ended.vm, ended.begin, ended.end);
}

SUBMIT_CALL on_gem_close(const void *data, const void *file, __u32 is_user)
{
	struct submit_id key = {0};
	const __u64 *object;
	__u32 handle;

	if (!read_data(&handle, sizeof(handle), data, is_user))
		return;
	key.file = file_number(file);
	key.id = handle;
	object = bpf_map_lookup_elem(&handles, &key);
	if (object)
		end_home(*object);
	bpf_map_delete_elem(&handles, &key);
}

static long drop_queue(void *map, const struct submit_id *key, const struct submit_queue *queue,
		       const __u64 *file)
{
	const struct submit_id own = *key;
	const __u64 vm = queue->vm;

	if (is_of_file(own.file, *file) && !bpf_map_delete_elem(&queues, &own))
		release_space(vm);
	return 0;
}

static long drop_space(void *map, const struct submit_id *key, const __u64 *number,
		       const __u64 *file)
{
	const struct submit_id own = *key;
	const __u64 vm = *number;

	if (is_of_file(own.file, *file) && !bpf_map_delete_elem(&spaces, &own))
		release_space(vm);
	return 0;
}

static __always_inline void drop_files(__u64 number)
{
	bpf_for_each_map_elem(&queues, drop_queue, &number, 0);
	bpf_for_each_map_elem(&spaces, drop_space, &number, 0);
}

SUBMIT_CALL on_file_close(const void *file)
{
	const __u64 key = (__u64)file;
	const __u64 *known = bpf_map_lookup_elem(&files, &key);
	__u64 number;

	if (!known)
		return;
	number = *known;
	forget_file(file);
	drop_files(number);
}

/* Objects and their addresses come with each submission: a missed end leaves nothing wrong. */
static __always_inline void on_missed(const struct submit_call *call)
{
	if (call->what == SUBMIT_EXEC)
		count(SUBMIT_COUNT_CALLS);
}

static __always_inline void on_lost(__u32 what, const void *data, const void *file, __u32 is_user)
{
}

static __always_inline void on_begin(__u32 what, struct submit_call *call)
{
}

/* ---- submissions ----------------------------------------------------------------------------- */

struct list {
	struct submit_open *open;
	__u64 objects;
};

static long take_object(__u32 index, struct list *list)
{
	struct i915_exec_object object;
	struct submit_object *to = &list->open->objects[index & (MAX_SUBMIT_OBJECTS - 1)];

	if (bpf_probe_read_user(&object, sizeof(object),
				(const void *)(list->objects + index * sizeof(object))))
		return 1;
	to->address = object.offset & ((1ULL << 48) - 1);
	to->handle = object.handle;
	list->open->objects_count = index + 1;
	return 0;
}

/* Address of the batch; 0: it is not among the kept objects. */
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
	/* one slot is reserved for the batch, at any position of the list */
	if (number > MAX_SUBMIT_OBJECTS - 1) {
		count(SUBMIT_COUNT_BINDINGS);
		number = MAX_SUBMIT_OBJECTS - 1;
	}
	bpf_loop(number, take_object, &list, 0);
	number = open->objects_count & (MAX_SUBMIT_OBJECTS - 1);
	open->objects[number].address = batch->offset & ((1ULL << 48) - 1);
	open->objects[number].handle = batch->handle;
	open->objects_count = number + 1;
	return open->objects[number].address + arguments->batch_start_offset;
}

static __always_inline void on_exec(const struct submit_call *call, struct submit_scratch *scratch)
{
	struct i915_execbuffer2 *arguments = (struct i915_execbuffer2 *)scratch->arguments;
	struct submit_open *open = &scratch->open;
	struct submit_id *key = &scratch->id;
	struct submit_queue *queue;
	__u64 address;

	if (!read_data(arguments, sizeof(*arguments), call->data, call->is_user) ||
	    !arguments->buffer_count)
		return;
	open->file = key->file = file_number(call->file);
	open->queue = key->id = (__u32)arguments->rsvd1;
	queue = queue_of(key);
	open->vm = queue ? queue->vm : 0;
	open->further_count = open->further_next = 0;
	open->rest.end = 0;
	address = take_objects(open, arguments, (struct i915_exec_object *)(arguments + 1));
	open->number = new_number();
	parse_submission(scratch, call, address, queue);
}

/* Other calls that the driver has completed. */
static __always_inline void on_done(__u32 what, const struct submit_call *call)
{
	if (what == SUBMIT_I915_CONTEXT_CREATE)
		on_context_create(call);
	else if (what == SUBMIT_I915_MMAP_OFFSET)
		on_mmap_offset(call);
	else if (what == SUBMIT_I915_GEM_MMAP)
		on_gem_mmap(call);
	else if (what == SUBMIT_I915_USERPTR)
		on_userptr(call);
	else if (what == SUBMIT_I915_VM_CREATE)
		on_vm_create(call);
	else if (what == SUBMIT_I915_CONTEXT_SETPARAM || what == SUBMIT_I915_CONTEXT_GETPARAM)
		on_param(call, what == SUBMIT_I915_CONTEXT_SETPARAM);
}

/* The call number of a drm_ioctl; 0: not of interest. */
static __always_inline __u32 call_of(__u32 command)
{
	switch (command) {
	case I915_GEM_MMAP:
		return SUBMIT_I915_GEM_MMAP;
	case I915_GEM_MMAP_OFFSET:
		return SUBMIT_I915_MMAP_OFFSET;
	case I915_GEM_EXECBUFFER2:
		return SUBMIT_EXEC;
	case I915_GEM_CONTEXT_CREATE:
		return SUBMIT_I915_CONTEXT_CREATE;
	case I915_GEM_USERPTR:
		return SUBMIT_I915_USERPTR;
	case I915_GEM_CONTEXT_SETPARAM:
		return SUBMIT_I915_CONTEXT_SETPARAM;
	case I915_GEM_CONTEXT_GETPARAM:
		return SUBMIT_I915_CONTEXT_GETPARAM;
	case I915_GEM_VM_CREATE:
		return SUBMIT_I915_VM_CREATE;
	default:
		return 0;
	}
}

/* Work to do before the driver runs. */
static __always_inline void on_before(__u32 command, const void *data, const void *file)
{
	if (command == I915_GEM_CONTEXT_DESTROY)
		on_context_destroy(data, file, 1);
	else if (command == I915_GEM_VM_DESTROY)
		on_vm_destroy(data, file, 1);
}

/* The same for a simulated call. False: it is not such a call. */
static __always_inline bool run_before(__u32 what, const void *data, const void *file)
{
	if (what == SUBMIT_I915_VM_DESTROY)
		on_vm_destroy(data, file, 1);
	else if (what == SUBMIT_I915_CONTEXT_DESTROY)
		on_context_destroy(data, file, 1);
	else
		return false;
	return true;
}

static const char driver_name[] = "i915";

#include "bpf/submit/programs.bpf.h"

/* ---- the programs ---------------------------------------------------------------------------- */

ON_CALL(exec, i915_gem_execbuffer2_ioctl, SUBMIT_EXEC, NULL)
I915_FUNCTIONS(ON_CALL, ON_BEGIN)
ON_CLOSE(i915_driver_postclose)
ON_MMAP(i915_gem_mmap)

#include "bpf/submit/syscalls.bpf.h"
