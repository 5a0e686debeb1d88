/* SPDX-License-Identifier: MIT
 *
 * flame/drawing.c - the device account, stack by stack, as a flame graph
 *
 * Runs in:  our own process
 * Gets:     an analysis and a view
 * Gives:    a graph whose total is the devices' wall, busy or idle time, the number of launches,
 *           the threads' time on or off processors, or the samples of device instructions
 * Owns:     the graph, the frames, the device code and the layers, from drawing_open to
 *           drawing_fini
 * Fails:    -ENOMEM and errors of the reader, with the error chain
 * Why the idle time before the first and after the last command has a root of its own: no code
 *           causes it. When it was drawn above the first launch, it took 79 % of one picture's
 *           width.
 */
#include "flame/drawing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/sample/device_code.h"
#include "analyze/text/layers.h"
#include "analyze/text/short_names.h"
#include "base/array.h"
#include "flame/drawing_private.h"
#include "flame/flame.h"
#include "flame/tree.h"

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
	bool has_threads = analysis->samples_count || analysis->cpu.knows_switches;

	if (name)
		return drawing_find_view(name);
	if (!has_measured_device(analysis) && analysis->instructions_count)
		return drawing_find_view("stall");
	if (analysis_devices_shown(analysis) || !has_threads)
		return drawing_find_view("total");
	return drawing_find_view(analysis->samples_count ? "cpu" : "offcpu");
}

int drawing_open(struct drawing *drawing, const struct frames_options *options)
{
	drawing->flame = flame_new();
	if (!drawing->flame || frames_new(drawing->model, options, &drawing->frames) ||
	    device_code_new(drawing->model, &drawing->code) ||
	    layers_new(drawing->model, &drawing->layers))
		return drawing_out_of_memory();
	return 0;
}

void drawing_fini(struct drawing *drawing)
{
	flame_free(drawing->flame);
	frames_free(drawing->frames);
	device_code_free(drawing->code);
	layers_free(drawing->layers);
	short_names_free(drawing->short_kernels);
	short_names_free(drawing->short_functions);
	free(drawing->stack);
	free(drawing->drawn);
}

/* With a frame for each line, functions have their place in the name and keep it. */
static bool is_shortened(const struct drawing *drawing, enum flame_class class)
{
	return !drawing->has_lines && (class == FLAME_HOST || class == FLAME_INLINED);
}

static int shorten_frames(const struct drawing *drawing, bool is_device,
			  int (*shorten)(const char *const *names, size_t count,
					 struct short_names **ret_short),
			  struct short_names **ret_short)
{
	const struct flame *flame = drawing->flame;
	const char **names = calloc(flame->frames_count + (size_t)1, sizeof(*names));
	size_t count = 0;
	int error = names ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < flame->frames_count && !error; i++) {
		const enum flame_class class = flame->frames[i].frame_class;

		if (is_device ? class == FLAME_DEVICE : is_shortened(drawing, class))
			names[count++] = flame_frame_name(flame, i).bytes;
	}
	if (!error)
		error = shorten(names, count, ret_short);
	free(names);
	return error;
}

/* Kernels of another recording are in the graph, but not in the model. */
static int shorten_kernels(struct drawing *drawing)
{
	return drawing->is_compared
		       ? shorten_frames(drawing, true, short_names_new, &drawing->short_kernels)
		       : model_short_kernels(drawing->model, &drawing->short_kernels);
}

int drawing_shorten(struct drawing *drawing)
{
	if (shorten_kernels(drawing) ||
	    shorten_frames(drawing, false, short_functions_new, &drawing->short_functions))
		return drawing_out_of_memory();
	return 0;
}

const char *drawing_label(void *context, const char *name, enum flame_class frame_class)
{
	const struct drawing *drawing = context;

	if (frame_class == FLAME_DEVICE)
		return short_names_find(drawing->short_kernels, name);
	return is_shortened(drawing, frame_class) ? short_names_find(drawing->short_functions, name)
						  : name;
}

static bool is_whose(const struct drawing *drawing, const struct analysis_whom *whom)
{
	return drawing_is_of_process(drawing,
				     model_entity(drawing->model, EVENT_PROCESS, whom->process));
}

/* Sets the process of the rows that follow. */
static void set_process(struct drawing *drawing, uint32_t process)
{
	drawing->process = process ? process : DRAWING_UNKNOWN_PROCESS;
}

static void set_process_of_state(struct drawing *drawing, const struct analysis_state *state)
{
	const struct event_thread *thread =
		model_entity(drawing->model, EVENT_THREAD, state->thread);
	const bool is_rest = state->cause == CAUSE_NOTHING_TO_DO && !state->stack;

	set_process(drawing, thread ? thread->process : 0);
	if (!thread && is_rest)
		drawing->process = DRAWING_NO_PROCESS;
}

static const char *name_of(const char *name)
{
	return name && name[0] ? name : "[unknown command]";
}

static int add_idle_box(struct drawing *drawing, enum account_cause cause, uint64_t value)
{
	char text[64];

	snprintf(text, sizeof(text), "[idle: %s]", account_cause_text(cause));
	return drawing_add_beyond(drawing, text, FLAME_IDLE, NULL, value);
}

static int add_cause(struct drawing *drawing, enum account_cause cause, uint64_t value)
{
	drawing->row.part = cause;
	return add_idle_box(drawing, cause, value);
}

static bool is_in_call(enum account_cause cause)
{
	return cause == CAUSE_API_WAIT || cause == CAUSE_API_CALL;
}

/* Time before the start of the launching call is not attributed to that call. */
enum idle_part { IDLE_BEFORE_CALL = 1, IDLE_FROM_CALL = 2, IDLE_ALL = 3 };

static enum idle_part part_of(enum account_cause cause)
{
	bool is_from = cause == CAUSE_RUNTIME || cause == CAUSE_SUBMISSION ||
		       cause == CAUSE_DEPENDENCY || cause == CAUSE_LATENCY;

	return is_from ? IDLE_FROM_CALL : IDLE_BEFORE_CALL;
}

/* Idle time with states is drawn on the stack in which the thread was, not on the stack of the next
 * launch. */
static int add_idle(struct drawing *drawing, const uint64_t causes[CAUSE_COUNT],
		    enum idle_part parts)
{
	int error = 0;

	for (unsigned int cause = 0; !error && cause < CAUSE_COUNT; cause++)
		if (!analysis_has_states(drawing->analysis, (enum account_cause)cause) &&
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

static int add_busy(struct drawing *drawing, const struct analysis_path *path, uint64_t busy)
{
	uint32_t index = (uint32_t)(path - drawing->analysis->paths);
	const struct analysis_instruction *rows;
	size_t count = analysis_instructions_of(drawing->analysis, index, &rows);
	size_t below = drawing->count;
	int error = 0;

	drawing->row.part = DRAWN_BUSY;
	if (!busy || drawing->on_stack || !drawing_has_weight(rows, count))
		error = drawing_add_beyond(drawing, name_of(path->name), FLAME_DEVICE, NULL, busy);
	if (error || !busy || !drawing_has_weight(rows, count))
		return error;
	error = drawing_push(drawing, "-", FLAME_SEPARATOR);
	if (!error)
		error = drawing_push(drawing, name_of(path->name), FLAME_DEVICE);
	if (!error && drawing->on_stack)
		error = drawing_pass_instructions(drawing, rows, count);
	else if (!error)
		error = drawing_add_instructions(drawing, rows, count, busy);
	drawing->count = below;
	return error;
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
	set_process(drawing, path->whom.process);
	error = drawing_push_callers(drawing, path->stack);
	if (!error && idle)
		error = add_idle(drawing, path->causes, IDLE_BEFORE_CALL);
	if (!error)
		error = drawing_push_call(drawing, path->stack, path->function);
	if (!error && idle)
		error = add_idle(drawing, path->causes, IDLE_FROM_CALL);
	return error ? error : add_busy(drawing, path, busy);
}

/* Draws time that belongs to no command under a root of its own. */
static int draw_rest(struct drawing *drawing, const char *name, const uint64_t causes[CAUSE_COUNT])
{
	int error;

	if (!sum_of(causes))
		return 0;
	drawing->count = 0;
	error = drawing_push(drawing, name, FLAME_IDLE);
	return error ? error : add_idle(drawing, causes, IDLE_ALL);
}

/* Pushes a frame for a wait for the GIL. In all other waits the innermost function of the stack
 * names the wait. */
static int push_wait(struct drawing *drawing, const struct analysis_state *state)
{
	const char *wait = model_text(drawing->model, state->wait_string, "");

	return analysis_is_gil(wait) ? drawing_push(drawing, WAITING_FOR_GIL, FLAME_IDLE) : 0;
}

/* Number of outermost frames that all stacks of a thread share, up to main or the Python script.
 * Frames outside of these are not part of the program. */
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

/* Pushes the caller of a call without a stack of its own: from a stack sampled inside it, otherwise
 * the frames that all stacks of the thread share. */
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
		return drawing_out_of_memory();
	if (caller)
		return drawing_push_stack(drawing, caller);
	if (frames_of_stack(drawing->frames, thread ? thread->stack : 0, &names, &count))
		return drawing_out_of_memory();
	drawing->has_lines = false; /* the line belongs to another call */
	error = drawing_push_names(drawing, names, count_outer(names, count));
	drawing->has_lines = has_lines;
	return error;
}

/* Pushes the stack of the call in which a launching thread was. */
static int push_called(struct drawing *drawing, const struct analysis_state *state)
{
	const char *function = model_text(drawing->model, state->wait_string, "");
	int error;

	drawing->count = 0;
	error = state->holder ? push_caller(drawing, state)
			      : drawing_push_callers(drawing, state->stack);
	return error ? error
		     : drawing_push_call(drawing, state->holder ? 0 : state->stack, function);
}

static int push_state(struct drawing *drawing, const struct analysis_state *state)
{
	int error = is_in_call(state->doing) ? push_called(drawing, state)
					     : drawing_push_stack(drawing, state->stack);

	return !error && state->doing == CAUSE_BLOCKED ? push_wait(drawing, state) : error;
}

/* Stacks before the first command and after the last have a root of their own. */
static int push_rest(struct drawing *drawing, const struct analysis_state *state)
{
	const struct analysis_device *device = &drawing->analysis->devices[state->device];
	int error = 0;

	if (state->stack || state->wait_string)
		error = push_state(drawing, state);
	else
		drawing->count = 0;
	return error ? error
		     : drawing_push_root(drawing, state->is_after ? "[after the last command]"
						  : device->account.commands
							  ? "[before the first command]"
							  : "[no command]");
}

static int draw_state(struct drawing *drawing, const struct analysis_state *state, uint64_t value)
{
	int error = state->cause == CAUSE_NOTHING_TO_DO ? push_rest(drawing, state)
							: push_state(drawing, state);

	drawing->row.part = analysis_state_group(state->cause, state->is_after);
	return error ? error : add_idle_box(drawing, state->cause, value);
}

/* Passes to on_stack the stacks for a device's idle time in parts of the window without samples. */
static int pass_unsampled_states(struct drawing *drawing, size_t device)
{
	int error = 0;

	for (unsigned int i = 0; i < ANALYSIS_STATE_GROUPS && !error; i++) {
		const struct analysis_state unsampled = analysis_nameless_state(device, i);

		drawing->row = (struct drawing_row){
			.kind = DRAWN_STATE, .index = DRAWN_UNSAMPLED, .device = (uint32_t)device};
		if (analysis_has_states(drawing->analysis, unsampled.cause))
			error = draw_state(drawing, &unsampled, 1);
	}
	return error;
}

static int draw_states(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; !error && i < analysis->cpu.states_count; i++) {
		const struct analysis_state *state = &analysis->cpu.states[i];

		if (!drawing_shows(drawing, state->device) ||
		    !analysis_has_states(drawing->analysis, state->cause) ||
		    (!state->idle_ns && !drawing->on_stack))
			continue;
		set_process_of_state(drawing, state);
		drawing->row = (struct drawing_row){.kind = DRAWN_STATE, .index = (uint32_t)i};
		error = draw_state(drawing, state, drawing->on_stack ? 1 : state->idle_ns);
	}
	for (size_t i = 0; !error && drawing->on_stack && i < analysis_devices_shown(analysis); i++)
		if (drawing_shows(drawing, i))
			error = pass_unsampled_states(drawing, i);
	return error;
}

static int draw_device(struct drawing *drawing, const struct analysis_device *device)
{
	const struct account *account = &device->account;
	int error;

	drawing->process = DRAWING_NO_PROCESS;
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

/* The label of launches without an execution. */
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
	set_process(drawing, row->whom.process);
	error = drawing_push_callers(drawing, row->stack);
	drawing->row = (struct drawing_row){
		DRAWN_LAUNCHES, (uint32_t)(row - drawing->analysis->launches), DRAWN_MATCHED, 0};
	if (!error)
		error = drawing_push_call(drawing, row->stack, row->function);
	if (!error)
		error = drawing_add_beyond(drawing, name, FLAME_DEVICE, NULL, row->matched);
	drawing->row.part = DRAWN_REJECTED;
	if (!error)
		error = drawing_add_beyond(drawing, name, FLAME_DEVICE, "[rejected]",
					   row->rejected);
	drawing->row.part = DRAWN_OPEN;
	if (!error)
		error = drawing_add_beyond(drawing, name, FLAME_DEVICE, open,
					   row->launched - row->matched - row->rejected);
	return error;
}

/* Lost launches have no stack, device or time, so they are drawn only for the whole trace. */
static int draw_lost(struct drawing *drawing, uint64_t lost, const char *text)
{
	const struct analysis *analysis = drawing->analysis;
	int error;

	if (!lost || analysis->has_window || drawing->pid || drawing->device != DRAWING_ALL_DEVICES)
		return 0;
	drawing->count = 0;
	drawing->process = DRAWING_NO_PROCESS;
	drawing->row = (struct drawing_row){.kind = DRAWN_LOST};
	error = drawing_push(drawing, text, FLAME_IDLE);
	return error ? error : drawing_add(drawing, lost);
}

static int draw_counts(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; !error && i < analysis->launches_count; i++)
		if (drawing_shows(drawing, analysis->launches[i].device) &&
		    is_whose(drawing, &analysis->launches[i].whom))
			error = draw_launches(drawing, &analysis->launches[i]);
	if (!error)
		error = draw_lost(drawing, analysis->ledger.dropped_launches, "[dropped]");
	/* --max-overhead counted them and left them out. */
	return error ? error : draw_lost(drawing, analysis->ledger.left_out, "[left out]");
}

/* Pushes the reason for a thread's time off the processor. */
static int push_away(struct drawing *drawing, const struct analysis_away *away)
{
	const char *wait = model_text(drawing->model, away->wait_string, "");
	char text[256];

	if (away->is_preempted)
		return drawing_push(drawing, "[preempted]", FLAME_IDLE);
	if (!*wait)
		return drawing_push(drawing, "[blocked]", FLAME_IDLE);
	if (analysis_is_gil(wait))
		return drawing_push(drawing, WAITING_FOR_GIL, FLAME_IDLE);
	snprintf(text, sizeof(text), "[waiting in %s]", wait);
	return drawing_push(drawing, text, FLAME_IDLE);
}

static int draw_offcpu(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	int error = 0;

	for (size_t i = 0; !error && i < analysis->cpu.aways_count; i++) {
		if (!is_whose(drawing, &analysis->cpu.aways[i].whom))
			continue;
		set_process(drawing, analysis->cpu.aways[i].whom.process);
		drawing->row = (struct drawing_row){.kind = DRAWN_AWAY, .index = (uint32_t)i};
		error = drawing_push_stack(drawing, analysis->cpu.aways[i].stack);
		if (!error)
			error = push_away(drawing, &analysis->cpu.aways[i]);
		if (!error)
			error = drawing_add(drawing, analysis->cpu.aways[i].away_ns);
	}
	return error;
}

static bool is_better(const struct analysis_sample *sample, const struct analysis_sample *than)
{
	bool is_time = analysis_source_is_time(sample->source);

	if (!than || is_time != analysis_source_is_time(than->source))
		return !than || is_time;
	return sample->count > than->count;
}

/* The source whose samples are drawn: one that measures time, otherwise the one with most samples
 * in a row. */
static const char *source_of(const struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	const struct analysis_sample *best = NULL;

	if (drawing->event)
		return drawing->event;
	for (size_t i = 0; i < analysis->samples_count; i++)
		if (is_better(&analysis->samples[i], best))
			best = &analysis->samples[i];
	return best ? best->source : NULL;
}

const char *drawing_unit(const struct drawing *drawing)
{
	const char *source = drawing->view->cpu ? source_of(drawing) : NULL;

	return source ? analysis_source_unit(source) : drawing->view->unit;
}

static int draw_cpu(struct drawing *drawing)
{
	const struct analysis *analysis = drawing->analysis;
	const char *source = source_of(drawing);
	int error = 0;

	for (size_t i = 0; !error && i < analysis->samples_count; i++) {
		const struct analysis_sample *sample = &analysis->samples[i];
		const struct event_process *process;

		if (strcmp(sample->source, source) != 0 ||
		    !drawing_is_of_process(drawing, analysis->processes[sample->process].process))
			continue;
		process = analysis->processes[sample->process].process;
		set_process(drawing, process ? process->id : 0);
		drawing->row = (struct drawing_row){.kind = DRAWN_SAMPLE, .index = (uint32_t)i};
		error = drawing_push_stack(drawing, sample->stack);
		if (!error)
			error = drawing_add(drawing, sample->weight);
	}
	return error;
}

int drawing_draw(struct drawing *drawing)
{
	if (drawing->analysis->instructions_count && drawing_note_stalls(drawing))
		return -ENOMEM;
	if (drawing->view->cpu)
		return draw_cpu(drawing);
	if (drawing->view->offcpu)
		return draw_offcpu(drawing);
	if (drawing->view->stall)
		return drawing_draw_stalls(drawing);
	return drawing->view->count ? draw_counts(drawing) : draw_times(drawing);
}
