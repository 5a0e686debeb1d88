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
#define SUBMIT_FIND   find_range
#define SUBMIT_FOUND  on_found
#define SUBMIT_MISSED on_missed
#include "bpf/submit.h"

#include "event/xe_abi.h"

enum {
	BUCKETS_MOST = 8192,
	LOCK_TRIES = 64,
	/* Of one call: bounds how long a program keeps a processor inside the kernel, whatever it binds. */
	STEPS_MOST = 16384,
	TELLS_MOST = 1024,
	/* … what is done costs so many of them, one being a look for a bucket that is not there. */
	STEPS_A_CUT = 3,
	STEPS_A_PUT = 6,
	STEPS_A_TAKE = 12,
	STEPS_A_WALK = 2048, /* through the table, whatever is in it */
	WALK_FROM = 1024     /* buckets to be looked for: so many are found sooner by a walk */
};

enum {
	CALL_EXEC = SUBMIT_XE_EXEC,
	CALL_VM_CREATE = SUBMIT_XE_VM_CREATE,
	CALL_VM_BIND = SUBMIT_XE_VM_BIND,
	CALL_QUEUE_CREATE = SUBMIT_XE_QUEUE_CREATE,
	CALL_MMAP_OFFSET = SUBMIT_XE_MMAP_OFFSET,
	CALL_MMAP = SUBMIT_XE_MMAP,
	CALL_VM_DESTROY = SUBMIT_XE_VM_DESTROY
};

/* An address space. Where what is bound in it is not known any more it gets another number. */
struct space {
	__u64 number;
	struct gpu_range rest; /* what is everywhere else, as in struct submit_open */
};

/* By its number in the file. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct submit_id);
	__type(value, struct space);
} spaces SEC(".maps");

/* Those that are not there any more are taken out with their address space, or its file. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BUCKETS_MOST);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct gpu_bucket_key);
	__type(value, struct gpu_bucket);
} buckets SEC(".maps");

static const struct gpu_bucket no_bucket;

/* What was bound up to this number is not known, in any address space: a bind was seen, and not whose. */
__u64 forgets_until;

#define GPU_RANGES_NOTHING 0

/* ---- where what is ----------------------------------------------------------------------------- */

static __always_inline struct gpu_bucket_key bucket_key(__u64 vm, __u64 number, __u32 level)
{
	return (struct gpu_bucket_key){vm, number, level, 0};
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

/* Of what is everywhere else, the part that no bind can have changed within. */
static __always_inline bool find_in_rest(const struct gpu_range *rest, __u64 address,
					 struct gpu_range *ret_range)
{
	const __u64 page = address & ~((1ULL << PAGE_SHIFT) - 1);

	if (address >= rest->end || address < rest->begin)
		return false;
	*ret_range = *rest;
	ret_range->begin = page;
	ret_range->end = page + (1ULL << PAGE_SHIFT);
	ret_range->offset = rest->offset + (page - rest->begin);
	return true;
}

static __always_inline bool find_range(struct submit_scratch *scratch, __u64 address,
				       struct gpu_range *ret_range)
{
	const __u64 vm = scratch->open.vm;

	for (__u32 level = 0; level < GPU_RANGE_LEVELS; level++) {
		const struct gpu_bucket_key key =
			bucket_key(vm, address >> gpu_range_shift(level), level);

		if (find_in_bucket(&key, address, ret_range))
			return ret_range->number > forgets_until;
	}
	return find_in_rest(&scratch->open.rest, address, ret_range) &&
	       ret_range->number > forgets_until;
}

/* ---- address spaces that end ------------------------------------------------------------------- */

/* Which of two is not 0. */
struct dropping {
	__u64 vm, owner;
};

static long drop_bucket(void *map, const struct gpu_bucket_key *key, struct gpu_bucket *bucket,
			const struct dropping *dropping)
{
	struct gpu_bucket_key own;

	if (dropping->vm ? key->vm != dropping->vm : !is_of_file(bucket->owner, dropping->owner))
		return 0;
	own = *key;
	bpf_map_delete_elem(&buckets, &own);
	return 0;
}

static __always_inline void drop_space(__u64 vm)
{
	struct dropping dropping = {.vm = vm};

	bpf_for_each_map_elem(&buckets, drop_bucket, &dropping, 0);
	tell_unbound(vm, 0, 0);
}

/* What is bound in it is not known: nothing of it is found any more, and what comes is in another one. */
SUBMIT_CALL void_space(const struct submit_id *key)
{
	struct space *space = bpf_map_lookup_elem(&spaces, key);
	const struct space fresh = {.number = new_number()};
	__u64 vm;

	if (!space)
		return;
	vm = space->number;
	count(SUBMIT_COUNT_VOIDED);
	bpf_map_update_elem(&spaces, key, &fresh, BPF_ANY);
	drop_space(vm);
}

static __always_inline struct space *space_of(const struct submit_id *key)
{
	struct space *known = bpf_map_lookup_elem(&spaces, key);
	struct space fresh = {0};

	if (known)
		return known;
	fresh.number = new_number();
	bpf_map_update_elem(&spaces, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&spaces, key);
}

/* ---- binds ------------------------------------------------------------------------------------- */

struct bind {
	struct gpu_range range; /* object 0: nothing is bound there from now on */
	struct submit_id space;
	__u64 vm;
	__u32 level;
	__u32 steps, tells; /* of the call so far */
	__u32 is_over;   /* it has come to the most, or another holds a bucket: the space is void */
	__u32 has_cut;   /* there was something */
	__u32 is_mirror; /* the process's own memory, at the same address */
	__u64 vector; /* where the operations are; 0: there is one, in the call's own arguments */
};

/* What loops are handed lies on the stack. */
struct binding {
	struct bind *bind;
	struct submit_scratch *scratch;
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

/* False: there are no more. */
static __always_inline bool take_steps(struct bind *bind, __u32 steps)
{
	bind->steps += steps;
	bind->is_over |= bind->steps > STEPS_MOST;
	return !bind->is_over;
}

static __always_inline void cut_bucket(struct bind *bind, struct gpu_bucket *bucket)
{
	__u32 lost;

	if (!take_steps(bind, STEPS_A_CUT))
		return;
	if (!lock_bucket(bucket)) {
		bind->is_over = 1;
		return;
	}
	lost = bucket->lost;
	bind->has_cut |= gpu_bucket_cut(bucket, bind->range.begin, bind->range.end) != 0;
	count_lost(bucket, lost);
	unlock_bucket(bucket);
}

/* The so-manieth of all buckets that a part of a range may be in, the smallest first. */
static long cut_one(__u32 index, struct binding *binding)
{
	struct bind *bind = binding->bind;
	const __u64 begin = bind->range.begin, end = bind->range.end;
	__u64 left = index;
	__u32 level = 0;
	struct gpu_bucket_key key;
	struct gpu_bucket *bucket;

	for (int i = 0; i < GPU_RANGE_LEVELS - 1; i++) {
		const __u64 here = gpu_range_buckets(begin, end, level);

		if (left < here)
			break;
		left -= here;
		level++;
	}
	key = bucket_key(bind->vm, (begin >> gpu_range_shift(level)) + left, level);
	bucket = bpf_map_lookup_elem(&buckets, &key);
	if (bucket)
		cut_bucket(bind, bucket);
	return !take_steps(bind, 1);
}

/* Of a range in which many may be: of those that there are. */
static long cut_met(void *map, const struct gpu_bucket_key *key, struct gpu_bucket *bucket,
		    struct binding *binding)
{
	struct bind *bind = binding->bind;
	const __u32 shift = gpu_range_shift(key->level);

	if (key->vm == bind->vm && key->number <= (bind->range.end - 1) >> shift &&
	    key->number >= bind->range.begin >> shift)
		cut_bucket(bind, bucket);
	return !take_steps(bind, 1);
}

/* What was there is not any more. */
static __always_inline void cut_all(struct bind *bind)
{
	struct binding binding = {.bind = bind};
	__u64 all = 0;

	for (__u32 level = 0; level < GPU_RANGE_LEVELS; level++)
		all += gpu_range_buckets(bind->range.begin, bind->range.end, level);
	if (all <= WALK_FROM)
		bpf_loop((__u32)all, cut_one, &binding, 0);
	else if (take_steps(bind, STEPS_A_WALK))
		bpf_for_each_map_elem(&buckets, cut_met, &binding, 0);
}

static __always_inline struct gpu_bucket *bucket_of(const struct gpu_bucket_key *key, __u64 owner)
{
	struct gpu_bucket *bucket = bpf_map_lookup_elem(&buckets, key);

	if (bucket)
		return bucket;
	bpf_map_update_elem(&buckets, key, &no_bucket, BPF_NOEXIST);
	bucket = bpf_map_lookup_elem(&buckets, key);
	if (bucket)
		bucket->owner = owner;
	return bucket;
}

static long put_one(__u32 index, struct binding *binding)
{
	struct bind *bind = binding->bind;
	const __u64 number = (bind->range.begin >> gpu_range_shift(bind->level)) + index;
	const struct gpu_bucket_key key = bucket_key(bind->vm, number, bind->level);
	struct gpu_bucket *bucket = bucket_of(&key, bind->space.file);
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

/* That so much ends with one call is told as the end of all. */
static __attribute__((noinline)) void tell_cut(struct bind *bind, __u64 begin, __u64 end)
{
	if (bind->tells++ < TELLS_MOST)
		tell_unbound(bind->vm, begin, end);
	else if (bind->tells == TELLS_MOST + 1)
		tell_unbound(bind->vm, 0, 0);
}

static __always_inline void put_all(struct bind *bind)
{
	struct binding binding = {.bind = bind};
	struct space *space;

	bind->level = gpu_range_level(bind->range.end - bind->range.begin);
	if (bind->level < GPU_RANGE_LEVELS) {
		if (take_steps(bind, STEPS_A_PUT))
			bpf_loop((__u32)gpu_range_buckets(bind->range.begin, bind->range.end,
							  bind->level),
				 put_one, &binding, 0);
		return;
	}
	space = bind->is_mirror ? bpf_map_lookup_elem(&spaces, &bind->space) : NULL;
	if (space)
		space->rest = bind->range;
	else
		count(SUBMIT_COUNT_BINDINGS);
}

static __always_inline void apply(struct bind *bind)
{
	bind->has_cut = 0;
	cut_all(bind);
	if (bind->is_over)
		return;
	/* what was bound before us may lie where something is unbound; to bind does not end what nobody has seen */
	if (bind->range.object == GPU_RANGES_NOTHING || bind->has_cut)
		tell_cut(bind, bind->range.begin, bind->range.end);
	bind->range.number = new_number();
	if (bind->range.object != GPU_RANGES_NOTHING)
		put_all(bind);
}

/* ---- … of an object */

struct taking {
	struct bind *bind;
	struct gpu_bucket *bucket;
};

static long take_place(__u32 place, struct taking *taking)
{
	struct gpu_range range = {0};

	if (gpu_bucket_take(taking->bucket, place, taking->bind->range.object, &range))
		tell_cut(taking->bind, range.begin, range.end);
	return 0;
}

static long take_out(void *map, const struct gpu_bucket_key *key, struct gpu_bucket *bucket,
		     struct binding *binding)
{
	struct bind *bind = binding->bind;
	struct taking taking = {bind, bucket};

	if (!take_steps(bind, 1))
		return 1;
	if (key->vm != bind->vm)
		return 0;
	if (!take_steps(bind, STEPS_A_TAKE) || !lock_bucket(bucket)) {
		bind->is_over = 1;
		return 1;
	}
	bpf_loop(GPU_RANGES_A_BUCKET, take_place, &taking, 0);
	unlock_bucket(bucket);
	return 0;
}

/* An object that nobody has seen has no place that we know. */
static __always_inline void take_out_all(struct bind *bind, __u32 handle)
{
	const struct submit_id key = {bind->space.file, handle};
	const __u64 *object = bpf_map_lookup_elem(&handles, &key);
	struct binding binding = {.bind = bind};

	if (!object)
		return;
	bind->range.object = *object;
	if (take_steps(bind, STEPS_A_WALK))
		bpf_for_each_map_elem(&buckets, take_out, &binding, 0);
}

/* ---- … as the program asks for it */
/* What an operation puts there. False: it changes nothing. */
static __always_inline bool choose_object(struct bind *bind, const struct xe_vm_bind_op *operation)
{
	const __u64 own = SUBMIT_USER_POINTER | bpf_get_current_pid_tgid() >> 32;

	bind->is_mirror = 0;
	bind->range.object = GPU_RANGES_NOTHING;
	switch (operation->op) {
	case XE_BIND_UNMAP:
		return true;
	case XE_BIND_MAP_USERPTR:
		bind->range.object = own;
		bind->range.offset = operation->userptr;
		return true;
	case XE_BIND_MAP:
		break;
	default:
		return false;
	}
	if (operation->flags & XE_BIND_CPU_ADDR_MIRROR) {
		bind->is_mirror = 1;
		bind->range.object = own;
		bind->range.offset = bind->range.begin;
	} else if (!(operation->flags & XE_BIND_NULL)) {
		bind->range.object = object_number(bind->space.file, operation->obj);
		bind->range.offset = operation->obj_offset;
	}
	return true;
}

/* The rest goes with all of it. */
static __always_inline void cut_rest(const struct bind *bind)
{
	struct space *space = bpf_map_lookup_elem(&spaces, &bind->space);

	if (space && bind->range.begin <= space->rest.begin && bind->range.end >= space->rest.end)
		space->rest.end = 0;
}

static __always_inline void take_bind(struct bind *bind, const struct xe_vm_bind_op *operation)
{
	bind->range.begin = batch_plain_address(&(struct batch_state){.generation = BATCH_XE3P},
						operation->addr);
	bind->range.end = bind->range.begin + operation->range;
	if (operation->op == XE_BIND_UNMAP_ALL) {
		take_out_all(bind, operation->obj);
	} else if (bind->range.end > bind->range.begin && choose_object(bind, operation)) {
		cut_rest(bind);
		apply(bind);
	}
}

static long take_further(__u32 index, struct binding *binding)
{
	struct bind *bind = binding->bind;
	struct xe_vm_bind_op *operation = &((struct xe_vm_bind *)binding->scratch->arguments)->bind;

	/* also of one that changes nothing */
	if (!take_steps(bind, 1))
		return 1;
	/* one is where several begin */
	if (bind->vector &&
	    bpf_probe_read_user(operation, sizeof(*operation),
				(const void *)(bind->vector + index * sizeof(*operation)))) {
		bind->is_over = 1;
		return 1;
	}
	take_bind(bind, operation);
	return bind->is_over != 0;
}

static __always_inline void on_vm_bind(const struct submit_call *call,
				       struct submit_scratch *scratch)
{
	const struct xe_vm_bind *arguments = (struct xe_vm_bind *)scratch->arguments;
	struct bind *bind = (struct bind *)scratch->work;
	struct binding binding = {bind, scratch};
	const struct space *space = space_of(&call->space);

	if (!space)
		return;
	if (!read_data(scratch->arguments, sizeof(*arguments), call->data, call->is_user)) {
		void_space(&call->space);
		return;
	}
	__builtin_memset(bind, 0, sizeof(*bind));
	bind->space = call->space;
	bind->vm = space->number;
	bind->vector = arguments->num_binds > 1 ? arguments->vector_of_binds : 0;
	/* Each takes a step at least. bpf_loop refuses what is far beyond, and does nothing then. */
	if (arguments->num_binds > STEPS_MOST)
		bind->is_over = 1;
	else
		bpf_loop(arguments->num_binds, take_further, &binding, 0);
	if (bind->is_over)
		void_space(&call->space);
}

_Static_assert(sizeof(struct bind) <= sizeof(((struct submit_scratch *)0)->work), "it has room");

/* ---- address spaces, queues, buffers ----------------------------------------------------------- */

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
	tell_met();
}

/* The driver has done it, and its number may be another's by now. It may refuse: while its queues run on. */
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
	tell_unbound(space->number, 0, 0);
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

/* False: it is not told, or cannot be read now; *ret_key has the file then. */
static __always_inline bool read_space(__u32 what, const void *data, const void *file,
				       __u32 is_user, struct submit_id *ret_key)
{
	const __u64 place = what == CALL_VM_BIND ? __builtin_offsetof(struct xe_vm_bind, vm_id)
						 : __builtin_offsetof(struct xe_vm_destroy, vm_id);
	__u32 id = 0;
	const bool is_read = read_data(&id, sizeof(id), (const char *)data + place, is_user);

	ret_key->file = file_number(file);
	ret_key->id = id;
	return is_read;
}

static __always_inline bool has_space(__u32 what)
{
	return what == CALL_VM_BIND || what == CALL_VM_DESTROY;
}

/* Which space a call is about is told by the program that makes it, and may be read here for the last time. */
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

/* A space of the file has been changed, and not known is which. */
SUBMIT_CALL void_file(__u64 file)
{
	count(SUBMIT_COUNT_VOIDED);
	drop_files(file);
}

/* Binds say where they end. */
static __always_inline void on_found(struct submit_scratch *scratch)
{
}

static __always_inline void on_missed(const struct submit_call *call)
{
	if (call->what == CALL_EXEC)
		count(SUBMIT_COUNT_CALLS);
	else if (has_space(call->what) && call->space.file)
		void_space(&call->space);
	else if (has_space(call->what))
		void_file(file_number(call->file));
}

/* The end of a call whose begin was not seen. Without a file it may be anyone's. */
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

	/* the driver refuses what has more in it */
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

/* With its number all that it numbers is out of reach; what fills a table is taken out as well. */
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

/* ---- submissions ------------------------------------------------------------------------------- */

/* Where the batches of a call are: *inout_address is that of their addresses, and that of the first one then. */
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
	if (number > SUBMIT_BATCHES_MOST)
		number = SUBMIT_BATCHES_MOST;
	barrier_var(number);
	if (number > SUBMIT_BATCHES_MOST ||
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
	tell_submission(scratch, call, address, queue);
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

/* Memory of the program's may be there by now that was not when the call began. False: it is not, and its file is void. */
static __attribute__((noinline)) bool begin_late(struct submit_call *call)
{
	on_begin(call->what, call);
	if (call->space.file)
		return true;
	void_file(file_number(call->file));
	return false;
}

/* What else the driver has done. */
static __always_inline void on_done(__u32 what, struct submit_call *call)
{
	if (has_space(what) && !call->space.file && !begin_late(call))
		return;
	if (what == CALL_VM_BIND)
		end_bind(call);
	else if (what == CALL_VM_CREATE)
		on_vm_create(call);
	else if (what == CALL_VM_DESTROY)
		on_vm_destroy(call);
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
	case XE_VM_DESTROY:
		return CALL_VM_DESTROY;
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
	if (command == XE_EXEC_QUEUE_DESTROY)
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
ON_ENTRY(vm_destroy_enter, xe_vm_destroy_ioctl, CALL_VM_DESTROY)
ON_EXIT(vm_destroy_exit, xe_vm_destroy_ioctl, CALL_VM_DESTROY)
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
ON_PROBE(probe_vm_destroy, xe_vm_destroy_ioctl, CALL_VM_DESTROY)
ON_RETURN(return_vm_destroy, xe_vm_destroy_ioctl, CALL_VM_DESTROY)
ON_PROBE_BEGIN(probe_queue_destroy, xe_exec_queue_destroy_ioctl, on_queue_destroy)
ON_PROBE_BEGIN(probe_gem_close, drm_gem_close_ioctl, on_gem_close)

ON_PROBE_CLOSE(probe_file_close, xe_file_close)
ON_PROBE_MMAP(probe_mmap, return_mmap, drm_gem_mmap)

/* ---- by the way into all drivers --------------------------------------------------------------- */

ON_WAY_IN(way_enter, way_exit)

#include "bpf/submit_syscalls.h"

/* ---- without a driver -------------------------------------------------------------------------- */

SEC("syscall")
int run_call(struct submit_request *request)
{
	const void *data = (const void *)request->data, *file = (const void *)request->file;

	switch (request->call) {
	case SUBMIT_XE_QUEUE_DESTROY:
		on_queue_destroy(data, file, 1);
		return 0;
	case SUBMIT_XE_GEM_CLOSE:
		on_gem_close(data, file, 1);
		return 0;
	case SUBMIT_XE_FILE_CLOSE:
		on_file_close(file);
		return 0;
	case SUBMIT_XE_NAME:
		return run_name(data);
	case SUBMIT_XE_ANY:
		try_again();
		return 0;
	case SUBMIT_XE_MMAP:
		run_mmap(request);
		return 0;
	case SUBMIT_XE_EXIT:
		end_process(bpf_get_current_pid_tgid() >> 32);
		return 0;
	default:
		return run_through(request);
	}
}
