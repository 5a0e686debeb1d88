/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/options.c - the endpoints that a configuration file asks for
 *
 * Runs in:  our own process
 * Gets:     the values of a configuration file
 * Gives:    options
 * Owns:     their texts
 * Fails:    -EINVAL with file, line and column; -ENOMEM
 * Why checked here: an agent that starts with a wrong URL would only drop pushes, and its log may
 * stay unread for months
 */
#include "agent/endpoints/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "config/config.h"
#include "net/address.h"

enum { NS_PER_S = 1000000000, INTERVAL_MAX_S = 86400, ROWS_MAX = 10000 };

const char *pprof_receiver_name(enum pprof_receiver receiver)
{
	static const char *const names[PPROF_RECEIVER_COUNT] = {
		[PPROF_PYROSCOPE] = "pyroscope", [PPROF_PARCA] = "parca", [PPROF_PLAIN] = "plain"};

	return array_text(names, ARRAY_COUNT(names), receiver, "unknown");
}

int endpoints_options_init(struct endpoints_options *options)
{
	*options = (struct endpoints_options){
		.max_kernels = 100,
		.max_processes = 100,
		.otlp = {.interval_ns = 10 * (uint64_t)NS_PER_S,
			 .timeout_ns = 10 * (uint64_t)NS_PER_S},
		.otlp_has_gzip = true,
		.otlp_has_profiles = true,
		.otlp_profiles_ns = 60 * (uint64_t)NS_PER_S,
		.pprof = {.interval_ns = 60 * (uint64_t)NS_PER_S,
			  .timeout_ns = 10 * (uint64_t)NS_PER_S},
		.pprof_name = strdup("duet"),
	};
	return options->pprof_name ? 0 : error_no_memory();
}

static void free_headers(char **headers)
{
	for (char **at = headers; at && *at; at++)
		free(*at);
	free(headers);
}

void endpoints_options_fini(struct endpoints_options *options)
{
	free(options->listen);
	free(options->otlp.url);
	free_headers(options->otlp.headers);
	free(options->pprof.url);
	free_headers(options->pprof.headers);
	free(options->pprof_name);
	*options = (struct endpoints_options){.listen = NULL};
}

bool endpoints_options_has_any(const struct endpoints_options *options)
{
	return options->listen || options->otlp.url || options->pprof.url;
}

/* ---- values of the file ---- */

struct field {
	const char *path;
	/* Checks a value and stores it; returns what the field takes ("a URL …"), or NULL.
	 * *ret_error: -ENOMEM. */
	const char *(*set)(void *member, const char *text, int *ret_error);
	size_t member; /* in struct endpoints_options */
};

static const char *set_text(void *member, const char *text, int *ret_error)
{
	char *copy = strdup(text);

	if (!copy)
		*ret_error = -ENOMEM;
	free(*(char **)member);
	*(char **)member = copy;
	return *text ? NULL : "a text";
}

static const char *set_listen(void *member, const char *text, int *ret_error)
{
	struct net_address address;

	if (net_address_parse(text, &address)) {
		error_clear();
		return "an address and a port, such as 127.0.0.1:9464";
	}
	return set_text(member, text, ret_error);
}

static const char *set_url(void *member, const char *text, int *ret_error)
{
	const char *host = strncmp(text, "http://", 7) == 0    ? text + 7
			   : strncmp(text, "https://", 8) == 0 ? text + 8
							       : "";

	if (!*host || *host == '/' || strpbrk(text, " \t\r\n\"<>"))
		return "a URL that begins with http:// or https://";
	return set_text(member, text, ret_error);
}

static const char *set_header(void *member, const char *text, int *ret_error)
{
	const char *colon = strchr(text, ':');
	char ***headers = member, **longer, *copy;
	size_t count = 0;

	/* A line break would end the header and start another one. */
	if (!colon || colon == text || strpbrk(text, "\r\n"))
		return "a header: \"Name: value\"";
	while (*headers && (*headers)[count])
		count++;
	longer = realloc(*headers, (count + 2) * sizeof(*longer));
	copy = strdup(text);
	if (longer)
		*headers = longer;
	if (!longer || !copy) {
		free(copy);
		*ret_error = -ENOMEM;
		return NULL;
	}
	longer[count] = copy;
	longer[count + 1] = NULL;
	return NULL;
}

/* The parser of the file has checked that it is a number. */
static const char *set_seconds(void *member, const char *text, int *ret_error)
{
	unsigned long long seconds = strtoull(text, NULL, 10);

	(void)ret_error;
	if (!seconds || seconds > INTERVAL_MAX_S)
		return "a number of seconds from 1 to 86400";
	*(uint64_t *)member = seconds * NS_PER_S;
	return NULL;
}

static const char *set_rows(void *member, const char *text, int *ret_error)
{
	unsigned long long rows = strtoull(text, NULL, 10);

	(void)ret_error;
	if (!rows || rows > ROWS_MAX)
		return "a number from 1 to 10000";
	*(uint64_t *)member = rows;
	return NULL;
}

static const char *set_bool(void *member, const char *text, int *ret_error)
{
	(void)ret_error;
	*(bool *)member = strcmp(text, "true") == 0;
	return NULL;
}

static const char *set_receiver(void *member, const char *text, int *ret_error)
{
	(void)ret_error;
	for (unsigned int i = 0; i < PPROF_RECEIVER_COUNT; i++)
		if (strcmp(text, pprof_receiver_name((enum pprof_receiver)i)) == 0)
			*(enum pprof_receiver *)member = (enum pprof_receiver)i;
	return NULL;
}

#define MEMBER(member) offsetof(struct endpoints_options, member)

static const struct field fields[] = {
	{"prometheus.listen", set_listen, MEMBER(listen)},
	{"prometheus.max_kernels", set_rows, MEMBER(max_kernels)},
	{"prometheus.max_processes", set_rows, MEMBER(max_processes)},
	{"otlp.endpoint", set_url, MEMBER(otlp.url)},
	{"otlp.header", set_header, MEMBER(otlp.headers)},
	{"otlp.interval_s", set_seconds, MEMBER(otlp.interval_ns)},
	{"otlp.gzip", set_bool, MEMBER(otlp_has_gzip)},
	{"otlp.profiles", set_bool, MEMBER(otlp_has_profiles)},
	{"otlp.profiles_interval_s", set_seconds, MEMBER(otlp_profiles_ns)},
	{"otlp.timeout_s", set_seconds, MEMBER(otlp.timeout_ns)},
	{"pprof.url", set_url, MEMBER(pprof.url)},
	{"pprof.header", set_header, MEMBER(pprof.headers)},
	{"pprof.interval_s", set_seconds, MEMBER(pprof.interval_ns)},
	{"pprof.receiver", set_receiver, MEMBER(pprof_receiver)},
	{"pprof.name", set_text, MEMBER(pprof_name)},
	{"pprof.timeout_s", set_seconds, MEMBER(pprof.timeout_ns)},
};

/* A header or a URL may hold a password, and a message may end in a log. */
static bool is_secret(const struct field *field)
{
	return field->set == set_header || field->set == set_url;
}

static int read_field(struct endpoints_options *options, const struct config *config,
		      const struct field *field, const char *path)
{
	const struct config_value *value = NULL;
	int error = 0;

	while (!error && (value = config_next(config, field->path, value))) {
		const char *expected =
			field->set((char *)options + field->member, value->text, &error);

		if (expected && is_secret(field))
			return error_set(-EINVAL, "%s:%u:%u: '%s' takes %s", path,
					 value->place.line, value->place.column, field->path,
					 expected);
		if (expected)
			return error_set(-EINVAL, "%s:%u:%u: '%s' takes %s, not '%s'", path,
					 value->place.line, value->place.column, field->path,
					 expected, value->text);
	}
	return error ? error_no_memory() : 0;
}

/* A group without the field that switches it on is a mistake, and not a wish for nothing. */
static int check_group(const struct config *config, const char *group, const char *field,
		       const char *path)
{
	const struct config_value *value = config_next(config, group, NULL);

	if (!value || config_next(config, field, NULL))
		return 0;
	return error_set(-EINVAL, "%s:%u:%u: '%s' lacks '%s'; add it, or remove the group", path,
			 value->place.line, value->place.column, group, strchr(field, '.') + 1);
}

int endpoints_options_read(struct endpoints_options *options, const struct config *config,
			   const char *path)
{
	int error = check_group(config, "prometheus", "prometheus.listen", path);

	if (!error)
		error = check_group(config, "otlp", "otlp.endpoint", path);
	if (!error)
		error = check_group(config, "pprof", "pprof.url", path);
	for (size_t i = 0; i < ARRAY_COUNT(fields) && !error; i++)
		error = read_field(options, config, &fields[i], path);
	return error;
}
