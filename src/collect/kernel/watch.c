/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/watch.c - records of the scheduler's BPF programs, matched to switches of perf
 *
 * Runs in:  the recorder; the load in a thread whose only right is to load
 * Gets:     records of src/bpf/sched.bpf.c
 * Gives:    the record of a given thread and time
 * Owns:     the BPF object, and records that have not been asked for yet (at most 65 536, 9 MiB)
 * Fails:    a failed load leaves no records; records without room are counted
 * Why perf and BPF: perf records each switch with its time, from the program's first instruction
 *           on. BPF adds the next thread, the waker and the cause. The two records of a switch are
 *           matched by thread and time: the BPF program writes its record first, and perf some 100
 *           ns later, before the thread can do anything else.
 */
#include "collect/kernel/watch.h"

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
#include "collect/kernel/ring.h"
#include "collect/start/rights.h"

enum {
	MAX_RECORDS = 65536,
	MAX_STACKS = 1024, /* limit of records not asked for yet */
	/* Max time between the two records of a switch. It is longer only if the machine stood
	 * still, as a suspended virtual machine does. */
	APART_NS = 1000000,
	NONE = UINT32_MAX
};

struct kept {
	union {
		struct kernel_head head;
		struct kernel_out out;
		struct kernel_in in;
	};
	uint32_t next; /* the next record of the thread, or the next free one */
};

/* Records of one thread, oldest first. */
struct queue {
	uint32_t first, last;
};

struct kernel_watch {
	pthread_t thread;
	_Atomic enum kernel_watch_state state;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_over, is_loading; /* state of the load; under the lock */
	bool needs_right;
	bool is_trial, is_joined; /* state of the thread */
	uint64_t load_ns;
	char reason[PATH_MAX + 600];
	struct kernel_watch_options options;
	struct kernel_object *object;
	struct kernel_ring *ring; /* owned */
	int watched_fd, pythons_fd, stacks_fd, counts_fd, allowance_fd, sent_fd, interrupts_fd;
	int processors;
	void *values;      /* owned; one map value per processor, of the largest value type */
	struct kept *kept; /* owned */
	size_t kept_count, kept_capacity;
	uint32_t free_first;
	struct hash_map queues;        /* tid -> struct queue */
	struct hash_map stacks;        /* user_stack -> struct kernel_stack *, owned */
	struct hash_map python_stacks; /* … -> struct kernel_python_stack *, owned */
	uint64_t refused, reported_lost, reported_unsummed, refused_processes;
	struct kept current;
};

static const struct kernel_program programs[] = {
	{.name = "on_switch"},
	{.name = "on_switch_plain",
	 .instead_of = "on_switch",
	 .lacks = "the cause of context switches",
	 .weakens = "the Python functions of short waits are not recorded: this kernel is older "
		    "than Linux 5.17"},
	{.name = "on_waking"},
	{.name = "on_waking_unsure",
	 .instead_of = "on_waking",
	 .lacks = "the waker of threads",
	 .weakens = "some wakers may be wrong: a thread that an interrupt meets inside of a system "
		    "call is taken for the waker, because the place of this kernel's preempt_count "
		    "is not known"},
	{.name = "on_fork", .lacks = "the scheduling of child processes"},
	{.name = "on_request", .lacks = "the disk that a thread waits for"},
	{.name = "on_fault", .lacks = "the file of a page fault"},
	{.name = "on_sample", .is_attached_later = true},
};

/* Loaded if the option `interrupts` is set. */
static const struct kernel_program interrupt_programs[] = {
	{.name = "on_interrupt", .lacks = "the time of interrupts"},
	{.name = "on_interrupt_end", .lacks = "the time of interrupts"},
	{.name = "on_soft_interrupt", .lacks = "the time of soft interrupts"},
	{.name = "on_soft_interrupt_end", .lacks = "the time of soft interrupts"},
};

enum { PROGRAMS = ARRAY_COUNT(programs), ALL = PROGRAMS + ARRAY_COUNT(interrupt_programs) };

/* ---- loading --------------------------------------------------------------------------------- */

static void on_record(void *context, const void *data, size_t size);
static void on_stack(void *context, const void *data, size_t size);

/* Sets the two variables of the BPF object. */
static bool watch_all(const struct kernel_watch *watch)
{
	struct bpf_map *variables = kernel_object_map(watch->object, ".bss");
	const uint32_t values[2] = {1, (uint32_t)getpid()}, key = 0;

	return variables && bpf_map__value_size(variables) == sizeof(values) &&
	       bpf_map_update_elem(bpf_map__fd(variables), &key, values, BPF_ANY) == 0;
}

static bool loads_quickly(const char *program)
{
	return kernel_object_loads(bpf_preempt, bpf_preempt_size, program);
}

/* Finds the variable that holds this kernel's preempt_count. The kernel loads a small program that
 * reads it. If it cannot load programs that way (before Linux 5.17, or another libbpf than at build
 * time), the variable is looked up in its types. libbpf then finds out whether programs may read
 * it. */
static void find_preempt_count(bool *ret_is_hot, bool *ret_is_alone)
{
	static const char *const names[] = {"pcpu_hot", "__preempt_count"};
	bool has[ARRAY_COUNT(names)];

	/* the variable of the newest kernels first */
	*ret_is_alone = loads_quickly("is_alone");
	*ret_is_hot = !*ret_is_alone && loads_quickly("is_hot");
	if (*ret_is_hot || *ret_is_alone || loads_quickly("is_able"))
		return;
	kernel_object_find_names(names, ARRAY_COUNT(names), has);
	*ret_is_hot = has[0];
	*ret_is_alone = !has[0] && has[1];
}

static void choose_object(struct kernel_object_options *options)
{
	bool is_hot, is_alone;

	find_preempt_count(&is_hot, &is_alone);
	if (is_alone) {
		options->elf = bpf_sched;
		options->elf_bytes = bpf_sched_size;
	} else if (is_hot) {
		options->elf = bpf_sched_hot;
		options->elf_bytes = bpf_sched_hot_size;
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
	if (!kernel_object_runs(watch->object, "on_switch") &&
	    !kernel_object_runs(watch->object, "on_switch_plain")) {
		size_t count;

		return error_set(-ENOTSUP, "BPF programs: %s",
				 kernel_object_reports(watch->object, &count)->reason);
	}
	watch->watched_fd = bpf_map__fd(kernel_object_map(watch->object, "watched"));
	watch->pythons_fd = bpf_map__fd(kernel_object_map(watch->object, "pythons"));
	watch->stacks_fd = bpf_map__fd(kernel_object_map(watch->object, "stacks"));
	watch->allowance_fd = bpf_map__fd(kernel_object_map(watch->object, "allowance"));
	watch->sent_fd = bpf_map__fd(kernel_object_map(watch->object, "sent_stacks"));
	watch->counts_fd = bpf_map__fd(kernel_object_map(watch->object, "counts"));
	if (watch->options.on_record && !watch_all(watch))
		return error_set(-ENOTSUP,
				 "BPF programs: this kernel cannot watch all processes: %s",
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
		return error_set(-ENOMEM, "BPF programs: no memory for their records");
	return 0;
}

/* Waits KERNEL_WATCH_DELAY_NS. False: the recording ended meanwhile. */
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

/* Called after the thread has dropped its rights. */
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

static int start_watch(const struct kernel_watch_options *options, bool is_trial,
		       struct kernel_watch **ret_watch)
{
	struct kernel_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return error_set(-ENOMEM, "BPF programs: out of memory");
	watch->options = *options;
	watch->free_first = NONE;
	watch->is_trial = is_trial;
	pthread_mutex_init(&watch->lock, NULL);
	pthread_cond_init(&watch->changed, NULL);
	if (!thread_start(&watch->thread, load, watch)) {
		pthread_cond_destroy(&watch->changed);
		pthread_mutex_destroy(&watch->lock);
		free(watch);
		return error_set(-EAGAIN, "BPF programs: cannot start the thread that loads them");
	}
	*ret_watch = watch;
	return 0;
}

int kernel_watch_start(const struct kernel_watch_options *options, struct kernel_watch **ret_watch)
{
	return start_watch(options, false, ret_watch);
}

int kernel_watch_try(struct kernel_watch **ret_watch)
{
	const struct kernel_watch_options options = {0};
	int error = start_watch(&options, true, ret_watch);

	if (error)
		return error;
	pthread_join((*ret_watch)->thread, NULL);
	(*ret_watch)->is_joined = true;
	return 0;
}

static void free_all(struct hash_map *map)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(map, &cursor, NULL, &value))
		free((void *)(uintptr_t)value);
	hash_map_clear(map);
}

static void free_stacks(struct kernel_watch *watch)
{
	free_all(&watch->stacks);
	free_all(&watch->python_stacks);
}

void kernel_watch_stop(struct kernel_watch *watch)
{
	bool is_loading;

	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->is_over = true;
	pthread_cond_signal(&watch->changed);
	/* A load inside libbpf cannot be interrupted. The thread is left alone, because the
	 * recorder ends soon anyway. */
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
	hash_map_fini(&watch->python_stacks);
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

/* ---- processes ------------------------------------------------------------------------------- */

void kernel_watch_add(struct kernel_watch *watch, uint32_t pid)
{
	const uint8_t one = 1;

	watch->refused_processes +=
		bpf_map_update_elem(watch->watched_fd, &pid, &one, BPF_ANY) != 0;
}

void kernel_watch_remove(struct kernel_watch *watch, uint32_t pid)
{
	bpf_map_delete_elem(watch->watched_fd, &pid);
	bpf_map_delete_elem(watch->pythons_fd, &pid);
}

void kernel_watch_add_python(struct kernel_watch *watch, uint32_t pid,
			     const struct kernel_python *places)
{
	bpf_map_update_elem(watch->pythons_fd, &pid, places, BPF_ANY);
}

int kernel_watch_sample_program(struct kernel_watch *watch)
{
	return kernel_object_program(watch->object, "on_sample");
}

/* ---- records --------------------------------------------------------------------------------- */

static struct kept *new_kept(struct kernel_watch *watch, uint32_t *ret_index)
{
	if (watch->free_first != NONE) {
		*ret_index = watch->free_first;
		watch->free_first = watch->kept[*ret_index].next;
		return &watch->kept[*ret_index];
	}
	if (watch->kept_count == MAX_RECORDS ||
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

/* The kernel sends each stack once. After this call it may send the stack again. */
static void forget_sent(const struct kernel_watch *watch, uint64_t user_stack)
{
	bpf_map_delete_elem(watch->sent_fd, &user_stack);
}

static void forget_stacks(struct kernel_watch *watch)
{
	size_t cursor = 0;
	uint64_t user_stack;

	while (hash_map_next(&watch->stacks, &cursor, &user_stack, NULL))
		forget_sent(watch, user_stack);
	free_stacks(watch);
}

/* Keeps a copy of a record by its id. If there is no memory, the kernel may send it again. */
static void keep_copy(struct kernel_watch *watch, struct hash_map *map, uint64_t user_stack,
		      const void *data, size_t size)
{
	void *kept = malloc(size);

	if (!kept) {
		forget_sent(watch, user_stack);
		return;
	}
	memcpy(kept, data, size);
	free(hash_map_find_pointer(map, user_stack));
	if (hash_map_put_pointer(map, user_stack, kept)) {
		/* The map has dropped the old record of that id, which was freed above. */
		hash_map_remove(map, user_stack, NULL);
		forget_sent(watch, user_stack);
		free(kept);
	}
}

static void on_python_stack(struct kernel_watch *watch, const struct kernel_python_stack *copied,
			    size_t size)
{
	const size_t head = offsetof(struct kernel_python_stack, frames);

	if (size < head || (size - head) / sizeof(copied->frames[0]) < copied->count)
		return;
	if (!copied->time_ns)
		keep_copy(watch, &watch->python_stacks, copied->user_stack, copied, size);
	else if (watch->options.on_python)
		watch->options.on_python(watch->options.context, copied);
}

/* A struct kernel_stack always has its full size, which is larger than that of Python frames. */
static void on_stack(void *context, const void *data, size_t size)
{
	struct kernel_watch *watch = context;
	const struct kernel_stack *stack_row = data;

	/* stacks of processes that are not recorded any more */
	if (watch->stacks.count >= MAX_STACKS || watch->python_stacks.count >= MAX_STACKS)
		forget_stacks(watch);
	if (size < sizeof(*stack_row))
		on_python_stack(watch, data, size);
	else if (stack_row->bytes <= KERNEL_STACK_BYTES)
		keep_copy(watch, &watch->stacks, stack_row->user_stack, stack_row,
			  offsetof(struct kernel_stack, stack) + stack_row->bytes);
}

struct kernel_stack *kernel_watch_take_user_stack(struct kernel_watch *watch, uint64_t user_stack,
						  struct kernel_python_stack **ret_python)
{
	uint64_t stack = 0, python = 0;

	hash_map_remove(&watch->stacks, user_stack, &stack);
	hash_map_remove(&watch->python_stacks, user_stack, &python);
	*ret_python = (struct kernel_python_stack *)(uintptr_t)python;
	return (struct kernel_stack *)(uintptr_t)stack;
}

void kernel_watch_allow_stacks(struct kernel_watch *watch, uint32_t count)
{
	const uint32_t key = 0;
	const int64_t value = count;

	bpf_map_update_elem(watch->allowance_fd, &key, &value, BPF_ANY);
}

bool kernel_watch_drain(struct kernel_watch *watch)
{
	return kernel_ring_drain(watch->ring);
}

/* Removes the thread's records up to time_ns and returns the last of them. */
static const struct kept *take_record(struct kernel_watch *watch, uint32_t tid, uint64_t time_ns)
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
	const struct kept *kept = take_record(watch, tid, time_ns);

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
	uint64_t addresses[MAX_KERNEL_FRAMES];
	size_t count = 0;

	if (stack < 0 || bpf_map_lookup_elem(watch->stacks_fd, &stack, addresses))
		return 0;
	while (count < most && count < MAX_KERNEL_FRAMES && addresses[count]) {
		ret_addresses[count] = addresses[count];
		count++;
	}
	return count;
}

/* ---- interrupts ------------------------------------------------------------------------------ */

/* Reads and resets the sum of one process and handler over all processors. */
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

/* ---- losses ---------------------------------------------------------------------------------- */

uint64_t kernel_watch_sweep(struct kernel_watch *watch, uint64_t before_ns)
{
	const uint64_t lost =
		kernel_ring_counted(watch->object, KERNEL_COUNT_RECORDS) + watch->refused;
	const uint64_t fresh = lost - watch->reported_lost;
	auto_free uint32_t *old = NULL;
	size_t old_count = 0, old_capacity = 0, cursor = 0;
	uint64_t tid, value;

	while (hash_map_next(&watch->queues, &cursor, &tid, &value))
		if (watch->kept[value >> 32].head.time_ns < before_ns &&
		    !array_grow(old, old_capacity, old_count + 1))
			old[old_count++] = (uint32_t)tid;
	for (size_t i = 0; i < old_count; i++)
		take_record(watch, old[i], before_ns);
	watch->reported_lost = lost;
	return fresh;
}

uint64_t kernel_watch_interrupts(struct kernel_watch *watch,
				 void (*each)(void *context, const struct kernel_interrupt_key *key,
					      const struct kernel_interrupt *interrupt),
				 void *context)
{
	const uint64_t unsummed = kernel_ring_counted(watch->object, KERNEL_COUNT_INTERRUPTS);
	const uint64_t fresh = unsummed - watch->reported_unsummed;
	struct kernel_interrupt_key key, next;
	struct kernel_interrupt sum;
	bool has_key = bpf_map_get_next_key(watch->interrupts_fd, NULL, &next) == 0;

	while (has_key) {
		key = next;
		has_key = bpf_map_get_next_key(watch->interrupts_fd, &key, &next) == 0;
		if (take_sum(watch, &key, &sum))
			each(context, &key, &sum);
	}
	watch->reported_unsummed = unsummed;
	return fresh;
}

/* A child without room is counted by the kernel at its start, and again by kernel_watch_add if
 * there is still no room. So the larger count is used. */
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
		.user_stacks = kernel_ring_counted(watch->object, KERNEL_COUNT_USER_STACKS),
		.python_samples = kernel_ring_counted(watch->object, KERNEL_COUNT_PYTHON_SAMPLES)};
}
