/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_list.c - what there is: collectors, formats, metrics, stall reasons
 *
 * Runs in:  our own process
 * Gets:     a topic   Gives: one line per thing, or JSON "duet.list/1"
 * Owns:     nothing
 * Fails:    an unknown topic is wrong usage and lists the topics
 * Why:      one line per thing, its name first and no heading, because the usual reader is a shell
 *           loop or a completion script
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "analyze/stalls.h"
#include "base/array.h"
#include "base/json.h"
#include "collect/collector.h"
#include "collect/group.h"
#include "export/exporter.h"

struct item {
	const char *name;
	const char *help;
	const char *unit, *source;   /* of a metric; NULL: it is none */
	uint32_t most_hz;            /* … how often it is read at most */
	const char *vendor, *remedy; /* of a stall reason; NULL: it is none */
};

struct topic {
	const char *name;
	/* The item at `index`; false behind the last. */
	bool (*next)(size_t index, struct item *ret_item);
};

struct list_values {
	bool json;
};

static const struct option_row list_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.list/1)",
	 offsetof(struct list_values, json)},
	{NULL},
};

static bool next_collector(size_t index, struct item *ret_item)
{
	if (index >= collectors_count)
		return false;
	*ret_item = (struct item){.name = collectors[index]->name, .help = collectors[index]->help};
	return true;
}

static bool next_format(size_t index, struct item *ret_item)
{
	for (size_t i = 0; i <= index; i++) {
		if (!exporters[i])
			return false;
	}
	*ret_item = (struct item){.name = exporters[index]->name, .help = exporters[index]->help};
	return true;
}

/* What samplers cost is in the list of each collector, and is said once. */
static bool was_listed(const struct source *source, size_t collector)
{
	for (size_t i = 0; i < collector; i++)
		for (size_t j = 0; collectors[i]->sources && j < collectors[i]->sources->count; j++)
			if (collectors[i]->sources->all[j] == source)
				return true;
	return false;
}

static bool next_metric_of(const struct source *source, uint32_t most_hz, size_t *inout_index,
			   struct item *ret_item)
{
	for (size_t i = 0; i < source->metrics_count; i++) {
		const struct metric *metric = &source->metrics[i];

		if (!metric->name || (*inout_index)--)
			continue;
		*ret_item = (struct item){metric->name, metric->help, metric->unit,
					  metric->file ? metric->file : source->file,
					  group_source_hz(source, most_hz)};
		return true;
	}
	return false;
}

static bool next_metric(size_t index, struct item *ret_item)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct source_list *list = collectors[i]->sources;
		const struct collector_rate *rate = collectors[i]->rate;

		for (size_t j = 0; list && j < list->count; j++)
			if (!was_listed(list->all[j], i) &&
			    next_metric_of(list->all[j], rate ? rate->most_hz : UINT32_MAX, &index,
					   ret_item))
				return true;
	}
	return false;
}

static bool next_stall(size_t index, struct item *ret_item)
{
	if (index >= stall_reasons_count)
		return false;
	*ret_item = (struct item){.name = stall_reasons[index].name,
				  .help = stall_reasons[index].meaning,
				  .vendor = stall_reasons[index].vendor,
				  .remedy = stall_reasons[index].remedy};
	return true;
}

static const struct topic topics[] = {
	{"collectors", next_collector},
	{"formats", next_format},
	{"metrics", next_metric},
	{"stalls", next_stall},
};

static void print_text(const struct topic *topic)
{
	struct item item;
	size_t count = 0;

	for (; topic->next(count, &item); count++) {
		if (item.unit)
			printf("%-26s %-10s %4u/s %-24s %s\n", item.name, item.unit, item.most_hz,
			       item.source, item.help);
		else if (item.remedy)
			printf("%-24s %-5s %s. Usual remedy: %s.\n", item.name, item.vendor,
			       item.help, item.remedy);
		else
			printf("%-14s %s\n", item.name, item.help ? item.help : "");
	}
	if (!count) {
		fflush(stdout);
		fprintf(stderr, "duet list: there are no %s yet\n", topic->name);
	}
}

static void print_json(const struct topic *topic)
{
	struct json_writer json;
	struct item item;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_key(&json, "schema");
	json_string(&json, "duet.list/1");
	json_key(&json, topic->name);
	json_array_begin(&json);
	for (size_t i = 0; topic->next(i, &item); i++) {
		json_newline(&json);
		json_object_begin(&json);
		json_key(&json, "name");
		json_string(&json, item.name);
		json_key(&json, "help");
		json_string(&json, item.help);
		if (item.unit) {
			json_pair_text(&json, "unit", item.unit);
			json_pair_text(&json, "source", item.source);
			json_pair_u64(&json, "most_hz", item.most_hz);
		}
		if (item.remedy) {
			json_pair_text(&json, "vendor", item.vendor);
			json_pair_text(&json, "remedy", item.remedy);
		}
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	printf("\n");
}

static const struct topic *find_topic(const char *name)
{
	for (size_t i = 0; i < ARRAY_COUNT(topics); i++) {
		if (strcmp(topics[i].name, name) == 0)
			return &topics[i];
	}
	return NULL;
}

static int run_list(const struct command *command, int argc, char **argv)
{
	struct list_values values = {0};
	int operand = options_parse(command, argc, argv, false, &values);
	const struct topic *topic;

	if (operand < 0)
		return operand == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - operand != 1)
		return usage_error(command,
				   "name one topic: collectors, formats, metrics or stalls");
	topic = find_topic(argv[operand]);
	if (!topic)
		return usage_error(
			command,
			"there is no topic '%s'; topics are collectors, formats, metrics "
			"and stalls",
			argv[operand]);
	if (values.json)
		print_json(topic);
	else
		print_text(topic);
	return finish_output(command->name, STATUS_DONE);
}

const struct command command_list = {
	.name = "list",
	.arguments = "[--json] collectors|formats|metrics|stalls",
	.summary = "list collectors, export formats, metrics or stall reasons",
	.run = run_list,
	.options = list_options,
};
