/* SPDX-License-Identifier: MIT
 *
 * collect/counter/series_rows.c - writes queued items as rows of the trace
 *
 * Runs in:  the recorder's main thread, which has the writer
 * Gets:     items of a sampler's thread
 * Owns:     nothing
 * Fails:    never: the writer counts rows that could not be written
 */
#include "collect/counter/series_rows.h"

static void describe(struct recording *recording, struct series_slot *slot, uint64_t begin_ns)
{
	static const uint32_t types[] = {[METRIC_LEVEL] = SERIES_LEVEL,
					 [METRIC_TOTAL] = SERIES_AMOUNT,
					 [METRIC_PART] = SERIES_RATIO};
	const struct event_series row = {
		.id = ++recording->last_series,
		.metric_string = recording_string(recording, slot->metric->name),
		.unit_string = recording_string(recording, slot->metric->unit),
		.source_string = recording_string(recording, slot->file),
		.type = types[slot->metric->kind],
		.host = recording->host,
		.process = slot->of.process,
		.device = slot->of.device,
		.cpu = slot->of.cpu,
		.instance_string = recording_string(recording, slot->of.instance),
		.limit = slot->limit,
		.interval_ns = slot->interval_ns,
		.begin_ns = begin_ns};

	slot->id = row.id;
	recording->kept_bytes += ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_SERIES, &row);
}

static void write_row(const struct series *series, struct recording *recording,
		      const struct trace_source *source, const struct series_item *item)
{
	const struct event_counter row = {.begin = item->begin,
					  .end = item->end,
					  .value = item->value,
					  .of = item->of,
					  .series = series->slots[item->slot].id};

	trace_writer_row(recording->writer, EVENT_COUNTER, source, &row);
}

static void write_loss(struct recording *recording, const struct trace_source *source,
		       const struct series_item *item)
{
	const struct event_loss row = {.begin = item->begin,
				       .end = item->end,
				       .kind = EVENT_COUNTER,
				       .reason = (uint32_t)item->of,
				       .count = (uint64_t)item->value};

	trace_writer_row(recording->writer, EVENT_LOSS, source, &row);
}

void series_rows_write(struct series *series, struct recording *recording, const char *collector,
		       const struct trace_source *source)
{
	struct series_item item;

	while (series_take(series, &item)) {
		switch (item.what) {
		case SERIES_BEGIN:
			describe(recording, &series->slots[item.slot], item.begin);
			break;
		case SERIES_ROW:
			write_row(series, recording, source, &item);
			break;
		case SERIES_END:
			trace_writer_end_entity(recording->writer, EVENT_SERIES,
						series->slots[item.slot].id, item.end);
			series_release(series, item.slot);
			break;
		case SERIES_LOSS:
			write_loss(recording, source, &item);
			break;
		default:
			recording_note(recording, collector, COLLECTOR_PARTIAL, item.slot,
				       item.text);
		}
	}
}
