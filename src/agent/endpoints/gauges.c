/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/gauges.c - the last values of counters: memory, power, clocks, …
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     means of intervals, in the units of the report
 * Gives:    gauges in base units, with names in Prometheus' style
 * Owns:     names, labels, values
 * Fails:    -ENOMEM; a value beyond GAUGES_MAX is counted
 * Why no row "other": levels of different objects have no sum that means anything.
 */
#include "agent/endpoints/gauges.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/endpoints/label_table.h"
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

#define UNSET_NS UINT64_C(60000000000)

static const char *const gauge_labels[GAUGE_LABELS] = {"device",  "device_name", "pid",
						       "command", "instance",    "cpu"};

/* Units of analyze/text/units.c, and base units. */
static const struct {
	const char *shown, *unit, *otlp_unit;
	double factor;
} units[] = {
	{"MiB", "bytes", "By", 1048576},
	{"MB/s", "bytes_per_second", "By/s", 1e6},
	{"ms", "seconds", "s", 1e-3},
	{"%", "ratio", "1", 0.01},
	{"J", "joules", "J", 1},
	{"W", "watts", "W", 1},
	{"\xc2\xb0"
	 "C",
	 "celsius", "Cel", 1},
	{"MHz", "hertz", "Hz", 1e6},
	{"", "", "1", 1},
};

void gauges_fini(struct gauges *gauges)
{
	for (size_t i = 0; i < gauges->families_count; i++)
		free(gauges->families[i].texts);
	for (size_t i = 0; i < gauges->count; i++)
		free(gauges->all[i].labels[0]);
	free(gauges->families);
	free(gauges->all);
	hash_map_fini(&gauges->index);
	*gauges = (struct gauges){.families = NULL};
}

/* ---- families ---- */

static void append_word(struct string_builder *name, const char *word)
{
	for (; *word; word++) {
		bool is_letter = (*word >= 'a' && *word <= 'z') || (*word >= 'A' && *word <= 'Z') ||
				 (*word >= '0' && *word <= '9');

		if (is_letter)
			string_builder_append_char(name, *word);
		else if (name->length && name->text[name->length - 1] != '_')
			string_builder_append_char(name, '_');
	}
}

/* Appends "_unit" unless the name ends in it. */
static void append_unit(struct string_builder *name, const char *unit)
{
	struct string_builder word = {0};
	size_t length, slash = strlen(unit);

	if (slash > 2 && strcmp(unit + slash - 2, "/s") == 0) {
		char *rated = strndup(unit, slash - 2);

		append_word(&word, rated ? rated : "");
		string_builder_append(&word, "_per_second");
		free(rated);
	} else {
		append_word(&word, unit);
	}
	length = word.length;
	if (length &&
	    (name->length < length || strcmp(name->text + name->length - length, word.text) != 0)) {
		string_builder_append_char(name, '_');
		string_builder_append(name, word.text);
	}
	string_builder_fini(&word);
}

/* Prometheus keeps these endings for parts of counters and histograms. */
static void mend_ending(struct string_builder *name)
{
	static const char *const reserved[] = {"_total",  "_count", "_sum",
					       "_bucket", "_info",  "_created"};

	for (size_t i = 0; i < ARRAY_COUNT(reserved); i++) {
		size_t length = strlen(reserved[i]);

		if (name->length > length &&
		    strcmp(name->text + name->length - length, reserved[i]) == 0)
			string_builder_append(name, "_value");
	}
}

/* Texts: name, OTLP's name, help, OTLP's unit, each with its NUL. */
static int fill_texts(const struct gauge_key *key, size_t unit, struct gauge_family *family)
{
	struct string_builder text = {0};
	bool is_known = unit < ARRAY_COUNT(units);
	size_t otlp, help, otlp_unit;

	string_builder_append(&text, "duet_metric_");
	append_word(&text, key->name);
	append_unit(&text, is_known ? units[unit].unit : key->unit);
	mend_ending(&text);
	string_builder_append_char(&text, '\0');
	otlp = text.length;
	string_builder_appendf(&text, "duet.metric.%.100s", key->name);
	string_builder_append_char(&text, '\0');
	help = text.length;
	string_builder_appendf(&text, "Metric %.64s of duet, mean of the last interval", key->name);
	string_builder_append_char(&text, '\0');
	otlp_unit = text.length;
	if (!is_known)
		string_builder_appendf(&text, "{%.39s}", key->unit);
	family->texts = string_builder_take(&text);
	if (!family->texts)
		return -ENOMEM;
	family->family = (struct metric_family){.name = family->texts,
						.otlp_name = family->texts + otlp,
						.unit = is_known ? units[unit].unit : "",
						.otlp_unit = is_known ? units[unit].otlp_unit
								      : family->texts + otlp_unit,
						.help = family->texts + help,
						.type = METRIC_GAUGE};
	return 0;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	while (*text++);
	return hash;
}

/* The index for a new family. A family without gauges gives way; its index is used again, because
 * gauges refer to it. GAUGE_FAMILIES_MAX: there is no room. */
static size_t find_room(const struct gauges *gauges)
{
	bool is_used[GAUGE_FAMILIES_MAX] = {false};
	size_t index = 0;

	if (gauges->families_count < GAUGE_FAMILIES_MAX)
		return gauges->families_count;
	for (size_t i = 0; i < gauges->count; i++)
		is_used[gauges->all[i].family] = true;
	while (index < GAUGE_FAMILIES_MAX && is_used[index])
		index++;
	return index;
}

/* *ret_index: GAUGE_FAMILIES_MAX if there is no room. */
static int find_family(struct gauges *gauges, const struct gauge_key *key, size_t *ret_index)
{
	uint64_t hash = hash_text(hash_text(UINT64_C(0xcbf29ce484222325), key->name), key->unit);
	struct gauge_family family = {.hash = hash, .factor = 1};
	size_t unit = 0;

	for (size_t i = 0; i < gauges->families_count; i++)
		if (gauges->families[i].hash == hash) {
			*ret_index = i;
			return 0;
		}
	*ret_index = find_room(gauges);
	if (*ret_index == GAUGE_FAMILIES_MAX)
		return 0;
	while (unit < ARRAY_COUNT(units) && strcmp(units[unit].shown, key->unit) != 0)
		unit++;
	if (unit < ARRAY_COUNT(units))
		family.factor = units[unit].factor;
	if (fill_texts(key, unit, &family))
		return error_no_memory();
	/* Two names may become one: "a.b" and "a_b". A family must not occur twice. */
	for (size_t i = 0; i < gauges->families_count; i++)
		if (strcmp(gauges->families[i].family.name, family.family.name) == 0) {
			free(family.texts);
			*ret_index = i;
			return 0;
		}
	if (*ret_index < gauges->families_count) {
		free(gauges->families[*ret_index].texts);
		gauges->families[*ret_index] = family;
		return 0;
	}
	if (array_append(gauges->families, gauges->families_capacity, gauges->families_count,
			 family)) {
		free(family.texts);
		return error_no_memory();
	}
	return 0;
}

/* ---- values ---- */

static int copy_labels(const struct gauge_key *key, struct gauge *gauge)
{
	char texts[GAUGE_LABELS][LABEL_SIZE_MAX + 1];
	size_t size = 0;
	char *at;

	for (size_t i = 0; i < GAUGE_LABELS; i++) {
		label_copy(key->labels[i], texts[i]);
		size += strlen(texts[i]) + 1;
	}
	at = malloc(size);
	if (!at)
		return error_no_memory();
	for (size_t i = 0; i < GAUGE_LABELS; i++) {
		gauge->labels[i] = strcpy(at, texts[i]);
		at += strlen(at) + 1;
	}
	return 0;
}

static int add_gauge(struct gauges *gauges, const struct gauge_key *key, struct gauge *gauge)
{
	int error = copy_labels(key, gauge);

	if (error)
		return error;
	if (array_append(gauges->all, gauges->capacity, gauges->count, *gauge)) {
		free(gauge->labels[0]);
		return error_no_memory();
	}
	if (hash_map_put(&gauges->index, gauge->hash, gauges->count - 1)) {
		gauges->count--;
		free(gauge->labels[0]);
		return error_no_memory();
	}
	return 0;
}

int gauges_set(struct gauges *gauges, const struct gauge_key *key, double value, uint64_t now_ns)
{
	struct gauge gauge = {.set_ns = now_ns};
	uint64_t index;
	int error;

	if (!isfinite(value))
		return 0;
	error = find_family(gauges, key, &gauge.family);
	if (error || gauge.family == GAUGE_FAMILIES_MAX) {
		gauges->refused += !error;
		return error;
	}
	gauge.value = value * gauges->families[gauge.family].factor;
	gauge.hash = gauge.family + UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < GAUGE_LABELS; i++)
		gauge.hash = hash_text(gauge.hash, key->labels[i]);
	index = hash_map_get(&gauges->index, gauge.hash, UINT64_MAX);
	if (index != UINT64_MAX) {
		gauges->all[index].value = gauge.value;
		gauges->all[index].set_ns = now_ns;
		return 0;
	}
	if (gauges->count == GAUGES_MAX) {
		gauges->refused++;
		return 0;
	}
	return add_gauge(gauges, key, &gauge);
}

void gauges_forget(struct gauges *gauges, uint64_t now_ns)
{
	for (size_t i = gauges->count; i-- > 0;) {
		struct gauge *gauge = &gauges->all[i], *last = &gauges->all[gauges->count - 1];

		if (gauge->set_ns + UNSET_NS >= now_ns)
			continue;
		hash_map_remove(&gauges->index, gauge->hash, NULL);
		free(gauge->labels[0]);
		if (gauge != last) {
			*gauge = *last;
			/* The key is in the map, so this put needs no memory. */
			hash_map_put(&gauges->index, gauge->hash, i);
		}
		gauges->count--;
	}
}

static void visit_gauge(const struct gauge *gauge, const struct metric_family *family,
			const struct metric_visitor *visitor)
{
	struct metric_point point = {.is_real = true, .real = gauge->value};

	for (size_t i = 0; i < GAUGE_LABELS; i++)
		if (*gauge->labels[i])
			point.labels[point.labels_count++] =
				(struct metric_label){gauge_labels[i], gauge->labels[i]};
	visitor->on_point(visitor->context, family, &point);
}

void gauges_visit(const struct gauges *gauges, const struct metric_visitor *visitor)
{
	for (size_t f = 0; f < gauges->families_count; f++) {
		const struct metric_family *family = &gauges->families[f].family;

		visitor->on_family(visitor->context, family);
		for (size_t i = 0; i < gauges->count; i++)
			if (gauges->all[i].family == f)
				visit_gauge(&gauges->all[i], family, visitor);
	}
}
