/* SPDX-License-Identifier: MIT
 *
 * export/ctf/ctf.c - export to the Common Trace Format 1.8: a folder for babeltrace2 and Trace
 * Compass
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    metadata, a stream of the host, one per processor, one per device clock, views
 * Owns:     the streams
 * Fails:    -ENOMEM, errors of the reader and of files
 * Why a stream per clock: times in a stream must not decrease, but device times converted to the
 *           host's clock may decrease, within the clock's error. The events of a command are held
 *           back for the length of that error, so that its launch is known when they are written.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/join/commands.h"
#include "analyze/join/points.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/text/row_names.h"
#include "base/array.h"
#include "base/file/output_file.h"
#include "base/file/stream.h"
#include "base/string.h"
#include "export/common/fields.h"
#include "export/common/trace_uuid.h"
#include "export/ctf/metadata.h"
#include "export/ctf/schedule.h"
#include "export/ctf/stream.h"
#include "export/ctf/views.h"
#include "export/formats.h"

/* Views are in a subfolder, because readers take every file of the trace's folder for a stream. */
#define VIEWS_FOLDER "trace-compass"
#define VIEWS_FILE   "duet-zones.xml"

struct ctf {
	struct filter filter;
	struct output_folder *folder;
	uint8_t uuid[CTF_UUID_BYTES];
	struct ctf_stream host;
	struct ctf_schedule schedule;
	bool has_cpus;
	struct ctf_stream *devices; /* by index of clocks */
	uint32_t *clocks;           /* ids */
	size_t count, devices_capacity, clocks_capacity;
	uint64_t rows;
};

/* ---- streams ---- */

/* The name of a stream's file contains the number of its clock and no text from the trace. */
static int add_device(struct ctf *ctf, uint32_t clock)
{
	char name[32];

	if (array_grow(ctf->devices, ctf->devices_capacity, ctf->count + 1) ||
	    array_grow(ctf->clocks, ctf->clocks_capacity, ctf->count + 1))
		return -ENOMEM;
	snprintf(name, sizeof(name), "device_clock_%" PRIu32, clock);
	ctf->clocks[ctf->count++] = clock;
	return ctf_stream_open(&ctf->devices[ctf->count - 1], ctf->folder, name,
			       (uint32_t)ctf->count - 1 + CTF_STREAM_DEVICES, ctf->uuid,
			       ctf->filter.begin_ns);
}

static int find_device(struct ctf *ctf, uint32_t queue, struct ctf_stream **ret_stream)
{
	const struct event_queue *row = model_entity(ctf->filter.model, EVENT_QUEUE, queue);
	uint32_t clock = row ? row->clock : 0;
	size_t i = 0;
	int error = 0;

	while (i < ctf->count && ctf->clocks[i] != clock)
		i++;
	if (i == ctf->count)
		error = add_device(ctf, clock);
	if (!error)
		*ret_stream = &ctf->devices[i];
	return error;
}

/* ---- host events ---- */

static const char *text_of(const struct ctf *ctf, uint32_t string)
{
	return model_text(ctf->filter.model, string, "");
}

static void begin_host(struct ctf *ctf, enum ctf_event event, uint64_t time_ns, uint32_t process,
		       uint32_t thread)
{
	const struct model *model = ctf->filter.model;
	const struct event_thread *row = model_entity(model, EVENT_THREAD, thread);
	const struct event_process *owner =
		model_entity(model, EVENT_PROCESS, row ? row->process : process);

	ctf->rows++;
	ctf_stream_begin(&ctf->host, event, time_ns);
	ctf_stream_u32(&ctf->host, owner ? owner->pid : 0);
	ctf_stream_u32(&ctf->host, row ? row->tid : 0);
	/* babeltrace2 2.0.4 prints the previous text in place of an empty one */
	ctf_stream_text(&ctf->host, owner ? text_of(ctf, owner->name_string) : "[none]");
}

static void put_cell(struct ctf_stream *stream, enum field_value value,
		     const struct field_cell *cell)
{
	switch (value) {
	case FIELD_VALUE_U32:
		ctf_stream_u32(stream, (uint32_t)cell->u64);
		break;
	case FIELD_VALUE_I32:
	case FIELD_VALUE_NEXT:
		ctf_stream_i32(stream, (int32_t)cell->u64);
		break;
	case FIELD_VALUE_BIT:
	case FIELD_VALUE_COUNT_OF:
		ctf_stream_u8(stream, (uint8_t)cell->u64);
		break;
	case FIELD_VALUE_TEXT:
	case FIELD_VALUE_NAME:
	case FIELD_VALUE_TEXT_OF:
		ctf_stream_text(stream, cell->text);
		break;
	case FIELD_VALUE_SIZES:
		for (uint32_t i = 0; i < cell->sizes_count; i++)
			ctf_stream_u64(stream, cell->sizes[i]);
		break;
	default:
		ctf_stream_u64(stream, cell->u64);
	}
}

/* An unknown field is written as 0 or "", because CTF fields cannot be absent. */
static int put_row(struct ctf *ctf, enum ctf_event event, const struct order_item *item,
		   uint32_t process, uint32_t thread)
{
	const struct field_list *list = &field_ctf_lists[event];
	struct field_cell cell;

	begin_host(ctf, event, item->time_ns, process, thread);
	cell.steps = NULL;
	for (size_t i = 0; i < list->count; i++) {
		field_read(&list->columns[i], ctf->filter.model, item->row, &cell);
		put_cell(&ctf->host, list->columns[i].value, &cell);
	}
	return ctf_stream_end(&ctf->host);
}

static int on_api(struct ctf *ctf, const struct order_item *item)
{
	const struct event_api *row = item->row;

	return put_row(ctf, item->point == POINT_BEGIN ? CTF_CALL_BEGIN : CTF_CALL_END, item, 0,
		       row->thread);
}

static const char *command_of(const struct ctf *ctf, const struct event_launch *row)
{
	return analysis_command_name(analysis_launch_command(ctf->filter.model, row));
}

static int on_launch(struct ctf *ctf, const struct order_item *item)
{
	const struct event_launch *row = item->row;

	return put_row(ctf, item->point == POINT_BEGIN ? CTF_LAUNCH_BEGIN : CTF_LAUNCH_END, item, 0,
		       row->thread);
}

static int on_sample(struct ctf *ctf, const struct order_item *item)
{
	const struct event_cpu_sample *row = item->row;

	return put_row(ctf, CTF_CPU_SAMPLE, item, 0, row->thread);
}

/* A range whose start was not recorded has only an end event. */
static int on_range(struct ctf *ctf, const struct order_item *item)
{
	const struct event_range *row = item->row;
	bool is_end = item->point == POINT_END;
	enum ctf_event event = is_end ? CTF_RANGE_END : CTF_RANGE_BEGIN;

	if (row->type == RANGE_MARK)
		event = CTF_MARK;
	if (is_end ? row->type == RANGE_MARK : row->flags & RANGE_UNBEGUN)
		return 0;
	return put_row(ctf, event, item, row->process, row->thread);
}

/* A reading, unconverted, at its start time. */
static int on_counter(struct ctf *ctf, const struct order_item *item)
{
	const struct event_counter *row = item->row;
	const struct event_series *series =
		model_entity(ctf->filter.model, EVENT_SERIES, row->series);

	return series ? put_row(ctf, CTF_COUNTER, item, series->process, 0) : 0;
}

/* ---- losses ---- */

/* Finds the stream of lost rows. Lost executions belong to the device clock if all queues of the
 * process have the same one; all other rows belong to the host's stream. */
static int find_lost(struct ctf *ctf, const struct event_loss *row, struct ctf_stream **ret_stream)
{
	const struct event_queue *queues, *found = NULL;
	const void *entities = NULL;
	size_t count = model_entities(ctf->filter.model, EVENT_QUEUE, &entities);

	*ret_stream = &ctf->host;
	queues = entities;
	for (size_t i = 0; row->kind == EVENT_EXECUTION && i < count; i++) {
		if (row->process && queues[i].process != row->process)
			continue;
		if (found && found->clock != queues[i].clock)
			return 0;
		found = &queues[i];
	}
	return found ? find_device(ctf, found->id, ret_stream) : 0;
}

static int on_loss(struct ctf *ctf, const struct order_item *item)
{
	const struct event_loss *row = item->row;
	bool is_event = row->kind < EVENT_KIND_COUNT &&
			filter_has_kind(&ctf->filter, (enum event_kind)row->kind);
	struct ctf_stream *stream = NULL;
	int error = is_event ? find_lost(ctf, row, &stream) : 0;

	if (!error && stream)
		/* CTF has no unknown count, so 1 is written: at least one row was lost */
		error = ctf_stream_discard(stream, item->time_ns,
					   row->count == LOSS_COUNT_UNKNOWN ? 1 : row->count);
	return error ? error : put_row(ctf, CTF_LOST, item, row->process, row->thread);
}

/* ---- device events ---- */

static void put_names(struct ctf *ctf, struct ctf_stream *stream, const struct event_launch *launch)
{
	const struct command command = {.launch = launch};

	ctf_stream_text(stream, launch ? command_of(ctf, launch) : "");
	ctf_stream_text(stream, command_name(ctf->filter.model, &command));
}

/* The device and its line in Trace Compass. */
static void put_device(struct ctf *ctf, struct ctf_stream *stream, const struct event_queue *queue,
		       const struct event_launch *launch)
{
	static const char *const activities[] = {
		[ACCOUNT_KERNEL] = "kernels", [ACCOUNT_COPY] = "copies", [ACCOUNT_OTHER] = "other"};
	const struct model *model = ctf->filter.model;
	const struct event_device *device =
		model_entity(model, EVENT_DEVICE, queue ? queue->device : 0);
	enum account_class class =
		launch ? analysis_class(analysis_launch_command(model, launch)) : ACCOUNT_OTHER;
	struct string_builder name = {0};

	row_name_device(model, device, &name);
	ctf_stream_text(stream, string_builder_text(&name));
	string_builder_fini(&name);
	ctf_stream_text(stream, activities[class]);
}

/* Whether moment `number` (0: queued, 1: submitted, 2: started, 3: ended) is known and in the
 * exported window. */
static bool has_time(const struct ctf *ctf, const struct event_execution *row, int number)
{
	const uint64_t times[] = {row->queued, row->submitted, row->started, row->ended};

	return number >= 0 && number < 4 && (row->valid & 1u << number) &&
	       filter_has_time(&ctf->filter, times[number]);
}

static int write_point(struct ctf *ctf, const struct order_item *item,
		       const struct event_launch *launch)
{
	const struct event_execution *row = item->row;
	const struct event_queue *queue = model_entity(ctf->filter.model, EVENT_QUEUE, row->queue);
	int number = (int)item->point - POINT_QUEUED;
	struct ctf_stream *stream;
	int error = find_device(ctf, row->queue, &stream);

	if (error)
		return error;
	ctf->rows++;
	ctf_stream_begin(stream, (uint16_t)(CTF_COMMAND_QUEUED + number), item->time_ns);
	ctf_stream_u32(stream, model_pid(ctf->filter.model, row->process));
	ctf_stream_u64(stream, row->correlation);
	ctf_stream_u32(stream, row->queue);
	ctf_stream_u32(stream, queue ? queue->device : 0);
	put_names(ctf, stream, launch);
	ctf_stream_u8(stream, has_time(ctf, row, number - 1));
	ctf_stream_u8(stream, has_time(ctf, row, number + 1));
	ctf_stream_i32(stream, row->status);
	ctf_stream_u8(stream, (row->valid & ORDER_IMPOSSIBLE) != 0);
	put_device(ctf, stream, queue, launch);
	return ctf_stream_end(stream);
}

/* A command without device times has only the time at which the host saw its end. */
static int write_complete(struct ctf *ctf, const struct order_item *item,
			  const struct event_launch *launch)
{
	const struct event_execution *row = item->row;

	begin_host(ctf, CTF_COMMAND_COMPLETE, item->time_ns, row->process, 0);
	ctf_stream_u64(&ctf->host, row->correlation);
	ctf_stream_u32(&ctf->host, row->queue);
	put_names(ctf, &ctf->host, launch);
	ctf_stream_i32(&ctf->host, row->status);
	return ctf_stream_end(&ctf->host);
}

static int on_execution(struct ctf *ctf, const struct order_item *item,
			const struct event_launch *launch)
{
	return item->point == POINT_SEEN ? write_complete(ctf, item, launch)
					 : write_point(ctf, item, launch);
}

/* ---- the trace ---- */

static int on_point(void *context, const struct order_item *item, const struct event_launch *launch)
{
	struct ctf *ctf = context;

	if (!filter_has_item(&ctf->filter, item))
		return 0;
	switch (item->kind) {
	case EVENT_EXECUTION:
		return on_execution(ctf, item, launch);
	case EVENT_API:
		return on_api(ctf, item);
	case EVENT_LAUNCH:
		return on_launch(ctf, item);
	case EVENT_CPU_SAMPLE:
		return on_sample(ctf, item);
	case EVENT_SWITCH:
		return ctf_schedule_switch(&ctf->schedule, item->row);
	case EVENT_RANGE:
		return on_range(ctf, item);
	case EVENT_COUNTER:
		return on_counter(ctf, item);
	default:
		return on_loss(ctf, item);
	}
}

static int write_streams(struct ctf *ctf, struct order *order)
{
	const struct points_visitor visitor = {
		.on_point = on_point,
		.has_wait = true,
		.wait_ns = clocks_device_error_ns(ctf->filter.model->clocks)};

	return points_each(ctf->filter.model, order, &visitor, ctf);
}

static int write_views(struct output_folder *folder)
{
	int error;
	FILE *file = output_folder_stream(folder, VIEWS_FOLDER "/" VIEWS_FILE, &error);

	if (!file)
		return error;
	fwrite(ctf_views, 1, ctf_views_size, file);
	error = stream_flush(file);
	fclose(file);
	return error;
}

static int close_streams(struct ctf *ctf)
{
	int error = ctf_stream_close(&ctf->host), failed = ctf_schedule_close(&ctf->schedule);

	error = error ? error : failed;
	for (size_t i = 0; i < ctf->count; i++) {
		failed = ctf_stream_close(&ctf->devices[i]);
		error = error ? error : failed;
	}
	return error;
}

static int write_all(struct ctf *ctf, struct order *order)
{
	int error = ctf_stream_open(&ctf->host, ctf->folder, "host", CTF_STREAM_HOST, ctf->uuid,
				    ctf->filter.begin_ns);

	ctf->schedule = (struct ctf_schedule){
		.filter = &ctf->filter, .folder = ctf->folder, .uuid = ctf->uuid};
	if (!error)
		error = write_streams(ctf, order);
	ctf->has_cpus = ctf->schedule.count > 0;
	if (!error)
		error = close_streams(ctf);
	if (!error)
		error = ctf_metadata_write(ctf->folder, &ctf->filter, ctf->uuid, ctf->has_cpus,
					   ctf->clocks, ctf->count);
	return error ? error : write_views(ctf->folder);
}

static int write_ctf(const struct model *model, const struct output_options *options,
		     struct output_folder *folder, uint64_t *ret_rows)
{
	const struct order_options order_options = {
		.points = true,
		.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_EXECUTION |
			 1u << EVENT_CPU_SAMPLE | 1u << EVENT_SWITCH | 1u << EVENT_RANGE |
			 1u << EVENT_COUNTER | 1u << EVENT_LOSS};
	struct ctf ctf = {.folder = folder};
	struct order *order = NULL;
	int error = model_order(model, &order_options, &order);

	if (error)
		return error;
	filter_init(&ctf.filter, model, options, order);
	trace_uuid(ctf.filter.model, ctf.filter.begin_ns, ctf.uuid);
	error = write_all(&ctf, order);
	*ret_rows = ctf.rows + ctf.schedule.rows;
	close_streams(&ctf);
	order_free(order);
	free(ctf.devices);
	free(ctf.clocks);
	return error;
}

const struct exporter export_ctf = {
	.name = "ctf",
	.help = "a folder in the Common Trace Format 1.8, for babeltrace2 and Trace Compass",
	.kinds = "api, launch, execution, cpu_sample, switch, range, counter, loss",
	.has_no_instructions = true,
	.is_binary = true,
	.write_folder = write_ctf,
};
