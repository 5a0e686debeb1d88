/* SPDX-License-Identifier: MIT
 *
 * import/nvvp/memory.c - migrations and page faults of unified memory
 *
 * Runs in:  our own process
 * Gets:     UNIFIED_MEMORY_COUNTER
 * Gives:    migrations as commands, counters of page faults
 * Owns:     the faults of the processor at one moment
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why no column must exist: up to CUDA 6.5 the table has a sum with one time instead of transfers
 *           with start and end
 */
#include "base/array.h"
#include "import/nvvp/import.h"
#include "import/target.h"

enum {
	MEMORY_START,
	MEMORY_END,
	MEMORY_KIND,
	MEMORY_VALUE,
	MEMORY_SOURCE,
	MEMORY_DESTINATION,
	MEMORY_STREAM,
	MEMORY_PROCESS,
	MEMORY_FLAGS
};
static const char *const columns[] = {
	"start", "end", "counterKind", "value", "srcId", "dstId", "streamId", "processId", "flags",
};

/* CUpti_ActivityUnifiedMemoryCounterKind */
enum { KIND_TO_DEVICE = 1, KIND_TO_HOST, KIND_CPU_FAULT, KIND_GPU_FAULT, KIND_BETWEEN = 8 };

/* The number of the host among the devices. */
#define HOST UINT32_MAX

struct memory {
	struct nvvp *nvvp;
	uint32_t process;
	struct event_counter faults; /* those of the processor at one moment; value 0: none */
	uint64_t untimed, others;
};

/* The device of one end; 0: the host. */
static int find_end(struct memory *memory, const struct sqlite_cursor *row, size_t column,
		    uint32_t *ret_device)
{
	const uint32_t number = (uint32_t)sqlite_cursor_number(row, column);

	*ret_device = 0;
	return number == HOST ? 0 : nvvp_machine_device(memory->nvvp, number, ret_device);
}

static int write_migration(struct memory *memory, const struct sqlite_cursor *row)
{
	struct nvvp *nvvp = memory->nvvp;
	struct nvvp_stream stream = {.process = memory->process};
	struct import_cuda_command command = {
		.row = {.process = memory->process,
			.valid = EXECUTION_STARTED | EXECUTION_ENDED,
			.source_memory = MEMORY_MANAGED,
			.destination_memory = MEMORY_MANAGED,
			.migration =
				import_cuda_migration(sqlite_cursor_number(row, MEMORY_FLAGS))},
		.launch = {.command = COMMAND_MIGRATE,
			   .bytes = import_cuda_positive(row, MEMORY_VALUE)}};
	struct event_execution *execution = &command.row;
	int error =
		sqlite_cursor_take_times(row, MEMORY_START, &execution->started, &execution->ended);

	execution->seen = execution->ended;
	if (!error)
		error = find_end(memory, row, MEMORY_SOURCE, &execution->source_device);
	if (!error)
		error = find_end(memory, row, MEMORY_DESTINATION, &execution->destination_device);
	stream.device = execution->destination_device ? execution->destination_device
						      : execution->source_device;
	if (!error)
		error = nvvp_machine_queue(nvvp, &stream, &execution->queue);
	if (error)
		return error;
	import_cuda_join_begin(&nvvp->join);
	return import_cuda_join_add_command(&nvvp->join, &command);
}

/* A group of faults of one device. */
static int write_gpu_faults(struct memory *memory, const struct sqlite_cursor *row)
{
	struct import_target *target = memory->nvvp->target;
	struct event_counter counter = {.value = (int64_t)import_cuda_positive(row, MEMORY_VALUE)};
	uint32_t device;
	int error = sqlite_cursor_take_times(row, MEMORY_START, &counter.begin, &counter.end);

	if (!error)
		error = find_end(memory, row, MEMORY_SOURCE, &device);
	if (!error)
		error = import_target_series(target, "gpu.memory.faults", "events", SERIES_AMOUNT,
					     device, &counter.series);
	return error ? error : import_target_counter(target, &counter);
}

static int write_moment(struct memory *memory)
{
	return memory->faults.value ? import_target_counter(memory->nvvp->target, &memory->faults)
				    : 0;
}

/* A fault of the processor has a moment and no duration, so its counter lasts from the fault
 * before. */
static int add_cpu_fault(struct memory *memory, const struct sqlite_cursor *row)
{
	struct event_series series = {.type = SERIES_AMOUNT, .process = memory->process};
	struct event_counter *faults = &memory->faults;
	int64_t time;
	int error = sqlite_cursor_take_number(row, MEMORY_START, "a time", 1, INT64_MAX, &time);

	if (!error && !faults->value)
		faults->end = (uint64_t)time - 1;
	if (!error && (uint64_t)time > faults->end) {
		error = write_moment(memory);
		faults->begin = faults->end;
		faults->end = (uint64_t)time;
		faults->value = 0;
	}
	if (!error)
		error = import_target_describe_series(memory->nvvp->target, "memory.managed.faults",
						      "events", &series, &faults->series);
	faults->value += !error;
	return error;
}

static int on_memory(void *context, const struct sqlite_cursor *row)
{
	struct memory *memory = context;
	struct nvvp *nvvp = memory->nvvp;
	const int64_t kind = sqlite_cursor_number(row, MEMORY_KIND);
	const uint32_t pid = sqlite_cursor_has(row, MEMORY_PROCESS)
				     ? (uint32_t)sqlite_cursor_number(row, MEMORY_PROCESS)
				     : nvvp->machine.pid;
	int error = nvvp_machine_process(nvvp, pid, &memory->process);

	if (error)
		return error;
	if (!sqlite_cursor_has(row, MEMORY_START)) {
		memory->untimed++;
		return 0;
	}
	if (kind == KIND_TO_DEVICE || kind == KIND_TO_HOST || kind == KIND_BETWEEN)
		error = write_migration(memory, row);
	else if (kind == KIND_CPU_FAULT)
		error = add_cpu_fault(memory, row);
	else if (kind == KIND_GPU_FAULT)
		error = write_gpu_faults(memory, row);
	else
		memory->others++;
	nvvp->rows += !error;
	return error;
}

int nvvp_read_memory(struct nvvp *nvvp)
{
	static const struct sqlite_query query = {"CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER",
						  SQLITE_COLUMNS(columns, 0), NULL,
						  "CAST(start AS INTEGER)"};
	struct memory memory = {.nvvp = nvvp};
	int error = nvvp_each_row(nvvp, &query, on_memory, &memory);

	if (!error)
		error = write_moment(&memory);
	import_target_note_count(nvvp->target, memory.untimed, "counter of unified memory",
				 "counters of unified memory", "left out: no start and end");
	import_target_note_count(nvvp->target, memory.others, "event of unified memory",
				 "events of unified memory",
				 "left out: thrashing, throttling, remote maps");
	return error;
}
