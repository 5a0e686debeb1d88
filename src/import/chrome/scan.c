/* SPDX-License-Identifier: MIT
 *
 * import/chrome/scan.c - the first pass over a Chrome trace
 *
 * Runs in:  our own process
 * Gets:     a source, which is read once
 * Gives:    names, the stacks of slices, the calls of commands, the time span
 * Owns:     slices of B events until their E event
 * Fails:    as chrome_file_read, -errno of a temporary file
 * Why:      a command may precede its call, and a slice the slice around it. So rows of launches
 *           and calls can be written only by a second pass.
 */
#include "import/chrome/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/event.h"
#include "import/chrome/categories.h"
#include "import/chrome/join/arrows.h"
#include "import/chrome/join/launches.h"
#include "import/source.h"
#include "import/target.h"

uint32_t chrome_number_of(const char *text, uint32_t otherwise)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	return isdigit((unsigned char)*text) && !*end && value < 0x80000000u ? (uint32_t)value
									     : otherwise;
}

int64_t chrome_owner_of(const struct chrome_event *event)
{
	return event->arguments.pid.is_known ? event->arguments.pid.value : 0;
}

/* Most events are of the row of the event before. */
int chrome_scan_row(struct chrome_scan *scan, const struct chrome_event *event, uint32_t *ret_row)
{
	struct string_builder key;

	string_builder_clear(&scan->key);
	string_builder_append_bytes(&scan->key, string_builder_text(&event->pid),
				    event->pid.length);
	string_builder_append_char(&scan->key, '\n');
	string_builder_append_bytes(&scan->key, string_builder_text(&event->tid),
				    event->tid.length);
	if (scan->key.error)
		return -ENOMEM;
	if (!scan->last_row || scan->key.length != scan->last_key.length ||
	    memcmp(string_builder_text(&scan->key), string_builder_text(&scan->last_key),
		   scan->key.length) != 0) {
		scan->last_row = string_table_add(&scan->rows, string_builder_text(&scan->key),
						  scan->key.length);
		key = scan->last_key;
		scan->last_key = scan->key;
		scan->key = key;
	}
	*ret_row = scan->last_row;
	return scan->last_row ? 0 : -ENOMEM;
}

/* ---- slices ---- */

/* Python numbers its calls in the order of their starts. */
static uint32_t order_of(const struct chrome_event *event)
{
	const uint32_t id = (uint32_t)event->arguments.python_id.value & 0x3fffffff;

	if (chrome_is_range(event))
		return 0;
	if (event->categories & CATEGORY_FUNCTION)
		return id + 1;
	return event->categories & CATEGORY_OPERATOR ? 0x40000000 : 0x80000000;
}

static int note_process(struct chrome_scan *scan, const struct chrome_event *event,
			struct chrome_slice *slice)
{
	struct chrome_row_name *process;
	int error;

	if (!slice->has_correlation && !(event->categories & CATEGORY_RUNTIME))
		return 0;
	slice->owner = chrome_number_of(string_builder_text(&event->pid), 0);
	error = chrome_names_add_process(&scan->names, string_builder_text(&event->pid), &process);
	if (!error)
		process->has_calls = true;
	return error;
}

static int make_slice(struct chrome_scan *scan, const struct chrome_event *event,
		      struct chrome_slice *slice)
{
	const struct chrome_arguments *arguments = &event->arguments;
	int error = chrome_scan_row(scan, event, &slice->row);

	slice->begin_ns = event->ts_ns.value;
	slice->end_ns = event->ts_ns.value + event->dur_ns.value;
	slice->correlation = arguments->correlation.value;
	slice->has_correlation = arguments->correlation.value != 0 && !chrome_is_range(event);
	slice->result = arguments->result.is_known ? (int32_t)arguments->result.value : 0;
	slice->type = (uint8_t)chrome_call_type(event);
	slice->is_frame = chrome_is_frame(event);
	slice->is_further = arguments->further.is_known;
	slice->is_range = chrome_is_range(event);
	slice->order = order_of(event);
	slice->number = scan->events;
	if (!error)
		error = chrome_names_add_text(&scan->names, string_builder_text(&event->name),
					      &slice->name);
	if (!error)
		error = chrome_names_add_key(&scan->names, string_builder_text(&event->stack),
					     &slice->stack_key);
	if (!error)
		error = chrome_names_add_text(&scan->names,
					      string_builder_text(&arguments->call_stack),
					      &slice->call_stack);
	if (!error)
		error = chrome_collectives_add(&scan->collectives, &scan->names, event,
					       &slice->collective);
	return error ? error : note_process(scan, event, slice);
}

static int on_slice(struct chrome_scan *scan, const struct chrome_event *event)
{
	struct chrome_slice slice = {0};
	int error = make_slice(scan, event, &slice);

	return error ? error : chrome_slices_add(scan->slices, &slice);
}

static int on_begin(struct chrome_scan *scan, const struct chrome_event *event)
{
	struct chrome_slice slice = {0};
	int error = make_slice(scan, event, &slice);

	if (error)
		return error;
	slice.has_correlation = false; /* no exporter writes launches this way */
	if (array_grow(scan->innermost, scan->innermost_capacity, slice.row))
		return -ENOMEM;
	return open_slices_push(&scan->open, &scan->innermost[slice.row - 1], &slice);
}

static int end_slice(struct chrome_scan *scan, uint32_t row, int64_t end_ns, uint32_t number)
{
	struct chrome_slice *slice = open_slices_top(&scan->open, scan->innermost[row - 1]);

	if (end_ns > slice->begin_ns)
		slice->end_ns = end_ns;
	slice->number = number;
	open_slices_pop(&scan->open, &scan->innermost[row - 1]);
	return chrome_slices_add(scan->slices, slice);
}

static int on_end(struct chrome_scan *scan, const struct chrome_event *event)
{
	uint32_t row;
	int error = chrome_scan_row(scan, event, &row);

	if (!error && array_grow(scan->innermost, scan->innermost_capacity, row))
		return -ENOMEM;
	return error || !scan->innermost[row - 1]
		       ? error
		       : end_slice(scan, row, event->ts_ns.value, scan->events);
}

/* Slices without an end last until the last event. Their numbers follow those of the events. */
static int end_all(struct chrome_scan *scan)
{
	uint32_t number = scan->events;
	int error = 0;

	for (uint32_t row = 1; row <= scan->innermost_capacity && row <= scan->rows.count; row++)
		while (scan->innermost[row - 1] && !error)
			error = end_slice(scan, row, scan->last_ns, number++);
	return error;
}

/* ---- the pass ---- */

static int place_of(struct chrome_scan *scan, const struct chrome_event *event,
		    struct arrow_place *ret_place)
{
	ret_place->ts_ns = event->ts_ns.value;
	return chrome_scan_row(scan, event, &ret_place->row);
}

static int add_operation(struct chrome_scan *scan, const struct chrome_event *event)
{
	struct arrow_place place;
	int error = place_of(scan, event, &place);

	return error ? error : chrome_arrows_add_command(scan->arrows, &place, scan->events);
}

static int on_arrow(struct chrome_scan *scan, const struct chrome_event *event)
{
	const bool is_target = *string_builder_text(&event->phase) == 'f';
	struct chrome_row_name *process;
	struct arrow_place place;
	int error = place_of(scan, event, &place);

	if (!error && !is_target)
		error = chrome_names_add_process(&scan->names, string_builder_text(&event->pid),
						 &process);
	if (error)
		return error;
	if (!is_target)
		process->has_calls = true;
	return event->id.is_known
		       ? chrome_arrows_add_end(scan->arrows, event->id.value, is_target, &place)
		       : 0;
}

static int on_command(struct chrome_scan *scan, const struct chrome_event *event)
{
	struct chrome_row_name *device;
	int error =
		chrome_names_add_process(&scan->names, string_builder_text(&event->pid), &device);

	if (error)
		return error;
	device->has_commands = true;
	device->is_accelerator |= event->categories & CATEGORY_ACCELERATOR;
	scan->has_owners |= event->arguments.pid.is_known;
	if (event->categories & CATEGORY_OPERATION)
		return add_operation(scan, event);
	if (!event->arguments.correlation.is_known || event->arguments.no_launch.length)
		return 0;
	return chrome_launches_add_command(scan->launches, chrome_owner_of(event),
					   event->arguments.correlation.value, event->ts_ns.value,
					   scan->events);
}

static int take_event(struct chrome_scan *scan, const struct chrome_event *event)
{
	switch (chrome_kind_of(event)) {
	case KIND_META:
		return chrome_names_add_meta(&scan->names, event);
	case KIND_COMMAND:
		return on_command(scan, event);
	case KIND_SLICE:
		return on_slice(scan, event);
	case KIND_BEGIN:
		return on_begin(scan, event);
	case KIND_END:
		return on_end(scan, event);
	case KIND_ARROW:
		return on_arrow(scan, event);
	default:
		return 0;
	}
}

static int on_event(void *context, struct chrome_event *event)
{
	struct chrome_scan *scan = context;
	enum chrome_kind kind;
	int error;

	chrome_names_set_categories(&scan->names, event);
	kind = chrome_kind_of(event);
	error = take_event(scan, event);
	scan->events++;
	if (kind != KIND_META && event->ts_ns.is_known && event->ts_ns.value < scan->first_ns)
		scan->first_ns = event->ts_ns.value;
	if (kind != KIND_META && event->ts_ns.is_known && event->ts_ns.value < scan->least_ns)
		scan->least_ns = event->ts_ns.value;
	if (kind != KIND_META && kind != KIND_LEFT_OUT && kind != KIND_INVALID &&
	    kind != KIND_ARROW && event->ts_ns.value > scan->last_ns)
		scan->last_ns = event->ts_ns.value;
	return error;
}

static int on_frame(void *context, const struct chrome_frame *frame)
{
	struct chrome_scan *scan = context;

	return chrome_names_add_frame(&scan->names, frame);
}

static int on_device(void *context, const struct chrome_device *device)
{
	struct chrome_scan *scan = context;

	return chrome_names_add_device(&scan->names, device);
}

static int on_document(void *context, const struct chrome_document *document)
{
	struct chrome_scan *scan = context;

	return chrome_names_add_document(&scan->names, document);
}

int chrome_scan_read(struct chrome_scan *scan, struct import_source *source,
		     struct import_target *target)
{
	static const struct chrome_visitor visitor = {.on_event = on_event,
						      .on_frame = on_frame,
						      .on_device = on_device,
						      .on_document = on_document};
	int error = chrome_slices_new(&scan->slices);

	open_slices_init(&scan->open, sizeof(struct chrome_slice), 0);
	scan->last_ns = INT64_MIN;
	scan->least_ns = INT64_MAX;
	if (!error)
		error = chrome_launches_new(&scan->launches);
	if (!error)
		error = chrome_arrows_new(&scan->arrows);
	if (!error)
		error = chrome_file_read(source, &visitor, scan, &scan->is_cut);
	chrome_names_finish(&scan->names);
	if (!error)
		error = end_all(scan);
	if (!error)
		error = chrome_arrows_start(scan->arrows, scan->launches);
	if (!error)
		error = chrome_slices_finish(scan->slices, target, &scan->names, scan->launches,
					     scan->arrows, scan->has_owners);
	if (!error)
		error = chrome_arrows_finish(scan->arrows);
	return error ? error : chrome_launches_finish(scan->launches);
}

int chrome_scan_set_clock(const struct chrome_scan *scan, struct import_target *target)
{
	const struct json_integer *base_ns = &scan->names.document.base_ns;
	const int64_t since_2001 = 1000000000000000000;

	if (base_ns->is_known && base_ns->value >= 0 && base_ns->value < 2 * since_2001)
		return import_target_clock(target, IMPORT_CLOCK_UTC,
					   base_ns->value + scan->first_ns);
	if (scan->least_ns >= since_2001 && scan->least_ns < INT64_MAX)
		return import_target_clock(target, IMPORT_CLOCK_UTC, scan->first_ns);
	return 0;
}

void chrome_scan_fini(struct chrome_scan *scan)
{
	chrome_names_fini(&scan->names);
	chrome_slices_free(scan->slices);
	chrome_launches_free(scan->launches);
	chrome_arrows_free(scan->arrows);
	chrome_collectives_fini(&scan->collectives);
	string_table_fini(&scan->rows);
	string_builder_fini(&scan->key);
	string_builder_fini(&scan->last_key);
	free(scan->innermost);
	open_slices_fini(&scan->open);
}
