/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/tables.c - counts kernels, copies and calls
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     calls and executions with their launch
 * Gives:    one row for each name, kind and device
 * Owns:     nothing; the rows belong to the analysis
 * Fails:    -ENOMEM
 * Why merged at the end: one name can have several string ids, in a merged file or from two
 *           programs. During the sweep a row is found by its id in one look-up; to find it by name
 *           would need a hash of the name's bytes.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/absent_call.h"

static int call_row(struct sweep *sweep, const struct event_api *row, bool is_launch,
		    struct analysis_call **ret_call)
{
	const enum analysis_call_class class = analysis_call_class_of(row->type);
	const uint32_t function = row->function_string;
	const struct trace_reader *reader = sweep->analysis->model->reader;
	struct analysis_program *program = &sweep->analysis->program;
	uint32_t index = sweep_rows_add(
		&sweep->tables.calls, function, (uint64_t) class << 1 | is_launch, program->calls,
		program->calls_count,
		(struct analysis_call){.name = trace_reader_string(reader, function, NULL),
				       .class = class,
				       .is_launch = is_launch});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	*ret_call = &program->calls[index];
	return 0;
}

static int count_failure(struct sweep *sweep, enum analysis_failure_kind kind, uint32_t id,
			 const char *name, int32_t result, uint32_t stack)
{
	struct analysis_program *program = &sweep->analysis->program;
	uint32_t index = sweep_rows_add(
		&sweep->tables.failures, (uint64_t)kind << 32 | id, (uint32_t)result,
		program->failures, program->failures_count,
		(struct analysis_failure){.kind = kind, .name = name, .result = result});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	program->failures[index].count++;
	if (!program->failures[index].stack)
		program->failures[index].stack = stack;
	return 0;
}

bool sweep_is_absent(const struct sweep *sweep, const struct open_command *launch)
{
	return strcmp(model_text(sweep->analysis->model, launch->function, ""), ABSENT_CALL) == 0;
}

const char *sweep_launch_name(const struct sweep *sweep, const struct open_command *launch,
			      uint32_t type, uint32_t *ret_id)
{
	const struct event_code *code;

	if (!launch || analysis_class(type) != ACCOUNT_KERNEL) {
		*ret_id = type | TAG_COPY;
		return analysis_command_name(type);
	}
	code = entity_index_get(&sweep->entities.codes, launch->kernel);
	*ret_id = code ? code->name_string : 0;
	return model_code_name(sweep->analysis->model, code, "[unknown kernel]");
}

const char *sweep_command_name(const struct sweep *sweep, const struct joined *joined,
			       uint32_t *ret_id)
{
	return sweep_launch_name(sweep, joined->launch, joined->type, ret_id);
}

int sweep_count_failed(struct sweep *sweep, const struct joined *joined)
{
	const struct open_command *launch = joined->launch;
	const char *name;
	uint32_t id;

	if (joined->row->status >= 0 ||
	    !analysis_shows(sweep->analysis, launch->enter, launch->exit))
		return 0;
	name = sweep_command_name(sweep, joined, &id);
	return count_failure(sweep, FAILURE_COMMAND, id, name, joined->row->status, 0);
}

/* Counts a call that waited for a device. These calls have a table of their own: the table of API
 * calls has a dozen functions, but waits have up to 10^5 stacks. */
static int count_wait(struct sweep *sweep, const struct event_api *row)
{
	const struct trace_reader *reader = sweep->analysis->model->reader;
	struct analysis_program *program = &sweep->analysis->program;
	uint32_t index =
		sweep_rows_add(&sweep->tables.waits, row->function_string, row->stack,
			       program->waits, program->waits_count,
			       (struct analysis_wait){.name = trace_reader_string(
							      reader, row->function_string, NULL),
						      .stack = row->stack});

	if (index == PAIR_MAP_NONE)
		return -ENOMEM;
	program->waits[index].count++;
	program->waits[index].total_ns += row->end - row->begin;
	return 0;
}

void sweep_count_section(struct sweep *sweep, const struct event_api *row)
{
	struct analysis *analysis = sweep->analysis;
	const uint64_t length = row->end - row->begin;
	struct analysis_section *section = analysis->program.sections;
	size_t i = 0;

	note_time(sweep, row->end);
	if (!analysis_shows(analysis, row->begin, row->end))
		return;
	while (i < analysis->program.sections_count && section[i].string != row->function_string)
		i++;
	if (i == ANALYSIS_SECTIONS_MAX)
		i--; /* no guest has that many sections */
	if (i == analysis->program.sections_count) {
		analysis->program.sections_count++;
		section[i].string = row->function_string;
		section[i].name =
			trace_reader_string(analysis->model->reader, row->function_string, NULL);
	}
	section[i].count++;
	section[i].total_ns += length;
	section[i].longest_ns = larger(section[i].longest_ns, length);
}

static void note_longest(struct analysis_call *call, uint64_t length_ns, uint32_t stack)
{
	if (length_ns <= call->longest_ns)
		return;
	call->longest_ns = length_ns;
	call->longest_stack = stack;
}

int sweep_count_call(struct sweep *sweep, size_t process, const struct event_api *row,
		     bool is_launch)
{
	struct analysis *analysis = sweep->analysis;
	struct analysis_call *call;
	int error;

	note_time(sweep, row->end);
	if (!analysis_shows(analysis, row->begin, row->end))
		return 0;
	error = call_row(sweep, row, is_launch, &call);
	if (error)
		return error;
	call->count++;
	call->failed += row->result != 0;
	call->total_ns += row->end - row->begin;
	call->is_wait |= row->type == API_TYPE_WAIT;
	note_longest(call, row->end - row->begin, row->stack);
	if (call->class == ANALYSIS_CALL_RUNTIME) {
		analysis->processes[process].calls++;
		analysis->processes[process].calls_ns += row->end - row->begin;
	}
	if (row->type == API_TYPE_WAIT)
		error = count_wait(sweep, row);
	if (error)
		return error;
	if (row->result)
		return count_failure(
			sweep, is_launch ? FAILURE_LAUNCH : FAILURE_CALL, row->function_string,
			trace_reader_string(analysis->model->reader, row->function_string, NULL),
			row->result, row->stack);
	return 0;
}

static int kernel_row(struct sweep *sweep, const struct open_command *launch, size_t device,
		      uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;
	const struct event_code *code = entity_index_get(&sweep->entities.codes, launch->kernel);
	uint32_t name = code ? code->name_string : 0;

	*ret_index = sweep_rows_add(
		&sweep->tables.kernels, name, device, analysis->kernels, analysis->kernels_count,
		(struct analysis_kernel){
			.name = model_kernel_text(analysis->model, name, "[unknown kernel]"),
			.symbol = model_text(analysis->model, name, ""),
			.device = device,
			.min_ns = UINT64_MAX,
			.durations = {.min = UINT64_MAX}});
	return *ret_index == PAIR_MAP_NONE ? -ENOMEM : 0;
}

static int copy_row(struct sweep *sweep, uint32_t type, size_t device, uint32_t *ret_index)
{
	struct analysis *analysis = sweep->analysis;

	*ret_index = sweep_rows_add(&sweep->tables.copies, type, device, analysis->copies,
				    analysis->copies_count,
				    (struct analysis_copy){.command = type, .device = device});
	return *ret_index == PAIR_MAP_NONE ? -ENOMEM : 0;
}

static int count_kernel(struct sweep *sweep, struct analysis_kernel *kernel,
			const struct joined *joined)
{
	kernel->count++;
	if (!joined->is_timed)
		return 0;
	sweep_count_fill(sweep, kernel, joined);
	kernel->timed++;
	kernel->total_ns += joined->duration_ns;
	if (joined->duration_ns < kernel->min_ns)
		kernel->min_ns = joined->duration_ns;
	if (joined->duration_ns > kernel->max_ns)
		kernel->max_ns = joined->duration_ns;
	return sweep->options->is_brief ? 0 : quantile_add(&kernel->durations, joined->duration_ns);
}

/* A map on a CPU device moves no bytes, so it gives no transfer rate. */
static bool moves_bytes(const struct analysis_device *device, uint32_t command)
{
	return (command != COMMAND_MAP && command != COMMAND_UNMAP) || !device->device ||
	       device->device->type != DEVICE_CPU;
}

static void count_copy(struct analysis_copy *copy, const struct analysis_device *device,
		       const struct joined *joined)
{
	copy->count++;
	copy->bytes += joined->launch->bytes;
	if (!joined->is_timed)
		return;
	copy->timed++;
	copy->total_ns += joined->duration_ns;
	if (!joined->launch->bytes || !moves_bytes(device, copy->command))
		return;
	copy->moved_bytes += joined->launch->bytes;
	copy->moved_ns += joined->duration_ns;
}

static void count_small(struct analysis_device *device, const struct joined *joined)
{
	const struct open_command *launch = joined->launch;
	struct analysis_transfers *small = &device->small;

	if (!joined->is_timed || !launch->bytes || launch->bytes > ANALYSIS_SMALL_BYTES ||
	    (joined->type != COMMAND_READ && joined->type != COMMAND_WRITE &&
	     joined->type != COMMAND_COPY))
		return;
	small->count++;
	small->bytes += launch->bytes;
	small->total_ns += joined->duration_ns;
	small->calls_ns += launch->exit - launch->enter;
}

static void count_sync(struct analysis_sync *sync, const struct joined *joined)
{
	sync->count++;
	sync->bytes += joined->launch->bytes;
	sync->calls_ns += joined->launch->exit - joined->launch->enter;
	if (joined->is_timed)
		sync->device_ns += joined->duration_ns;
}

/* Counts a matched execution in the table of its class; *ret_tag is the row's tag. */
int sweep_count_command(struct sweep *sweep, const struct joined *joined, bool in_window,
			uint32_t *ret_tag)
{
	struct analysis *analysis = sweep->analysis;
	enum account_class class = analysis_class(joined->type);
	uint32_t index = 0;
	int error = 0;

	*ret_tag = TAG_NONE;
	if (!in_window)
		return 0;
	if (class == ACCOUNT_KERNEL) {
		error = kernel_row(sweep, joined->launch, joined->device, &index);
		if (!error)
			error = count_kernel(sweep, &analysis->kernels[index], joined);
	} else {
		struct analysis_device *device = &analysis->devices[joined->device];

		error = copy_row(sweep, joined->type, joined->device, &index);
		if (!error)
			count_copy(&analysis->copies[index], device, joined);
		count_small(device, joined);
		if (class == ACCOUNT_COPY && (joined->launch->flags & LAUNCH_BLOCKING))
			count_sync(&device->sync, joined);
	}
	*ret_tag = class == ACCOUNT_KERNEL ? index : index | TAG_COPY;
	return error;
}

void sweep_on_share(void *context, uint32_t path, uint32_t process, uint64_t share_ns)
{
	struct analysis *analysis = ((struct sweep *)context)->analysis;
	uint32_t tag = analysis->paths[path].row;

	overlap_share(&analysis->devices[analysis->paths[path].device].overlap, process, share_ns);
	analysis->paths[path].share_ns += share_ns;
	analysis->processes[process].share_ns += share_ns;
	if (tag == TAG_NONE)
		return;
	if (tag & TAG_COPY)
		analysis->copies[tag & ~TAG_COPY].share_ns += share_ns;
	else
		analysis->kernels[tag].share_ns += share_ns;
}

static int compare_names(const char *left, size_t left_device, const char *right,
			 size_t right_device)
{
	if (left_device != right_device)
		return left_device < right_device ? -1 : 1;
	return strcmp(left, right);
}

static int compare_totals(uint64_t left, uint64_t right)
{
	return (left < right) - (left > right);
}

static int compare_kernel_names(const void *left, const void *right)
{
	const struct analysis_kernel *a = left, *b = right;

	return compare_names(a->name, a->device, b->name, b->device);
}

static int compare_kernels(const void *left, const void *right)
{
	const struct analysis_kernel *a = left, *b = right;
	int order = compare_totals(a->total_ns, b->total_ns);

	return order ? order : compare_kernel_names(left, right);
}

static int compare_copies(const void *left, const void *right)
{
	const struct analysis_copy *a = left, *b = right;
	int order = compare_totals(a->total_ns, b->total_ns);

	if (order)
		return order;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->command > b->command) - (a->command < b->command);
}

static int compare_call_names(const void *left, const void *right)
{
	const struct analysis_call *a = left, *b = right;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return compare_names(a->name, 0, b->name, 0);
}

static int compare_calls(const void *left, const void *right)
{
	const struct analysis_call *a = left, *b = right;
	int order = compare_totals(a->total_ns, b->total_ns);

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return order ? order : compare_call_names(left, right);
}

/* Adds the numbers of `row` to `last` and frees it. */
static int merge_kernel(struct analysis_kernel *last, struct analysis_kernel *row)
{
	int error = quantile_merge(&last->durations, &row->durations);

	last->count += row->count;
	last->timed += row->timed;
	last->total_ns += row->total_ns;
	last->share_ns += row->share_ns;
	sweep_merge_fill(last, row);
	last->min_ns = smaller(last->min_ns, row->min_ns);
	last->max_ns = larger(last->max_ns, row->max_ns);
	quantile_fini(&row->durations);
	return error;
}

/* One name can have several string ids. After sorting by name, its rows are neighbours. */
static int merge_kernels(struct analysis *analysis)
{
	size_t kept = 0;
	int error = 0;

	qsort(analysis->kernels, analysis->kernels_count, sizeof(*analysis->kernels),
	      compare_kernel_names);
	for (size_t i = 0; i < analysis->kernels_count; i++) {
		struct analysis_kernel *row = &analysis->kernels[i];
		struct analysis_kernel *last = kept ? &analysis->kernels[kept - 1] : NULL;

		if (!last || compare_kernel_names(last, row) != 0) {
			analysis->kernels[kept++] = *row;
			continue;
		}
		if (merge_kernel(last, row))
			error = -ENOMEM;
	}
	analysis->kernels_count = kept;
	return error;
}

static void merge_calls(struct analysis *analysis)
{
	size_t kept = 0;

	qsort(analysis->program.calls, analysis->program.calls_count,
	      sizeof(*analysis->program.calls), compare_call_names);
	for (size_t i = 0; i < analysis->program.calls_count; i++) {
		struct analysis_call *row = &analysis->program.calls[i];
		struct analysis_call *last = kept ? &analysis->program.calls[kept - 1] : NULL;

		if (!last || compare_call_names(last, row) != 0) {
			analysis->program.calls[kept++] = *row;
			continue;
		}
		last->count += row->count;
		last->failed += row->failed;
		last->total_ns += row->total_ns;
		last->is_launch |= row->is_launch;
		last->is_wait |= row->is_wait;
		note_longest(last, row->longest_ns, row->longest_stack);
	}
	analysis->program.calls_count = kept;
}

static int compare_failures(const void *left, const void *right)
{
	const struct analysis_failure *a = left, *b = right;
	int order = compare_totals(a->count, b->count);

	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : (a->result < b->result) - (a->result > b->result);
}

int sweep_sort_tables(struct analysis *analysis)
{
	int error = 0;

	if (analysis->program.failures_count)
		qsort(analysis->program.failures, analysis->program.failures_count,
		      sizeof(*analysis->program.failures), compare_failures);
	if (analysis->kernels_count) {
		error = merge_kernels(analysis);
		qsort(analysis->kernels, analysis->kernels_count, sizeof(*analysis->kernels),
		      compare_kernels);
	}
	if (analysis->copies_count)
		qsort(analysis->copies, analysis->copies_count, sizeof(*analysis->copies),
		      compare_copies);
	if (analysis->program.calls_count) {
		merge_calls(analysis);
		qsort(analysis->program.calls, analysis->program.calls_count,
		      sizeof(*analysis->program.calls), compare_calls);
	}
	return error;
}

void sweep_tables_fini(struct sweep_tables *tables)
{
	pair_map_fini(&tables->kernels.rows);
	pair_map_fini(&tables->copies.rows);
	pair_map_fini(&tables->calls.rows);
	pair_map_fini(&tables->failures.rows);
	pair_map_fini(&tables->waits.rows);
}
