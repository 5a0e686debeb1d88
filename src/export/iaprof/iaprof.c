/* SPDX-License-Identifier: MIT
 *
 * export/iaprof/iaprof.c - export samples of device instructions in the four forms of Intel's
 * iaprof
 *
 * Runs in:  our own process
 * Gets:     a model; --kind selects the form
 * Gives:    lines (docs/design/iaprof.md)
 * Owns:     two analyses, the counts of the current interval, the texts that were defined
 * Fails:    -EINVAL for more than one form, -ENOMEM, errors of the reader and the file
 * Why two analyses: the launching stack of a sample is known only at the end of the first. The
 *           second then has the time of each sample. To keep the stack and time of each sample in
 *           memory would take as much as the trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/model.h"
#include "analyze/observer.h"
#include "analyze/output_options.h"
#include "analyze/sample/device_code.h"
#include "base/array.h"
#include "base/error.h"
#include "base/file/stream.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/string.h"
#include "export/common/escape.h"
#include "export/common/profile.h"
#include "export/formats.h"
#include "export/iaprof/lines.h"
#include "flame/escape.h"

enum { INTERVAL_NS = 10000000 };

/* ---- texts ----------------------------------------------------------------------------------- */

static int define_name(struct iaprof *iaprof, enum iaprof_names names, const char *name,
		       uint32_t *ret_number)
{
	string_builder_clear(&iaprof->text);
	escape_append(&iaprof->text, name);
	if (iaprof->text.error)
		return iaprof->text.error;
	return iaprof_define(iaprof, names, string_builder_text(&iaprof->text), ret_number);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static void append_frame(struct iaprof *iaprof, const char *name, enum flame_class class)
{
	const struct flame_text text = {.bytes = name, .size = strlen(name)};

	if (iaprof->text.length && iaprof->form->joins)
		string_builder_append_char(&iaprof->text, ';');
	flame_escape_folded(&iaprof->text, text, class);
	if (!iaprof->form->joins)
		string_builder_append_char(&iaprof->text, ';');
}

static void append_host(struct iaprof *iaprof, const struct profile_frame *frame)
{
	static const enum flame_class classes[PROFILE_FRAME_KIND_COUNT] = {
		[PROFILE_NATIVE] = FLAME_HOST,   [PROFILE_INLINED] = FLAME_INLINED,
		[PROFILE_PYTHON] = FLAME_PYTHON, [PROFILE_JIT] = FLAME_JIT,
		[PROFILE_KERNEL] = FLAME_KERNEL, [PROFILE_PLACEHOLDER] = FLAME_TRUNCATED,
		[PROFILE_DEVICE] = FLAME_DEVICE, [PROFILE_DEVICE_INSTRUCTION] = FLAME_INSTRUCTION};
	char text[4096];

	if (frame->kind != PROFILE_PYTHON || !frame->file) {
		append_frame(iaprof, frame->function, classes[frame->kind]);
		return;
	}
	snprintf(text, sizeof(text), "%s (%s)", frame->function, path_base(frame->file));
	append_frame(iaprof, text, FLAME_PYTHON);
}

static int define_half(struct iaprof *iaprof, enum iaprof_names names,
		       const struct profile_frame *frames, size_t count, uint32_t *ret_number)
{
	string_builder_clear(&iaprof->text);
	for (size_t i = 0; i < count; i++)
		append_host(iaprof, &frames[i]);
	if (iaprof->text.error)
		return iaprof->text.error;
	return iaprof_define(iaprof, names, string_builder_text(&iaprof->text), ret_number);
}

/* Splits a stack: the frames after the last user frame are the kernel stack. */
static int define_halves(struct iaprof *iaprof, uint32_t stack, const char *function,
			 struct iaprof_place *place)
{
	const struct profile_frame *frames = NULL;
	size_t count = 0, user, first = 0;
	int error = profile_frames(&iaprof->profile, stack, function, &frames, &count);

	if (error)
		return error;
	/* without a stack no placeholder frame is written */
	if (!stack && count && frames[0].kind == PROFILE_PLACEHOLDER)
		first = 1;
	for (user = count; user > first && frames[user - 1].kind == PROFILE_KERNEL; user--)
		;
	place->has_kernel = user < count;
	error = define_half(iaprof, IAPROF_USTACK, frames + first, user - first, &place->ustack);
	if (error || !iaprof->form->has_kernel)
		return error;
	return define_half(iaprof, IAPROF_KSTACK, frames + user, count - user, &place->kstack);
}

/* Many instructions have the same stack, so its frames are formatted only for the first place. */
static int define_stack(struct iaprof *iaprof, const struct analysis_instruction *row,
			uint32_t number)
{
	struct iaprof_place *place = &iaprof->places[number];
	const char *function =
		row->path == ANALYSIS_NO_PATH ? "" : iaprof->analysis->paths[row->path].function;
	uint64_t called = *function ? (uintptr_t)function : 0;
	uint32_t known = pair_map_find(&iaprof->stacks, row->stack, called);
	int error;

	if (known != PAIR_MAP_NONE) {
		place->ustack = iaprof->places[known].ustack;
		place->kstack = iaprof->places[known].kstack;
		place->has_kernel = iaprof->places[known].has_kernel;
		return 0;
	}
	error = define_halves(iaprof, row->stack, function, place);
	return error ? error : pair_map_put(&iaprof->stacks, row->stack, called, number);
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t process_of(const struct iaprof *iaprof, const struct analysis_instruction *row)
{
	const struct event_code *code = model_entity(iaprof->model, EVENT_CODE, row->code);

	if (code && code->process)
		return code->process;
	return row->path == ANALYSIS_NO_PATH ? 0 : iaprof->analysis->paths[row->path].whom.process;
}

/* Shader type in form tiber. 0: unknown, 1: a kernel, 2: the exception routine, 3: the debug
 * area. */
static unsigned int type_of(const char *kernel, const struct event_process *process)
{
	if (strcmp(kernel, "System Routine (Exceptions)") == 0 ||
	    strcmp(kernel, "[system routine]") == 0)
		return 2;
	if (strcmp(kernel, "[debug area]") == 0)
		return 3;
	return process ? 1 : 0;
}

static int define_code(struct iaprof *iaprof, const struct analysis_instruction *row,
		       struct iaprof_place *place)
{
	const struct iaprof_form *form = iaprof->form;
	const struct event_code *code = model_entity(iaprof->model, EVENT_CODE, row->code);
	const char *file = model_source_file(iaprof->model, code), *text, *kernel = row->kernel;
	struct device_place found;
	int error = device_code_find(iaprof->code, row->code, row->offset, &found);

	if (error)
		return error;
	place->offset = found.address;
	if (found.file)
		file = found.file;
	text = *found.text ? found.text : row->text;
	if (!*file)
		file = form->no_file;
	if (!*kernel)
		kernel = form->no_symbol;
	error = define_name(iaprof, IAPROF_FILE, file, &place->file);
	if (!error)
		error = define_name(iaprof, IAPROF_SYMBOL, kernel, &place->symbol);
	if (!error)
		error = define_name(iaprof, IAPROF_TEXT, *text ? text : form->no_text,
				    &place->text);
	return error;
}

/* Finds a place, and defines the texts that its lines refer to. */
static int find_place(struct iaprof *iaprof, uint32_t number, const struct iaprof_place **ret_place)
{
	const struct analysis_instruction *row =
		&iaprof->analysis->instructions[iaprof->by_number[number]];
	struct iaprof_place *place = &iaprof->places[number];
	const struct event_process *process;
	int error;

	*ret_place = place;
	if (place->is_known)
		return 0;
	process = model_entity(iaprof->model, EVENT_PROCESS, process_of(iaprof, row));
	place->stall = row->stall;
	place->pid = process ? process->pid : 0;
	place->type = type_of(row->kernel, process);
	error = define_name(iaprof, IAPROF_STRING,
			    model_text(iaprof->model, process ? process->name_string : 0, ""),
			    &place->comm);
	if (!error)
		error = define_stack(iaprof, row, number);
	if (!error)
		error = define_code(iaprof, row, place);
	place->is_known = !error;
	return error;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static int compare_kernels(const void *left, const void *right, void *context)
{
	const struct iaprof *iaprof = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t first = iaprof->places[a].first, second = iaprof->places[b].first;

	if (first != second)
		return first < second ? -1 : 1;
	return (iaprof->places[a].rank > iaprof->places[b].rank) -
	       (iaprof->places[a].rank < iaprof->places[b].rank);
}

/* Groups the lines of one kernel, and within it those of one instruction; groups are in the order
 * of their first samples. */
static int group_lines(struct iaprof *iaprof)
{
	struct pair_map kernels, instructions;
	int error = 0;

	pair_map_init(&kernels);
	pair_map_init(&instructions);
	for (uint32_t i = 0; i < iaprof->seen_count && !error; i++) {
		struct iaprof_place *place = &iaprof->places[iaprof->seen[i]];
		uint64_t whose = (uint64_t)place->comm << 32 | place->pid;
		uint64_t code = (uint64_t)place->file << 32 | place->symbol;
		uint32_t stack, kernel;

		/* a pair_map has two keys, so the first map reduces process and stack to one
		 * number */
		stack = pair_map_find(&kernels, whose, place->ustack);
		if (stack == PAIR_MAP_NONE &&
		    !(error = pair_map_put(&kernels, whose, place->ustack, i)))
			stack = i;
		kernel = pair_map_find(&kernels, code, (uint64_t)1 << 32 | stack);
		if (!error && kernel == PAIR_MAP_NONE &&
		    !(error = pair_map_put(&kernels, code, (uint64_t)1 << 32 | stack, i)))
			kernel = i;
		place->first = kernel;
		place->rank = pair_map_find(&instructions, place->offset,
					    (uint64_t)kernel << 32 | place->text);
		if (!error && place->rank == PAIR_MAP_NONE) {
			error = pair_map_put(&instructions, place->offset,
					     (uint64_t)kernel << 32 | place->text, i);
			place->rank = i;
		}
	}
	pair_map_fini(&kernels);
	pair_map_fini(&instructions);
	if (!error && iaprof->seen_count)
		qsort_r(iaprof->seen, iaprof->seen_count, sizeof(*iaprof->seen), compare_kernels,
			iaprof);
	return error;
}

static int write_samples(struct iaprof *iaprof)
{
	const struct iaprof_place *place;
	int error = 0;

	for (uint32_t i = 0; i < iaprof->seen_count && !error; i++) {
		uint32_t number = iaprof->seen[i];

		error = find_place(iaprof, number, &place);
		if (!error && !iaprof->form->by_kernel)
			error = iaprof->form->put(iaprof, place, iaprof->counts[number]);
		if (!iaprof->form->has_kernel && place->has_kernel)
			iaprof->without_kernel =
				add_saturated(iaprof->without_kernel, iaprof->counts[number]);
	}
	if (error || !iaprof->form->by_kernel)
		return error;
	error = group_lines(iaprof);
	return error ? error : iaprof_put_kernels(iaprof);
}

/* Writes the interval unless it is empty. */
static int end_interval(struct iaprof *iaprof)
{
	int error;

	if (!iaprof->seen_count && !iaprof->has_clock && !iaprof->has_busy)
		return 0;
	if (iaprof->form->begin)
		fprintf(iaprof->file, "%s\t%" PRIu64 "\t%" PRIu64 ".%06" PRIu64 "\n",
			iaprof->form->begin, iaprof->number, iaprof->time_us / 1000000,
			iaprof->time_us % 1000000);
	error = write_samples(iaprof);
	if (iaprof->has_clock)
		fprintf(iaprof->file, "metric\tfrequency-MHz\t%" PRIu64 "\n", iaprof->mhz);
	if (iaprof->has_busy)
		fprintf(iaprof->file, "metric\tbusy-percent\t%" PRIu64 "\n", iaprof->percent);
	if (iaprof->form->end)
		fprintf(iaprof->file, "%s\t%" PRIu64 "\n", iaprof->form->end, iaprof->number);
	for (uint32_t i = 0; i < iaprof->seen_count; i++)
		iaprof->counts[iaprof->seen[i]] = 0;
	iaprof->seen_count = 0;
	iaprof->has_clock = iaprof->has_busy = false;
	iaprof->number++;
	if (!error && ferror(iaprof->file))
		return stream_flush(iaprof->file);
	return error;
}

/* The timestamp of a row's interval: the end of the row's window, rounded up to 1 us. A row of a
 * single moment gets the end of the 10 ms in which iaprof would have sampled it. */
static uint64_t stamp_us(uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t unit = begin_ns == end_ns ? INTERVAL_NS : 1000;

	return (end_ns / unit + (end_ns % unit != 0)) * (unit / 1000);
}

/* Moves to the interval of a time. Late rows go into the current interval. */
static int open_interval(struct iaprof *iaprof, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t time_us = stamp_us(begin_ns, end_ns);
	int error = 0;

	if (!iaprof->form->begin)
		return 0;
	if (time_us > iaprof->time_us) {
		error = end_interval(iaprof);
		iaprof->time_us = time_us;
	}
	return error;
}

/* ---- callbacks of the second analysis -------------------------------------------------------- */

static int on_begin(void *context, const struct analysis *analysis)
{
	struct iaprof *iaprof = context;

	iaprof->sweeps++;
	return 0;
}

static int on_span(void *context, size_t device, const struct account_span *span)
{
	return 0;
}

/* Only the last sweep of the analysis writes. */
static bool is_last_sweep(const struct iaprof *iaprof)
{
	return iaprof->sweeps == iaprof->sweeps_wanted;
}

static int on_part(void *context, const struct observed_part *part)
{
	struct iaprof *iaprof = context;
	const struct analysis_instruction *row;
	int error;

	if (!is_last_sweep(iaprof) || part->table != OBSERVED_INSTRUCTION || !part->count ||
	    part->row >= iaprof->analysis->instructions_count)
		return 0;
	row = &iaprof->analysis->instructions[iaprof->by_number[part->row]];
	if (!filter_has_process(&iaprof->filter, process_of(iaprof, row)))
		return 0;
	error = open_interval(iaprof, part->begin, part->end);
	if (!iaprof->counts[part->row])
		iaprof->seen[iaprof->seen_count++] = part->row;
	iaprof->counts[part->row] = add_saturated(iaprof->counts[part->row], part->count);
	return error;
}

static int on_row(void *context, const struct order_item *item, uint64_t launches)
{
	struct iaprof *iaprof = context;
	const struct event_counter *row = item->row;
	bool is_clock;
	int error;

	if (!is_last_sweep(iaprof) || item->kind != EVENT_COUNTER || !row->series ||
	    !filter_has_time(&iaprof->filter, row->begin))
		return 0;
	is_clock = row->series == iaprof->clock_series;
	if ((!is_clock && row->series != iaprof->busy_series) || row->value < 0 ||
	    (!is_clock && !row->of))
		return 0;
	if (!iaprof->form->has_metrics) {
		iaprof->metrics_left_out++;
		return 0;
	}
	error = open_interval(iaprof, row->begin, row->end);
	if (is_clock)
		iaprof->mhz = ((uint64_t)row->value + 500000) / 1000000;
	else
		iaprof->percent =
			(uint64_t)(((unsigned __int128)row->value * 100 + row->of / 2) / row->of);
	iaprof->has_clock |= is_clock;
	iaprof->has_busy |= !is_clock;
	return error;
}

/* ---- the export ------------------------------------------------------------------------------ */

/* Finds the series of a metric. The format has one GPU and one series per metric. */
static uint32_t find_series(struct iaprof *iaprof, const char *metric)
{
	const void *entities = NULL;
	size_t count = model_entities(iaprof->model, EVENT_SERIES, &entities), found = 0;
	const struct event_series *rows = entities;
	uint32_t id = 0;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(model_text(iaprof->model, rows[i].metric_string, ""), metric) != 0)
			continue;
		id = rows[i].id;
		found++;
	}
	iaprof->series_left_out += found > 1 ? found : 0;
	return found == 1 && !iaprof->filter.options->pid ? id : 0;
}

static int make_room(struct iaprof *iaprof)
{
	size_t count = iaprof->analysis->instructions_count;

	iaprof->by_number = calloc(count + 1, sizeof(*iaprof->by_number));
	iaprof->places = calloc(count + 1, sizeof(*iaprof->places));
	iaprof->counts = calloc(count + 1, sizeof(*iaprof->counts));
	iaprof->seen = calloc(count + 1, sizeof(*iaprof->seen));
	if (!iaprof->by_number || !iaprof->places || !iaprof->counts || !iaprof->seen)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		iaprof->by_number[iaprof->analysis->instructions[i].number] = (uint32_t)i;
	return 0;
}

static int define_first(struct iaprof *iaprof)
{
	uint32_t number;
	int error = 0;

	for (size_t i = 0; iaprof->form->first[i] && !error; i++)
		error = iaprof_define(iaprof, IAPROF_STRING, iaprof->form->first[i], &number);
	return error;
}

static int write_all(struct iaprof *iaprof, const struct output_options *options)
{
	struct analysis_observer observer = {.context = iaprof,
					     .on_begin = on_begin,
					     .on_span = on_span,
					     .on_part = on_part,
					     .on_row = on_row};
	struct analysis_options window = filter_window(options);
	struct analysis *second = NULL;
	int error;

	window.observer = &observer;
	error = analysis_new(iaprof->model, &window, &iaprof->analysis);
	iaprof->sweeps_wanted = iaprof->sweeps;
	iaprof->sweeps = 0;
	if (!error)
		error = make_room(iaprof);
	if (!error)
		error = define_first(iaprof);
	if (!error)
		error = analysis_new(iaprof->model, &window, &second);
	analysis_free(second);
	return error ? error : end_interval(iaprof);
}

__attribute__((format(printf, 3, 4))) static void
print_note(const struct iaprof *iaprof, uint64_t count, const char *format, ...)
{
	char line[256];
	va_list arguments;

	if (!count || !iaprof->filter.options->on_note)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	iaprof->filter.options->on_note(line);
}

static void print_notes(const struct iaprof *iaprof)
{
	const char *name = iaprof->form->name;

	print_note(iaprof, iaprof->without_kernel,
		   "%s has no kernel stacks: those of %" PRIu64 " samples are left out; use "
		   "--kind tiber",
		   name, iaprof->without_kernel);
	print_note(iaprof, iaprof->without_stall,
		   "%s has a fixed list of stall reasons: %" PRIu64 " samples with others %s", name,
		   iaprof->without_stall, iaprof->form->by_kernel ? "become 'other'" : "have none");
	print_note(iaprof, iaprof->metrics_left_out,
		   "%s has no metrics: %" PRIu64 " are left out; use --kind tiber", name,
		   iaprof->metrics_left_out);
	print_note(iaprof, iaprof->series_left_out,
		   "%s has one GPU: the metrics of several GPUs, %" PRIu64 " series, are left out",
		   name, iaprof->series_left_out);
	print_note(iaprof, !iaprof->form->begin && iaprof->rows,
		   "%s has no times: all samples are added up; use --kind tiber for intervals",
		   name);
}

static void iaprof_fini(struct iaprof *iaprof)
{
	analysis_free(iaprof->analysis);
	device_code_free(iaprof->code);
	profile_close(&iaprof->profile);
	for (size_t i = 0; i < IAPROF_NAMES_COUNT; i++)
		string_table_fini(&iaprof->names[i]);
	hash_map_fini(&iaprof->processes);
	pair_map_fini(&iaprof->stacks);
	free(iaprof->written);
	string_builder_fini(&iaprof->text);
	string_builder_fini(&iaprof->whole);
	free(iaprof->by_number);
	free(iaprof->places);
	free(iaprof->counts);
	free(iaprof->seen);
}

static int write_iaprof(const struct model *model, const struct output_options *options, FILE *file,
			uint64_t *ret_rows)
{
	struct iaprof iaprof = {
		.model = model, .file = file, .form = iaprof_find_form(options->kinds)};
	int error;

	for (size_t i = 0; i < IAPROF_NAMES_COUNT; i++)
		string_table_init(&iaprof.names[i]);
	error = profile_open_names(&iaprof.profile, model, options);
	if (!error)
		error = device_code_new(model, &iaprof.code);
	if (!error)
		error = filter_open(&iaprof.filter, model, options);
	if (!error) {
		iaprof.clock_series = find_series(&iaprof, "gpu.clock");
		iaprof.busy_series = find_series(&iaprof, "gpu.busy");
		error = write_all(&iaprof, options);
	}
	*ret_rows = iaprof.rows;
	if (!error)
		print_notes(&iaprof);
	iaprof_fini(&iaprof);
	return error ? error : stream_flush(file);
}

static int check_options(const struct output_options *options)
{
	if (options->kinds && !iaprof_find_form(options->kinds))
		return error_set(-EINVAL, "choose one --kind of: " IAPROF_KINDS);
	return 0;
}

const struct exporter export_iaprof = {
	.name = "iaprof",
	.help = "samples of device instructions in the formats of Intel's profiler iaprof",
	.kinds = IAPROF_KINDS,
	.check = check_options,
	.write = write_iaprof,
};
