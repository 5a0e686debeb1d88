/* SPDX-License-Identifier: MIT
 *
 * import/target.c - build a trace from a foreign file
 *
 * Runs in:  our own process
 * Gets:     entities by keys, rows
 * Gives:    a trace file
 * Owns:     the writer, the ids of entities, notes
 * Fails:    -ENOMEM, -errno of a write with a message
 * Why the row of the host is written last: it contains the window of the recording, which is the
 *           time span of all rows
 */
#include "import/target.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/string.h"
#include "import/importer.h"
#include "import/common/notes.h"
#include "import/common/shift.h"
#include "import/common/spans.h"

/* The writer is flushed after this number of rows, so that it can end a segment. */
#define FLUSH_ROWS 65536

struct import_target {
	struct trace_writer *writer;
	struct string_table keys[EVENT_ENTITY_LAST + 1]; /* their ids are those of the entities */
	uint64_t begin_ns, end_ns;                       /* time span of all rows */
	uint64_t rows, correlations;
	struct import_notes notes;
	struct import_spans spans;
	char *clock; /* clock of all files; NULL: not known */
	bool has_clock;
	bool has_wall_clock;
	int64_t zero_ns; /* time 0 of the current file in that clock */
};

int import_target_open(const char *path, struct import_target **ret_target)
{
	const struct trace_writer_options options = {0};
	struct import_target *target = calloc(1, sizeof(*target));
	int error;

	if (!target)
		return -ENOMEM;
	for (size_t kind = 0; kind <= EVENT_ENTITY_LAST; kind++)
		string_table_init(&target->keys[kind]);
	import_notes_init(&target->notes);
	target->begin_ns = UINT64_MAX;
	error = trace_writer_open(path, &options, &target->writer);
	if (error)
		import_target_abandon(target);
	else
		*ret_target = target;
	return error;
}

static void target_free(struct import_target *target)
{
	for (size_t kind = 0; kind <= EVENT_ENTITY_LAST; kind++)
		string_table_fini(&target->keys[kind]);
	import_notes_fini(&target->notes);
	import_spans_fini(&target->spans);
	free(target->clock);
	free(target);
}

void import_target_abandon(struct import_target *target)
{
	if (!target)
		return;
	trace_writer_abandon(target->writer);
	target_free(target);
}

int import_target_begin_file(struct import_target *target, const char *format, const char *path,
			     size_t count)
{
	target->has_clock = false;
	target->notes.has_several = count > 1;
	if (import_spans_begin_file(&target->spans))
		return -ENOMEM;
	return import_notes_begin_file(&target->notes, format, path);
}

bool import_target_has_several(const struct import_target *target)
{
	return target->notes.has_several;
}

int import_target_clock(struct import_target *target, const char *name, int64_t zero_ns)
{
	if (!target->notes.has_several)
		return 0;
	if (zero_ns < 0 || zero_ns > INT64_MAX / 2)
		return error_set(-ENODATA, "its times count from %" PRId64 " ns of the clock %s",
				 zero_ns, name);
	if (!target->clock)
		target->clock = strdup(name);
	if (!target->clock)
		return -ENOMEM;
	if (strcmp(target->clock, name) != 0)
		return error_set(-ENODATA,
				 "its times are in the clock %s and those of '%s' in %s, so the "
				 "files have no common time; import them one by one",
				 name, import_notes_path(&target->notes, 0), target->clock);
	target->has_clock = true;
	target->zero_ns = zero_ns;
	return 0;
}

/* The number of the file, for keys that are its own; 0: the import has only one. */
static size_t file_number(const struct import_target *target)
{
	return target->notes.has_several ? target->notes.files : 0;
}

void import_target_note(struct import_target *target, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	import_notes_add(&target->notes, format, arguments);
	va_end(arguments);
}

void import_target_note_count(struct import_target *target, uint64_t count, const char *one,
			      const char *many, const char *text)
{
	if (count)
		import_notes_add_count(&target->notes, count, one, many, text);
}

void import_target_fault(struct import_target *target, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	import_notes_add_fault(&target->notes, format, arguments);
	va_end(arguments);
}

int import_target_bytes(struct import_target *target, const char *text, size_t length,
			uint32_t *ret_string)
{
	*ret_string = trace_writer_string(target->writer, text, length);
	return *ret_string || !length ? 0 : -ENOMEM;
}

int import_target_text(struct import_target *target, const char *text, uint32_t *ret_string)
{
	return import_target_bytes(target, text, strlen(text), ret_string);
}

/* ---- entities ---- */

/* *ret_is_new: the id is new, so the caller must describe the entity. */
static int find_id(struct import_target *target, enum event_kind kind, const void *key, size_t size,
		   uint32_t *ret_id, bool *ret_is_new)
{
	struct string_table *table = &target->keys[kind];
	uint32_t before = table->count;

	*ret_id = string_table_add(table, key, size);
	*ret_is_new = table->count > before;
	return *ret_id ? 0 : -ENOMEM;
}

/* Writes an entity whose times are those of the file. */
static int write_entity(struct import_target *target, enum event_kind kind, const void *row)
{
	union import_row moved;

	import_shift_row(kind, row, target->has_clock ? target->zero_ns : 0, &moved);
	return trace_writer_entity(target->writer, kind, &moved);
}

/* The key of an entity in all files. */
static int make_key(const struct import_target *target, const char *key, bool is_shared,
		    struct string_builder *ret_whole)
{
	const size_t number = is_shared ? 0 : file_number(target);

	if (number)
		string_builder_appendf(ret_whole, "%zu/", number);
	string_builder_append(ret_whole, key);
	return ret_whole->error;
}

static int find_named(struct import_target *target, enum event_kind kind,
		      const struct string_builder *key, uint32_t *ret_id, bool *ret_is_new)
{
	return find_id(target, kind, string_builder_text(key), key->length + 1, ret_id, ret_is_new);
}

int import_target_entity(struct import_target *target, enum event_kind kind, const char *key,
			 void *row, uint32_t *ret_id)
{
	bool is_new;
	int error = find_id(target, kind, key, strlen(key) + 1, ret_id, &is_new);

	if (error || !is_new)
		return error;
	memcpy(row, ret_id, sizeof(*ret_id)); /* the first member of each entity */
	return write_entity(target, kind, row);
}

int import_target_describe_process(struct import_target *target, const char *key, const char *name,
				   const struct event_process *process, uint32_t *ret_process)
{
	struct event_process row = *process;
	struct string_builder whole = {0};
	bool is_new = false;
	int error = make_key(target, key, false, &whole);

	if (!error)
		error = find_named(target, EVENT_PROCESS, &whole, ret_process, &is_new);
	string_builder_fini(&whole);
	if (error || !is_new)
		return error;
	row.id = *ret_process;
	row.host = 1;
	row.ns_pid = row.pid;
	row.status = -1;
	error = import_target_text(target, name, &row.name_string);
	if (!row.command_string)
		row.command_string = row.name_string;
	return error ? error : write_entity(target, EVENT_PROCESS, &row);
}

int import_target_process(struct import_target *target, const char *key, uint32_t pid,
			  const char *name, uint32_t *ret_process)
{
	return import_target_describe_process(
		target, key, name, &(const struct event_process){.pid = pid}, ret_process);
}

int import_target_thread(struct import_target *target, uint32_t process, uint32_t tid,
			 const char *name, uint32_t *ret_thread)
{
	const uint32_t key[] = {process, tid};
	struct event_thread row = {.process = process, .tid = tid, .ns_tid = tid};
	bool is_new;
	int error = find_id(target, EVENT_THREAD, key, sizeof(key), ret_thread, &is_new);

	if (error || !is_new)
		return error;
	row.id = *ret_thread;
	error = import_target_text(target, name, &row.name_string);
	return error ? error : write_entity(target, EVENT_THREAD, &row);
}

/* Whether a text contains a UUID that is not 0: "GPU-6a2c…-…". */
static bool has_uuid(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	for (; *text; text++) {
		bool is_zero = true;
		size_t i = 0;

		for (; form[i] &&
		       (form[i] == '-' ? text[i] == '-' : isxdigit((unsigned char)text[i]));
		     i++)
			is_zero &= text[i] == '-' || text[i] == '0';
		if (!form[i])
			return !is_zero;
	}
	return false;
}

/* Whether the key names the same device in all files. A place on the PCI bus does so if the files
 * have the clock of one machine. */
static bool is_shared(const struct import_target *target, const char *key)
{
	unsigned int domain, bus, device, function;

	if (has_uuid(key))
		return true;
	return target->clock && strcmp(target->clock, IMPORT_CLOCK_UTC) != 0 &&
	       sscanf(key, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4;
}

int import_target_describe_device(struct import_target *target, const char *key, const char *name,
				  const struct event_device *device, uint32_t *ret_device)
{
	struct event_device row = *device;
	struct string_builder whole = {0};
	bool is_new = false;
	int error = make_key(target, key, is_shared(target, key), &whole);

	if (!error)
		error = find_named(target, EVENT_DEVICE, &whole, ret_device, &is_new);
	if (!error && is_new)
		error = import_target_text(target, string_builder_text(&whole), &row.key_string);
	string_builder_fini(&whole);
	if (error || !is_new)
		return error;
	row.id = *ret_device;
	error = import_target_text(target, name, &row.name_string);
	return error ? error : write_entity(target, EVENT_DEVICE, &row);
}

int import_target_device(struct import_target *target, const char *key, const char *name,
			 enum event_device_type type, uint32_t *ret_device)
{
	return import_target_describe_device(
		target, key, name, &(const struct event_device){.type = type}, ret_device);
}

int import_target_context(struct import_target *target, uint32_t process, uint64_t handle,
			  uint32_t green, uint32_t *ret_context)
{
	const uint64_t key[] = {process, handle, green};
	struct event_context row = {.process = process, .handle = handle, .green = green};
	bool is_new;
	int error = find_id(target, EVENT_CONTEXT, key, sizeof(key), ret_context, &is_new);

	if (error || !is_new)
		return error;
	row.id = *ret_context;
	return write_entity(target, EVENT_CONTEXT, &row);
}

int import_target_describe_queue(struct import_target *target, const char *key,
				 const struct event_queue *queue, uint32_t *ret_queue)
{
	struct event_queue row = *queue;
	struct string_builder whole = {0};
	bool is_new = false;
	int error;

	string_builder_appendf(&whole, "%u/%u/%s", row.process, row.device, key);
	error = whole.error ? whole.error
			    : find_id(target, EVENT_QUEUE, string_builder_text(&whole),
				      whole.length, ret_queue, &is_new);
	string_builder_fini(&whole);
	if (error || !is_new)
		return error;
	row.id = *ret_queue;
	row.clock = CLOCK_ID_MONOTONIC;
	row.flags |= QUEUE_TIMED;
	return write_entity(target, EVENT_QUEUE, &row);
}

int import_target_queue(struct import_target *target, uint32_t process, uint32_t device,
			const char *key, uint32_t *ret_queue)
{
	const struct event_queue row = {.process = process, .device = device};

	return import_target_describe_queue(target, key, &row, ret_queue);
}

static int describe_code(struct import_target *target, struct event_code *row, const char *name)
{
	int error = import_target_text(target, name, &row->name_string);
	const uint32_t key[] = {row->type, row->process, row->parent, row->name_string};
	bool is_new = false;

	if (!error)
		error = find_id(target, EVENT_CODE, key, sizeof(key), &row->id, &is_new);
	return error || !is_new ? error : write_entity(target, EVENT_CODE, row);
}

int import_target_kernel(struct import_target *target, uint32_t process, const char *file,
			 const char *name, uint32_t *ret_kernel)
{
	struct event_code source = {.type = CODE_SOURCE, .process = process};
	struct event_code kernel = {.type = CODE_KERNEL, .process = process};
	int error = *file ? describe_code(target, &source, file) : 0;

	kernel.parent = source.id;
	if (!error)
		error = describe_code(target, &kernel, name);
	*ret_kernel = kernel.id;
	return error;
}

int import_target_binary(struct import_target *target, const void *bytes, size_t size,
			 struct event_code *row)
{
	bool is_new = false;
	int error =
		trace_writer_content(target->writer, bytes, size, &row->hash_low, &row->hash_high);
	const uint64_t key[] = {CODE_BINARY, row->process, row->device, row->hash_low,
				row->hash_high};

	row->type = CODE_BINARY;
	row->size_bytes = size;
	if (!error)
		error = find_id(target, EVENT_CODE, key, sizeof(key), &row->id, &is_new);
	return error || !is_new ? error : write_entity(target, EVENT_CODE, row);
}

int import_target_describe_series(struct import_target *target, const char *metric,
				  const char *unit, struct event_series *row, uint32_t *ret_series)
{
	int error = import_target_text(target, metric, &row->metric_string);
	const uint32_t key[] = {row->process, row->device, row->metric_string,
				row->process || row->device ? 0 : (uint32_t)file_number(target)};
	bool is_new = false;

	if (!error)
		error = find_id(target, EVENT_SERIES, key, sizeof(key), ret_series, &is_new);
	if (error || !is_new)
		return error;
	row->id = *ret_series;
	row->host = 1;
	error = import_target_text(target, unit, &row->unit_string);
	if (!error)
		error = import_target_text(target, "import", &row->source_string);
	return error ? error : write_entity(target, EVENT_SERIES, row);
}

int import_target_series(struct import_target *target, const char *metric, const char *unit,
			 enum event_series_type type, uint32_t device, uint32_t *ret_series)
{
	struct event_series row = {.type = type, .device = device};

	return import_target_describe_series(target, metric, unit, &row, ret_series);
}

int import_target_frame(struct import_target *target, enum event_frame_type type, uint32_t flags,
			const char *function, const char *module, uint32_t *ret_frame)
{
	struct event_frame row = {.type = type, .flags = flags};
	int error = import_target_text(target, function, &row.name_string);

	if (!error)
		error = import_target_text(target, module, &row.module_string);
	if (error)
		return error;
	*ret_frame = trace_writer_frame(target->writer, &row);
	return *ret_frame ? 0 : -ENOMEM;
}

int import_target_push_id(struct import_target *target, uint32_t frame, uint32_t *stack)
{
	*stack = trace_writer_stack(target->writer, *stack, frame);
	return *stack ? 0 : -ENOMEM;
}

int import_target_push_frame(struct import_target *target, const struct event_frame *row,
			     uint32_t *stack)
{
	uint32_t frame = trace_writer_frame(target->writer, row);

	return frame ? import_target_push_id(target, frame, stack) : -ENOMEM;
}

int import_target_push(struct import_target *target, enum event_frame_type type, uint32_t flags,
		       const char *function, const char *module, uint32_t *stack)
{
	uint32_t frame;
	int error = import_target_frame(target, type, flags, function, module, &frame);

	return error ? error : import_target_push_id(target, frame, stack);
}

int import_target_get(const struct import_target *target, enum event_kind kind, uint32_t id,
		      void *ret_row)
{
	return trace_writer_find_entity(target->writer, kind, id, ret_row) ? 0 : -ENOENT;
}

int import_target_update(struct import_target *target, enum event_kind kind, const void *row)
{
	return trace_writer_entity(target->writer, kind, row);
}

/* Files of one import are moved into one clock, so the first pair is enough. */
int import_target_wall_clock(struct import_target *target, uint64_t time_ns, uint64_t realtime_ns)
{
	const uint64_t host_ns = time_ns + (target->has_clock ? (uint64_t)target->zero_ns : 0);
	const struct event_clock clock = {.id = CLOCK_ID_MONOTONIC + 1,
					  .type = CLOCK_TYPE_REALTIME,
					  .frequency_hz = 1000000000};
	const struct event_clock_pair pair = {
		.time = realtime_ns, .host_lower_ns = host_ns, .host_upper_ns = host_ns};
	const struct trace_source source = {.clock = clock.id};
	int error;

	if (target->has_wall_clock)
		return 0;
	target->has_wall_clock = true;
	error = trace_writer_entity(target->writer, EVENT_CLOCK, &clock);
	return error ? error : trace_writer_row(target->writer, EVENT_CLOCK_PAIR, &source, &pair);
}

uint64_t import_target_end(const struct import_target *target)
{
	const uint64_t zero_ns = target->has_clock ? (uint64_t)target->zero_ns : 0;

	return target->end_ns > zero_ns ? target->end_ns - zero_ns : 0;
}

uint64_t import_target_correlation(struct import_target *target)
{
	return ++target->correlations;
}

/* ---- rows ---- */

/* Moves a row into the clock of all files. */
static int place_row(struct import_target *target, enum event_kind kind, const void *row,
		     uint64_t *begin_ns, uint64_t *end_ns, union import_row *ret_moved)
{
	if (!target->has_clock)
		return error_set(-ENODATA,
				 "its times do not count from a known time, so they cannot "
				 "be compared with those of another file; import the "
				 "files one by one");
	import_shift_row(kind, row, target->zero_ns, ret_moved);
	*begin_ns += (uint64_t)target->zero_ns;
	*end_ns += (uint64_t)target->zero_ns;
	return 0;
}

static int write_row(struct import_target *target, enum event_kind kind, uint32_t source,
		     const void *row, uint64_t begin_ns, uint64_t end_ns)
{
	const struct trace_source from = {
		.source = source, .clock = CLOCK_ID_MONOTONIC, .seen_clock = CLOCK_ID_MONOTONIC};
	union import_row moved;
	int error = 0;

	if (target->notes.has_several) {
		error = place_row(target, kind, row, &begin_ns, &end_ns, &moved);
		row = &moved;
	}
	if (!error)
		error = trace_writer_row(target->writer, kind, &from, row);
	if (error)
		return error;
	import_spans_add(&target->spans, begin_ns, end_ns);
	target->begin_ns = begin_ns < target->begin_ns ? begin_ns : target->begin_ns;
	target->end_ns = end_ns > target->end_ns ? end_ns : target->end_ns;
	target->rows++;
	if (target->rows % FLUSH_ROWS == 0)
		error = trace_writer_flush(target->writer, target->end_ns);
	return error;
}

int import_target_call(struct import_target *target, const struct event_api *row)
{
	return write_row(target, EVENT_API, row->thread, row, row->begin, row->end);
}

int import_target_launch(struct import_target *target, const struct event_launch *row)
{
	return write_row(target, EVENT_LAUNCH, row->thread, row, row->enter, row->exit);
}

int import_target_execution(struct import_target *target, const struct event_execution *row)
{
	const bool is_timed = row->valid & EXECUTION_STARTED;
	const uint64_t end = larger(row->seen, row->ended);

	return write_row(target, EVENT_EXECUTION, row->queue, row,
			 is_timed ? row->started : row->seen, is_timed ? end : row->seen);
}

int import_target_range(struct import_target *target, const struct event_range *row)
{
	return write_row(target, EVENT_RANGE, row->thread, row, row->begin, row->end);
}

int import_target_sample(struct import_target *target, const struct event_cpu_sample *row)
{
	return write_row(target, EVENT_CPU_SAMPLE, row->thread, row, row->time, row->time + 1);
}

int import_target_instruction(struct import_target *target,
			      const struct event_instruction_sample *row)
{
	return write_row(target, EVENT_INSTRUCTION_SAMPLE, row->device, row, row->begin,
			 row->end > row->begin ? row->end : row->begin + 1);
}

int import_target_counter(struct import_target *target, const struct event_counter *row)
{
	return write_row(target, EVENT_COUNTER, row->series, row, row->begin, row->end);
}

int import_target_switch(struct import_target *target, const struct event_switch *row)
{
	return write_row(target, EVENT_SWITCH, row->previous ? row->previous : row->next, row,
			 row->time, row->time);
}

int import_target_collective(struct import_target *target, const struct event_collective *row)
{
	return write_row(target, EVENT_COLLECTIVE, row->process, row, row->begin, row->end);
}

int import_target_loss(struct import_target *target, const struct event_loss *row)
{
	return write_row(target, EVENT_LOSS, row->process, row, row->begin, row->end);
}

/* ---- the end ---- */

static int describe_host(struct import_target *target)
{
	const struct event_host row = {.id = 1,
				       .begin_ns = target->rows ? target->begin_ns : 0,
				       .end_ns = target->rows ? target->end_ns : 1};

	return trace_writer_entity(target->writer, EVENT_HOST, &row);
}

static void append_lines(struct string_builder *text, const char *line, const char *before)
{
	for (size_t length; *line; line += length + (line[length] != '\0')) {
		length = strcspn(line, "\n");
		string_builder_appendf(text, "%s%.*s", before, (int)length, line);
		before = "; ";
	}
}

/* Stores the notes as the text of a collector "import". */
static int describe_import(struct import_target *target, const struct string_builder *notes)
{
	struct event_collector row = {.id = 1, .state = COLLECTOR_AVAILABLE};
	const struct string_builder *faults = &target->notes.faults;
	struct string_builder text = {0};
	int error;

	string_builder_append(&text, "from ");
	import_notes_append_files(&target->notes, &text);
	append_lines(&text, string_builder_text(faults), ": ");
	append_lines(&text, string_builder_text(notes), faults->length ? "; " : ": ");
	error = text.error;
	if (!error)
		error = import_target_text(target, "import", &row.name_string);
	if (!error)
		error = import_target_text(target, string_builder_text(&text), &row.reason_string);
	string_builder_fini(&text);
	return error ? error : trace_writer_entity(target->writer, EVENT_COLLECTOR, &row);
}

int import_target_finish(struct import_target *target, struct import_result *ret_result)
{
	struct string_builder notes = {0};
	int error = import_spans_check(&target->spans, &target->notes);

	if (!error)
		error = describe_host(target);
	import_notes_append(&target->notes, &notes);
	if (!error)
		error = describe_import(target, &notes);
	if (error) {
		string_builder_fini(&notes);
		import_target_abandon(target);
		return error;
	}
	error = trace_writer_close(target->writer, target->rows ? target->end_ns : 1);
	if (ret_result)
		*ret_result = (struct import_result){target->rows, string_builder_take(&notes),
						     string_builder_take(&target->notes.faults)};
	string_builder_fini(&notes);
	target_free(target);
	return error;
}
