/* SPDX-License-Identifier: MIT
 *
 * export/perf_script.c - export the layout of `perf script`: CPU samples, and device time as an
 * event "gpu-time"
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    an event of some lines per sample or command: thread, time, period, stack
 * Owns:     the text of each stack
 * Fails:    -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why:      many small scripts read perf's output. The period of gpu-time is the whole duration of
 *           one command, so its sum is the report's total of each kernel.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/file/stream.h"
#include "base/string.h"
#include "export/common/escape.h"
#include "export/common/profile.h"
#include "export/common/stack_texts.h"
#include "export/formats.h"

#define FLUSH_EVENTS  4096
#define COMMAND_EVENT "gpu-time"

struct script {
	struct profile profile;
	struct filter filter;
	struct stack_texts stacks;
	struct string_builder head;
	FILE *file;
	uint64_t events;
};

static void append_frame(struct string_builder *text, uint64_t address, const char *symbol,
			 const char *module)
{
	string_builder_appendf(text, "\t%16" PRIx64 " ", address);
	escape_append(text, symbol);
	string_builder_append(text, " (");
	escape_append(text, module);
	string_builder_append(text, ")\n");
}

static const char *module_of(const struct profile_frame *frame)
{
	if (frame->kind == PROFILE_INLINED)
		return "inlined";
	if (frame->module)
		return frame->module;
	if (frame->kind == PROFILE_NATIVE && !frame->trace_frame)
		return "[runtime]";
	if (frame->kind == PROFILE_PYTHON && frame->file)
		return frame->file;
	return frame->kind == PROFILE_JIT ? "//anon" : "[unknown]";
}

/* Innermost frame first. A function without a name is written as [unknown], so that readers use its
 * file. */
static void format_stack(struct string_builder *text, const struct profile_frame *frames,
			 size_t count)
{
	for (size_t i = count; i-- > 0;)
		append_frame(text, frames[i].address,
			     frames[i].is_unnamed ? "[unknown]" : frames[i].function,
			     module_of(&frames[i]));
}

/* Writes "python3 1001/1002 [001] 0.000012345: 5025125 cpu-clock:". */
static void begin_event(struct script *script, uint32_t process, uint32_t thread)
{
	const struct model *model = script->profile.model;
	const struct event_process *who = model_entity(model, EVENT_PROCESS, process);
	const struct event_thread *where = model_entity(model, EVENT_THREAD, thread);
	const char *comm = model_text(model, who ? who->name_string : 0, "");
	struct string_builder *head = &script->head;

	string_builder_clear(head);
	if (*comm)
		escape_append_word(head, comm);
	else
		string_builder_appendf(head, ":%" PRIu32, who ? who->pid : 0);
	string_builder_appendf(head, " %" PRIu32 "/%" PRIu32 " ", who ? who->pid : 0,
			       where ? where->tid : 0);
}

static void append_time(struct script *script, uint64_t time_ns)
{
	int64_t time = filter_time(&script->filter, time_ns);
	uint64_t size = time < 0 ? 0 - (uint64_t)time : (uint64_t)time;

	if (script->filter.options->has_no_times)
		return;
	string_builder_appendf(&script->head, "%s%" PRIu64 ".%09" PRIu64 ": ", time < 0 ? "-" : "",
			       size / 1000000000, size % 1000000000);
}

static int write_event(struct script *script, uint32_t stack, uint32_t function_string)
{
	const char *frames = stack_texts_get_call(&script->stacks, stack, function_string);

	if (!frames || script->head.error)
		return -ENOMEM;
	fputs(string_builder_text(&script->head), script->file);
	fputs(frames, script->file);
	putc('\n', script->file);
	if (++script->events % FLUSH_EVENTS == 0 || ferror(script->file))
		return stream_flush(script->file);
	return 0;
}

static bool is_event(const struct script *script, const char *name)
{
	const char *event = script->filter.options->event;

	return !event || strcmp(event, name) == 0;
}

static int on_command(void *context, const struct command *command)
{
	struct script *script = context;
	const struct filter *filter = &script->filter;
	const struct event_launch *launch = command->launch;
	uint64_t duration_ns;

	if (!is_event(script, COMMAND_EVENT) || !command_duration(command, &duration_ns) ||
	    !filter_has_kind(filter, EVENT_EXECUTION) ||
	    !filter_has_time(filter, command_time(command)) ||
	    !filter_has_process(filter, command->process))
		return 0;
	begin_event(script, command->process, launch ? launch->thread : 0);
	append_time(script, command_time(command));
	string_builder_appendf(&script->head, "%" PRIu64 " " COMMAND_EVENT ":\n", duration_ns);
	append_frame(&script->head, 0, command_name(script->profile.model, command), "[gpu]");
	return write_event(script, launch ? launch->stack : 0,
			   launch ? launch->function_string : 0);
}

static int on_sample(void *context, const struct order_item *item)
{
	struct script *script = context;
	const struct filter *filter = &script->filter;
	const struct event_cpu_sample *row = item->row;
	const char *event = model_text(script->profile.model, row->source_string, "samples");

	if (!is_event(script, event) || !filter_has_kind(filter, EVENT_CPU_SAMPLE) ||
	    !filter_has_time(filter, row->time) || !filter_has_thread(filter, row->thread))
		return 0;
	begin_event(script, filter_process_of(filter, row->thread), row->thread);
	string_builder_appendf(&script->head, "[%03" PRIu32 "] ", row->cpu);
	append_time(script, row->time);
	string_builder_appendf(&script->head, "%" PRIu64 " ", row->weight);
	escape_append_word(&script->head, event);
	string_builder_append(&script->head, ":\n");
	return write_event(script, row->stack, 0);
}

static void write_comment(void *context, const char *line)
{
	struct script *script = context;

	string_builder_append(&script->head, "# ");
	escape_append(&script->head, line);
	string_builder_append(&script->head, "\n");
}

static int write_events(struct script *script)
{
	const struct commands_visitor visitor = {.on_command = on_command,
						 .more_kinds = 1u << EVENT_CPU_SAMPLE,
						 .on_row = on_sample,
						 .in_order = false};
	int error;

	profile_describe(&script->profile, write_comment, script);
	fputs(string_builder_text(&script->head), script->file);
	/* not an empty line: FlameScope refuses a file unless the first line without '#' is an
	 * event */
	fputs("#\n", script->file);
	error = commands_each(script->profile.model, &visitor, script);
	return error ? error : stream_flush(script->file);
}

static int write_script(const struct model *model, const struct output_options *options, FILE *file,
			uint64_t *ret_rows)
{
	struct script script = {.file = file};
	int error = profile_open(&script.profile, model, options);

	stack_texts_init(&script.stacks, &script.profile, format_stack);
	if (!error)
		error = filter_open(&script.filter, model, options);
	if (!error)
		error = write_events(&script);
	*ret_rows = script.events;
	stack_texts_fini(&script.stacks);
	string_builder_fini(&script.head);
	profile_close(&script.profile);
	return error;
}

const struct exporter export_perf_script = {
	.name = "perf-script",
	.help = "text as perf script prints it: CPU samples, and device time as the event gpu-time",
	.kinds = "execution, cpu_sample",
	.has_no_instructions = true,
	.can_choose_event = true,
	.can_omit_times = true,
	.write = write_script,
};
