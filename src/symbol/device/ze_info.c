/* SPDX-License-Identifier: MIT
 *
 * symbol/device/ze_info.c - read the kernels' properties in a zebin's .ze_info
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     the section's YAML, which may be hostile
 * Gives:    numbers of each kernel
 * Owns:     libyaml's parser while it reads
 * Fails:    -ENOMEM; invalid YAML, and everything beyond a limit, gives nothing
 * Why the YAML is parsed event by event: for a whole document libyaml needs some hundred times the
 *           text's size, and time grows with the square of the nesting depth or of the anchors: 200
 *           KB of "[" took 95 s. So the depth is limited to the depth of a real section, and
 *           aliases are not followed
 */
#include "symbol/device/ze_info.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/array.h"

enum {
	MAX_TEXT = 4 << 20,
	MAX_EVENTS = 1 << 20, /* 0.3 s; a kernel has some hundred */
	MAX_DEPTH = 32,
	MAX_DIRECTIVES = 16, /* lines with %; libyaml compares each with all before */
	MAX_NAME = 1 << 16
};

/* The current level: in the document's mapping, in its list of kernels, in one kernel, in its
 * execution_env. */
enum level { LEVEL_DOCUMENT = 1, LEVEL_KERNELS, LEVEL_KERNEL, LEVEL_ENVIRONMENT };

struct reading {
	void (*on_kernel)(void *context, const char *name, const struct ze_info_kernel *kernel);
	void *context;
	uint32_t depth; /* number of open collections */
	uint32_t level; /* number of these that we read, counted from the outermost */
	bool has_key;   /* in a mapping that we read: its value is next */
	char key[24];   /* "": a key that we do not read */
	char *name;     /* owned; of the current kernel */
	struct ze_info_kernel kernel;
};

/* ---- numbers --------------------------------------------------------------------------------- */

static uint32_t parse_number(const char *text)
{
	char *end;
	unsigned long long number = strtoull(text, &end, 10);

	return end != text && !*end && *text != '-' && number <= UINT32_MAX ? (uint32_t)number : 0;
}

static void take_number(struct reading *reading, const char *text)
{
	const struct {
		const char *key;
		uint32_t *number;
	} numbers[] = {{"simd_size", &reading->kernel.simd_size},
		       {"grf_count", &reading->kernel.grf_count},
		       {"eu_thread_count", &reading->kernel.eu_thread_count},
		       {"slm_size", &reading->kernel.slm_size},
		       {"spill_size", &reading->kernel.spill_size}};

	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
		if (strcmp(reading->key, numbers[i].key) == 0)
			*numbers[i].number = parse_number(text);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_looked_into(const struct reading *reading)
{
	return reading->depth == reading->level;
}

static bool is_mapping(const struct reading *reading)
{
	return reading->level && reading->level != LEVEL_KERNELS;
}

/* Skips a collection or alias, which was a value or an unknown key. */
static void skip_value(struct reading *reading)
{
	if (!is_looked_into(reading) || !is_mapping(reading))
		return;
	if (!reading->has_key)
		reading->key[0] = '\0';
	reading->has_key = !reading->has_key;
}

static bool is_value_of(const struct reading *reading, const char *key)
{
	return reading->has_key && strcmp(reading->key, key) == 0;
}

static bool goes_on(const struct reading *reading, bool is_sequence)
{
	switch (reading->level) {
	case 0:
		return !is_sequence;
	case LEVEL_DOCUMENT:
		return is_sequence && is_value_of(reading, "kernels");
	case LEVEL_KERNELS:
		return !is_sequence;
	case LEVEL_KERNEL:
		return !is_sequence && is_value_of(reading, "execution_env");
	default:
		return false;
	}
}

/* False: it is nested too deeply. */
static bool open_collection(struct reading *reading, bool is_sequence)
{
	const bool is_ours = is_looked_into(reading) && goes_on(reading, is_sequence);

	if (reading->depth == MAX_DEPTH)
		return false;
	skip_value(reading);
	reading->depth++;
	if (!is_ours)
		return true;
	reading->level++;
	reading->has_key = false;
	if (reading->level == LEVEL_KERNEL)
		reading->kernel = (struct ze_info_kernel){0};
	return true;
}

static void close_collection(struct reading *reading)
{
	if (is_looked_into(reading)) {
		if (reading->level == LEVEL_KERNEL && reading->name)
			reading->on_kernel(reading->context, reading->name, &reading->kernel);
		if (reading->level == LEVEL_KERNEL) {
			free(reading->name);
			reading->name = NULL;
		}
		reading->level--;
		/* it was a value of the enclosing collection */
		reading->has_key = false;
	}
	reading->depth--;
}

/* libyaml ends each scalar with a NUL, and there may be one inside too. -ENOMEM. */
static int take_scalar(struct reading *reading, const char *text, size_t length)
{
	if (!is_looked_into(reading) || !is_mapping(reading))
		return 0;
	if (!reading->has_key) {
		const bool fits = length < sizeof(reading->key);

		memcpy(reading->key, fits ? text : "", fits ? length + 1 : 1);
	} else if (reading->level == LEVEL_ENVIRONMENT) {
		take_number(reading, text);
	} else if (reading->level == LEVEL_KERNEL && strcmp(reading->key, "name") == 0 && *text &&
		   length < MAX_NAME && !reading->name) {
		reading->name = strdup(text);
		if (!reading->name)
			return -ENOMEM;
	}
	reading->has_key = !reading->has_key;
	return 0;
}

/* 1: there is more to read. */
static int take_event(struct reading *reading, const yaml_event_t *event)
{
	int error;

	switch (event->type) {
	case YAML_MAPPING_START_EVENT:
		return open_collection(reading, false);
	case YAML_SEQUENCE_START_EVENT:
		return open_collection(reading, true);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		close_collection(reading);
		return reading->depth != 0;
	case YAML_SCALAR_EVENT:
		error = take_scalar(reading, (const char *)event->data.scalar.value,
				    event->data.scalar.length);
		return error ? error : reading->depth != 0;
	case YAML_ALIAS_EVENT:
		skip_value(reading);
		return reading->depth != 0;
	case YAML_STREAM_START_EVENT:
	case YAML_DOCUMENT_START_EVENT:
		return 1;
	default:
		return 0;
	}
}

/* ---- the document ---------------------------------------------------------------------------- */

/* Directives are at the start of a line. YAML has five line ends and may be in UTF-16. */
static bool has_many_directives(const char *text, size_t size)
{
	static const char ends[] = "\n\r\x85\xa8\xa9"; /* with the NUL */
	const char *end = text + size, *at = text;
	size_t count = 0;

	while (at < end && (at = memchr(at, '%', (size_t)(end - at)))) {
		count += at == text || memchr(ends, at[-1], sizeof(ends));
		at++;
		if (count > MAX_DIRECTIVES)
			return true;
	}
	return false;
}

int ze_info_read(const char *text, size_t size,
		 void (*on_kernel)(void *context, const char *name,
				   const struct ze_info_kernel *kernel),
		 void *context)
{
	struct reading reading = {.on_kernel = on_kernel, .context = context};
	yaml_parser_t parser;
	yaml_event_t event;
	int status = 1;

	if (size > MAX_TEXT || has_many_directives(text, size))
		return 0;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	for (size_t i = 0; i < MAX_EVENTS && status == 1; i++) {
		if (!yaml_parser_parse(&parser, &event)) {
			status = parser.error == YAML_MEMORY_ERROR ? -ENOMEM : 0;
			break;
		}
		status = take_event(&reading, &event);
		yaml_event_delete(&event);
	}
	free(reading.name);
	yaml_parser_delete(&parser);
	return status < 0 ? status : 0;
}
