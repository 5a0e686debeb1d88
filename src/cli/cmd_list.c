/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_list.c - duet list: collectors, formats, metrics, stall reasons, and metric sets of this
 * machine's GPUs
 *
 * Runs in:  our own process
 * Gets:     a topic
 * Gives:    one line per item, or JSON "duet.list/1"
 * Owns:     nothing
 * Fails:    an unknown topic is a usage error that lists the topics
 * Why:      each line starts with the name and there is no heading, because the output is usually
 *           read by a shell loop or a completion script
 */
#include "cli/command.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/sample/stalls.h"
#include "base/array.h"
#include "base/json.h"
#include "collect/collector.h"
#include "collect/counter/source_group.h"
#include "collect/drm/cards.h"
#include "collect/intel/experimental/oa_sets.h"
#include "export/exporter.h"

struct item {
	const char *name;
	const char *help;
	const char *unit, *source;   /* metric only; otherwise NULL */
	uint32_t max_hz;             /* metric only: max reads per second */
	const char *vendor, *remedy; /* stall reason only; otherwise NULL */
	const char *device;          /* metric set only; otherwise NULL */
	bool unverified;             /* collector only: no hardware has run it */
};

/* Items found on this machine, for a topic that depends on it (oa-sets). */
struct found {
	struct found_set {
		struct oa_set_name set;
		char device[CARD_TEXT_BYTES];
	} * sets; /* owned */
	size_t count;
	const char *why; /* reason for an empty list; NULL: unknown */
};

struct topic {
	const char *name;
	/* The item at `index`; false after the last. */
	bool (*next)(const struct found *found, size_t index, struct item *ret_item);
	void (*look)(struct found *found); /* called first; NULL: the items do not depend on the
					      machine */
};

struct list_values {
	bool json;
};

static const struct option_row list_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.list/1)",
	 offsetof(struct list_values, json)},
	{NULL},
};

static bool next_collector(const struct found *found, size_t index, struct item *ret_item)
{
	if (index >= collectors_count)
		return false;
	*ret_item = (struct item){.name = collectors[index]->name,
				  .help = collectors[index]->help,
				  .unverified = collectors[index]->unverified};
	return true;
}

static bool next_format(const struct found *found, size_t index, struct item *ret_item)
{
	for (size_t i = 0; i <= index; i++) {
		if (!exporters[i])
			return false;
	}
	*ret_item = (struct item){.name = exporters[index]->name, .help = exporters[index]->help};
	return true;
}

/* Whether a collector before this one has the source: metrics of the samplers' own cost are in
 * several lists but printed once. */
static bool was_listed(const struct source *source, size_t collector)
{
	for (size_t i = 0; i < collector; i++)
		for (size_t j = 0; collectors[i]->sources && j < collectors[i]->sources->count; j++)
			if (collectors[i]->sources->all[j] == source)
				return true;
	return false;
}

static bool next_metric_of(const struct source *source, uint32_t max_hz, size_t *inout_index,
			   struct item *ret_item)
{
	for (size_t i = 0; i < source->metrics_count; i++) {
		const struct metric *metric = &source->metrics[i];

		if (!metric->name || (*inout_index)--)
			continue;
		*ret_item = (struct item){metric->name, metric->help, metric->unit,
					  metric->file ? metric->file : source->file,
					  group_source_hz(source, max_hz)};
		return true;
	}
	return false;
}

static bool next_metric(const struct found *found, size_t index, struct item *ret_item)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct source_list *list = collectors[i]->sources;
		const struct collector_rate *rate = collectors[i]->rate;

		for (size_t j = 0; list && j < list->count; j++)
			if (!was_listed(list->all[j], i) &&
			    next_metric_of(list->all[j], rate ? rate->max_hz : UINT32_MAX, &index,
					   ret_item))
				return true;
	}
	return false;
}

static bool next_stall(const struct found *found, size_t index, struct item *ret_item)
{
	if (index >= stall_reasons_count)
		return false;
	*ret_item = (struct item){.name = stall_reasons[index].name,
				  .help = stall_reasons[index].meaning,
				  .vendor = stall_reasons[index].vendor,
				  .remedy = stall_reasons[index].remedy};
	return true;
}

static void add_sets(struct found *found, const char *device, const struct oa_sets *sets)
{
	struct found_set *more =
		reallocarray(found->sets, found->count + sets->count + 1, sizeof(*more));

	if (!more)
		return;
	found->sets = more;
	for (size_t i = 0; i < sets->count; i++) {
		struct found_set *added = &found->sets[found->count++];

		added->set = sets->all[i];
		snprintf(added->device, sizeof(added->device), "%s", device);
	}
}

/* Names a GPU by its PCI address, otherwise by the name of its device folder, otherwise by its card
 * ("card0"). */
static void name_device(const struct cards *cards, const char *card, char *ret_name, size_t size)
{
	char link[PATH_MAX + 16], target[PATH_MAX];
	const char *name = strrchr(card, '/') + 1;
	ssize_t length;

	snprintf(link, sizeof(link), "%s/device", card);
	length = readlink(link, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = '\0';
	snprintf(ret_name, size, "%s", length > 0 ? basename(target) : name);
	for (size_t i = 0; i < cards->count; i++)
		if (strcmp(cards->all[i].name, name) == 0)
			snprintf(ret_name, size, "%s", cards->all[i].address);
}

static void find_oa_sets(struct found *found)
{
	const char *named = getenv("DUET_COUNTERS_ROOT"), *root = named ? named : "";
	struct oa_sets *sets = malloc(sizeof(*sets));
	char pattern[PATH_MAX], device[CARD_TEXT_BYTES];
	struct cards cards;
	glob_t paths;

	cards_find(root, &cards);
	found->why = "this machine has no GPU with Intel's drivers xe or i915";
	for (size_t i = 0; i < cards.count; i++)
		if (strcmp(cards.all[i].driver, "xe") == 0 ||
		    strcmp(cards.all[i].driver, "i915") == 0)
			found->why =
				"the drivers of this machine's Intel GPUs list none, and Intel's "
				"library (libigdmd.so.1) is missing or has none for these GPUs";
	snprintf(pattern, sizeof(pattern), "%s/sys/class/drm/card[0-9]*", root);
	if (!sets || glob(pattern, 0, NULL, &paths)) {
		free(sets);
		return;
	}
	for (size_t i = 0; i < paths.gl_pathc; i++) {
		name_device(&cards, paths.gl_pathv[i], device, sizeof(device));
		oa_sets_find(paths.gl_pathv[i], device, sets);
		add_sets(found, device, sets);
	}
	globfree(&paths);
	free(sets);
}

static bool next_oa_set(const struct found *found, size_t index, struct item *ret_item)
{
	if (index >= found->count)
		return false;
	*ret_item = (struct item){.name = found->sets[index].set.name,
				  .help = found->sets[index].set.text,
				  .device = found->sets[index].device};
	return true;
}

static const struct topic topics[] = {
	{"collectors", next_collector, NULL},   {"formats", next_format, NULL},
	{"metrics", next_metric, NULL},         {"stalls", next_stall, NULL},
	{"oa-sets", next_oa_set, find_oa_sets},
};

static void print_text(const struct topic *topic, const struct found *found)
{
	struct item item;
	size_t count = 0;

	for (; topic->next(found, count, &item); count++) {
		if (item.unit)
			printf("%-26s %-10s %4u/s %-24s %s\n", item.name, item.unit, item.max_hz,
			       item.source, item.help);
		else if (item.remedy)
			printf("%-24s %-5s %s. Usual remedy: %s.\n", item.name, item.vendor,
			       item.help, item.remedy);
		else if (item.device)
			printf("%-36s %s %s\n", item.name, item.device, item.help);
		else
			printf("%-14s %s%s\n", item.name, item.help ? item.help : "",
			       item.unverified ? " (unverified on hardware)" : "");
	}
	if (!count) {
		fflush(stdout);
		fprintf(stderr, "duet list: no %s%s%s\n", topic->name, found->why ? ": " : " yet",
			found->why ? found->why : "");
	}
}

static void print_json(const struct topic *topic, const struct found *found)
{
	struct json_writer json;
	struct item item;

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_key(&json, "schema");
	json_string(&json, "duet.list/1");
	json_key(&json, topic->name);
	json_array_begin(&json);
	for (size_t i = 0; topic->next(found, i, &item); i++) {
		json_newline(&json);
		json_object_begin(&json);
		json_key(&json, "name");
		json_string(&json, item.name);
		json_key(&json, "help");
		json_string(&json, item.help);
		if (item.unit) {
			json_pair_text(&json, "unit", item.unit);
			json_pair_text(&json, "source", item.source);
			json_pair_u64(&json, "most_hz", item.max_hz);
		}
		if (item.remedy) {
			json_pair_text(&json, "vendor", item.vendor);
			json_pair_text(&json, "remedy", item.remedy);
		}
		if (item.device)
			json_pair_text(&json, "device", item.device);
		if (item.unverified)
			json_pair_bool(&json, "unverified", true);
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

static int run_list(const struct cli_command *command, int argc, char **argv)
{
	struct list_values values = {0};
	struct found found = {0};
	int operand = options_parse(command, argc, argv, false, &values);
	const struct topic *topic;

	if (operand < 0)
		return operand == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - operand != 1)
		return usage_error(
			command, "name one topic: collectors, formats, metrics, stalls or oa-sets");
	topic = find_topic(argv[operand]);
	if (!topic)
		return usage_error(command,
				   "unknown topic '%s'; topics are collectors, formats, metrics, "
				   "stalls and oa-sets",
				   argv[operand]);
	if (topic->look)
		topic->look(&found);
	if (values.json)
		print_json(topic, &found);
	else
		print_text(topic, &found);
	free(found.sets);
	return finish_output(command->name, STATUS_DONE);
}

const struct cli_command command_list = {
	.name = "list",
	.arguments = "[--json] collectors|formats|metrics|stalls|oa-sets",
	.summary = "list collectors, export formats, metrics, stall reasons or metric sets of GPUs",
	.run = run_list,
	.options = list_options,
};
