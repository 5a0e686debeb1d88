/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/samples.c - the counters and CPU samples of a rocpd export
 *
 * Runs in:  our own process
 * Gets:     readings of series, samples of threads
 * Gives:    rows of rocpd_track, rocpd_sample, rocpd_pmc_event
 * Owns:     nothing
 * Fails:    like the SQLite writer; -ENOMEM
 */
#include <errno.h>

#include "analyze/model.h"
#include "analyze/order.h"
#include "analyze/text/row_names.h"
#include "export/rocpd/database.h"
#include "export/rocpd/rows.h"

/* The track of a name in a thread. */
static int find_track(struct rocpd *rocpd, const char *name, uint32_t process, uint32_t thread,
		      uint64_t *ret_track)
{
	struct sqlite_writer *writer = &rocpd->writer;
	uint64_t name_id = rocpd_string(rocpd, name), key = name_id << 32 | thread;
	int error = 0;

	*ret_track = hash_map_get(&rocpd->tracks, key, 0);
	if (*ret_track)
		return 0;
	*ret_track = rocpd->tracks.count + 1;
	error = name_id ? hash_map_put(&rocpd->tracks, key, *ret_track) : -ENOMEM;
	if (!error)
		error = rocpd_begin(rocpd, ROCPD_TRACK);
	if (error)
		return error;
	sqlite_writer_u64(writer, *ret_track);
	sqlite_writer_u64(writer, rocpd_node(rocpd, process));
	sqlite_writer_u64(writer, rocpd_process(rocpd, process));
	sqlite_writer_u64(writer, rocpd_thread(rocpd, thread));
	sqlite_writer_u64(writer, name_id);
	return sqlite_writer_end(writer);
}

static int put_sample(struct rocpd *rocpd, uint64_t track, uint64_t time_ns, uint64_t event)
{
	struct sqlite_writer *writer = &rocpd->writer;
	int error = rocpd_begin(rocpd, ROCPD_SAMPLE);

	if (error)
		return error;
	sqlite_writer_u64(writer, ++rocpd->samples);
	sqlite_writer_u64(writer, track);
	sqlite_writer_u64(writer, time_ns);
	sqlite_writer_u64(writer, event);
	return sqlite_writer_end(writer);
}

int rocpd_cpu_sample(struct rocpd *rocpd, const struct event_cpu_sample *row)
{
	const struct rocpd_event sample = {.category = "CPU_SAMPLE", .call_stack = row->stack};
	const char *source = model_text(rocpd->model, row->source_string, "samples");
	uint64_t track, event;
	int error = find_track(rocpd, source, model_process_of(rocpd->model, row->thread),
			       row->thread, &track);

	string_builder_appendf(&rocpd->extdata, "{\"weight\": %llu, \"cpu\": %u}",
			       (unsigned long long)row->weight, row->cpu);
	if (!error)
		error = rocpd_event(rocpd, &sample, &event);
	rocpd->rows++;
	return error ? error : put_sample(rocpd, track, row->time, event);
}

/* A reading of the time before a sample, or of a dispatch. */
static int put_value(struct rocpd *rocpd, const struct event_series *series,
		     const struct event_counter *row, uint64_t event)
{
	struct sqlite_writer *writer = &rocpd->writer;
	int error = rocpd_begin(rocpd, ROCPD_PMC_EVENT);

	if (error)
		return error;
	sqlite_writer_u64(writer, ++rocpd->values);
	sqlite_writer_u64(writer, event);
	sqlite_writer_u64(writer, series->id);
	sqlite_writer_double(writer, series->type == SERIES_RATIO && row->of
					     ? (double)row->value / (double)row->of
					     : (double)row->value);
	rocpd->rows++;
	return sqlite_writer_end(writer);
}

static int put_reading(struct rocpd *rocpd, const struct event_series *series,
		       const struct event_counter *row)
{
	const struct rocpd_event sample = {.category = "COUNTER"};
	struct string_builder name = {0};
	uint64_t track, event;
	int error;

	row_name_series(rocpd->model, series, &name);
	error = name.error
			? name.error
			: find_track(rocpd, string_builder_text(&name), series->process, 0, &track);
	string_builder_fini(&name);
	string_builder_appendf(&rocpd->extdata, "{\"begin\": %llu}",
			       (unsigned long long)row->begin);
	if (!error)
		error = rocpd_event(rocpd, &sample, &event);
	if (!error)
		error = put_sample(rocpd, track, row->end, event);
	return error ? error : put_value(rocpd, series, row, event);
}

static int put_counter(struct rocpd *rocpd, const struct event_counter *row)
{
	const struct event_series *series = model_entity(rocpd->model, EVENT_SERIES, row->series);
	uint32_t event = PAIR_MAP_NONE;

	if (!series)
		return 0;
	if (row->correlation)
		event = pair_map_find(&rocpd->dispatches, series->process, row->correlation);
	return event == PAIR_MAP_NONE ? put_reading(rocpd, series, row)
				      : put_value(rocpd, series, row, event);
}

int rocpd_counters(struct rocpd *rocpd)
{
	struct order_options options = {.kinds = 1u << EVENT_COUNTER};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(rocpd->model, &options, &order), status;

	while (!error && (status = order_next(order, &item)) != 0) {
		error = status < 0 ? status : 0;
		if (!error && filter_has_item(&rocpd->filter, &item))
			error = put_counter(rocpd, item.row);
	}
	order_free(order);
	return error;
}
