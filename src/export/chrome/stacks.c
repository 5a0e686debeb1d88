/* SPDX-License-Identifier: MIT
 *
 * export/chrome/stacks.c - write the samples of a Chrome trace and the stacks that the trace refers
 * to
 *
 * Runs in:  our own process
 * Gets:     a model, the ids of stacks
 * Gives:    "samples" and "stackFrames"
 * Owns:     nothing
 * Fails:    -ENOMEM, errors of the reader
 * Why after the events: events refer to stacks by id, and each stack is written once. To write them
 *           first, another pass would have to collect their ids.
 */
#include "export/chrome/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/json.h"
#include "base/string.h"

/* ---- samples ---- */

static void put_sample(const struct chrome_events *events, uint64_t tid,
		       const struct event_cpu_sample *row)
{
	struct json_writer *json = events->json;

	json_newline(json);
	json_object_begin(json);
	json_pair_u64(json, "cpu", row->cpu);
	json_pair_u64(json, "tid", tid);
	chrome_events_time(events, "ts", row->time);
	json_pair_text(json, "name", model_text(events->model, row->source_string, "[unknown]"));
	if (model_stack(events->model, row->stack))
		json_pair_u64(json, "sf", row->stack);
	json_pair_u64(json, "weight", row->weight);
	json_object_end(json);
}

int chrome_stacks_samples(const struct chrome_events *events, const struct chrome_rows *places,
			  const struct filter *filter, struct stack_set *stacks, uint64_t *rows)
{
	struct order_options options = {.kinds = 1u << EVENT_CPU_SAMPLE};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(events->model, &options, &order), status;

	json_array_begin(events->json);
	while (!error && (status = order_next(order, &item)) != 0) {
		const struct event_cpu_sample *row = item.row;

		error = status < 0 ? status : 0;
		if (error || !filter_has_item(filter, &item))
			continue;
		put_sample(events, chrome_rows_tid(places, row->thread), row);
		error = stack_set_add(stacks, row->stack);
		++*rows;
	}
	json_array_end(events->json);
	order_free(order);
	return error;
}

/* ---- stacks ---- */

/* "17", or "17.1" for the function into which the frame of 17 is inlined. */
static void format_id(char *text, size_t size, uint32_t stack, size_t above)
{
	snprintf(text, size, above ? "%" PRIu32 ".%zu" : "%" PRIu32, stack, above);
}

/* An address may belong to several functions because of inlining. The innermost gets the stack's
 * own id. */
static void put_frames(struct json_writer *json, const struct model *model, uint32_t stack,
		       const struct frame_name *names, size_t count)
{
	const struct event_stack *node = model_stack(model, stack);
	char id[48];

	for (size_t i = 0; i < count; i++) {
		const char *module = model_text(model, names[i].module_string, names[i].file);

		format_id(id, sizeof(id), stack, count - 1 - i);
		json_newline(json);
		json_key(json, id);
		json_object_begin(json);
		json_pair_text(json, "name", names[i].function);
		if (module)
			json_pair_text(json, "category", path_base(module));
		if (i)
			format_id(id, sizeof(id), stack, count - i);
		else
			format_id(id, sizeof(id), node->caller, 0);
		if (i || node->caller)
			json_pair_text(json, "parent", id);
		json_object_end(json);
	}
}

int chrome_stacks_frames(struct json_writer *json, const struct output_options *options,
			 const struct stack_set *stacks)
{
	const struct frames_options frames_options = {.has_lines = true,
						      .may_download = options->may_download,
						      .archive = options->archive};
	struct frames *frames = NULL;
	const struct frame_name *names;
	size_t count = 0, names_count;
	uint32_t *ids = stack_set_stacks(stacks, &count);
	int error = ids ? frames_new(stacks->model, &frames_options, &frames) : -ENOMEM;

	json_object_begin(json);
	for (size_t i = 0; i < count && !error; i++) {
		const struct event_stack *node = model_stack(stacks->model, ids[i]);

		error = frames_of_frame(frames, node->frame, &names, &names_count);
		if (!error)
			put_frames(json, stacks->model, ids[i], names, names_count);
	}
	json_object_end(json);
	frames_free(frames);
	free(ids);
	return error;
}
