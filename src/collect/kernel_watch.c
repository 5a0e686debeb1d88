/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_watch.c - what the kernel knows of a switch beyond what perf tells
 *
 * Runs in:  the recorder; loading in a thread of its own, which has no rights but to do that
 * Gets:     records of src/bpf/sched.bpf.c   Gives: each to whoever asks for its thread and time
 * Owns:     the programs inside the kernel, the records that nobody has asked for yet (65,536 at most, 9 MiB)
 * Fails:    to load: nothing is known; a record that has no room is counted
 * Why:      perf's records are there for everybody, from the first instruction on, and say when; these say who. So they
 *           are matched: a switch is written here first, and by perf some hundred nanoseconds later, before anything
 *           else can happen to its thread.
 */
#include "collect/kernel_watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/thread.h"
#include "bpf/objects.h"
#include "collect/host_clocks.h"
#include "collect/kernel_ring.h"
#include "collect/rights.h"

enum {
	RECORDS_MOST = 65536,
	STACKS_MOST = 1024, /* that nobody has asked for yet */
	/* Between the two records of a switch; more only where the machine itself stood still (a guest that was stopped). */
	APART_NS = 1000000,
	NONE = UINT32_MAX
};

struct kept {
	union {
		struct kernel_head head;
		struct kernel_out out;
		struct kernel_in in;
	};
	uint32_t next; /* of the same thread, later; of a free one any */
};

/* Of a thread, oldest first. */
struct queue {
	uint32_t first, last;
};

struct kernel_watch {
	pthread_t thread;
	_Atomic enum kernel_watch_state state;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_over, is_loading; /* of the load; under the lock */
	bool needs_right;
	bool is_trial, is_joined; /* of the thread */
	uint64_t load_ns;
	char reason[PATH_MAX + 600];
	struct kernel_watch_options options;
	struct kernel_object *object;
	struct kernel_ring *ring; /* owned */
	int watched_fd, stacks_fd, counts_fd, allowance_fd, told_fd, interrupts_fd;
	int processors;
	void *values;      /* owned; of one key on each processor, the largest that there are */
	struct kept *kept; /* owned */
	size_t kept_count, kept_capacity;
	uint32_t free_first;
	struct hash_map queues; /* tid -> struct queue */
	struct hash_map stacks; /* user_stack -> struct kernel_stack *, owned */
	uint64_t refused, told_lost, told_unsummed, refused_processes;
	struct kept current;
};

static const struct kernel_program programs[] = {
	{.name = "on_switch", .lacks = "who takes a thread's processor, and what it waits for"},
	{.name = "on_waking"},
	{.name = "on_waking_unsure", .instead_of = "on_waking", .lacks = "who wakes a thread"},
	{.name = "on_fork", .lacks = "what processes do that the program starts"},
	{.name = "on_request", .lacks = "which disk a thread waits for"},
	{.name = "on_fault", .lacks = "which file's page a thread waits for"},
};

/* … where they are asked for. */
static const struct kernel_program interrupt_programs[] = {
	{.name = "on_interrupt", .lacks = "the time of interrupts"},
	{.name = "on_interrupt_end", .lacks = "the time of interrupts"},
	{.name = "on_soft_interrupt", .lacks = "the time of soft interrupts"},
	{.name = "on_soft_interrupt_end", .lacks = "the time of soft interrupts"},
};

enum { PROGRAMS = ARRAY_COUNT(programs), ALL = PROGRAMS + ARRAY_COUNT(interrupt_programs) };

/* ---- loading ----------------------------------------------------------------------------------- */

static void on_record(void *context, const void *data, size_t size);
static void on_stack(void *context, const void *data, size_t size);

/* The programs' two variables. */
static bool watch_all(const struct kernel_watch *watch)
{
	struct bpf_map *variables = kernel_object_map(watch->object, ".bss");
	const uint32_t values[2] = {1, (uint32_t)getpid()}, key = 0;

	return variables && bpf_map__value_size(variables) == sizeof(values) &&
	       bpf_map_update_elem(bpf_map__fd(variables), &key, values, BPF_ANY) == 0;
}

/* By the variable of this kernel that holds preempt_count. Before Linux 5.17 no program can find it out, and the last one serves
 * all. */
static void choose_object(struct kernel_object_options *options)
{
	if (kernel_object_loads(bpf_preempt, bpf_preempt_size, "is_hot")) {
		options->elf = bpf_sched_hot;
		options->elf_bytes = bpf_sched_hot_size;
	} else if (kernel_object_loads(bpf_preempt, bpf_preempt_size, "is_alone")) {
		options->elf = bpf_sched;
		options->elf_bytes = bpf_sched_size;
	} else {
		options->elf = bpf_sched_unsure;
		options->elf_bytes = bpf_sched_unsure_size;
	}
}

static int open_object(struct kernel_watch *watch)
{
	struct kernel_program chosen[ALL];
	struct kernel_object_options options = {
		.name = "sched", .programs = chosen, .programs_count = ALL, .is_of_events = true};
	int error;

	memcpy(chosen, programs, sizeof(programs));
	memcpy(chosen + PROGRAMS, interrupt_programs, sizeof(interrupt_programs));
	for (size_t i = PROGRAMS; i < ALL; i++)
		chosen[i].is_spared = !watch->options.interrupts;
	choose_object(&options);
	error = kernel_object_open(&options, &watch->object);
	if (error)
		return error;
	if (!kernel_object_runs(watch->object, "on_switch")) {
		size_t count;

		return error_set(-ENOTSUP, "programs inside the kernel (BPF): %s",
				 kernel_object_reports(watch->object, &count)->reason);
	}
	watch->watched_fd = bpf_map__fd(kernel_object_map(watch->object, "watched"));
	watch->stacks_fd = bpf_map__fd(kernel_object_map(watch->object, "stacks"));
	watch->allowance_fd = bpf_map__fd(kernel_object_map(watch->object, "allowance"));
	watch->told_fd = bpf_map__fd(kernel_object_map(watch->object, "told_stacks"));
	watch->counts_fd = bpf_map__fd(kernel_object_map(watch->object, "counts"));
	if (watch->options.on_record && !watch_all(watch))
		return error_set(-ENOTSUP,
				 "programs inside the kernel (BPF): this kernel does not let "
				 "them watch all processes: %s",
				 strerror(errno));
	watch->interrupts_fd = bpf_map__fd(kernel_object_map(watch->object, "interrupts"));
	watch->processors = libbpf_num_possible_cpus();
	error = kernel_ring_open(watch->object, "records", on_record, watch, &watch->ring);
	if (!error)
		error = kernel_ring_add(watch->ring, watch->object, "user_stacks", on_stack);
	if (error)
		return error;
	if (watch->processors > 0)
		watch->values = calloc((size_t)watch->processors, sizeof(struct kernel_interrupt));
	if (!watch->values)
		return error_set(-ENOMEM, "programs inside the kernel (BPF): no memory for their "
					  "records");
	return 0;
}

/* Whether it is still wanted. */
static bool wait_a_little(struct kernel_watch *watch)
{
	struct timespec until;
	bool is_over = false;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += KERNEL_WATCH_DELAY_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&watch->lock);
	while (!watch->is_over &&
	       pthread_cond_timedwait(&watch->changed, &watch->lock, &until) == 0)
		;
	is_over = watch->is_over;
	watch->is_loading = !is_over;
	pthread_mutex_unlock(&watch->lock);
	return !is_over;
}

/* Asked by a thread that has no rights any more. */
static bool is_look_refused(const struct kernel_watch *watch)
{
	const uint32_t key = KERNEL_COUNT_RECORDS;

	return bpf_map_lookup_elem(watch->counts_fd, &key, watch->values) == -EPERM;
}

static void *load(void *argument)
{
	struct kernel_watch *watch = argument;
	uint64_t begin_ns;

	if (!watch->is_trial && !wait_a_little(watch))
		return NULL;
	begin_ns = host_clocks_now_ns();
	rights_keep_loading(false);
	if (open_object(watch)) {
		snprintf(watch->reason, sizeof(watch->reason), "%s", error_text());
		error_clear();
		watch->state = KERNEL_WATCH_REFUSED;
	} else {
		watch->load_ns = host_clocks_now_ns() - begin_ns;
		rights_keep_none();
		watch->needs_right = is_look_refused(watch);
		watch->state = KERNEL_WATCH_READY;
	}
	return NULL;
}

static int start(const struct kernel_watch_options *options, bool is_trial,
		 struct kernel_watch **ret_watch)
{
	struct kernel_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return error_set(-ENOMEM, "programs inside the kernel (BPF): out of memory");
	hash_map_init(&watch->queues);
	hash_map_init(&watch->stacks);
	watch->options = *options;
	watch->free_first = NONE;
	watch->is_trial = is_trial;
	pthread_mutex_init(&watch->lock, NULL);
	pthread_cond_init(&watch->changed, NULL);
	if (!thread_start(&watch->thread, load, watch)) {
		free(watch);
		return error_set(-EAGAIN,
				 "programs inside the kernel (BPF): no thread to load them");
	}
	*ret_watch = watch;
	return 0;
}

int kernel_watch_start(const struct kernel_watch_options *options, struct kernel_watch **ret_watch)
{
	return start(options, false, ret_watch);
}

int kernel_watch_try(struct kernel_watch **ret_watch)
{
	const struct kernel_watch_options options = {0};
	int error = start(&options, true, ret_watch);

	if (error)
		return error;
	pthread_join((*ret_watch)->thread, NULL);
	(*ret_watch)->is_joined = true;
	return 0;
}

static void free_stacks(struct kernel_watch *watch)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&watch->stacks, &cursor, NULL, &value))
		free((void *)(uintptr_t)value);
	hash_map_clear(&watch->stacks);
}

void kernel_watch_stop(struct kernel_watch *watch)
{
	bool is_loading;

	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->is_over = true;
	pthread_cond_signal(&watch->changed);
	/* What goes on inside libbpf cannot be stopped; nobody waits for it: it is the recorder's last second anyway. */
	is_loading = watch->is_loading && watch->state == KERNEL_WATCH_LOADS;
	pthread_mutex_unlock(&watch->lock);
	if (is_loading) {
		pthread_detach(watch->thread);
		return;
	}
	if (!watch->is_joined)
		pthread_join(watch->thread, NULL);
	kernel_ring_close(watch->ring);
	kernel_object_close(watch->object);
	hash_map_fini(&watch->queues);
	free_stacks(watch);
	hash_map_fini(&watch->stacks);
	free(watch->kept);
	free(watch->values);
	free(watch);
}

enum kernel_watch_state kernel_watch_state(const struct kernel_watch *watch,
					   const char **ret_reason)
{
	*ret_reason = watch->state == KERNEL_WATCH_REFUSED ? watch->reason : "";
	return watch->state;
}

uint64_t kernel_watch_load_ns(const struct kernel_watch *watch)
{
	return watch->load_ns;
}

const struct kernel_program_report *kernel_watch_reports(const struct kernel_watch *watch,
							 size_t *ret_count)
{
	return kernel_object_reports(watch->object, ret_count);
}

bool kernel_watch_needs_right(const struct kernel_watch *watch)
{
	return watch->needs_right;
}

/* ---- processes --------------------------------------------------------------------------------- */

void kernel_watch_add(struct kernel_watch *watch, uint32_t pid)
{
	const uint8_t one = 1;

	watch->refused_processes +=
		bpf_map_update_elem(watch->watched_fd, &pid, &one, BPF_ANY) != 0;
}

void kernel_watch_remove(struct kernel_watch *watch, uint32_t pid)
{
	bpf_map_delete_elem(watch->watched_fd, &pid);
}

/* ---- records ----------------------------------------------------------------------------------- */

static struct kept *new_kept(struct kernel_watch *watch, uint32_t *ret_index)
{
	if (watch->free_first != NONE) {
		*ret_index = watch->free_first;
		watch->free_first = watch->kept[*ret_index].next;
		return &watch->kept[*ret_index];
	}
	if (watch->kept_count == RECORDS_MOST ||
	    array_grow(watch->kept, watch->kept_capacity, watch->kept_count + 1))
		return NULL;
	*ret_index = (uint32_t)watch->kept_count++;
	return &watch->kept[*ret_index];
}

static struct queue queue_of(const struct kernel_watch *watch, uint32_t tid)
{
	const uint64_t none = (uint64_t)NONE << 32 | NONE;
	const uint64_t value = hash_map_get(&watch->queues, tid, none);

	return (struct queue){(uint32_t)(value >> 32), (uint32_t)value};
}

static bool put_queue(struct kernel_watch *watch, uint32_t tid, struct queue queue)
{
	if (queue.first != NONE)
		return !hash_map_put(&watch->queues, tid, (uint64_t)queue.first << 32 | queue.last);
	hash_map_remove(&watch->queues, tid, NULL);
	return true;
}

static void free_kept(struct kernel_watch *watch, uint32_t index)
{
	watch->kept[index].next = watch->free_first;
	watch->free_first = index;
}

static void on_record(void *context, const void *data, size_t size)
{
	struct kernel_watch *watch = context;
	const struct kernel_head *head = data;
	struct queue queue;
	struct kept *kept;
	uint32_t index;

	if (size < sizeof(*head) || size > sizeof(struct kernel_out))
		return;
	if (watch->options.on_record) {
		if (size == (head->kind == KERNEL_RECORD_OUT ? sizeof(struct kernel_out)
							     : sizeof(struct kernel_in)))
			watch->options.on_record(watch->options.context, head);
		return;
	}
	kept = new_kept(watch, &index);
	if (!kept) {
		watch->refused++;
		return;
	}
	memcpy(&kept->out, data, size);
	kept->next = NONE;
	queue = queue_of(watch, head->tid);
	if (queue.first == NONE)
		queue.first = index;
	else
		watch->kept[queue.last].next = index;
	queue.last = index;
	if (!put_queue(watch, head->tid, queue)) {
		free_kept(watch, index);
		watch->refused++;
	}
}

/* Told once; what has no room here may be told again. */
static void forget_told(const struct kernel_watch *watch, uint64_t user_stack)
{
	bpf_map_delete_elem(watch->told_fd, &user_stack);
}

static void forget_stacks(struct kernel_watch *watch)
{
	size_t cursor = 0;
	uint64_t user_stack;

	while (hash_map_next(&watch->stacks, &cursor, &user_stack, NULL))
		forget_told(watch, user_stack);
	free_stacks(watch);
}

static void on_stack(void *context, const void *data, size_t size)
{
	struct kernel_watch *watch = context;
	const struct kernel_stack *told = data;
	const size_t head = offsetof(struct kernel_stack, stack);
	struct kernel_stack *kept;

	if (size < sizeof(*told) || told->bytes > KERNEL_STACK_BYTES)
		return;
	/* of processes that nobody asks for any more */
	if (watch->stacks.count >= STACKS_MOST)
		forget_stacks(watch);
	kept = malloc(head + told->bytes);
	if (!kept) {
		forget_told(watch, told->user_stack);
		return;
	}
	memcpy(kept, told, head + told->bytes);
	free(hash_map_find_pointer(&watch->stacks, told->user_stack));
	if (hash_map_put_pointer(&watch->stacks, told->user_stack, kept)) {
		/* of one that was there before, what is gone is not to be found */
		hash_map_remove(&watch->stacks, told->user_stack, NULL);
		forget_told(watch, told->user_stack);
		free(kept);
	}
}

struct kernel_stack *kernel_watch_take_user_stack(struct kernel_watch *watch, uint64_t user_stack)
{
	uint64_t value = 0;

	hash_map_remove(&watch->stacks, user_stack, &value);
	return (struct kernel_stack *)(uintptr_t)value;
}

void kernel_watch_allow_stacks(struct kernel_watch *watch, uint32_t count)
{
	const uint32_t key = 0;
	const int64_t value = count;

	bpf_map_update_elem(watch->allowance_fd, &key, &value, BPF_ANY);
}

void kernel_watch_drain(struct kernel_watch *watch)
{
	kernel_ring_drain(watch->ring);
}

/* The last one of the thread up to time_ns. */
static const struct kept *take(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns)
{
	struct queue queue = queue_of(watch, tid);
	const struct kept *found = NULL;

	if (queue.first == NONE || watch->kept[queue.first].head.time_ns > time_ns)
		return NULL;
	while (queue.first != NONE && watch->kept[queue.first].head.time_ns <= time_ns) {
		const uint32_t index = queue.first;

		watch->current = watch->kept[index];
		found = &watch->current;
		queue.first = watch->kept[index].next;
		free_kept(watch, index);
	}
	put_queue(watch, tid, queue);
	return found;
}

static const struct kept *match(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns,
				enum kernel_record_kind kind)
{
	const struct kept *kept = take(watch, tid, time_ns);

	return kept && kept->head.kind == kind && time_ns - kept->head.time_ns <= APART_NS ? kept
											   : NULL;
}

const struct kernel_out *kernel_watch_out(struct kernel_watch *watch, uint32_t tid,
					  uint64_t time_ns)
{
	const struct kept *kept = match(watch, tid, time_ns, KERNEL_RECORD_OUT);

	return kept ? &kept->out : NULL;
}

const struct kernel_in *kernel_watch_in(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns)
{
	const struct kept *kept = match(watch, tid, time_ns, KERNEL_RECORD_IN);

	return kept ? &kept->in : NULL;
}

size_t kernel_watch_stack(struct kernel_watch *watch, int32_t stack, uint64_t *ret_addresses,
			  size_t most)
{
	uint64_t addresses[KERNEL_FRAMES_MOST];
	size_t count = 0;

	if (stack < 0 || bpf_map_lookup_elem(watch->stacks_fd, &stack, addresses))
		return 0;
	while (count < most && count < KERNEL_FRAMES_MOST && addresses[count]) {
		ret_addresses[count] = addresses[count];
		count++;
	}
	return count;
}

/* ---- interrupts -------------------------------------------------------------------------------- */

/* Of one process and handler, over all processors; its sum begins anew. */
static bool take_sum(const struct kernel_watch *watch, const struct kernel_interrupt_key *key,
		     struct kernel_interrupt *ret_sum)
{
	const struct kernel_interrupt *values = watch->values;
	struct kernel_interrupt sum = {0};

	if (bpf_map_lookup_and_delete_elem(watch->interrupts_fd, key, watch->values))
		return false;
	for (int i = 0; i < watch->processors; i++) {
		sum.spent_ns += values[i].spent_ns;
		if (values[i].name[0])
			memcpy(sum.name, values[i].name, sizeof(sum.name));
	}
	sum.name[sizeof(sum.name) - 1] = '\0';
	*ret_sum = sum;
	return true;
}

/* ---- losses ------------------------------------------------------------------------------------ */

uint64_t kernel_watch_sweep(struct kernel_watch *watch, uint64_t before_ns)
{
	const uint64_t lost =
		kernel_ring_counted(watch->object, KERNEL_COUNT_RECORDS) + watch->refused;
	const uint64_t fresh = lost - watch->told_lost;
	auto_free uint32_t *old = NULL;
	size_t old_count = 0, old_capacity = 0, cursor = 0;
	uint64_t tid, value;

	while (hash_map_next(&watch->queues, &cursor, &tid, &value))
		if (watch->kept[value >> 32].head.time_ns < before_ns &&
		    !array_grow(old, old_capacity, old_count + 1))
			old[old_count++] = (uint32_t)tid;
	for (size_t i = 0; i < old_count; i++)
		take(watch, old[i], before_ns);
	watch->told_lost = lost;
	return fresh;
}

uint64_t kernel_watch_interrupts(struct kernel_watch *watch,
				 void (*each)(void *context, const struct kernel_interrupt_key *key,
					      const struct kernel_interrupt *interrupt),
				 void *context)
{
	const uint64_t unsummed = kernel_ring_counted(watch->object, KERNEL_COUNT_INTERRUPTS);
	const uint64_t fresh = unsummed - watch->told_unsummed;
	struct kernel_interrupt_key key, next;
	struct kernel_interrupt sum;
	bool has_key = bpf_map_get_next_key(watch->interrupts_fd, NULL, &next) == 0;

	while (has_key) {
		key = next;
		has_key = bpf_map_get_next_key(watch->interrupts_fd, &key, &next) == 0;
		if (take_sum(watch, &key, &sum))
			each(context, &key, &sum);
	}
	watch->told_unsummed = unsummed;
	return fresh;
}

/* A child is refused by the kernel as it begins, and once more when we come to know of it, where there still is no room. */
uint64_t kernel_watch_lost_processes(const struct kernel_watch *watch)
{
	const uint64_t begins = kernel_ring_counted(watch->object, KERNEL_COUNT_PROCESSES);

	return begins > watch->refused_processes ? begins : watch->refused_processes;
}

void kernel_watch_losses(const struct kernel_watch *watch, struct kernel_losses *ret_losses)
{
	*ret_losses = (struct kernel_losses){
		.wakings = kernel_ring_counted(watch->object, KERNEL_COUNT_WAKINGS),
		.kernel_stacks = kernel_ring_counted(watch->object, KERNEL_COUNT_KERNEL_STACKS),
		.user_stacks = kernel_ring_counted(watch->object, KERNEL_COUNT_USER_STACKS)};
}
