/* SPDX-License-Identifier: MIT
 *
 * collect/intel/launches.c - turns submissions to Intel GPUs into rows of a recording
 *
 * Runs in:  the recorder
 * Gets:     records of src/bpf/xe.bpf.c or i915.bpf.c
 * Gives:    launches of batches, each followed by the launches of its kernels
 * Owns:     stacks, kernels by address, records that wait for a guest's descriptions
 * Fails:    a submission has no row when memory runs out
 * Why:      a submission contains only the addresses of its kernels; other collectors describe the
 *           code at the same address. A submission is left out if a guest records the commands of
 *           its process on the device, because the submission would count the same work twice.
 */
#include "collect/intel/launches.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "collect/devices.h"
#include "collect/guest/driver_calls.h"
#include "collect/host_clocks.h"
#include "collect/intel/code_places.h"
#include "collect/intel/submitters.h"
#include "collect/processes.h"
#include "collect/stack/bpf_stacks.h"
#include "event/event.h"

/* Base of correlation ids, beside those of guests and of jobs (collect/drm/job_rows.c). */
#define CORRELATION_BASE (UINT64_C(0xfe) << 56)

enum {
	MAX_OPEN = 256, /* twice the limit inside the kernel */
	MAX_CODES =
		1 << 20, /* limit in all, because a trace keeps them until its end: some 200 MiB */
	MAX_QUEUES = 65536,
	MAX_HELD_WORDS = 8 << 20 /* 64 MiB */
};

/* A batch whose kernels are not all known yet. */
struct open_batch {
	struct event_launch launch; /* template of its kernels' launches */
	uint64_t number;            /* 0: the entry is free */
	uint64_t vm;
	uint32_t process, device, launches;
	bool has_guest; /* a guest records the runtime of this process, so no rows are written */
	uint32_t emitted[MAX_BATCH_FOUND]; /* number of launches of each kernel that were written */
};

struct launches {
	struct recording *recording; /* borrowed */
	struct launch_gpu *gpus;     /* borrowed */
	const char *function;
	bool is_timed;
	struct bpf_stacks stacks;
	struct submitters submitters;
	struct code_places codes;
	uint32_t codes_count; /* number of kernels that were described */
	/* process << 32 | device, and the driver's queue id -> the trace's queue */
	struct hash_map by_queue;
	struct open_batch opens[MAX_OPEN];
	uint64_t last_correlation;
	uint64_t latest_ns; /* latest time of the records so far */
	struct launches_counts counts;
	/* Records that wait. Each follows its size, in whole words. */
	uint64_t *held; /* owned */
	size_t held_count, held_capacity;
};

struct launches *launches_new(struct recording *recording, const char *function,
			      struct launch_gpu *gpus, bool is_timed)
{
	struct launches *launches = calloc(1, sizeof(*launches));

	if (!launches)
		return NULL;
	launches->recording = recording;
	launches->function = function;
	launches->gpus = gpus;
	launches->is_timed = is_timed;
	if (bpf_stacks_init(&launches->stacks, recording)) {
		free(launches);
		return NULL;
	}
	submitters_init(&launches->submitters, recording);
	code_places_init(&launches->codes);
	return launches;
}

void launches_free(struct launches *launches)
{
	if (!launches)
		return;
	bpf_stacks_fini(&launches->stacks);
	submitters_fini(&launches->submitters);
	code_places_fini(&launches->codes);
	hash_map_fini(&launches->by_queue);
	free(launches->held);
	free(launches);
}

void launches_on_forgotten(struct launches *launches,
			   void (*on_forgotten)(void *context, uint64_t user_stack), void *context)
{
	launches->stacks.on_forgotten = on_forgotten;
	launches->stacks.context = context;
}

/* ---- processes, devices, queues -------------------------------------------------------------- */

static uint32_t describe_thread(const struct submit_record *record, struct processes *table,
				struct process *process)
{
	struct process_thread *thread =
		process_thread(table, process, record->head.tid, record->enter_ns);
	char name[KERNEL_NAME_BYTES + 1];

	if (!thread)
		return 0;
	snprintf(name, sizeof(name), "%.*s", KERNEL_NAME_BYTES, record->thread);
	if (!*thread->name)
		process_thread_rename(table, process, thread, name, record->enter_ns);
	thread->has_launched = true;
	return process_thread_describe(table, process, thread);
}

static uint32_t device_of(struct launches *launches, uint32_t minor)
{
	struct launch_gpu *gpu = &launches->gpus[minor];
	char name[100];
	const struct device_facts facts = {
		.address = gpu->address, .name = name, .vendor = "Intel", .driver = gpu->driver};

	/* its node may belong to a user other than ours */
	if (!*gpu->address)
		snprintf(gpu->address, sizeof(gpu->address), "renderD%u", minor);
	snprintf(name, sizeof(name), "Intel GPU %s", gpu->address);
	if (!gpu->device)
		gpu->device = devices_meet(launches->recording, &facts);
	return gpu->device;
}

static uint32_t describe_queue(struct launches *launches, const struct submit_record *record,
			       uint32_t process, uint32_t device)
{
	struct recording *recording = launches->recording;
	struct event_queue row = {
		.id = ++recording->last_queue,
		.process = process,
		.device = device,
		.clock = CLOCK_ID_MONOTONIC,
		.flags = launches->is_timed ? QUEUE_TIMED : 0,
		.begin_ns = record->enter_ns,
	};
	char name[40];

	snprintf(name, sizeof(name), "queue %u", record->queue);
	row.name_string = recording_string(recording, name);
	recording->kept_bytes += IDENTITY_BYTES + ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_QUEUE, &row);
	return row.id;
}

static uint32_t queue_of(struct launches *launches, const struct submit_record *record,
			 uint32_t process, uint32_t device)
{
	const uint64_t key = code_places_mix(code_places_mix(record->vm, record->queue),
					     (uint64_t)process << 32 | device);
	uint32_t id = (uint32_t)hash_map_get(&launches->by_queue, key, 0);

	if (id)
		return id;
	if (launches->by_queue.count >= MAX_QUEUES)
		hash_map_clear(&launches->by_queue);
	id = describe_queue(launches, record, process, device);
	hash_map_put(&launches->by_queue, key, id);
	return id;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint32_t describe_code(struct launches *launches, const struct code_place *place,
			      uint32_t kind, uint64_t now_ns)
{
	static const char *const names[BATCH_KINDS] = {
		[BATCH_SYSTEM_ROUTINE] = "[system routine]", [BATCH_DEBUG_AREA] = "[debug area]"};
	struct recording *recording = launches->recording;
	const char *name = kind < BATCH_KINDS && names[kind] ? names[kind] : "";
	const struct event_code row = {.id = ++recording->last_code,
				       .process = place->process,
				       .type = CODE_KERNEL,
				       .name_string = recording_string(recording, name),
				       .device = place->device,
				       .begin_ns = now_ns,
				       .address = place->address};

	recording->kept_bytes += ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_CODE, &row);
	return row.id;
}

/* Returns 0 above the limit of kernels, or if the recorder has reached its limit of memory. */
static uint32_t code_of(struct launches *launches, const struct open_batch *batch,
			const struct submit_found *found, uint64_t now_ns)
{
	const struct code_place place = {.vm = batch->vm,
					 .address = found->address,
					 .process = batch->process,
					 .device = batch->device};
	uint32_t id = code_places_find(&launches->codes, &place);

	if (id)
		return id;
	if (launches->codes_count == MAX_CODES || launches->recording->is_memory_full)
		return 0;
	launches->codes_count++;
	id = describe_code(launches, &place, found->kind, now_ns);
	/* Without memory for its place, the kernel gets a new id each time and never ends. */
	code_places_put(&launches->codes, &place, id);
	return id;
}

static void end_code(struct launches *launches, uint32_t id, uint64_t now_ns)
{
	trace_writer_end_entity(launches->recording->writer, EVENT_CODE, id, now_ns);
}

void launches_lost(struct launches *launches, uint64_t now_ns)
{
	uint32_t id;

	while ((id = code_places_take_any(&launches->codes))) {
		end_code(launches, id, now_ns);
		launches->counts.forgotten++;
	}
}

static void take_unbound(struct launches *launches, const struct submit_unbound *unbound)
{
	const uint64_t end = unbound->end ? unbound->end : UINT64_MAX;
	uint32_t id;

	while ((id = code_places_take(&launches->codes, unbound->vm, unbound->begin, end)))
		end_code(launches, id, unbound->head.time_ns);
}

/* ---- launches -------------------------------------------------------------------------------- */

static void put_launch(struct launches *launches, struct event_launch *row)
{
	const struct trace_source source = {.source = row->thread, .clock = CLOCK_ID_MONOTONIC};

	row->correlation = CORRELATION_BASE | ++launches->last_correlation;
	trace_writer_row(launches->recording->writer, EVENT_LAUNCH, &source, row);
}

static void put_kernel(struct launches *launches, struct open_batch *batch,
		       const struct submit_found *found, uint32_t times)
{
	uint64_t *left_out = &launches->counts.left_out;
	uint32_t code;

	if (found->flags & BATCH_IS_RELATIVE) {
		launches->counts.relative += times;
		return;
	}
	code = code_of(launches, batch, found, batch->launch.enter);
	if (!code && launches->recording->is_memory_full)
		left_out = &launches->counts.no_memory;
	for (uint32_t i = 0; i < times; i++) {
		if (!code || batch->launches == LAUNCHES_A_BATCH) {
			*left_out += times - i;
			return;
		}
		batch->launch.kernel = code;
		put_launch(launches, &batch->launch);
		batch->launches++;
		launches->counts.kernels++;
	}
}

static void put_kernels(struct launches *launches, struct open_batch *batch,
			const struct submit_record *record)
{
	for (uint32_t i = 0; i < record->found_count; i++) {
		const uint32_t times = record->found[i].count - batch->emitted[i];

		batch->emitted[i] = record->found[i].count;
		put_kernel(launches, batch, &record->found[i], times);
	}
}

/* Counts the result of the last parse of a batch. */
static void count_status(struct launches_counts *counts, const struct submit_record *record)
{
	const struct batch_counts *parsed = &record->counts;

	counts->incomplete += record->status == BATCH_INCOMPLETE;
	counts->looping += record->status == BATCH_LOOP;
	counts->cut += record->status == BATCH_LIMIT || record->status == BATCH_GARBAGE;
	counts->mismatched += parsed->mismatched;
	counts->unresolved += parsed->unresolved;
	counts->too_deep += parsed->too_deep;
	counts->left_out += parsed->left_out;
}

static size_t copy_addresses(const struct submit_record *record,
			     uint64_t addresses[MAX_KERNEL_FRAMES])
{
	size_t count = 0;

	for (uint32_t i = record->frames_first; i < record->frames_count && i < MAX_KERNEL_FRAMES;
	     i++)
		addresses[count++] = record->frames[i];
	return count;
}

static uint32_t stack_of(struct launches *launches, const struct submit_record *record,
			 uint32_t process)
{
	const uint64_t unkept = launches->stacks.unkept;
	const uint32_t user = bpf_stacks_find(&launches->stacks, record->user_stack, process);
	uint64_t addresses[MAX_KERNEL_FRAMES];
	const size_t count = copy_addresses(record, addresses);

	launches->counts.stackless += user == 0 && launches->stacks.unkept == unkept;
	return kernel_frames_put(&launches->stacks.walker->kernel_frames, addresses, count, user);
}

static void remember(struct launches *launches, const struct event_launch *row, uint32_t process,
		     const struct submit_record *record)
{
	const struct submission submission = {.enter_ns = record->enter_ns,
					      .exit_ns = record->head.time_ns,
					      .correlation = row->correlation,
					      .process = process,
					      .tid = record->head.tid};

	if (launches->is_timed)
		submissions_put(&launches->recording->submissions, &submission);
}

static void put_batch(struct launches *launches, struct open_batch *batch,
		      const struct submit_record *record, uint32_t thread)
{
	struct event_launch *row = &batch->launch;

	*row = (struct event_launch){
		.enter = record->enter_ns,
		.exit = record->head.time_ns,
		.thread = thread,
		.function_string = recording_string(launches->recording, launches->function),
		.queue = queue_of(launches, record, batch->process, batch->device),
		.command = COMMAND_BATCH,
		.flags = launches->is_timed ? 0 : LAUNCH_UNTIMED,
		.stack = stack_of(launches, record, batch->process)};
	put_launch(launches, row);
	remember(launches, row, batch->process, record);
	row->command = COMMAND_KERNEL;
	row->flags = LAUNCH_UNTIMED | LAUNCH_FURTHER | LAUNCH_PART;
}

/* ---- batches that may get more kernels ------------------------------------------------------- */

static struct open_batch *find_open(struct launches *launches, uint64_t number)
{
	for (size_t i = 0; number && i < MAX_OPEN; i++)
		if (launches->opens[i].number == number)
			return &launches->opens[i];
	return NULL;
}

static void give_up(struct launches *launches, struct open_batch *batch)
{
	launches->counts.incomplete += batch->number && !batch->has_guest;
	*batch = (struct open_batch){0};
}

/* Replaces the oldest batch, which has the lowest number. */
static void keep_open(struct launches *launches, const struct open_batch *batch)
{
	struct open_batch *place = &launches->opens[0];

	for (size_t i = 1; i < MAX_OPEN; i++)
		if (launches->opens[i].number < place->number)
			place = &launches->opens[i];
	give_up(launches, place);
	*place = *batch;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_looked_through(const struct submit_record *record)
{
	return !(record->head.flags & (SUBMIT_IS_OPEN | SUBMIT_NO_VM | SUBMIT_NO_GENERATION));
}

static void put_rows(struct launches *launches, struct open_batch *batch,
		     const struct submit_record *record, uint32_t thread)
{
	launches->counts.no_space += (record->head.flags & SUBMIT_NO_VM) != 0;
	launches->counts.beyond += (record->head.flags & SUBMIT_HAS_MORE) != 0;
	launches->counts.no_generation += (record->head.flags & SUBMIT_NO_GENERATION) != 0;
	if (is_looked_through(record))
		count_status(&launches->counts, record);
	put_batch(launches, batch, record, thread);
	put_kernels(launches, batch, record);
}

static void take_batch(struct launches *launches, const struct submit_record *record)
{
	struct processes *table;
	const struct submitter_name name = {.pid = record->head.tgid,
					    .time_ns = record->enter_ns,
					    .start_ns = record->start_ns};
	struct process *process = submitters_find(&launches->submitters, &name, &table);
	struct open_batch batch = {.number = record->number, .vm = record->vm};
	uint32_t thread;

	if (!process)
		return;
	launches->counts.submissions++;
	thread = describe_thread(record, table, process);
	batch.process = process->row.id;
	batch.device = device_of(launches, record->minor);
	batch.has_guest = devices_has_user(launches->recording, batch.device, batch.process);
	if (batch.has_guest)
		launches->counts.has_runtime++;
	else
		put_rows(launches, &batch, record, thread);
	if (record->head.flags & SUBMIT_IS_OPEN)
		keep_open(launches, &batch);
}

static void take_more(struct launches *launches, const struct submit_record *record)
{
	struct open_batch *batch = find_open(launches, record->number);

	if (!batch) {
		launches->counts.unmatched++;
		return;
	}
	if (!batch->has_guest)
		put_kernels(launches, batch, record);
	if (record->head.flags & SUBMIT_IS_OPEN)
		return;
	if (!batch->has_guest)
		count_status(&launches->counts, record);
	*batch = (struct open_batch){0};
}

/* Stores a user stack. Its record has no time, and belongs to records before it in the ring, so the
 * latest time of these is used. With the present time, a process that has ended meanwhile would be
 * replaced by a new one, and all later records would be attributed to that. */
static void take_stack(struct launches *launches, const struct kernel_stack *stack)
{
	const uint64_t now_ns = host_clocks_now_ns(), latest_ns = launches->latest_ns;
	const struct submitter_name name = {.pid = stack->tgid,
					    .time_ns = latest_ns && latest_ns < now_ns ? latest_ns
										       : now_ns};
	struct processes *table;
	struct process *process = stack->bytes > KERNEL_STACK_BYTES
					  ? NULL
					  : submitters_find(&launches->submitters, &name, &table);

	if (process)
		bpf_stacks_take(&launches->stacks, process, stack);
}

/* Ends all kernels, open batches and stacks of a process. */
static void end_process(struct launches *launches, uint32_t process, uint64_t time_ns)
{
	uint32_t id;

	if (!process)
		return;
	while ((id = code_places_take_of(&launches->codes, process)))
		end_code(launches, id, time_ns);
	for (size_t i = 0; i < MAX_OPEN; i++)
		if (launches->opens[i].process == process)
			give_up(launches, &launches->opens[i]);
	bpf_stacks_forget(&launches->stacks, process);
}

static struct submitter_name name_of(const struct submit_process *row)
{
	return (struct submitter_name){
		.pid = row->head.tgid, .time_ns = row->head.time_ns, .start_ns = row->start_ns};
}

static void take_met(struct launches *launches, const struct submit_process *row)
{
	const struct submitter_name name = name_of(row);
	struct submitters *submitters = &launches->submitters;
	struct processes *table;
	struct process *process;

	end_process(launches, submitters_check(submitters, &name), name.time_ns);
	process = submitters_find(submitters, &name, &table);
	if (process)
		bpf_stacks_meet(&launches->stacks, process);
}

static void take_exit(struct launches *launches, const struct submit_process *row)
{
	const struct submitter_name name = name_of(row);

	end_process(launches, submitters_end(&launches->submitters, &name), name.time_ns);
}

/* The kernel has given up the batch; its rows stay. If it was given up here before, it is counted
 * already. */
static void take_dropped(struct launches *launches, const struct submit_dropped *dropped)
{
	struct open_batch *batch = find_open(launches, dropped->number);

	if (batch)
		give_up(launches, batch);
}

static bool is_whole(const struct submit_record *record, size_t size)
{
	return size >= offsetof(struct submit_record, found) &&
	       record->found_count <= MAX_BATCH_FOUND && record->minor < MAX_SUBMIT_MINORS &&
	       size >= offsetof(struct submit_record, found) +
			       record->found_count * sizeof(record->found[0]);
}

static bool is_submission(const void *data, size_t size)
{
	const struct kernel_head *head = data;

	return size != sizeof(struct kernel_stack) && size >= sizeof(*head) &&
	       (head->kind == SUBMIT_RECORD_BATCH || head->kind == SUBMIT_RECORD_MORE) &&
	       is_whole(data, size);
}

static void take_now(struct launches *launches, const void *data, size_t size)
{
	const struct kernel_head *head = data;

	if (size == sizeof(struct kernel_stack)) {
		take_stack(launches, data);
		return;
	}
	if (size >= sizeof(*head) && head->time_ns > launches->latest_ns)
		launches->latest_ns = head->time_ns;
	if (size == sizeof(struct submit_process) && head->kind == SUBMIT_RECORD_MET)
		take_met(launches, data);
	else if (size == sizeof(struct submit_unbound) && head->kind == SUBMIT_RECORD_UNBOUND)
		take_unbound(launches, data);
	else if (size == sizeof(struct submit_dropped) && head->kind == SUBMIT_RECORD_DROPPED)
		take_dropped(launches, data);
	else if (size == sizeof(struct submit_process) && head->kind == SUBMIT_RECORD_EXIT)
		take_exit(launches, data);
	else if (!is_submission(data, size))
		launches->counts.malformed++;
	else if (head->kind == SUBMIT_RECORD_BATCH)
		take_batch(launches, data);
	else
		take_more(launches, data);
}

/* ---- waiting for descriptions by guests ------------------------------------------------------ */

static size_t words_of(size_t size)
{
	return 1 + (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

static bool is_recorded(const struct launches *launches, const void *data, size_t size)
{
	const struct kernel_head *head = data;

	return is_submission(data, size) && head->kind == SUBMIT_RECORD_BATCH &&
	       processes_find(launches->recording->processes, head->tgid);
}

static int hold(struct launches *launches, const void *data, size_t size)
{
	const size_t words = words_of(size);

	if (launches->held_count + words > MAX_HELD_WORDS ||
	    array_grow(launches->held, launches->held_capacity, launches->held_count + words))
		return -ENOMEM;
	launches->held[launches->held_count] = size;
	memcpy(launches->held + launches->held_count + 1, data, size);
	launches->held_count += words;
	return 0;
}

void launches_settle(struct launches *launches)
{
	size_t place = 0;

	while (place < launches->held_count) {
		const size_t size = launches->held[place];

		take_now(launches, launches->held + place + 1, size);
		place += words_of(size);
	}
	launches->held_count = 0;
}

/* Stores the driver call at once, because the guest's launch may ask for it before the record is
 * taken. */
static void note_call(struct launches *launches, const struct submit_record *record)
{
	const struct driver_call call = {record->enter_ns, record->head.time_ns, record->head.tid};
	uint64_t addresses[MAX_KERNEL_FRAMES];
	const size_t count = copy_addresses(record, addresses);

	driver_calls_put(&launches->recording->driver_calls, &call,
			 &launches->stacks.walker->kernel_frames, addresses, count);
}

/* A record of a process with a guest waits, because the guest may have described the queue and its
 * device in a ring that is not read yet. All later records wait behind it; otherwise an end could
 * precede its start. */
void launches_take(struct launches *launches, const void *data, size_t size)
{
	const bool is_guests = is_recorded(launches, data, size);

	if (is_guests)
		note_call(launches, data);
	if (!is_guests && !launches->held_count) {
		take_now(launches, data, size);
	} else if (hold(launches, data, size)) {
		/* no more room to wait: continues without the guest's descriptions */
		launches_settle(launches);
		take_now(launches, data, size);
	}
}

/* ---- ends ------------------------------------------------------------------------------------ */

void launches_each_second(struct launches *launches, uint64_t now_ns)
{
	struct recording *recording = launches->recording;
	uint32_t process;

	submitters_look(&launches->submitters, now_ns);
	while ((process = submitters_take_ended(&launches->submitters)))
		end_process(launches, process, now_ns);
	kernel_frames_look(&launches->stacks.walker->kernel_frames);
	driver_calls_sweep(&recording->driver_calls, now_ns - PROCESSES_LINGER_NS);
	processes_forget(recording->others, now_ns);
}

void launches_end(struct launches *launches)
{
	for (size_t i = 0; i < MAX_OPEN; i++)
		give_up(launches, &launches->opens[i]);
	launches->counts.refused_stacks = launches->stacks.refused;
	launches->counts.no_memory_stacks = launches->stacks.no_memory;
	launches->counts.unkept = launches->stacks.unkept;
	if (kernel_frames_name(&launches->stacks.walker->kernel_frames)) {
		recording_note(launches->recording, "intel", COLLECTOR_PARTIAL, 0, error_text());
		error_clear();
	}
}

const struct launches_counts *launches_counted(const struct launches *launches)
{
	return &launches->counts;
}
