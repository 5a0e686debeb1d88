/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/prometheus.c - metrics as text for Prometheus: its text format 0.0.4,
 * OpenMetrics 1.0
 *
 * Runs in:  our own process, in the thread of the HTTP server
 * Gets:     families and points
 * Gives:    text
 * Owns:     nothing
 * Fails:    the builder keeps -ENOMEM
 * Why times are printed from whole ns: all digits are exact, so the parts of a sum add up in the
 *           text, too.
 */
#include "agent/endpoints/prometheus.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- content negotiation ---- */

static const struct {
	const char *type, *version; /* words of Accept */
	const char *content_type;
} formats[PROMETHEUS_FORMATS] = {
	[PROMETHEUS_TEXT] = {"text/plain", NULL, "text/plain; version=0.0.4; charset=utf-8"},
	[PROMETHEUS_OPENMETRICS] = {"application/openmetrics-text", "1.0.0",
				    "application/openmetrics-text; version=1.0.0; charset=utf-8"},
};

const char *prometheus_content_type(enum prometheus_format format)
{
	return formats[format < PROMETHEUS_FORMATS ? format : PROMETHEUS_TEXT].content_type;
}

/* The value of a parameter such as "q" in "text/plain;version=0.0.4;q=0.5"; length 0: absent. */
static const char *find_parameter(const char *at, const char *end, const char *name,
				  size_t *ret_length)
{
	*ret_length = 0;
	while ((at = memchr(at, ';', (size_t)(end - at)))) {
		at++;
		at += strspn(at, " \t\"");
		if ((size_t)(end - at) > strlen(name) && strncasecmp(at, name, strlen(name)) == 0 &&
		    at[strlen(name)] == '=') {
			at += strlen(name) + 1;
			at += *at == '"';
			*ret_length = strcspn(at, ";,\" \t");
			return at;
		}
	}
	return NULL;
}

/* The quality that a range of Accept gives to a format; 0: it does not name it. */
static double quality_of(const char *range, const char *end, enum prometheus_format format)
{
	size_t length, type = strlen(formats[format].type);
	const char *value;

	if ((size_t)(end - range) < type || strncasecmp(range, formats[format].type, type) != 0)
		return 0;
	if (range + type < end && !strchr("; \t", range[type]))
		return 0;
	value = find_parameter(range, end, "version", &length);
	if (value && formats[format].version &&
	    (length != strlen(formats[format].version) ||
	     strncmp(value, formats[format].version, length) != 0))
		return 0;
	value = find_parameter(range, end, "q", &length);
	return value ? strtod(value, NULL) : 1;
}

enum prometheus_format prometheus_choose(const char *accept)
{
	double best[PROMETHEUS_FORMATS] = {0};

	while (*accept) {
		const char *end;

		accept += strspn(accept, " \t,");
		end = accept + strcspn(accept, ",");
		for (unsigned int format = 0; format < PROMETHEUS_FORMATS; format++) {
			double quality = quality_of(accept, end, (enum prometheus_format)format);

			if (quality > best[format])
				best[format] = quality;
		}
		accept = end;
	}
	return best[PROMETHEUS_OPENMETRICS] > best[PROMETHEUS_TEXT] ? PROMETHEUS_OPENMETRICS
								    : PROMETHEUS_TEXT;
}

/* ---- text ---- */

static const struct byte_escape label_escapes[] = {
	{'\\', "\\\\"}, {'"', "\\\""}, {'\n', "\\n"}, {0, NULL}};
static const struct byte_escape help_escapes[] = {{'\\', "\\\\"}, {'\n', "\\n"}, {0, NULL}};

static const char *ending_of(const struct metric_family *family)
{
	static const char *const endings[] = {
		[METRIC_COUNTER] = "_total", [METRIC_GAUGE] = "", [METRIC_INFO] = "_info"};

	return endings[family->type];
}

static void append_line(struct prometheus *prometheus, const char *word,
			const struct metric_family *family, const char *text)
{
	bool is_short = prometheus->format == PROMETHEUS_OPENMETRICS;

	string_builder_appendf(&prometheus->text, "# %s %s%s ", word, family->name,
			       is_short ? "" : ending_of(family));
	string_builder_append_escaped(&prometheus->text, text, strlen(text), help_escapes);
	string_builder_append_char(&prometheus->text, '\n');
}

static void append_head(struct prometheus *prometheus, const struct metric_family *family)
{
	static const char *const types[PROMETHEUS_FORMATS][3] = {
		[PROMETHEUS_TEXT] = {"counter", "gauge", "gauge"},
		[PROMETHEUS_OPENMETRICS] = {"counter", "gauge", "info"}};

	append_line(prometheus, "TYPE", family, types[prometheus->format][family->type]);
	/* Text 0.0.4 has no unit, and its readers take such a line for a comment. */
	if (*family->unit)
		append_line(prometheus, "UNIT", family, family->unit);
	append_line(prometheus, "HELP", family, family->help);
}

static void append_labels(struct string_builder *text, const struct metric_point *point)
{
	for (size_t i = 0; i < point->labels_count; i++) {
		const struct metric_label *label = &point->labels[i];

		string_builder_appendf(text, "%c%s=\"", i ? ',' : '{', label->name);
		string_builder_append_escaped(text, label->value, strlen(label->value),
					      label_escapes);
		string_builder_append_char(text, '"');
	}
	if (point->labels_count)
		string_builder_append_char(text, '}');
}

/* Seconds with all digits of the nanoseconds, without zeros at the end. */
static void append_seconds(struct string_builder *text, uint64_t ns)
{
	uint64_t rest = ns % 1000000000;
	int digits = 9;

	string_builder_appendf(text, "%" PRIu64, ns / 1000000000);
	if (!rest)
		return;
	for (; rest % 10 == 0; rest /= 10)
		digits--;
	string_builder_appendf(text, ".%0*" PRIu64, digits, rest);
}

static void on_family(void *context, const struct metric_family *family)
{
	struct prometheus *prometheus = context;

	(void)family;
	prometheus->has_head = false;
}

static void on_point(void *context, const struct metric_family *family,
		     const struct metric_point *point)
{
	struct prometheus *prometheus = context;
	struct string_builder *text = &prometheus->text;

	if (!prometheus->has_head)
		append_head(prometheus, family);
	prometheus->has_head = true;
	string_builder_appendf(text, "%s%s", family->name, ending_of(family));
	append_labels(text, point);
	string_builder_append_char(text, ' ');
	if (point->is_real)
		string_builder_appendf(text, "%.17g", point->real);
	else if (family->is_ns)
		append_seconds(text, point->value);
	else
		string_builder_appendf(text, "%" PRIu64, point->value);
	string_builder_append_char(text, '\n');
}

struct metric_visitor prometheus_visitor(struct prometheus *prometheus)
{
	return (struct metric_visitor){on_family, on_point, prometheus};
}

void prometheus_end(struct prometheus *prometheus)
{
	if (prometheus->format == PROMETHEUS_OPENMETRICS)
		string_builder_append(&prometheus->text, "# EOF\n");
}
