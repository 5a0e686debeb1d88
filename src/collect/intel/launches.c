/* SPDX-License-Identifier: MIT
 *
 * collect/intel/launches.c - submissions to Intel's GPUs, as rows of a recording
 *
 * Runs in:  the recorder
 * Gets:     records of src/bpf/xe.bpf.c or i915.bpf.c   Gives: launches of batches, and behind each those of its kernels
 * Owns:     stacks, kernels by their addresses
 * Fails:    without memory a submission has no row
 * Why:      a kernel is known by its address alone here: whoever knows more of what lies there says so with the same
 *           address. Where a runtime's own commands are recorded on the device, a submission would be the same work once
 *           more, and is left out.
 */
#include "collect/intel/launches.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"
#include "collect/told_stacks.h"
#include "event/event.h"

/* Beside those of guests, and of jobs (collect/drm/job_rows.c). */
#define CORRELATION_BASE (UINT64_C(0xfe) << 56)
#define HASH_ODD         UINT64_C(0x9e3779b97f4a7c15)

enum { OPEN_MOST = 64, CODES_MOST = 1 << 20, QUEUES_MOST = 65536 };

/* A kernel that was launched. */
struct code {
	uint64_t address, vm;
	uint32_t process, device, id;
	uint32_t pid;
};

/* A batch of which more may come. */
struct open_batch {
	struct event_launch launch; /* of its kernels */
	uint64_t number;
	uint64_t vm;
	uint32_t process, device, pid, launches;
	uint32_t told[BATCH_FOUND_MOST]; /* of each kernel found, how often it was named */
};

struct launches {
	struct recording *recording; /* borrowed */
	struct launch_gpu *gpus;     /* borrowed */
	const char *function;
	bool is_timed;
	struct told_stacks stacks;
	struct code *codes; /* owned */
	size_t codes_count, codes_capacity;
	struct hash_map by_code; /* key of a code -> index */
	struct hash_map
		by_queue; /* process << 32 | device, and the driver's number -> the trace's queue */
	struct open_batch opens[OPEN_MOST];
	size_t opens_next;
	uint64_t last_correlation;
	struct launches_counts counts;
	/* Records that wait: each behind its size, in whole words. */
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
	told_stacks_init(&launches->stacks, recording);
	hash_map_init(&launches->by_code);
	hash_map_init(&launches->by_queue);
	return launches;
}

void launches_free(struct launches *launches)
{
	if (!launches)
		return;
	told_stacks_fini(&launches->stacks);
	hash_map_fini(&launches->by_code);
	hash_map_fini(&launches->by_queue);
	free(launches->codes);
	free(launches->held);
	free(launches);
}

/* ---- whose, where ------------------------------------------------------------------------------ */

static struct process *process_of(struct launches *launches, uint32_t tgid, uint64_t now_ns,
				  struct processes **ret_table)
{
	struct process *process = processes_find(launches->recording->processes, tgid);

	*ret_table = launches->recording->processes;
	if (process)
		return process;
	*ret_table = launches->recording->others;
	process = processes_find(launches->recording->others, tgid);
	return process ? process : processes_begin(launches->recording->others, tgid, now_ns);
}

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
	return process_thread_describe(table, process, thread);
}

static uint32_t device_of(struct launches *launches, uint32_t minor)
{
	struct launch_gpu *gpu = &launches->gpus[minor];
	char name[100];
	const struct device_facts facts = {
		.address = gpu->address, .name = name, .vendor = "Intel", .driver = gpu->driver};

	/* its node may not be ours to open */
	if (!*gpu->address)
		snprintf(gpu->address, sizeof(gpu->address), "renderD%u", minor);
	snprintf(name, sizeof(name), "Intel GPU %s", gpu->address);
	if (!gpu->device)
		gpu->device = devices_meet(launches->recording, &facts);
	return gpu->device;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * HASH_ODD;
	return hash ^ hash >> 29;
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
	recording->kept_bytes += IDENTITY_BYTES + THING_BYTES;
	trace_writer_thing(recording->writer, EVENT_QUEUE, &row);
	return row.id;
}

static uint32_t queue_of(struct launches *launches, const struct submit_record *record,
			 uint32_t process, uint32_t device)
{
	const uint64_t key = mix(mix(record->vm, record->queue), (uint64_t)process << 32 | device);
	uint32_t id = (uint32_t)hash_map_get(&launches->by_queue, key, 0);

	if (id)
		return id;
	if (launches->by_queue.count >= QUEUES_MOST)
		hash_map_clear(&launches->by_queue);
	id = describe_queue(launches, record, process, device);
	hash_map_put(&launches->by_queue, key, id);
	return id;
}

/* ---- kernels ----------------------------------------------------------------------------------- */

static uint64_t code_key(uint64_t address, uint32_t process, uint32_t device)
{
	return mix(mix(address, process), device);
}

static uint32_t describe_code(struct launches *launches, const struct code *code, uint32_t kind,
			      uint64_t now_ns)
{
	static const char *const names[BATCH_KINDS] = {
		[BATCH_SYSTEM_ROUTINE] = "[system routine]", [BATCH_DEBUG_AREA] = "[debug area]"};
	struct recording *recording = launches->recording;
	const char *name = kind < BATCH_KINDS && names[kind] ? names[kind] : "";
	const struct event_code row = {.id = ++recording->last_code,
				       .process = code->process,
				       .type = CODE_KERNEL,
				       .name_string = recording_string(recording, name),
				       .device = code->device,
				       .begin_ns = now_ns,
				       .address = code->address};

	recording->kept_bytes += THING_BYTES;
	trace_writer_thing(recording->writer, EVENT_CODE, &row);
	return row.id;
}

/* 0: there are too many. */
static uint32_t code_of(struct launches *launches, const struct open_batch *batch,
			const struct submit_found *found, uint64_t now_ns)
{
	const uint64_t key = code_key(found->address, batch->process, batch->device);
	const uint64_t index = hash_map_get(&launches->by_code, key, UINT64_MAX);
	struct code code = {.address = found->address,
			    .vm = batch->vm,
			    .process = batch->process,
			    .device = batch->device,
			    .pid = batch->pid};

	if (index != UINT64_MAX && launches->codes[index].address == found->address &&
	    launches->codes[index].process == batch->process) {
		launches->codes[index].vm = batch->vm;
		return launches->codes[index].id;
	}
	if (launches->codes_count == CODES_MOST || launches->recording->is_memory_full ||
	    array_grow(launches->codes, launches->codes_capacity, launches->codes_count + 1))
		return 0;
	code.id = describe_code(launches, &code, found->kind, now_ns);
	launches->codes[launches->codes_count] = code;
	hash_map_put(&launches->by_code, key, launches->codes_count++);
	return code.id;
}

/* The last one takes its place. */
static void end_code(struct launches *launches, size_t index, uint64_t now_ns)
{
	struct code *code = &launches->codes[index];
	const size_t last = --launches->codes_count;

	trace_writer_end_thing(launches->recording->writer, EVENT_CODE, code->id, now_ns);
	hash_map_remove(&launches->by_code, code_key(code->address, code->process, code->device),
			NULL);
	if (index == last)
		return;
	*code = launches->codes[last];
	hash_map_put(&launches->by_code, code_key(code->address, code->process, code->device),
		     index);
}

static void take_unbound(struct launches *launches, const struct submit_unbound *unbound)
{
	for (size_t i = launches->codes_count; i-- > 0;) {
		const struct code *code = &launches->codes[i];

		if (code->vm == unbound->vm && (!unbound->end || (code->address >= unbound->begin &&
								  code->address < unbound->end)))
			end_code(launches, i, unbound->head.time_ns);
	}
}

/* ---- launches ---------------------------------------------------------------------------------- */

static void put_launch(struct launches *launches, struct event_launch *row)
{
	const struct trace_source source = {.source = row->thread, .clock = CLOCK_ID_MONOTONIC};

	row->correlation = CORRELATION_BASE | ++launches->last_correlation;
	trace_writer_row(launches->recording->writer, EVENT_LAUNCH, &source, row);
}

static void put_kernel(struct launches *launches, struct open_batch *batch,
		       const struct submit_found *found, uint32_t times)
{
	uint32_t code;

	if (found->flags & BATCH_IS_RELATIVE) {
		launches->counts.relative += times;
		return;
	}
	code = code_of(launches, batch, found, batch->launch.enter);
	for (uint32_t i = 0; i < times; i++) {
		if (!code || batch->launches == LAUNCHES_A_BATCH) {
			launches->counts.left_out += times - i;
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
		const uint32_t times = record->found[i].count - batch->told[i];

		batch->told[i] = record->found[i].count;
		put_kernel(launches, batch, &record->found[i], times);
	}
}

/* What the last look at a batch says. */
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

static uint32_t stack_of(struct launches *launches, const struct submit_record *record)
{
	const uint32_t first = record->frames_first;
	const uint32_t user = told_stacks_find(&launches->stacks, record->user_stack);
	uint32_t count = record->frames_count;

	launches->counts.stackless += user == 0;
	if (count > KERNEL_FRAMES_MOST)
		count = KERNEL_FRAMES_MOST;
	return told_stacks_put_kernel(&launches->stacks, record->frames + first,
				      count > first ? count - first : 0, user);
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
		.stack = stack_of(launches, record)};
	put_launch(launches, row);
	remember(launches, row, batch->process, record);
	row->command = COMMAND_KERNEL;
	row->flags = LAUNCH_UNTIMED | LAUNCH_FURTHER | LAUNCH_PART;
}

static struct open_batch *find_open(struct launches *launches, uint64_t number)
{
	for (size_t i = 0; i < OPEN_MOST; i++)
		if (launches->opens[i].number == number)
			return &launches->opens[i];
	return NULL;
}

static void take_batch(struct launches *launches, const struct submit_record *record)
{
	struct processes *table;
	struct process *process = process_of(launches, record->head.tgid, record->enter_ns, &table);
	struct open_batch batch = {
		.number = record->number, .vm = record->vm, .pid = record->head.tgid};
	uint32_t thread;

	if (!process)
		return;
	launches->counts.submissions++;
	launches->counts.no_space += (record->head.flags & SUBMIT_NO_VM) != 0;
	launches->counts.no_generation += (record->head.flags & SUBMIT_NO_GENERATION) != 0;
	thread = describe_thread(record, table, process);
	batch.process = process->row.id;
	batch.device = device_of(launches, record->minor);
	if (devices_has_user(launches->recording, batch.device, batch.process)) {
		launches->counts.told++;
		return;
	}
	put_batch(launches, &batch, record, thread);
	put_kernels(launches, &batch, record);
	if (record->head.flags & SUBMIT_IS_OPEN)
		launches->opens[launches->opens_next++ % OPEN_MOST] = batch;
}

static void take_more(struct launches *launches, const struct submit_record *record)
{
	struct open_batch *batch = find_open(launches, record->number);

	if (!batch)
		return;
	put_kernels(launches, batch, record);
	if (!(record->head.flags & SUBMIT_IS_OPEN))
		*batch = (struct open_batch){0};
}

static void take_stack(struct launches *launches, const struct kernel_stack *told)
{
	struct processes *table;
	struct process *process = process_of(launches, told->tgid, host_clocks_now_ns(), &table);

	if (!process || told->bytes > KERNEL_STACK_BYTES)
		return;
	process_describe(table, process);
	told_stacks_take(&launches->stacks, process, told);
}

static void take_met(struct launches *launches, const struct kernel_head *head)
{
	struct processes *table;
	struct process *process = process_of(launches, head->tgid, head->time_ns, &table);

	if (!process)
		return;
	process_describe(table, process);
	told_stacks_meet(&launches->stacks, process);
}

static bool is_whole(const struct submit_record *record, size_t size)
{
	return size >= offsetof(struct submit_record, found) &&
	       record->found_count <= BATCH_FOUND_MOST && record->minor < SUBMIT_MINORS_MOST &&
	       size >= offsetof(struct submit_record, found) +
			       record->found_count * sizeof(record->found[0]);
}

/* Of a batch or what was unbound. */
static void take_now(struct launches *launches, const void *data, size_t size)
{
	const struct kernel_head *head = data;
	const struct submit_record *record = data;

	if (size == sizeof(struct submit_unbound) && head->kind == SUBMIT_RECORD_UNBOUND) {
		take_unbound(launches, data);
		return;
	}
	if (!is_whole(record, size)) {
		launches->counts.malformed++;
		return;
	}
	if (!(head->flags & (SUBMIT_IS_OPEN | SUBMIT_NO_VM | SUBMIT_NO_GENERATION)))
		count_status(&launches->counts, record);
	if (head->kind == SUBMIT_RECORD_BATCH)
		take_batch(launches, record);
	else
		take_more(launches, record);
}

/* The guest of a process may have told of the queue and its device, and nobody has read that yet. */
static bool has_to_wait(const struct launches *launches, const void *data, size_t size)
{
	const struct kernel_head *head = data;

	if (launches->held_count)
		return true;
	return size > sizeof(struct submit_unbound) && head->kind == SUBMIT_RECORD_BATCH &&
	       processes_find(launches->recording->processes, head->tgid);
}

static int hold(struct launches *launches, const void *data, size_t size)
{
	const size_t words = 1 + (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);

	if (array_grow(launches->held, launches->held_capacity, launches->held_count + words))
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
		place += 1 + (size + sizeof(uint64_t) - 1) / sizeof(uint64_t);
	}
	launches->held_count = 0;
}

void launches_take(struct launches *launches, const void *data, size_t size)
{
	const struct kernel_head *head = data;

	if (size == sizeof(struct kernel_stack))
		take_stack(launches, data);
	else if (size == sizeof(*head) && head->kind == SUBMIT_RECORD_MET)
		take_met(launches, head);
	else if (size < sizeof(*head))
		launches->counts.malformed++;
	else if (!has_to_wait(launches, data, size) || hold(launches, data, size))
		take_now(launches, data, size);
}

/* ---- ends -------------------------------------------------------------------------------------- */

/* Nobody tells of theirs, and their numbers are used again. */
static void see_ends(struct launches *launches, uint64_t now_ns)
{
	size_t cursor = 0;
	uint64_t pid, value;

	while (hash_map_next(&launches->recording->others->by_pid, &cursor, &pid, &value))
		if (!((const struct process *)(uintptr_t)value)->has_ended && kill((pid_t)pid, 0) &&
		    errno == ESRCH)
			processes_end(launches->recording->others, (uint32_t)pid, now_ns);
}

static bool is_there(const struct launches *launches, const struct code *code)
{
	const struct processes *const tables[] = {launches->recording->processes,
						  launches->recording->others};

	for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
		const struct process *process = processes_find(tables[i], code->pid);

		if (process && process->row.id == code->process && !process->has_ended)
			return true;
	}
	return false;
}

void launches_each_second(struct launches *launches, uint64_t now_ns)
{
	for (size_t i = launches->codes_count; i-- > 0;)
		if (!is_there(launches, &launches->codes[i]))
			end_code(launches, i, now_ns);
	see_ends(launches, now_ns);
	processes_forget(launches->recording->others, now_ns);
}

void launches_end(struct launches *launches)
{
	for (size_t i = 0; i < OPEN_MOST; i++)
		launches->counts.incomplete += launches->opens[i].number != 0;
	if (told_stacks_name_kernel(&launches->stacks)) {
		recording_note(launches->recording, "intel", COLLECTOR_PARTIAL, 0, error_text());
		error_clear();
	}
}

const struct launches_counts *launches_counted(const struct launches *launches)
{
	return &launches->counts;
}
