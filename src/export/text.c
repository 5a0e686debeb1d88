/* SPDX-License-Identifier: MIT
 *
 * export/text.c - export one moment (one of the times in a row) per line, ordered by time
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    lines of columns separated by one tab
 * Owns:     nothing
 * Fails:    -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why moments and not rows: a command has four moments, which lie among those of other commands and
 *           calls, and only their exact order shows the sequence. One kernel and the call that
 *           waited for it take eight lines: enter, queued, submitted, exit, begin, started, ended,
 *           end.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/join/commands.h"
#include "analyze/join/points.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/error.h"
#include "base/file/stream.h"
#include "base/string.h"
#include "export/common/escape.h"
#include "export/formats.h"

#define FLUSH_LINES 4096

struct text {
	const struct model *model;
	const struct output_options *options;
	struct filter filter;
	FILE *file;
	struct string_builder escaped;
	uint64_t lines;
};

/* The columns of one line; texts are escaped when written. */
struct line {
	uint64_t time_ns;
	uint32_t process; /* id */
	char place[40];
	const char *kind, *group, *name;
	char details[256];
};

static void write_escaped(struct text *text, const char *name)
{
	string_builder_clear(&text->escaped);
	escape_append(&text->escaped, name);
	fputs(string_builder_text(&text->escaped), text->file);
}

static bool is_wanted(const struct text *text, const struct line *line)
{
	return filter_has_time(&text->filter, line->time_ns) &&
	       filter_has_process(&text->filter, line->process) &&
	       filter_is_wanted(text->options->kinds, line->kind, line->group);
}

static int write_line(struct text *text, const struct line *line)
{
	FILE *file = text->file;

	if (!is_wanted(text, line))
		return 0;
	if (text->options->is_absolute)
		fprintf(file, "%" PRIu64, line->time_ns);
	else
		fprintf(file, "%" PRId64, (int64_t)(line->time_ns - text->filter.begin_ns));
	fprintf(file, "\t%" PRIu32 "\t%s\t%s\t", model_pid(text->model, line->process), line->place,
		line->kind);
	write_escaped(text, *line->name ? line->name : "-");
	putc('\t', file);
	write_escaped(text, *line->details ? line->details : "-");
	putc('\n', file);
	if (++text->lines % FLUSH_LINES == 0 || ferror(file))
		return stream_flush(file);
	return text->escaped.error;
}

__attribute__((format(printf, 2, 3))) static void add_detail(struct line *line, const char *format,
							     ...)
{
	size_t used = strlen(line->details);
	va_list arguments;

	if (used && used + 1 < sizeof(line->details))
		line->details[used++] = ' ';
	va_start(arguments, format);
	vsnprintf(line->details + used, sizeof(line->details) - used, format, arguments);
	va_end(arguments);
}

static const struct event_thread *set_thread(const struct text *text, struct line *line,
					     uint32_t id)
{
	const struct event_thread *thread = model_entity(text->model, EVENT_THREAD, id);

	line->process = thread ? thread->process : 0;
	if (thread)
		snprintf(line->place, sizeof(line->place), "thread:%" PRIu32, thread->tid);
	else
		snprintf(line->place, sizeof(line->place), "thread:?");
	return thread;
}

static void add_sizes(struct line *line, const char *name, const uint64_t sizes[3], uint32_t count)
{
	char text[80];
	size_t used = 0;

	if (count > 3)
		count = 3;
	for (uint32_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRIu64,
					 i ? "x" : "", sizes[i]);
	if (count && sizes[0])
		add_detail(line, "%s=%s", name, text);
}

static int on_api(struct text *text, const struct order_item *item)
{
	const struct event_api *row = item->row;
	struct line line = {.time_ns = item->time_ns, .group = "api"};

	set_thread(text, &line, row->thread);
	line.name = model_text(text->model, row->function_string, "");
	line.kind = item->point == POINT_BEGIN ? "begin" : "end";
	if (item->point == POINT_BEGIN) {
		if (row->argument)
			add_detail(&line, "argument=%" PRIu64, row->argument);
	} else {
		add_detail(&line, "result=%" PRId32 " duration_ns=%" PRIu64, row->result,
			   row->end - row->begin);
		if (row->type == API_TYPE_WAIT)
			add_detail(&line, "wait");
	}
	return write_line(text, &line);
}

static void describe_launch(const struct text *text, struct line *line,
			    const struct event_launch *row)
{
	const char *kernel = model_kernel_name(text->model, row->kernel);

	add_detail(line, "correlation=%" PRIu64 " queue=%" PRIu32 " command=%s", row->correlation,
		   row->queue, analysis_command_name(analysis_launch_command(text->model, row)));
	if (row->bytes)
		add_detail(line, "bytes=%" PRIu64, row->bytes);
	add_sizes(line, "global", row->global_size, row->dimensions);
	add_sizes(line, "local", row->local_size, row->dimensions);
	if (row->flags & LAUNCH_BLOCKING)
		add_detail(line, "blocking");
	if (*kernel && strlen(kernel) < 100 && !strpbrk(kernel, "\t\n\r\\"))
		add_detail(line, "kernel=%s", kernel);
}

static int on_launch(struct text *text, const struct order_item *item)
{
	const struct event_launch *row = item->row;
	struct line line = {.time_ns = item->time_ns, .group = "launch"};

	set_thread(text, &line, row->thread);
	line.name = model_text(text->model, row->function_string, "");
	line.kind = item->point == POINT_BEGIN ? "enter" : "exit";
	if (item->point == POINT_BEGIN) {
		describe_launch(text, &line, row);
	} else {
		add_detail(&line, "correlation=%" PRIu64 " result=%" PRId32 " duration_ns=%" PRIu64,
			   row->correlation, row->result, row->exit - row->enter);
	}
	return write_line(text, &line);
}

static const char *name_of(const struct text *text, const struct event_launch *launch)
{
	const char *kernel = launch ? model_kernel_name(text->model, launch->kernel) : "";

	if (!launch)
		return "[no launch]";
	return *kernel ? kernel : analysis_command_name(launch->command);
}

static const char *point_name(enum order_point point)
{
	switch (point) {
	case POINT_QUEUED:
		return "queued";
	case POINT_SUBMITTED:
		return "submitted";
	case POINT_STARTED:
		return "started";
	case POINT_ENDED:
		return "ended";
	default:
		return "complete";
	}
}

static int on_execution(struct text *text, const struct order_item *item,
			const struct event_launch *launch)
{
	const struct event_execution *row = item->row;
	struct line line = {.time_ns = item->time_ns,
			    .process = row->process,
			    .kind = point_name(item->point),
			    .group = "execution",
			    .name = name_of(text, launch)};

	snprintf(line.place, sizeof(line.place), "queue:%" PRIu32, row->queue);
	add_detail(&line, "correlation=%" PRIu64, row->correlation);
	if (launch && launch->bytes)
		add_detail(&line, "bytes=%" PRIu64, launch->bytes);
	if (item->point == POINT_ENDED && (row->valid & EXECUTION_STARTED) &&
	    row->ended >= row->started)
		add_detail(&line, "duration_ns=%" PRIu64, row->ended - row->started);
	if (row->status && command_is_over(row, item->point))
		add_detail(&line, "status=%" PRId32, row->status);
	if (row->valid & ORDER_IMPOSSIBLE)
		add_detail(&line, "impossible");
	return write_line(text, &line);
}

static int on_dependency(struct text *text, const struct order_item *item)
{
	const struct event_dependency *row = item->row;
	struct line line = {.time_ns = item->time_ns,
			    .process = row->process,
			    .place = "-",
			    .kind = "dependency",
			    .group = "dependency",
			    .name = "-"};

	add_detail(&line, "correlation=%" PRIu64 " handle=0x%" PRIx64, row->correlation,
		   row->handle);
	return write_line(text, &line);
}

static void add_attributes(const struct text *text, struct line *line,
			   const struct event_range *row)
{
	if (row->category_string)
		add_detail(line, "category=%s", model_text(text->model, row->category_string, ""));
	if (row->colour)
		add_detail(line, "colour=#%08" PRIx32, row->colour);
	if (row->payload_string)
		add_detail(line, "payload=%s", model_text(text->model, row->payload_string, ""));
}

static int on_range(struct text *text, const struct order_item *item)
{
	const struct event_range *row = item->row;
	struct line line = {.time_ns = item->time_ns, .group = "range"};

	if (item->point == POINT_END ? row->type == RANGE_MARK : row->flags & RANGE_UNBEGUN)
		return 0;
	set_thread(text, &line, row->thread);
	line.process = row->process;
	line.name = model_range_name(text->model, row);
	line.kind = row->type == RANGE_MARK    ? "mark"
		    : item->point == POINT_END ? "range_end"
					       : "range_begin";
	add_detail(&line, "type=%s", analysis_range_type(row->type));
	if (item->point == POINT_END)
		add_detail(&line, "duration_ns=%" PRIu64, row->end - row->begin);
	else
		add_attributes(text, &line, row);
	if (row->flags & RANGE_OPEN)
		add_detail(&line, "open");
	if (row->flags & RANGE_UNBEGUN)
		add_detail(&line, "unbegun");
	return write_line(text, &line);
}

static int on_loss(struct text *text, const struct order_item *item)
{
	const struct event_loss *row = item->row;
	struct line line = {.time_ns = item->time_ns,
			    .process = row->process,
			    .place = "-",
			    .kind = "loss",
			    .group = "loss",
			    .name = analysis_kind_name(row->kind)};

	if (row->count == LOSS_COUNT_UNKNOWN)
		add_detail(&line, "count=?");
	else
		add_detail(&line, "count=%" PRIu64, row->count);
	add_detail(&line, "reason=%s duration_ns=%" PRIu64, analysis_loss_name(row->reason),
		   row->end - row->begin);
	return write_line(text, &line);
}

static int on_point(void *context, const struct order_item *item, const struct event_launch *launch)
{
	struct text *text = context;

	switch (item->kind) {
	case EVENT_API:
		return on_api(text, item);
	case EVENT_LAUNCH:
		return on_launch(text, item);
	case EVENT_EXECUTION:
		return on_execution(text, item, launch);
	case EVENT_DEPENDENCY:
		return on_dependency(text, item);
	case EVENT_RANGE:
		return on_range(text, item);
	default:
		return on_loss(text, item);
	}
}

/* Writes the collectors that did not run fully, before all events. */
static void write_collectors(struct text *text)
{
	const void *entities = NULL;
	size_t count = model_entities(text->model, EVENT_COLLECTOR, &entities);
	const struct event_collector *rows = entities;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].state == COLLECTOR_AVAILABLE)
			continue;
		fputs("# ", text->file);
		write_escaped(text, model_text(text->model, rows[i].name_string, "a collector"));
		fprintf(text->file,
			" %s: ", rows[i].state == COLLECTOR_PARTIAL ? "partial" : "refused");
		write_escaped(text, model_text(text->model, rows[i].reason_string, "no reason"));
		putc('\n', text->file);
	}
}

static int write_all_lines(struct text *text, struct order *order)
{
	const struct points_visitor visitor = {.on_point = on_point};
	int error;

	filter_init(&text->filter, text->model, text->options, order);
	fputs("# time_ns\tprocess\tplace\tkind\tname\tdetails\n", text->file);
	write_collectors(text);
	error = points_each(text->model, order, &visitor, text);
	return error ? error : stream_flush(text->file);
}

static int write_text(const struct model *model, const struct output_options *options, FILE *file,
		      uint64_t *ret_rows)
{
	struct order_options order_options = {
		.points = true,
		.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_EXECUTION |
			 1u << EVENT_DEPENDENCY | 1u << EVENT_RANGE | 1u << EVENT_LOSS};
	struct text text = {.model = model, .options = options, .file = file};
	struct order *order = NULL;
	int error = model_order(model, &order_options, &order);

	if (error)
		return error;
	error = write_all_lines(&text, order);
	string_builder_fini(&text.escaped);
	order_free(order);
	*ret_rows = text.lines;
	return error;
}

const struct exporter export_text = {
	.name = "text",
	.help = "one line per start or end of an event, in the order of time, with columns "
		"separated by tabs",
	.kinds = "api (begin, end), launch (enter, exit), execution (queued, submitted, started, "
		 "ended, complete), dependency, range (range_begin, range_end, mark), loss",
	.has_no_instructions = true,
	.write = write_text,
};
