/* SPDX-License-Identifier: MIT
 *
 * analyze/filter.c - selects the rows that --from, --to, --pid and --kind ask for
 *
 * Runs in:  our own process
 * Gets:     a model and options
 * Gives:    a boolean per row, and times for output
 * Owns:     nothing
 * Fails:    never, except filter_open: errors of the reader
 * Why shared: all exporters call these functions, so --from, --to, --pid and --kind select the same
 *           rows in every format
 */
#include "analyze/filter.h"

#include <string.h>

#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/number.h"
#include "base/string.h"

void filter_init(struct filter *filter, const struct model *model,
		 const struct output_options *options, const struct order *order)
{
	uint64_t end;

	*filter = (struct filter){.model = model, .options = options, .to_ns = UINT64_MAX};
	model_window(model, order, &filter->begin_ns, &end);
	if (options->has_from)
		filter->from_ns = add_saturated(filter->begin_ns, options->from_ns);
	if (options->has_to)
		filter->to_ns = add_saturated(filter->begin_ns, options->to_ns);
}

int filter_open(struct filter *filter, const struct model *model,
		const struct output_options *options)
{
	struct order_options order_options = {.kinds = ANALYSIS_ORDER_KINDS};
	struct order *order = NULL;
	int error = model_order(model, &order_options, &order);

	if (error)
		return error;
	filter_init(filter, model, options, order);
	order_free(order);
	return 0;
}

struct analysis_options filter_window(const struct output_options *options)
{
	return (struct analysis_options){.has_from = options->has_from,
					 .has_to = options->has_to,
					 .from_ns = options->from_ns,
					 .to_ns = options->to_ns};
}

struct frames_options filter_names(const struct output_options *options)
{
	return (struct frames_options){.has_lines = true,
				       .may_download = options->may_download,
				       .archive = options->archive};
}

bool filter_has_time(const struct filter *filter, uint64_t time_ns)
{
	return time_ns >= filter->from_ns && time_ns < filter->to_ns;
}

bool filter_has_process(const struct filter *filter, uint32_t process)
{
	uint64_t pid = filter->options->pid;

	return !pid || model_pid(filter->model, process) == pid;
}

uint32_t filter_process_of(const struct filter *filter, uint32_t thread)
{
	const struct event_thread *row = model_entity(filter->model, EVENT_THREAD, thread);

	return row ? row->process : 0;
}

bool filter_has_thread(const struct filter *filter, uint32_t thread)
{
	return !filter->options->pid ||
	       filter_has_process(filter, filter_process_of(filter, thread));
}

bool filter_has_kind(const struct filter *filter, enum event_kind kind)
{
	const char *name = analysis_kind_name(kind);

	return filter_is_wanted(filter->options->kinds, name, name);
}

int64_t filter_time(const struct filter *filter, uint64_t time_ns)
{
	return (int64_t)(filter->options->is_absolute ? time_ns : time_ns - filter->begin_ns);
}

bool filter_has_item(const struct filter *filter, const struct order_item *item)
{
	return filter_has_time(filter, item->time_ns) && filter_has_kind(filter, item->kind) &&
	       filter_has_process(filter, model_process_of_item(filter->model, item));
}

bool filter_is_section(const struct order_item *item)
{
	return item->kind == EVENT_API &&
	       ((const struct event_api *)item->row)->type == API_TYPE_DUET;
}

uint32_t filter_stack_of(const struct order_item *item)
{
	switch (item->kind) {
	case EVENT_API:
		return ((const struct event_api *)item->row)->stack;
	case EVENT_LAUNCH:
		return ((const struct event_launch *)item->row)->stack;
	case EVENT_CPU_SAMPLE:
		return ((const struct event_cpu_sample *)item->row)->stack;
	case EVENT_SWITCH:
		return ((const struct event_switch *)item->row)->stack;
	case EVENT_RANGE:
		return ((const struct event_range *)item->row)->stack;
	case EVENT_INSTRUCTION_SAMPLE:
		return ((const struct event_instruction_sample *)item->row)->stack;
	default:
		return 0;
	}
}

static bool is_word(const char *list, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(list, word, length) == 0;
}

bool filter_is_wanted(const char *list, const char *kind, const char *group)
{
	const char *at = list, *word;
	size_t length;

	while (at && (word = word_list_next(&at, &length)))
		if (is_word(word, length, kind) || is_word(word, length, group))
			return true;
	return !list;
}
