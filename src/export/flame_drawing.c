/* SPDX-License-Identifier: MIT
 *
 * export/flame_drawing.c - the device account, stack by stack, as a flame graph
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames   Gives: a graph whose total is the devices' wall, busy or idle time, or
 *           the number of launches
 * Owns:     nothing
 * Fails:    with the error chain
 * Why roots of their own: idle time before the first and after the last command is no code's doing. Above the
 *           first stack that launched it once was 79 % of a picture's width.
 */
#include "export/flame_drawing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/device_code.h"
#include "analyze/frames.h"
#include "analyze/layers.h"
#include "analyze/model.h"
#include "analyze/stalls.h"
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "export/flame.h"

#define WAITING_FOR_GIL "[waiting for the Python GIL]"

static const struct flame_view views[] = {
	{"total", "ns", "device time", .busy = true, .idle = true},
	{"gpu", "ns", "busy device time", .busy = true},
	{"idle", "ns", "idle device time", .idle = true},
	{"launch", "launches", "launches", .count = true},
	{"cpu", "ns", "processor time", .cpu = true},
	{"offcpu", "ns", "time off processors", .offcpu = true},
	{"stall", "samples", "device instructions", .stall = true},
};

const struct flame_view *drawing_find_view(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(views); i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}

static bool has_measured_device(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis_devices_shown(analysis); i++)
		if (analysis->devices[i].is_measured)
			return true;
	return false;
}

const struct flame_view *drawing_view(const char *name, const struct analysis *analysis)
{
	bool has_threads = analysis->samples_count || analysis->knows_switches;

	if (name)
		return drawing_find_view(name);
	if (!has_measured_device(analysis) && analysis->instructions_count)
		return drawing_find_view("stall");
	if (analysis_devices_shown(analysis) || !has_threads)
		return drawing_find_view("total");
	return drawing_find_view(analysis->samples_count ? "cpu" : "offcpu");
}

static int out_of_memory(void)
{
	return error_set(-ENOMEM, "flame graph: out of memory");
}

int drawing_open(struct drawing *drawing, const struct frames_options *options)
{
	drawing->flame = flame_new();
	if (!drawing->flame || frames_new(drawing->model, options, &drawing->frames) ||
	    device_code_new(drawing->model, &drawing->code) ||
	    layers_new(drawing->model, &drawing->layers))
		return out_of_memory();
	return 0;
}

void drawing_fini(struct drawing *drawing)
{
	flame_free(drawing->flame);
	frames_free(drawing->frames);
	device_code_free(drawing->code);
	layers_free(drawing->layers);
	free(drawing->stack);
}

static bool is_of_process(const struct drawing *drawing, const struct event_process *process)
{
	return !drawing->pid || (process && process->pid == drawing->pid);
}

static bool is_whose(const struct drawing *drawing, const struct analysis_whom *whom)
{
	return is_of_process(drawing, model_thing(drawing->model, EVENT_PROCESS, whom->process));
}

static int push(struct drawing *drawing, const char *name, enum flame_class class)
{
	uint32_t frame = flame_frame(drawing->flame, name, class);

	if (frame == UINT32_MAX ||
	    array_grow(drawing->stack, drawing->capacity, drawing->count + 1))
		return out_of_memory();
	drawing->stack[drawing->count++] = frame;
	return 0;
}

static enum flame_class class_of(const struct frame_name *name)
{
	static const enum flame_class classes[] = {
		[FRAME_CLASS_HOST] = FLAME_HOST,
		[FRAME_CLASS_PYTHON] = FLAME_PYTHON,
		[FRAME_CLASS_JIT] = FLAME_JIT,
		[FRAME_CLASS_INLINED] = FLAME_INLINED,
		[FRAME_CLASS_TRUNCATED] = FLAME_TRUNCATED,
		[FRAME_CLASS_KERNEL] = FLAME_KERNEL,
	};

	return classes[name->class];
}

/* A Python function has its place, as its name alone says little: where it begins, so that it is one box
 * however many of its lines launch. */
static int push_host(struct drawing *drawing, const struct frame_name *name)
{
	bool is_python = name->class == FRAME_CLASS_PYTHON;
	uint32_t line = drawing->has_lines ? name->line : is_python ? name->first_line : 0;
	const char *file = name->file ? path_base(name->file) : NULL;
	char text[4096];

	if (!file || (!line && !is_python))
		return push(drawing, name->function, class_of(name));
	if (line)
		snprintf(text, sizeof(text), "%s (%s:%u)", name->function, file, line);
	else
		snprintf(text, sizeof(text), "%s (%s)", name->function, file);
	return push(drawing, text, class_of(name));
}

/* Frames from the outermost one on, on what is there; none of them is said. */
static int add_names(struct drawing *drawing, const struct frame_name *names, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = push_host(drawing, &names[i]);
	if (!count)
		error = push(drawing, frames_none(drawing->frames), FLAME_HOST);
	return error;
}

static int push_names(struct drawing *drawing, const struct frame_name *names, size_t count)
{
	drawing->count = 0;
	return add_names(drawing, names, count);
}

static int push_stack(struct drawing *drawing, uint32_t stack)
{
	const struct frame_name *names;
	size_t count;

	if (frames_of_stack(drawing->frames, stack, &names, &count))
		return out_of_memory();
	return push_names(drawing, names, count);
}

static int add(struct drawing *drawing, uint64_t value)
{
	if (drawing->on_stack)
		return drawing->on_stack(drawing->context, drawing, value);
	return flame_add(drawing->flame, drawing->stack, drawing->count, value);
}

/* One box, or where `above` is given two, beyond the code that is on the stack. */
static int add_beyond(struct drawing *drawing, const char *name, enum flame_class class,
		      const char *above, uint64_t value)
{
	size_t below = drawing->count;
	int error;

	if (!value)
		return 0;
	error = push(drawing, "-", FLAME_SEPARATOR);
	if (!error)
		error = push(drawing, name, class);
	if (!error && above)
		error = push(drawing, above, FLAME_IDLE);
	if (!error)
		error = add(drawing, value);
	drawing->count = below;
	return error;
}

/* ---- instructions ------------------------------------------------------------------------------ */

/* Above its kernel: the line it is of, where that is known, itself, and what it waited for. */
static int push_instruction(struct drawing *drawing, const struct analysis_instruction *row)
{
	struct device_place place;
	char text[1024];
	int error = device_code_find(drawing->code, row->code, row->offset, &place);

	if (error)
		return out_of_memory();
	if (place.line) {
		if (place.source)
			snprintf(text, sizeof(text), "line %u: %s", place.line, place.source);
		else
			snprintf(text, sizeof(text), "%s:%u", path_base(place.file), place.line);
		error = push(drawing, text, FLAME_DEVICE);
	}
	snprintf(text, sizeof(text), "0x%llx%s%s", (unsigned long long)place.address,
		 *place.text ? " " : "", place.text);
	if (!error)
		error = push(drawing, text, FLAME_INSTRUCTION);
	if (!error && *row->stall)
		error = push(drawing, row->stall, FLAME_STALL);
	return error;
}

static int draw_instruction(struct drawing *drawing, const struct analysis_instruction *row,
			    uint64_t value)
{
	size_t below = drawing->count;
	int error = push_instruction(drawing, row);

	if (!error)
		error = add(drawing, value);
	drawing->count = below;
	return error;
}

/* To somebody who divides parts of the window. */
static int tell_instructions(struct drawing *drawing, const struct analysis_instruction *rows,
			     size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		drawing->row = (struct drawing_row){
			.kind = DRAWN_INSTRUCTION,
			.index = (uint32_t)(rows + i - drawing->analysis->instructions)};
		error = draw_instruction(drawing, &rows[i], rows[i].weight);
	}
	return error;
}

/* A kernel's time, given to its instructions by what their samples stand for; what rounding leaves is the first's. */
static int add_instructions(struct drawing *drawing, const struct analysis_instruction *rows,
			    size_t count, uint64_t value)
{
	unsigned __int128 all = 0;
	uint64_t left = value;
	int error = 0;

	for (size_t i = 0; i < count; i++)
		all += rows[i].weight;
	for (size_t i = count; i-- > 0 && !error;) {
		uint64_t part =
			i ? (uint64_t)((unsigned __int128)value * rows[i].weight / all) : left;

		left -= part;
		if (part)
			error = draw_instruction(drawing, &rows[i], part);
	}
	return error;
}

static const char *name_of(const char *name)
{
	return name && name[0] ? name : "[unknown command]";
}

static int add_cause(struct drawing *drawing, enum account_cause cause, uint64_t value)
{
	char text[64];

	drawing->row.part = cause;
	snprintf(text, sizeof(text), "[idle: %s]", account_cause_text(cause));
	return add_beyond(drawing, text, FLAME_IDLE, NULL, value);
}

static bool is_in_call(enum account_cause cause)
{
	return cause == CAUSE_API_WAIT || cause == CAUSE_API_CALL;
}

/* Drawn below what the thread did instead, not below the launch that came of it. */
bool drawing_has_states(enum account_cause cause)
{
	return cause == CAUSE_ON_CPU || cause == CAUSE_BLOCKED || is_in_call(cause);
}

/* What came before the launching call was entered is not that call's. */
enum idle_part { IDLE_BEFORE_CALL = 1, IDLE_FROM_CALL = 2, IDLE_ALL = 3 };

static enum idle_part part_of(enum account_cause cause)
{
	bool is_from = cause == CAUSE_RUNTIME || cause == CAUSE_SUBMISSION ||
		       cause == CAUSE_DEPENDENCY || cause == CAUSE_LATENCY;

	return is_from ? IDLE_FROM_CALL : IDLE_BEFORE_CALL;
}

static int add_idle(struct drawing *drawing, const uint64_t causes[CAUSE_COUNT],
		    enum idle_part parts)
{
	int error = 0;

	for (unsigned int cause = 0; !error && cause < CAUSE_COUNT; cause++)
		if (!drawing_has_states((enum account_cause)cause) &&
		    (part_of((enum account_cause)cause) & parts))
			error = add_cause(drawing, (enum account_cause)cause, causes[cause]);
	return error;
}

static uint64_t sum_of(const uint64_t causes[CAUSE_COUNT])
{
	uint64_t sum = 0;

	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		sum += causes[cause];
	return sum;
}

/* Weights without a sum say nothing of time. */
static bool has_weight(const struct analysis_instruction *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].weight)
			return true;
	return false;
}

static int add_busy(struct drawing *drawing, const struct analysis_path *path, uint64_t busy)
{
	uint32_t index = (uint32_t)(path - drawing->analysis->paths);
	const struct analysis_instruction *rows;
	size_t count = analysis_instructions_of(drawing->analysis, index, &rows);
	size_t below = drawing->count;
	int error = 0;

	drawing->row.part = DRAWN_BUSY;
	if (!busy || drawing->on_stack || !has_weight(rows, count))
		error = add_beyond(drawing, name_of(path->name), FLAME_DEVICE, NULL, busy);
	if (error || !busy || !has_weight(rows, count))
		return error;
	error = push(drawing, "-", FLAME_SEPARATOR);
	if (!error)
		error = push(drawing, name_of(path->name), FLAME_DEVICE);
	if (!error && drawing->on_stack)
		error = tell_instructions(drawing, rows, count);
	else if (!error)
		error = add_instructions(drawing, rows, count, busy);
	drawing->count = below;
	return error;
}

/* The runtime's function, on top of who called it, and what it led to in the kernel. */
static int push_call(struct drawing *drawing, uint32_t stack, const char *function)
{
	const struct frame_name *names;
	size_t count, callers;
	int error;

	if (frames_of_call(drawing->frames, stack, function, &names, &count, &callers))
		return out_of_memory();
	for (error = 0; callers < count && !error; callers++)
		error = push_host(drawing, &names[callers]);
	return error;
}

/* Who called it. */
static int push_callers(struct drawing *drawing, uint32_t stack)
{
	const struct frame_name *names;
	size_t count, callers;

	if (frames_of_call(drawing->frames, stack, "", &names, &count, &callers))
		return out_of_memory();
	/* where nobody is known, and the kernel's frames are, these are all there is to say */
	return callers || !count ? add_names(drawing, names, callers) : 0;
}

static int draw_path(struct drawing *drawing, const struct analysis_path *path)
{
	uint64_t busy = drawing->view->busy ? path->share_ns : 0;
	uint64_t idle = drawing->view->idle ? sum_of(path->causes) : 0;
	int error;

	if (!path->name || (!busy && !idle))
		return 0;
	drawing->row = (struct drawing_row){.kind = DRAWN_PATH,
					    .index = (uint32_t)(path - drawing->analysis->paths)};
	drawing->count = 0;
	error = push_callers(drawing, path->stack);
	if (!error && idle)
		error = add_idle(drawing, path->causes, IDLE_BEFORE_CALL);
	if (!error)
		error = push_call(drawing, path->stack, path->function);
	if (!error && idle)
		error = add_idle(drawing, path->causes, IDLE_FROM_CALL);
	return error ? error : add_busy(drawing, path, busy);
}

/* What belongs to no command, on a branch of its own. */
static int draw_rest(struct drawing *drawing, const char *name, const uint64_t causes[CAUSE_COUNT])
{
	int error;

	if (!sum_of(causes))
		return 0;
	drawing->count = 0;
	error = push(drawing, name, FLAME_IDLE);
	return error ? error : add_idle(drawing, causes, IDLE_ALL);
}

/* Its stack says of what else a thread waited for by a function's name. */
static int push_wait(struct drawing *drawing, const struct analysis_state *state)
{
	const char *wait = model_text(drawing->model, state->wait_string, "");

	return analysis_is_gil(wait) ? push(drawing, WAITING_FOR_GIL, FLAME_IDLE) : 0;
}

/* How many of the outermost frames every stack of a thread has: up to main, or the script. What calls that is of no
 * program. */
static size_t count_outer(const struct frame_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool is_start = strncmp(names[i].function, "_start", 6) == 0 ||
				strncmp(names[i].function, "__libc_start", 12) == 0;

		if ((names[i].is_program && !is_start) || names[i].class == FRAME_CLASS_PYTHON)
			return i + 1;
	}
	return 0;
}

/* Who made a call that has no stack of its own: as far as a stack that was seen inside of it tells, else what all stacks
 * of the thread have below it. */
static int push_caller(struct drawing *drawing, const struct analysis_state *state)
{
	const struct analysis_thread *thread =
		analysis_find_thread(drawing->analysis, state->holder);
	const struct frame_name *names = NULL;
	const bool has_lines = drawing->has_lines;
	uint32_t caller;
	size_t count = 0;
	int error;

	if (layers_caller_of_runtime(drawing->layers, state->stack, &caller))
		return out_of_memory();
	if (caller)
		return push_stack(drawing, caller);
	if (frames_of_stack(drawing->frames, thread ? thread->stack : 0, &names, &count))
		return out_of_memory();
	drawing->has_lines = false; /* the line is that of another call */
	error = push_names(drawing, names, count_outer(names, count));
	drawing->has_lines = has_lines;
	return error;
}

/* The call that a launching thread was in. */
static int push_called(struct drawing *drawing, const struct analysis_state *state)
{
	const char *function = model_text(drawing->model, state->wait_string, "");
	int error;

	drawing->count = 0;
	error = state->holder ? push_caller(drawing, state) : push_callers(drawing, state->stack);
	return error ? error : push_call(drawing, state->holder ? 0 : state->stack, function);
}

static int draw_state(struct drawing *drawing, const struct analysis_state *state, uint64_t value)
{
	int error = is_in_call(state->cause) ? push_called(drawing, state)
					     : push_stack(drawing, state->stack);

	if (!error && state->cause == CAUSE_BLOCKED)
		error = push_wait(drawing, state);
	return error ? error : add_cause(drawing, state->cause, value);
}

/* Where what is divided goes in a part of the window in which nothing was seen. */
static int tell_nobody(struct drawing *drawing, size_t device)
{
	int error = 0;

	for (unsigned int i = 0; i < CAUSE_COUNT && !error; i++) {
		const struct analysis_state nobody = {.device = device,
						      .cause = (enum account_cause)i};

		drawing->row = (struct drawing_row){
			.kind = DRAWN_STATE, .index = DRAWN_NOBODY, .device = (uint32_t)device};
		if (drawing_has_states(nobody.cause))
			error = draw_state(drawing, &nobody, 1);
	}
	return error;
}

static int draw_states(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; !error && i < analysis->states_count; i++) {
		const struct analysis_state *state = &analysis->states[i];

		if (!drawing_shows(drawing, state->device) || !drawing_has_states(state->cause) ||
		    (!state->idle_ns && !drawing->on_stack))
			continue;
		drawing->row = (struct drawing_row){.kind = DRAWN_STATE, .index = (uint32_t)i};
		error = draw_state(drawing, state, drawing->on_stack ? 1 : state->idle_ns);
	}
	for (size_t i = 0; !error && drawing->on_stack && i < analysis_devices_shown(analysis); i++)
		if (drawing_shows(drawing, i))
			error = tell_nobody(drawing, i);
	return error;
}

static int draw_device(struct drawing *drawing, const struct analysis_device *device)
{
	const struct account *account = &device->account;
	int error;

	drawing->row = (struct drawing_row){
		.kind = DRAWN_BEFORE, .index = (uint32_t)(device - drawing->analysis->devices)};
	if (!device->is_measured)
		return draw_rest(drawing, "[not measured]", account->before);
	error = draw_rest(drawing,
			  account->commands ? "[before the first command]" : "[no command]",
			  account->before);
	drawing->row.kind = DRAWN_AFTER;
	return error ? error : draw_rest(drawing, "[after the last command]", account->after);
}

static int draw_times(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; !error && i < analysis->paths_count; i++)
		if (drawing_shows(drawing, analysis->paths[i].device) &&
		    is_whose(drawing, &analysis->paths[i].whom))
			error = draw_path(drawing, &analysis->paths[i]);
	for (size_t i = 0; !error && drawing->view->idle && i < analysis_devices_shown(analysis);
	     i++)
		if (drawing_shows(drawing, i))
			error = draw_device(drawing, &analysis->devices[i]);
	return error || !drawing->view->idle ? error : draw_states(drawing);
}

/* What became of launches that have no execution. */
static const char *open_text(const struct analysis_ledger *ledger)
{
	if (ledger->dropped == ledger->dropped_launches)
		return "[in flight]";
	return ledger->in_flight_at_exit ? "[in flight or dropped]" : "[dropped]";
}

static int draw_launches(struct drawing *drawing, const struct analysis_launches *row)
{
	const char *open = open_text(&drawing->analysis->ledger), *name = name_of(row->name);
	int error;

	drawing->count = 0;
	error = push_callers(drawing, row->stack);
	drawing->row = (struct drawing_row){
		DRAWN_LAUNCHES, (uint32_t)(row - drawing->analysis->launches), DRAWN_MATCHED, 0};
	if (!error)
		error = push_call(drawing, row->stack, row->function);
	if (!error)
		error = add_beyond(drawing, name, FLAME_DEVICE, NULL, row->matched);
	drawing->row.part = DRAWN_REJECTED;
	if (!error)
		error = add_beyond(drawing, name, FLAME_DEVICE, "[rejected]", row->rejected);
	drawing->row.part = DRAWN_OPEN;
	if (!error)
		error = add_beyond(drawing, name, FLAME_DEVICE, open,
				   row->launched - row->matched - row->rejected);
	return error;
}

/* Launches that were lost have no stack, no device and no time: they are of the whole trace. */
static int draw_lost(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	uint64_t lost = analysis->ledger.dropped_launches;
	int error;

	if (!lost || analysis->has_window || drawing->pid || drawing->device != DRAWING_ALL_DEVICES)
		return 0;
	drawing->count = 0;
	drawing->row = (struct drawing_row){.kind = DRAWN_LOST};
	error = push(drawing, "[dropped]", FLAME_IDLE);
	return error ? error : add(drawing, lost);
}

static int draw_counts(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; !error && i < analysis->launches_count; i++)
		if (drawing_shows(drawing, analysis->launches[i].device) &&
		    is_whose(drawing, &analysis->launches[i].whom))
			error = draw_launches(drawing, &analysis->launches[i]);
	return error ? error : draw_lost(drawing);
}

/* What a thread waited for, on top of where. */
static int push_away(struct drawing *drawing, const struct analysis_away *away)
{
	const char *wait = model_text(drawing->model, away->wait_string, "");
	char text[256];

	if (away->is_preempted)
		return push(drawing, "[preempted]", FLAME_IDLE);
	if (!*wait)
		return push(drawing, "[blocked]", FLAME_IDLE);
	if (analysis_is_gil(wait))
		return push(drawing, WAITING_FOR_GIL, FLAME_IDLE);
	snprintf(text, sizeof(text), "[waiting in %s]", wait);
	return push(drawing, text, FLAME_IDLE);
}

static int draw_offcpu(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; !error && i < analysis->aways_count; i++) {
		if (!is_whose(drawing, &analysis->aways[i].whom))
			continue;
		drawing->row = (struct drawing_row){.kind = DRAWN_AWAY, .index = (uint32_t)i};
		error = push_stack(drawing, analysis->aways[i].stack);
		if (!error)
			error = push_away(drawing, &analysis->aways[i]);
		if (!error)
			error = add(drawing, analysis->aways[i].away_ns);
	}
	return error;
}

static bool is_better(const struct analysis_sample *sample, const struct analysis_sample *than)
{
	bool tells_time = analysis_tells_time(sample->source);

	if (!than || tells_time != analysis_tells_time(than->source))
		return !than || tells_time;
	return sample->count > than->count;
}

/* Samples of one source: of several the picture has one that tells where the time went, else the one with the most. */
static const char *source_of(const struct analysis *analysis)
{
	const struct analysis_sample *best = NULL;

	for (size_t i = 0; i < analysis->samples_count; i++)
		if (is_better(&analysis->samples[i], best))
			best = &analysis->samples[i];
	return best ? best->source : NULL;
}

const char *drawing_unit(const struct drawing *drawing)
{
	const char *source = drawing->view->cpu ? source_of(drawing->analysis) : NULL;

	return source ? analysis_source_unit(source) : drawing->view->unit;
}

static int draw_cpu(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	const char *source = source_of(analysis);
	int error = 0;

	for (size_t i = 0; !error && i < analysis->samples_count; i++) {
		const struct analysis_sample *sample = &analysis->samples[i];

		if (strcmp(sample->source, source) != 0 ||
		    !is_of_process(drawing, analysis->processes[sample->process].process))
			continue;
		drawing->row = (struct drawing_row){.kind = DRAWN_SAMPLE, .index = (uint32_t)i};
		error = push_stack(drawing, sample->stack);
		if (!error)
			error = add(drawing, sample->weight);
	}
	return error;
}

/* ---- samples of instructions ------------------------------------------------------------------- */

/* Whose code it is; of a path without one, who launched it. */
static const struct event_process *process_of(const struct drawing *drawing,
					      const struct analysis_instruction *row)
{
	const struct event_code *code = model_thing(drawing->model, EVENT_CODE, row->code);
	uint32_t process = code ? code->process : 0;

	if (!process && row->path != ANALYSIS_NO_PATH)
		process = drawing->analysis->paths[row->path].whom.process;
	return model_thing(drawing->model, EVENT_PROCESS, process);
}

static int push_process(struct drawing *drawing, const struct event_process *process)
{
	char pid[16];
	int error;

	drawing->count = 0;
	if (!process)
		return push(drawing, "[unknown process]", FLAME_HOST);
	error = push(drawing, model_text(drawing->model, process->name_string, "[unknown process]"),
		     FLAME_HOST);
	snprintf(pid, sizeof(pid), "%u", process->pid);
	return error ? error : push(drawing, pid, FLAME_HOST);
}

/* The file, as debug information or who named the code has it; the kernel. */
static int push_code(struct drawing *drawing, const struct analysis_instruction *row,
		     const struct device_place *place)
{
	const struct event_code *code = model_thing(drawing->model, EVENT_CODE, row->code);
	const char *file = model_source_file(drawing->model, code);
	int error = 0;

	if (place->file)
		file = place->file;
	if (*file)
		error = push(drawing, file, FLAME_DEVICE);
	return error ? error
		     : push(drawing, *row->kernel ? row->kernel : "[unknown code]", FLAME_DEVICE);
}

/* Instruction, what it waited for, and where it is: all samples of one text are together, and apart by place. */
static int push_stall(struct drawing *drawing, const struct analysis_instruction *row)
{
	struct device_place place;
	const char *text;
	char offset[24];
	int error = device_code_find(drawing->code, row->code, row->offset, &place);

	if (error)
		return out_of_memory();
	error = push(drawing, "-", FLAME_SEPARATOR);
	if (!error)
		error = push_code(drawing, row, &place);
	text = *place.text ? place.text : row->text;
	if (!error)
		error = push(drawing, *text ? text : "[unknown instruction]", FLAME_INSTRUCTION);
	if (!error && *row->stall)
		error = push(drawing, row->stall, FLAME_STALL);
	snprintf(offset, sizeof(offset), "0x%llx", (unsigned long long)place.address);
	return error ? error : push(drawing, offset, FLAME_INSTRUCTION);
}

static int draw_stall(struct drawing *drawing, const struct analysis_instruction *row)
{
	const char *function =
		row->path == ANALYSIS_NO_PATH ? "" : drawing->analysis->paths[row->path].function;
	int error = push_process(drawing, process_of(drawing, row));

	if (!error)
		error = push_callers(drawing, row->stack);
	if (!error)
		error = push_call(drawing, row->stack, function);
	if (!error)
		error = push_stall(drawing, row);
	return error ? error : add(drawing, row->samples);
}

static bool is_stall_shown(const struct drawing *drawing, const struct analysis_instruction *row)
{
	return drawing_shows(drawing, analysis_instruction_device(drawing->analysis, row)) &&
	       is_of_process(drawing, process_of(drawing, row));
}

/* What each reason means, where a reader points at it. */
static int note_stalls(struct drawing *drawing)
{
	int error = 0;

	for (size_t i = 0; i < stall_reasons_count && !error; i++) {
		const struct stall_reason *reason = &stall_reasons[i];
		uint32_t frame = flame_frame(drawing->flame, reason->name, FLAME_STALL);
		char text[512];

		snprintf(text, sizeof(text), "%s. Usual remedy: %s.", reason->meaning,
			 reason->remedy);
		error = frame == UINT32_MAX ? -ENOMEM : flame_note(drawing->flame, frame, text);
	}
	return error ? out_of_memory() : 0;
}

static int draw_stalls(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; i < analysis->instructions_count && !error; i++) {
		const struct analysis_instruction *row = &analysis->instructions[i];

		drawing->row = (struct drawing_row){.kind = DRAWN_STALL, .index = (uint32_t)i};
		if (row->samples && is_stall_shown(drawing, row))
			error = draw_stall(drawing, row);
	}
	return error;
}

bool drawing_shows(const struct drawing *drawing, size_t device)
{
	return drawing->device == DRAWING_ALL_DEVICES || drawing->device == device;
}

int drawing_draw(struct drawing *drawing)
{
	if (drawing->analysis->instructions_count && note_stalls(drawing))
		return -ENOMEM;
	if (drawing->view->cpu)
		return draw_cpu(drawing);
	if (drawing->view->offcpu)
		return draw_offcpu(drawing);
	if (drawing->view->stall)
		return draw_stalls(drawing);
	return drawing->view->count ? draw_counts(drawing) : draw_times(drawing);
}
