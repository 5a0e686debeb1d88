/* SPDX-License-Identifier: MIT
 *
 * export/common/profile.c - stacks with their costs, for formats that are profiles
 *
 * Runs in:  our own process
 * Gets:     a model and options
 * Gives:    rows with their frames
 * Owns:     the analysis, the names
 * Fails:    -ENOMEM, errors of the reader
 * Why the account and not the durations: on a device that runs four commands at once, durations add
 *           up to four times its busy time, and every viewer divides by the sum. A row contains
 *           both.
 */
#include "export/common/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/sample/device_code.h"
#include "analyze/text/incomplete.h"
#include "base/array.h"
#include "base/format.h"

int profile_open_names(struct profile *profile, const struct model *model,
		       const struct output_options *options)
{
	const struct frames_options names = filter_names(options);

	*profile = (struct profile){.model = model, .options = options};
	return frames_new(model, &names, &profile->frames);
}

int profile_open(struct profile *profile, const struct model *model,
		 const struct output_options *options)
{
	struct analysis_options window = filter_window(options);
	int error = profile_open_names(profile, model, options);

	window.by_thread = true;
	if (!error)
		error = analysis_new(model, &window, &profile->analysis);
	return error ? error : device_code_new(model, &profile->code);
}

void profile_close(struct profile *profile)
{
	analysis_free(profile->analysis);
	frames_free(profile->frames);
	device_code_free(profile->code);
	free(profile->stack);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static int push_frame(struct profile *profile, const struct profile_frame *frame)
{
	return array_append(profile->stack, profile->capacity, profile->count, *frame);
}

static enum profile_frame_kind kind_of(enum frame_class class)
{
	static const enum profile_frame_kind kinds[] = {
		[FRAME_CLASS_HOST] = PROFILE_NATIVE,
		[FRAME_CLASS_PYTHON] = PROFILE_PYTHON,
		[FRAME_CLASS_JIT] = PROFILE_JIT,
		[FRAME_CLASS_INLINED] = PROFILE_INLINED,
		[FRAME_CLASS_TRUNCATED] = PROFILE_PLACEHOLDER,
		[FRAME_CLASS_KERNEL] = PROFILE_KERNEL,
	};

	return kinds[class];
}

/* A return address is the address after the call, which may belong to the next line or another
 * function, so 1 is subtracted. */
static int push_host(struct profile *profile, const struct frame_name *name)
{
	const struct event_frame *row = model_frame(profile->model, name->frame);
	struct profile_frame frame = {.kind = kind_of(name->class),
				      .function = name->function,
				      .file = name->file,
				      .line = name->line,
				      .first_line = name->first_line,
				      .build_id = "",
				      .trace_frame = name->frame,
				      .is_unnamed = name->is_unnamed};

	if (name->class == FRAME_CLASS_KERNEL)
		frame.module = name->kernel_module ? name->kernel_module : "[kernel.kallsyms]";
	if (row && row->type == FRAME_NATIVE) {
		frame.module = model_text(profile->model, row->module_string, NULL);
		frame.build_id = model_text(profile->model, row->build_id_string, "");
	}
	if (row &&
	    (row->type == FRAME_NATIVE || row->type == FRAME_JIT || row->type == FRAME_KERNEL))
		frame.address = row->offset - (row->offset && (row->flags & FRAME_RETURN));
	return push_frame(profile, &frame);
}

/* Pushes a stack and the runtime function that its innermost frame called; "": none. */
static int push_stack(struct profile *profile, uint32_t stack, const char *function)
{
	const struct profile_frame unknown = {.kind = PROFILE_PLACEHOLDER,
					      .function = frames_none(profile->frames),
					      .build_id = ""};
	const struct frame_name *names;
	size_t count, callers;
	int error = frames_of_call(profile->frames, stack, function, &names, &count, &callers);

	profile->count = 0;
	if (!error && !callers && count <= (*function != 0))
		error = push_frame(profile, &unknown);
	for (size_t i = 0; i < count && !error; i++)
		error = push_host(profile, &names[i]);
	return error;
}

int profile_frames(struct profile *profile, uint32_t stack, const char *function,
		   const struct profile_frame **ret_frames, size_t *ret_count)
{
	int error = push_stack(profile, stack, function);

	*ret_frames = profile->stack;
	*ret_count = profile->count;
	return error;
}

/* Pushes the command on top of its launching stack. */
static int push_command(struct profile *profile, const char *command)
{
	const struct profile_frame device = {.kind = PROFILE_DEVICE,
					     .function = *command ? command : "[unknown command]",
					     .build_id = ""};

	return push_frame(profile, &device);
}

static int push_instruction(struct profile *profile, const struct analysis_instruction *row)
{
	struct profile_frame frame = {.kind = PROFILE_DEVICE_INSTRUCTION,
				      .module = *row->kernel ? row->kernel : NULL};
	struct device_place place;
	int error = device_code_find(profile->code, row->code, row->offset, &place);

	if (error)
		return error;
	if (!*place.text)
		place.text = row->text;
	frame.function = *place.text ? place.text : "[unknown instruction]";
	frame.file = place.file;
	frame.line = place.line;
	frame.address = place.address;
	frame.is_unnamed = !*place.text;
	frame.build_id = place.name;
	error = push_frame(profile, &frame);
	if (error || !*row->stall)
		return error;
	frame = (struct profile_frame){
		.kind = PROFILE_DEVICE_INSTRUCTION, .function = row->stall, .build_id = ""};
	return push_frame(profile, &frame);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_of_process(const struct profile *profile, uint32_t process)
{
	uint64_t pid = profile->options->pid;

	return !pid || model_pid(profile->model, process) == pid;
}

static int finish_row(struct profile *profile, struct profile_row *row,
		      int (*on_row)(void *context, const struct profile_row *row), void *context)
{
	row->frames = profile->stack;
	row->frames_count = profile->count;
	return on_row(context, row);
}

static int each_execution(struct profile *profile,
			  int (*on_row)(void *context, const struct profile_row *row),
			  void *context)
{
	const struct analysis *analysis = profile->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->paths_count && !error; i++) {
		const struct analysis_path *path = &analysis->paths[i];
		struct profile_row row = {.kind = PROFILE_EXECUTION,
					  .process = path->whom.process,
					  .thread = path->whom.thread,
					  .queue = path->whom.queue,
					  .device = &analysis->devices[path->device],
					  .command = path->name,
					  .count = path->count,
					  .duration_ns = path->total_ns,
					  .value = path->share_ns};

		if (!path->name || (!path->count && !path->share_ns) ||
		    !is_of_process(profile, row.process))
			continue;
		error = push_stack(profile, path->stack, path->function);
		if (!error)
			error = push_command(profile, path->name);
		if (!error)
			error = finish_row(profile, &row, on_row, context);
	}
	return error;
}

static int each_sample(struct profile *profile,
		       int (*on_row)(void *context, const struct profile_row *row), void *context)
{
	const struct analysis *analysis = profile->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->samples_count && !error; i++) {
		const struct analysis_sample *sample = &analysis->samples[i];
		const struct event_process *process = analysis->processes[sample->process].process;
		struct profile_row row = {.kind = PROFILE_CPU_SAMPLE,
					  .process = process ? process->id : 0,
					  .thread = sample->thread,
					  .command = "",
					  .source = sample->source,
					  .unit = analysis_source_unit(sample->source),
					  .count = sample->count,
					  .value = sample->weight,
					  .is_time = sample->is_time};

		if (!is_of_process(profile, row.process))
			continue;
		error = push_stack(profile, sample->stack, "");
		if (!error)
			error = finish_row(profile, &row, on_row, context);
	}
	return error;
}

static int each_instruction(struct profile *profile,
			    int (*on_row)(void *context, const struct profile_row *row),
			    void *context)
{
	const struct analysis *analysis = profile->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->instructions_count && !error; i++) {
		const struct analysis_instruction *found = &analysis->instructions[i];
		const struct analysis_path *path =
			found->path == ANALYSIS_NO_PATH ? NULL : &analysis->paths[found->path];
		const struct event_code *code =
			model_entity(profile->model, EVENT_CODE, found->code);
		const size_t device = analysis_instruction_device(analysis, found);
		struct profile_row row = {.kind = PROFILE_INSTRUCTION,
					  .command = found->kernel,
					  .unit = found->unit,
					  .stall = found->stall,
					  .count = found->samples,
					  .value = found->weight};

		row.process = path ? path->whom.process : code ? code->process : 0;
		if (path) {
			row.thread = path->whom.thread;
			row.queue = path->whom.queue;
		}
		if (device != ANALYSIS_NO_DEVICE)
			row.device = &analysis->devices[device];
		if (!is_of_process(profile, row.process))
			continue;
		error = push_stack(profile, found->stack, path ? path->function : "");
		if (!error)
			error = push_command(profile, found->kernel);
		if (!error)
			error = push_instruction(profile, found);
		if (!error)
			error = finish_row(profile, &row, on_row, context);
	}
	return error;
}

int profile_each(struct profile *profile,
		 int (*on_row)(void *context, const struct profile_row *row), void *context)
{
	const char *kinds = profile->options->kinds;
	int error = 0;

	if (filter_is_wanted(kinds, "execution", "execution"))
		error = each_execution(profile, on_row, context);
	if (!error && filter_is_wanted(kinds, "cpu_sample", "cpu_sample"))
		error = each_sample(profile, on_row, context);
	if (!error && filter_is_wanted(kinds, "instruction_sample", "instruction_sample"))
		error = each_instruction(profile, on_row, context);
	return error;
}

/* ---- processes and threads ------------------------------------------------------------------- */

uint32_t profile_pid(const struct profile *profile, const struct profile_row *row)
{
	return model_pid(profile->model, row->process);
}

uint32_t profile_tid(const struct profile *profile, const struct profile_row *row)
{
	const struct event_thread *thread = model_entity(profile->model, EVENT_THREAD, row->thread);

	return thread ? thread->tid : 0;
}

const char *profile_comm(const struct profile *profile, const struct profile_row *row)
{
	const struct event_process *process =
		model_entity(profile->model, EVENT_PROCESS, row->process);

	return model_text(profile->model, process ? process->name_string : 0, "");
}

const char *profile_thread_name(const struct profile *profile, const struct profile_row *row)
{
	const struct event_thread *thread = model_entity(profile->model, EVENT_THREAD, row->thread);

	return model_text(profile->model, thread ? thread->name_string : 0, "");
}

size_t profile_inlined(const struct profile_frame *frames, size_t count)
{
	size_t i = 1;

	while (i < count && frames[i].kind == PROFILE_INLINED && frames[i].trace_frame &&
	       frames[i].trace_frame == frames[0].trace_frame)
		i++;
	return i;
}

/* ---- description of the recording ------------------------------------------------------------ */

static void describe_clocks(const struct profile *profile,
			    void (*on_line)(void *context, const char *line), void *context)
{
	const struct clocks *clocks = profile->model->clocks;
	char line[1024];

	for (size_t i = 0; i < clocks_count(clocks); i++) {
		const struct clocks_domain *domain = clocks_at(clocks, i);

		if (!domain->certificate.violations)
			continue;
		snprintf(line, sizeof(line), "clock %s: %" PRIu64 " %s before the cause",
			 clocks_name(clocks, profile->model->reader, domain),
			 domain->certificate.violations,
			 format_noun(domain->certificate.violations, "effect", "effects"));
		on_line(context, line);
	}
}

void profile_describe(const struct profile *profile,
		      void (*on_line)(void *context, const char *line), void *context)
{
	const struct analysis_ledger *ledger = &profile->analysis->ledger;
	struct incomplete incomplete = incomplete_analysis(profile->analysis);
	char line[1024];

	if (*model_command(profile->model))
		on_line(context, model_command(profile->model));
	snprintf(line, sizeof(line),
		 "launched %" PRIu64 " = matched %" PRIu64 " + not executed %" PRIu64
		 " + in flight at exit %" PRIu64 " + dropped %" PRIu64 " + rejected %" PRIu64,
		 ledger->launched, ledger->matched, ledger->not_executed, ledger->in_flight_at_exit,
		 ledger->dropped, ledger->rejected);
	on_line(context, line);
	if (*incomplete.text) {
		snprintf(line, sizeof(line), "INCOMPLETE: %s", incomplete.text);
		on_line(context, line);
	}
	describe_clocks(profile, on_line, context);
}
