/* SPDX-License-Identifier: MIT
 *
 * export/ctf.c - Common Trace Format 1.8: a folder for babeltrace2 and Trace Compass
 *
 * Runs in:  our own process
 * Gets:     a model and filters   Gives: metadata, a stream of the host, a stream of each device clock, views
 * Owns:     the streams, launches whose commands are not over, moments that wait for their launch
 * Fails:    -ENOMEM, what the reader or a file fails with
 * Why streams by clock: within a stream time must not go back, and a clock that is known up to an error does so against
 *           the host's. A command's moments wait for as long as that error, so that its launch is known by then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "analyze/analysis.h"
#include "analyze/correlate.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "export/commands.h"
#include "export/ctf_metadata.h"
#include "export/ctf_stream.h"
#include "export/ctf_views.h"
#include "export/filter.h"
#include "export/formats.h"

/* Below the folder, where readers look for streams only in the folder itself. */
#define VIEWS_FOLDER "trace-compass"
#define VIEWS_FILE   "duet-zones.xml"

struct pending {
	uint64_t time_ns;
	struct event_execution row;
	enum order_point point;
};

struct ctf {
	struct filter filter;
	const char *folder;
	uint8_t uuid[CTF_UUID_BYTES];
	struct ctf_stream host;
	struct ctf_stream *devices; /* by index of clocks */
	uint32_t *clocks;           /* ids */
	size_t count, devices_capacity, clocks_capacity;
	struct correlate correlate;
	struct event_launch *launches; /* by place of the correlation */
	size_t launches_capacity;
	struct pending *pending; /* in the order of time */
	size_t pending_first, pending_count, pending_capacity;
	uint64_t delay_ns;
	uint64_t rows;
};

/* ---- streams ---- */

/* No clock is of the trace's own choosing in a path: ids are numbers. */
static int add_device(struct ctf *ctf, uint32_t clock)
{
	char name[32];

	if (array_grow(ctf->devices, ctf->devices_capacity, ctf->count + 1) ||
	    array_grow(ctf->clocks, ctf->clocks_capacity, ctf->count + 1))
		return -ENOMEM;
	snprintf(name, sizeof(name), "device_clock_%" PRIu32, clock);
	ctf->clocks[ctf->count++] = clock;
	return ctf_stream_open(&ctf->devices[ctf->count - 1], ctf->folder, name,
			       (uint32_t)ctf->count, ctf->uuid, ctf->filter.begin_ns);
}

static int find_device(struct ctf *ctf, uint32_t queue, struct ctf_stream **ret_stream)
{
	const struct event_queue *row = model_thing(ctf->filter.model, EVENT_QUEUE, queue);
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

/* ---- the host's events ---- */

static const char *text_of(const struct ctf *ctf, uint32_t string)
{
	return model_text(ctf->filter.model, string, "");
}

static const struct event_process *process_of(const struct ctf *ctf, uint32_t process)
{
	return model_thing(ctf->filter.model, EVENT_PROCESS, process);
}

static void begin_host(struct ctf *ctf, enum ctf_event event, uint64_t time_ns, uint32_t process,
		       uint32_t thread)
{
	const struct event_thread *row = model_thing(ctf->filter.model, EVENT_THREAD, thread);
	const struct event_process *owner = process_of(ctf, row ? row->process : process);

	ctf->rows++;
	ctf_stream_begin(&ctf->host, event, time_ns);
	ctf_stream_u32(&ctf->host, owner ? owner->pid : 0);
	ctf_stream_u32(&ctf->host, row ? row->tid : 0);
	/* babeltrace2 2.0.4 shows an empty text as the one before it. */
	ctf_stream_text(&ctf->host, owner ? text_of(ctf, owner->name_string) : "[none]");
}

static int on_api(struct ctf *ctf, const struct order_item *item)
{
	const struct event_api *row = item->row;
	bool is_begin = item->point == POINT_BEGIN;

	begin_host(ctf, is_begin ? CTF_CALL_BEGIN : CTF_CALL_END, item->time_ns, 0, row->thread);
	ctf_stream_text(&ctf->host, text_of(ctf, row->function_string));
	if (is_begin)
		ctf_stream_u64(&ctf->host, row->argument);
	else
		ctf_stream_i32(&ctf->host, row->result);
	return ctf_stream_end(&ctf->host);
}

static const char *command_of(const struct ctf *ctf, const struct event_launch *row)
{
	return analysis_command_name(analysis_launch_command(ctf->filter.model, row));
}

static void put_launch(struct ctf *ctf, const struct event_launch *row)
{
	uint32_t dimensions = row->dimensions < 3 ? row->dimensions : 3;

	ctf_stream_u32(&ctf->host, row->queue);
	ctf_stream_text(&ctf->host, command_of(ctf, row));
	ctf_stream_text(&ctf->host, model_kernel_name(ctf->filter.model, row->kernel));
	ctf_stream_u64(&ctf->host, row->bytes);
	ctf_stream_u8(&ctf->host, (row->flags & LAUNCH_BLOCKING) != 0);
	ctf_stream_u8(&ctf->host, (uint8_t)dimensions);
	for (uint32_t i = 0; i < dimensions; i++)
		ctf_stream_u64(&ctf->host, row->global_size[i]);
	for (uint32_t i = 0; i < dimensions; i++)
		ctf_stream_u64(&ctf->host, row->local_size[i]);
}

static int on_launch(struct ctf *ctf, const struct order_item *item)
{
	const struct event_launch *row = item->row;
	bool is_begin = item->point == POINT_BEGIN;

	begin_host(ctf, is_begin ? CTF_LAUNCH_BEGIN : CTF_LAUNCH_END, item->time_ns, 0,
		   row->thread);
	ctf_stream_text(&ctf->host, text_of(ctf, row->function_string));
	ctf_stream_u64(&ctf->host, row->correlation);
	if (is_begin)
		put_launch(ctf, row);
	else
		ctf_stream_i32(&ctf->host, row->result);
	return ctf_stream_end(&ctf->host);
}

/* What device events are named by, also where the launch itself is not asked for. */
static int remember(struct ctf *ctf, const struct order_item *item)
{
	struct event_launch row = *(const struct event_launch *)item->row;
	uint32_t place;
	int error;

	if (item->point != POINT_BEGIN || row.result)
		return 0;
	row.handle = 0; /* nobody asks who waits for whom */
	error = correlate_launch(&ctf->correlate, filter_process_of(&ctf->filter, row.thread), &row,
				 &place);
	if (!error && array_grow(ctf->launches, ctf->launches_capacity, (size_t)place + 1))
		error = -ENOMEM;
	if (!error)
		ctf->launches[place] = row;
	return error;
}

static int on_sample(struct ctf *ctf, const struct order_item *item)
{
	const struct event_cpu_sample *row = item->row;

	begin_host(ctf, CTF_CPU_SAMPLE, item->time_ns, 0, row->thread);
	ctf_stream_text(&ctf->host, text_of(ctf, row->source_string));
	ctf_stream_u64(&ctf->host, row->weight);
	ctf_stream_u32(&ctf->host, row->cpu);
	ctf_stream_text(&ctf->host, analysis_mode_name(row->mode));
	return ctf_stream_end(&ctf->host);
}

static uint32_t tid_of(const struct ctf *ctf, uint32_t thread)
{
	const struct event_thread *row = model_thing(ctf->filter.model, EVENT_THREAD, thread);

	return row ? row->tid : 0;
}

static int on_switch(struct ctf *ctf, const struct order_item *item)
{
	const struct event_switch *row = item->row;

	begin_host(ctf, CTF_SWITCH, item->time_ns, 0, row->previous ? row->previous : row->next);
	ctf_stream_u32(&ctf->host, tid_of(ctf, row->previous));
	ctf_stream_u32(&ctf->host, tid_of(ctf, row->next));
	ctf_stream_u32(&ctf->host, row->cpu);
	ctf_stream_text(&ctf->host, analysis_switch_name(row->reason));
	ctf_stream_text(&ctf->host, text_of(ctf, row->wait_string));
	return ctf_stream_end(&ctf->host);
}

/* Of what was not seen to begin there is an end alone. */
static int on_range(struct ctf *ctf, const struct order_item *item)
{
	const struct event_range *row = item->row;
	bool is_end = item->point == POINT_END;
	enum ctf_event event = is_end ? CTF_RANGE_END : CTF_RANGE_BEGIN;

	if (row->type == RANGE_MARK)
		event = CTF_MARK;
	if (is_end ? row->type == RANGE_MARK : row->flags & RANGE_UNBEGUN)
		return 0;
	begin_host(ctf, event, item->time_ns, row->process, row->thread);
	ctf_stream_text(&ctf->host, text_of(ctf, row->domain_string));
	ctf_stream_text(&ctf->host, model_range_name(ctf->filter.model, row));
	ctf_stream_text(&ctf->host, analysis_range_type(row->type));
	if (is_end) {
		ctf_stream_u8(&ctf->host, (row->flags & RANGE_OPEN) != 0);
		ctf_stream_u8(&ctf->host, (row->flags & RANGE_UNBEGUN) != 0);
	}
	return ctf_stream_end(&ctf->host);
}

/* A reading as it was read, at its begin. */
static int on_counter(struct ctf *ctf, const struct order_item *item)
{
	const struct event_counter *row = item->row;
	const struct event_series *series =
		model_thing(ctf->filter.model, EVENT_SERIES, row->series);

	if (!series)
		return 0;
	begin_host(ctf, CTF_COUNTER, item->time_ns, series->process, 0);
	ctf_stream_text(&ctf->host, text_of(ctf, series->metric_string));
	ctf_stream_text(&ctf->host, text_of(ctf, series->instance_string));
	ctf_stream_i32(&ctf->host, (int32_t)series->cpu - 1);
	ctf_stream_u32(&ctf->host, series->device);
	ctf_stream_text(&ctf->host, analysis_series_type(series->type));
	ctf_stream_text(&ctf->host, text_of(ctf, series->unit_string));
	ctf_stream_u64(&ctf->host, row->end - row->begin);
	ctf_stream_u64(&ctf->host, (uint64_t)row->value);
	ctf_stream_u64(&ctf->host, row->of);
	return ctf_stream_end(&ctf->host);
}

/* ---- losses ---- */

/* The stream in which the lost rows would have been: that of the process's device clock where it has but one. */
static int find_lost(struct ctf *ctf, const struct event_loss *row, struct ctf_stream **ret_stream)
{
	const struct event_queue *queues, *found = NULL;
	const void *things = NULL;
	size_t count = model_things(ctf->filter.model, EVENT_QUEUE, &things);

	*ret_stream = &ctf->host;
	queues = things;
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
		/* a reader knows no number that is not known: one was lost at the least */
		error = ctf_stream_discard(stream, item->time_ns,
					   row->count == LOSS_COUNT_UNKNOWN ? 1 : row->count);
	if (error)
		return error;
	begin_host(ctf, CTF_LOST, item->time_ns, row->process, row->thread);
	ctf_stream_text(&ctf->host, analysis_kind_name(row->kind));
	ctf_stream_text(&ctf->host, analysis_loss_name(row->reason));
	ctf_stream_u64(&ctf->host, row->count);
	ctf_stream_u64(&ctf->host, row->end - row->begin);
	return ctf_stream_end(&ctf->host);
}

/* ---- the devices' events ---- */

static void put_names(struct ctf *ctf, struct ctf_stream *stream, uint32_t place)
{
	const struct command command = {.launch = place == CORRELATE_NONE ? NULL
									  : &ctf->launches[place]};

	ctf_stream_text(stream, command.launch ? command_of(ctf, command.launch) : "");
	ctf_stream_text(stream, command_name(ctf->filter.model, &command));
}

/* The time of one of the four, 0: queued; false where it is not known or not in the export. */
static bool has_time(const struct ctf *ctf, const struct event_execution *row, int number)
{
	const uint64_t times[] = {row->queued, row->submitted, row->started, row->ended};

	return number >= 0 && number < 4 && (row->valid & 1u << number) &&
	       filter_has_time(&ctf->filter, times[number]);
}

static int write_point(struct ctf *ctf, const struct event_execution *row, enum order_point point,
		       uint64_t time_ns, uint32_t place)
{
	const struct event_queue *queue = model_thing(ctf->filter.model, EVENT_QUEUE, row->queue);
	const struct event_process *process = process_of(ctf, row->process);
	int number = (int)point - POINT_QUEUED;
	struct ctf_stream *stream;
	int error = find_device(ctf, row->queue, &stream);

	if (error)
		return error;
	ctf->rows++;
	ctf_stream_begin(stream, (uint16_t)(CTF_COMMAND_QUEUED + number), time_ns);
	ctf_stream_u32(stream, process ? process->pid : 0);
	ctf_stream_u64(stream, row->correlation);
	ctf_stream_u32(stream, row->queue);
	ctf_stream_u32(stream, queue ? queue->device : 0);
	put_names(ctf, stream, place);
	ctf_stream_u8(stream, has_time(ctf, row, number - 1));
	ctf_stream_u8(stream, has_time(ctf, row, number + 1));
	ctf_stream_i32(stream, row->status);
	ctf_stream_u8(stream, (row->valid & ORDER_IMPOSSIBLE) != 0);
	return ctf_stream_end(stream);
}

/* Without device times there is only when the host saw it. */
static int write_complete(struct ctf *ctf, const struct order_item *item, uint32_t place)
{
	const struct event_execution *row = item->row;

	begin_host(ctf, CTF_COMMAND_COMPLETE, item->time_ns, row->process, 0);
	ctf_stream_u64(&ctf->host, row->correlation);
	ctf_stream_u32(&ctf->host, row->queue);
	put_names(ctf, &ctf->host, place);
	ctf_stream_i32(&ctf->host, row->status);
	return ctf_stream_end(&ctf->host);
}

static int give(struct ctf *ctf, const struct pending *pending)
{
	const struct event_execution *row = &pending->row;
	uint32_t place = correlate_find(&ctf->correlate, row->process, row->correlation);
	int error = 0;

	if (filter_has_time(&ctf->filter, pending->time_ns) &&
	    filter_has_process(&ctf->filter, row->process) &&
	    filter_has_kind(&ctf->filter, EVENT_EXECUTION))
		error = write_point(ctf, row, pending->point, pending->time_ns, place);
	if (!error && place != CORRELATE_NONE && command_is_over(row, pending->point))
		error = correlate_done(&ctf->correlate, place, 0);
	return error;
}

/* Moments whose launch would have come by now. */
static int give_until(struct ctf *ctf, uint64_t now_ns)
{
	int error = 0;

	while (ctf->pending_first < ctf->pending_count && !error) {
		const struct pending *pending = &ctf->pending[ctf->pending_first];

		if (now_ns - pending->time_ns <= ctf->delay_ns && now_ns != UINT64_MAX)
			break;
		ctf->pending_first++;
		error = give(ctf, pending);
	}
	if (ctf->pending_first == ctf->pending_count)
		ctf->pending_first = ctf->pending_count = 0;
	return error;
}

static int wait_for_launch(struct ctf *ctf, const struct order_item *item)
{
	size_t left = ctf->pending_count - ctf->pending_first;

	if (ctf->pending_first > left) {
		memmove(ctf->pending, ctf->pending + ctf->pending_first,
			left * sizeof(*ctf->pending));
		ctf->pending_first = 0;
		ctf->pending_count = left;
	}
	if (array_grow(ctf->pending, ctf->pending_capacity, ctf->pending_count + 1))
		return -ENOMEM;
	ctf->pending[ctf->pending_count++] = (struct pending){
		item->time_ns, *(const struct event_execution *)item->row, item->point};
	return 0;
}

static int on_execution(struct ctf *ctf, const struct order_item *item)
{
	const struct event_execution *row = item->row;
	uint32_t place;
	int error = 0;

	if (item->point != POINT_SEEN)
		return wait_for_launch(ctf, item);
	place = correlate_find(&ctf->correlate, row->process, row->correlation);
	if (filter_has_item(&ctf->filter, item))
		error = write_complete(ctf, item, place);
	if (!error && place != CORRELATE_NONE)
		error = correlate_done(&ctf->correlate, place, 0);
	return error;
}

/* ---- the whole ---- */

static int on_item(struct ctf *ctf, const struct order_item *item)
{
	int error = give_until(ctf, item->time_ns);

	if (!error && item->kind == EVENT_LAUNCH)
		error = remember(ctf, item);
	if (!error && item->kind == EVENT_EXECUTION)
		return on_execution(ctf, item);
	if (error || !filter_has_item(&ctf->filter, item))
		return error;
	switch (item->kind) {
	case EVENT_API:
		return on_api(ctf, item);
	case EVENT_LAUNCH:
		return on_launch(ctf, item);
	case EVENT_CPU_SAMPLE:
		return on_sample(ctf, item);
	case EVENT_SWITCH:
		return on_switch(ctf, item);
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
	struct order_item item;
	int error = 0, status;

	while (!error && (status = order_next(order, &item)) != 0)
		error = status < 0 ? status : on_item(ctf, &item);
	return error ? error : give_until(ctf, UINT64_MAX);
}

static int write_views(const char *folder)
{
	struct string_builder path;
	FILE *file;
	int error = 0;

	string_builder_init(&path);
	string_builder_append(&path, folder);
	string_builder_append(&path, "/" VIEWS_FOLDER);
	if (mkdir(string_builder_text(&path), 0777) != 0)
		error = -errno;
	string_builder_append(&path, "/" VIEWS_FILE);
	file = error ? NULL : fopen(string_builder_text(&path), "wxe");
	if (!file)
		error = error_set(error ? error : -errno, "write '%s': %s",
				  string_builder_text(&path), strerror(error ? -error : errno));
	string_builder_fini(&path);
	if (!file)
		return error;
	fwrite(ctf_views, 1, ctf_views_size, file);
	error = export_flush(file);
	fclose(file);
	return error;
}

static int close_streams(struct ctf *ctf)
{
	int error = ctf_stream_close(&ctf->host);

	for (size_t i = 0; i < ctf->count; i++) {
		int failed = ctf_stream_close(&ctf->devices[i]);

		error = error ? error : failed;
	}
	return error;
}

/* The same trace always gets the same one. */
static void make_uuid(struct ctf *ctf)
{
	const void *things = NULL;
	const struct event_host *host;
	size_t count = model_things(ctf->filter.model, EVENT_HOST, &things);
	struct string_builder text;
	XXH128_hash_t hash;

	host = things;
	string_builder_init(&text);
	string_builder_appendf(&text, "%" PRIu64 " %s %s", ctf->filter.begin_ns,
			       count ? text_of(ctf, host->boot_id_string) : "",
			       model_command(ctf->filter.model));
	hash = XXH3_128bits(string_builder_text(&text), text.length);
	string_builder_fini(&text);
	memcpy(ctf->uuid, &hash, sizeof(ctf->uuid));
	ctf->uuid[6] =
		(uint8_t)((ctf->uuid[6] & 0x0f) | 0x80); /* version 8: made by its owner's rule */
	ctf->uuid[8] = (uint8_t)((ctf->uuid[8] & 0x3f) | 0x80);
}

static int write_all(struct ctf *ctf, struct order *order)
{
	int error = ctf_stream_open(&ctf->host, ctf->folder, "host", CTF_STREAM_HOST, ctf->uuid,
				    ctf->filter.begin_ns);

	if (!error)
		error = write_streams(ctf, order);
	if (!error)
		error = close_streams(ctf);
	if (!error)
		error = ctf_metadata_write(ctf->folder, &ctf->filter, ctf->uuid, ctf->clocks,
					   ctf->count);
	return error ? error : write_views(ctf->folder);
}

static int write_ctf(const struct model *model, const struct export_options *options,
		     const char *folder, uint64_t *ret_rows)
{
	const struct order_options order_options = {
		.points = true,
		.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_EXECUTION |
			 1u << EVENT_CPU_SAMPLE | 1u << EVENT_SWITCH | 1u << EVENT_RANGE |
			 1u << EVENT_COUNTER | 1u << EVENT_LOSS};
	struct ctf ctf = {.folder = folder, .delay_ns = clocks_device_error_ns(model->clocks)};
	struct order *order = NULL;
	int error = model_order(model, &order_options, &order);

	if (error)
		return error;
	correlate_init(&ctf.correlate);
	filter_init(&ctf.filter, model, options, order);
	make_uuid(&ctf);
	error = write_all(&ctf, order);
	*ret_rows = ctf.rows;
	close_streams(&ctf);
	order_free(order);
	correlate_fini(&ctf.correlate);
	free(ctf.launches);
	free(ctf.pending);
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
