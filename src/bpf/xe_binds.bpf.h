/* SPDX-License-Identifier: MIT
 *
 * bpf/xe_binds.bpf.h - the binds of xe's address spaces: look them up, cut them, add new ones
 *
 * Runs in:  the kernel, in the thread that calls the driver
 * Gets:     the arguments of DRM_XE_VM_BIND
 * Gives:    `buckets`, which map GPU addresses to objects
 * Fails:    if a bucket is full or a call has too many steps, the remaining binds are counted as
 *           lost
 *
 * A part of xe.bpf.c. Include with these macros defined, or functions: find_range, on_found,
 * on_missed.
 */
#pragma once

/* ---- lookups --------------------------------------------------------------------------------- */

static __always_inline struct gpu_bucket_key bucket_key(__u64 vm, __u64 number, __u32 level)
{
	return (struct gpu_bucket_key){vm, number, level, 0};
}

/* A writer makes the version odd, and then even and different. */
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

/* The part of the rest in which no bind can have changed. */
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

/* ---- address spaces that end ----------------------------------------------------------------- */

/* One of the two is 0. */
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
	send_unbound(vm, 0, 0);
}

/* Its binds are unknown: none of them is found any more, and new ones go to another number. */
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

/* ---- binds ----------------------------------------------------------------------------------- */

struct bind {
	struct gpu_range range; /* object 0: nothing is bound there from now on */
	struct submit_id space;
	__u64 vm;
	__u32 level;
	__u32 steps, sends; /* sums for the call so far */
	/* the limit is reached, or another thread holds a bucket: the space is void */
	__u32 is_over;
	__u32 has_cut;   /* there was something */
	__u32 is_mirror; /* the process's own memory, at the same address */
	__u64 vector; /* address of the operations; 0: there is one, in the call's own arguments */
};

/* Argument of loops, on the stack. */
struct binding {
	struct bind *bind;
	struct submit_scratch *scratch;
};

/* Global, as the functions of bpf/gpu_ranges.bpf.h are: checked once. */
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

/* Losses of a bucket are counted when it is released. */
static __always_inline void count_lost(struct gpu_bucket *bucket, __u32 before)
{
	if (bucket->lost != before)
		count(SUBMIT_COUNT_BINDINGS);
}

/* False: no steps are left. */
static __always_inline bool take_steps(struct bind *bind, __u32 steps)
{
	bind->steps += steps;
	bind->is_over |= bind->steps > MAX_STEPS;
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

/* Cuts one bucket that a part of a range may be in; `index` counts them from the smallest. */
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

/* For a range with many possible buckets: iterates over the existing ones. */
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

/* Everything bound there ends. */
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

/* If too much ends with one call, it is reported as the end of everything. */
static __attribute__((noinline)) void send_cut(struct bind *bind, __u64 begin, __u64 end)
{
	if (bind->sends++ < MAX_SENDS)
		send_unbound(bind->vm, begin, end);
	else if (bind->sends == MAX_SENDS + 1)
		send_unbound(bind->vm, 0, 0);
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
	/* an earlier, unseen bind may be at an unbound range; a new bind does not end unseen ones
	 */
	if (bind->range.object == GPU_RANGES_NOTHING || bind->has_cut)
		send_cut(bind, bind->range.begin, bind->range.end);
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
		send_cut(taking->bind, range.begin, range.end);
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

/* An object that was never seen has no known address. */
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
/* The range that an operation binds. False: it changes nothing. */
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

/* Forgets the rest of the address space too. */
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

	/* also for an operation that changes nothing */
	if (!take_steps(bind, 1))
		return 1;
	/* a single operation is in the place of the vector */
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
	/* Each takes a step at least. bpf_loop refuses a count far beyond the limit and then does
	 * nothing. */
	if (arguments->num_binds > MAX_STEPS)
		bind->is_over = 1;
	else
		bpf_loop(arguments->num_binds, take_further, &binding, 0);
	if (bind->is_over)
		void_space(&call->space);
}

_Static_assert(sizeof(struct bind) <= sizeof(((struct submit_scratch *)0)->work), "it has room");
