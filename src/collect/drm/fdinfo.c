/* SPDX-License-Identifier: MIT
 *
 * collect/drm/fdinfo.c - parses /proc/PID/fdinfo/N of an open DRM device
 *
 * Runs in:  the recorder; a pure function of the text
 * Gets:     a text from the kernel
 * Gives:    a client with its engines and memory
 * Owns:     nothing
 * Fails:    false for descriptors of other files; a number that does not fit is ignored
 * Why:      Lines are looked up in a table of prefixes, longest first. Otherwise
 *           "drm-engine-capacity-render" would be taken for an engine "capacity-render", a mistake
 *           of some other tools.
 */
#include "collect/drm/fdinfo.h"

#include <string.h>

#include "base/array.h"

struct span {
	const char *text;
	size_t length;
};

static bool is_blank(char character)
{
	return character == ' ' || character == '\t';
}

static void trim(struct span *span)
{
	while (span->length && is_blank(span->text[0])) {
		span->text++;
		span->length--;
	}
	while (span->length && is_blank(span->text[span->length - 1]))
		span->length--;
}

static bool is_word(struct span span, const char *word)
{
	return span.length == strlen(word) && memcmp(span.text, word, span.length) == 0;
}

/* A name that does not fit is skipped, because cut it could equal another one. */
static bool copy_name(struct span span, char ret_name[FDINFO_NAME_BYTES])
{
	if (!span.length || span.length >= FDINFO_NAME_BYTES)
		return false;
	memcpy(ret_name, span.text, span.length);
	ret_name[span.length] = '\0';
	return true;
}

/* Takes digits and moves behind them, to the unit. False: not a number, or above 64 bits. */
static bool take_number(struct span *value, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t at = 0;

	for (; at < value->length && value->text[at] >= '0' && value->text[at] <= '9'; at++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(value->text[at] - '0'), &number))
			return false;
	if (!at || (at < value->length && !is_blank(value->text[at])))
		return false;
	value->text += at;
	value->length -= at;
	trim(value);
	*ret_number = number;
	return true;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit no_units[] = {{"", 1}};
static const struct unit time_units[] = {{"ns", 1}};
static const struct unit memory_units[] = {{"", 1},
					   {"KiB", UINT64_C(1) << 10},
					   {"MiB", UINT64_C(1) << 20},
					   {"GiB", UINT64_C(1) << 30}};
static const struct unit frequency_units[] = {
	{"", 1}, {"Hz", 1}, {"KHz", 1000}, {"kHz", 1000}, {"MHz", 1000000}};

/* Parses an amount and converts it to the base unit. */
static bool parse_amount(struct span value, const struct unit *units, size_t count,
			 uint64_t *ret_amount)
{
	uint64_t number;

	if (!take_number(&value, &number))
		return false;
	for (size_t i = 0; i < count; i++)
		if (is_word(value, units[i].name))
			return !__builtin_mul_overflow(number, units[i].factor, ret_amount);
	return false;
}

#define PARSE_AMOUNT(value, units, ret_amount) \
	parse_amount(value, units, ARRAY_COUNT(units), ret_amount)

/* ---- engines --------------------------------------------------------------------------------- */

static struct fdinfo_engine *engine_of(struct fdinfo *fdinfo, struct span name)
{
	struct fdinfo_engine *engine;

	for (size_t i = 0; i < fdinfo->engines_count; i++)
		if (is_word(name, fdinfo->engines[i].name))
			return &fdinfo->engines[i];
	if (fdinfo->engines_count == MAX_FDINFO_ENGINES)
		return NULL;
	engine = &fdinfo->engines[fdinfo->engines_count];
	*engine = (struct fdinfo_engine){.capacity = 1};
	if (!copy_name(name, engine->name))
		return NULL;
	fdinfo->engines_count++;
	return engine;
}

static void take_busy(struct fdinfo_engine *engine, struct span value)
{
	if (PARSE_AMOUNT(value, time_units, &engine->busy_ns))
		engine->values |= FDINFO_BUSY;
}

static void take_capacity(struct fdinfo_engine *engine, struct span value)
{
	uint64_t capacity;

	if (PARSE_AMOUNT(value, no_units, &capacity) && capacity && capacity <= UINT32_MAX)
		engine->capacity = (uint32_t)capacity;
}

static void take_cycles(struct fdinfo_engine *engine, struct span value)
{
	if (PARSE_AMOUNT(value, no_units, &engine->cycles))
		engine->values |= FDINFO_CYCLES;
}

static void take_total_cycles(struct fdinfo_engine *engine, struct span value)
{
	if (PARSE_AMOUNT(value, no_units, &engine->total_cycles))
		engine->values |= FDINFO_TOTAL_CYCLES;
}

static void take_most_frequency(struct fdinfo_engine *engine, struct span value)
{
	PARSE_AMOUNT(value, frequency_units, &engine->max_hz);
}

static const struct {
	const char *prefix;
	void (*take)(struct fdinfo_engine *engine, struct span value);
} engine_keys[] = {
	{"drm-engine-capacity-", take_capacity},  {"drm-engine-", take_busy},
	{"drm-total-cycles-", take_total_cycles}, {"drm-cycles-", take_cycles},
	{"drm-maxfreq-", take_most_frequency},
};

/* ---- memory ---------------------------------------------------------------------------------- */

/* amdgpu writes drm-memory- for what other drivers call resident; the kernel's documentation
 * defines both as the same. */
static const struct {
	const char *prefix;
	enum fdinfo_memory memory;
} region_keys[] = {
	{"drm-total-", FDINFO_TOTAL},       {"drm-shared-", FDINFO_SHARED},
	{"drm-resident-", FDINFO_RESIDENT}, {"drm-memory-", FDINFO_RESIDENT},
	{"drm-active-", FDINFO_ACTIVE},     {"drm-purgeable-", FDINFO_PURGEABLE},
};

static struct fdinfo_region *region_of(struct fdinfo *fdinfo, struct span name)
{
	struct fdinfo_region *region;

	for (size_t i = 0; i < fdinfo->regions_count; i++)
		if (is_word(name, fdinfo->regions[i].name))
			return &fdinfo->regions[i];
	if (fdinfo->regions_count == MAX_FDINFO_REGIONS)
		return NULL;
	region = &fdinfo->regions[fdinfo->regions_count];
	*region = (struct fdinfo_region){.values = 0};
	if (!copy_name(name, region->name))
		return NULL;
	fdinfo->regions_count++;
	return region;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Returns the rest of the key behind the prefix; false: the key has another prefix. */
static bool starts_with(struct span key, const char *prefix, struct span *ret_rest)
{
	size_t length = strlen(prefix);

	if (key.length <= length || memcmp(key.text, prefix, length) != 0)
		return false;
	*ret_rest = (struct span){key.text + length, key.length - length};
	return true;
}

static bool take_engine(struct fdinfo *fdinfo, struct span key, struct span value)
{
	struct fdinfo_engine *engine;
	struct span name;

	for (size_t i = 0; i < ARRAY_COUNT(engine_keys); i++) {
		if (!starts_with(key, engine_keys[i].prefix, &name))
			continue;
		engine = engine_of(fdinfo, name);
		if (engine)
			engine_keys[i].take(engine, value);
		return true;
	}
	return false;
}

static void take_region(struct fdinfo *fdinfo, struct span key, struct span value)
{
	struct fdinfo_region *region;
	struct span name;
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_COUNT(region_keys); i++) {
		if (!starts_with(key, region_keys[i].prefix, &name))
			continue;
		if (!PARSE_AMOUNT(value, memory_units, &bytes))
			return;
		region = region_of(fdinfo, name);
		if (!region)
			return;
		region->bytes[region_keys[i].memory] = bytes;
		region->values |= 1u << region_keys[i].memory;
		return;
	}
}

static void take_line(struct fdinfo *fdinfo, struct span line)
{
	const char *colon = memchr(line.text, ':', line.length);
	struct span key = {line.text, 0}, value;

	if (!colon)
		return;
	key.length = (size_t)(colon - line.text);
	value = (struct span){colon + 1, line.length - key.length - 1};
	trim(&value);
	if (is_word(key, "drm-driver"))
		copy_name(value, fdinfo->driver);
	else if (is_word(key, "drm-pdev"))
		copy_name(value, fdinfo->address);
	else if (is_word(key, "drm-client-id"))
		fdinfo->has_client = PARSE_AMOUNT(value, no_units, &fdinfo->client);
	else if (!take_engine(fdinfo, key, value))
		take_region(fdinfo, key, value);
}

bool fdinfo_parse(const char *text, size_t length, struct fdinfo *ret_fdinfo)
{
	const char *end = text + length;

	*ret_fdinfo = (struct fdinfo){.has_client = false};
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line = (size_t)((newline ? newline : end) - text);

		take_line(ret_fdinfo, (struct span){text, line});
		text += line + 1;
	}
	return ret_fdinfo->driver[0];
}
