/* SPDX-License-Identifier: MIT
 *
 * cli/cmd_list.c - duet list: collectors, formats, metrics, stall reasons, and metric sets, disks
 * and interfaces of this machine
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
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "collect/collector.h"
#include "collect/counter/source_group.h"
#include "collect/drm/cards.h"
#include "collect/intel/experimental/oa_sets.h"
#include "collect/system/instance_names.h"
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

/* State while the items of a topic are printed. */
struct list {
	struct json_writer *json; /* NULL: text */
	size_t count;             /* items so far */
	const char *why;          /* reason for an empty list; NULL: unknown */
};

struct list_values {
	bool json;
};

static const struct option_row list_options[] = {
	{"json", 0, OPTION_FLAG, NULL, "print one JSON document (schema duet.list/1)",
	 offsetof(struct list_values, json)},
	{NULL},
};

/* ---- one item -------------------------------------------------------------------------------- */

static void print_item(const struct item *item)
{
	if (item->unit)
		printf("%-26s %-10s %4u/s %-24s %s\n", item->name, item->unit, item->max_hz,
		       item->source, item->help);
	else if (item->remedy)
		printf("%-24s %-5s %s. Usual remedy: %s.\n", item->name, item->vendor, item->help,
		       item->remedy);
	else if (item->device)
		printf("%-36s %s %s\n", item->name, item->device, item->help);
	else
		printf("%-14s %s%s\n", item->name, item->help ? item->help : "",
		       item->unverified ? " (unverified on hardware)" : "");
}

static void write_item(const struct item *item, struct json_writer *json)
{
	json_line_begin(json);
	json_pair_text(json, "name", item->name);
	json_pair_text(json, "help", item->help);
	if (item->unit) {
		json_pair_text(json, "unit", item->unit);
		json_pair_text(json, "source", item->source);
		json_pair_u64(json, "most_hz", item->max_hz);
	}
	if (item->remedy) {
		json_pair_text(json, "vendor", item->vendor);
		json_pair_text(json, "remedy", item->remedy);
	}
	if (item->device)
		json_pair_text(json, "device", item->device);
	if (item->unverified)
		json_pair_bool(json, "unverified", true);
	json_object_end(json);
}

static void put_item(struct list *list, struct item item)
{
	list->count++;
	if (list->json)
		write_item(&item, list->json);
	else
		print_item(&item);
}

/* ---- the topics ------------------------------------------------------------------------------ */

static void list_collectors(struct list *list)
{
	for (size_t i = 0; i < collectors_count; i++)
		put_item(list, (struct item){.name = collectors[i]->name,
					     .help = collectors[i]->help,
					     .unverified = collectors[i]->unverified});
}

static void list_formats(struct list *list)
{
	for (size_t i = 0; exporters[i]; i++)
		put_item(list,
			 (struct item){.name = exporters[i]->name, .help = exporters[i]->help});
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

static void list_source(struct list *list, const struct source *source, uint32_t max_hz)
{
	for (size_t i = 0; i < source->metrics_count; i++) {
		const struct metric *metric = &source->metrics[i];

		if (metric->name)
			put_item(list, (struct item){metric->name, metric->help, metric->unit,
						     metric->file ? metric->file : source->file,
						     group_source_hz(source, max_hz)});
	}
}

static void list_metrics(struct list *list)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct source_list *sources = collectors[i]->sources;
		const struct collector_rate *rate = collectors[i]->rate;

		for (size_t j = 0; sources && j < sources->count; j++)
			if (!was_listed(sources->all[j], i))
				list_source(list, sources->all[j],
					    rate ? rate->max_hz : UINT32_MAX);
	}
}

static void list_stalls(struct list *list)
{
	for (size_t i = 0; i < stall_reasons_count; i++)
		put_item(list, (struct item){.name = stall_reasons[i].name,
					     .help = stall_reasons[i].meaning,
					     .vendor = stall_reasons[i].vendor,
					     .remedy = stall_reasons[i].remedy});
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

static void list_oa_sets(struct list *list)
{
	const char *named = getenv("DUET_COUNTERS_ROOT"), *root = named ? named : "";
	auto_free struct oa_sets *sets = malloc(sizeof(*sets));
	char pattern[PATH_MAX], device[CARD_TEXT_BYTES];
	struct cards cards;
	glob_t paths;

	cards_find(root, &cards);
	list->why = "this machine has no GPU with Intel's drivers xe or i915";
	for (size_t i = 0; i < cards.count; i++)
		if (strcmp(cards.all[i].driver, "xe") == 0 ||
		    strcmp(cards.all[i].driver, "i915") == 0)
			list->why =
				"the drivers of this machine's Intel GPUs list none, and Intel's "
				"library (libigdmd.so.1) is missing or has none for these GPUs";
	snprintf(pattern, sizeof(pattern), "%s/sys/class/drm/card[0-9]*", root);
	if (!sets || glob(pattern, 0, NULL, &paths))
		return;
	for (size_t i = 0; i < paths.gl_pathc; i++) {
		name_device(&cards, paths.gl_pathv[i], device, sizeof(device));
		oa_sets_find(paths.gl_pathv[i], device, sets);
		for (size_t j = 0; j < sets->count; j++)
			put_item(list, (struct item){.name = sets->all[j].name,
						     .help = sets->all[j].text,
						     .device = device});
	}
	globfree(&paths);
}

static void list_names(struct list *list,
		       void (*read)(const char *root, struct instance_names *ret_names),
		       const char *help, const char *why)
{
	auto_free struct instance_names *names = malloc(sizeof(*names));

	list->why = why;
	if (!names) {
		error_no_memory();
		return;
	}
	read("", names);
	for (size_t i = 0; i < names->count; i++)
		put_item(list, (struct item){.name = names->all[i], .help = help});
}

static void list_disks(struct list *list)
{
	list_names(list, instance_names_read_disks, "disk or partition",
		   "/proc/diskstats lists none");
}

static void list_interfaces(struct list *list)
{
	list_names(list, instance_names_read_interfaces, "network interface",
		   "/proc/net/dev lists none");
}

static const struct topic {
	const char *name;
	void (*list)(struct list *list);
} topics[] = {
	{"collectors", list_collectors}, {"formats", list_formats}, {"metrics", list_metrics},
	{"stalls", list_stalls},         {"oa-sets", list_oa_sets}, {"disks", list_disks},
	{"interfaces", list_interfaces},
};

static void print_text(const struct topic *topic)
{
	struct list list = {0};

	topic->list(&list);
	if (list.count)
		return;
	fflush(stdout);
	fprintf(stderr, "duet list: no %s%s%s\n", topic->name, list.why ? ": " : " yet",
		list.why ? list.why : "");
}

static void print_json(const struct topic *topic)
{
	struct json_writer json;
	struct list list = {.json = &json};

	json_init_file(&json, stdout);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.list/1");
	json_pair_array(&json, topic->name);
	topic->list(&list);
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
	int operand = options_parse(command, argc, argv, false, &values);
	const struct topic *topic;

	if (operand < 0)
		return operand == -1 ? STATUS_DONE : STATUS_USAGE;
	if (argc - operand != 1)
		return usage_error(
			command,
			"name one topic: collectors, formats, metrics, stalls, oa-sets, disks or "
			"interfaces");
	topic = find_topic(argv[operand]);
	if (!topic)
		return usage_error(command,
				   "unknown topic '%s'; topics are collectors, formats, metrics, "
				   "stalls, oa-sets, disks and interfaces",
				   argv[operand]);
	if (values.json)
		print_json(topic);
	else
		print_text(topic);
	return finish_output(command->name, STATUS_DONE);
}

const struct cli_command command_list = {
	.name = "list",
	.arguments = "[--json] collectors|formats|metrics|stalls|oa-sets|disks|interfaces",
	.summary = "list collectors, export formats, metrics, stall reasons, metric sets of GPUs, "
		   "disks or network interfaces",
	.run = run_list,
	.options = list_options,
};
