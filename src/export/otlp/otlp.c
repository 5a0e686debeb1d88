/* SPDX-License-Identifier: MIT
 *
 * export/otlp/otlp.c - export OpenTelemetry's profiles (v1development): device time, CPU samples,
 * instructions by stack
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    one ProfilesData (proto/otlp.proto)
 * Owns:     the dictionary, and a sum for each stack and its attributes
 * Fails:    -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why sums: the format identifies a sample by its stack and attributes, so samples with equal ones
 *           must be added up. Each type of value has a profile of its own, which lists all of its
 *           samples again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/array.h"
#include "base/file/stream.h"
#include "base/hash.h"
#include "base/number.h"
#include "export/common/profile.h"
#include "export/common/protobuf.h"
#include "export/formats.h"
#include "export/otlp/common.h"
#include "otlp.numbers.h"

enum { MAX_ATTRIBUTES = 10, MAX_VALUES = 3 };

/* A table of the dictionary: its encoded elements, and their keys. */
struct dictionary_table {
	struct string_table keys; /* arrays of numbers; without element 0 */
	struct protobuf elements;
};

/* The samples of one or more profiles: device time, one source of CPU samples, or instructions. */
struct set {
	enum profile_kind kind;
	const char *source; /* CPU samples only */
	bool is_ns;
	struct string_table keys; /* [stack, attributes …] */
	struct value {
		uint64_t values[MAX_VALUES]; /* by type of value, see below */
	} * sums;
	size_t capacity;
};

struct otlp {
	struct profile profile;
	struct string_table strings;
	struct dictionary_table mappings, locations, functions, attributes, stacks;
	uint64_t *limits; /* memory limits of mappings, by index */
	size_t limits_capacity;
	struct set *sets;
	size_t sets_count, sets_capacity;
	uint64_t *key, *ids;
	size_t key_capacity, ids_capacity;
	struct protobuf message;
	uint64_t rows;
	int error;
};

static uint32_t text_of(struct otlp *otlp, const char *text)
{
	uint32_t id = string_table_add(&otlp->strings, text, strlen(text));

	if (!id && *text)
		otlp->error = -ENOMEM;
	return id;
}

/* The index of an element; *ret_is_new: the caller must write it. */
static uint32_t intern_key(struct otlp *otlp, struct string_table *keys, const uint64_t *key,
			   size_t count, bool *ret_is_new)
{
	uint32_t before = keys->count, id = string_table_add(keys, key, count * sizeof(*key));

	if (!id)
		otlp->error = -ENOMEM;
	*ret_is_new = id > before;
	return id;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void begin_attribute(struct otlp *otlp, uint64_t name, size_t *ret_begin, size_t *ret_value)
{
	struct protobuf *message = &otlp->attributes.elements;

	*ret_begin = protobuf_begin(message, OTLP_PROFILES_DICTIONARY_ATTRIBUTE_TABLE);
	protobuf_u64(message, OTLP_KEY_VALUE_AND_UNIT_KEY_STRINDEX, name);
	*ret_value = protobuf_begin(message, OTLP_KEY_VALUE_AND_UNIT_VALUE);
}

static void end_attribute(struct otlp *otlp, size_t begin, size_t value)
{
	protobuf_end(&otlp->attributes.elements, value);
	protobuf_end(&otlp->attributes.elements, begin);
}

static uint32_t int_attribute(struct otlp *otlp, const char *name, uint64_t number)
{
	const uint64_t key[] = {text_of(otlp, name), number};
	bool is_new;
	uint32_t index = intern_key(otlp, &otlp->attributes.keys, key, ARRAY_COUNT(key), &is_new);
	size_t begin, value;

	if (!index || !is_new)
		return index;
	begin_attribute(otlp, key[0], &begin, &value);
	protobuf_u64(&otlp->attributes.elements, OTLP_ANY_VALUE_INT_VALUE, number);
	end_attribute(otlp, begin, value);
	return index;
}

/* The key is the name and the text itself, which is not in the dictionary's strings. It is longer
 * than the key of a number. */
static uint32_t text_attribute(struct otlp *otlp, const char *name, const char *text)
{
	const uint64_t head[] = {text_of(otlp, name), 0};
	struct string_table *keys = &otlp->attributes.keys;
	size_t size = strlen(text), begin, value;
	char *key = malloc(sizeof(head) + size);
	uint32_t before = keys->count, index = 0;

	if (key) {
		memcpy(key, head, sizeof(head));
		memcpy(key + sizeof(head), text, size);
		index = string_table_add(keys, key, sizeof(head) + size);
		free(key);
	}
	if (!index)
		otlp->error = -ENOMEM;
	if (index <= before)
		return index;
	begin_attribute(otlp, head[0], &begin, &value);
	protobuf_text(&otlp->attributes.elements, OTLP_ANY_VALUE_STRING_VALUE, text);
	end_attribute(otlp, begin, value);
	return index;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Mappings are written at the end, when their limits are known. In the key, build_id is the index
 * of an attribute. */
static uint32_t mapping_of(struct otlp *otlp, const struct profile_frame *frame)
{
	bool is_device = frame->kind == PROFILE_DEVICE_INSTRUCTION;
	uint64_t key[] = {text_of(otlp, frame->module), 0};
	bool is_new;
	uint32_t index;

	if (*frame->build_id)
		key[1] = text_attribute(
			otlp, is_device ? "duet.code_hash" : "process.executable.build_id.gnu",
			frame->build_id);
	index = intern_key(otlp, &otlp->mappings.keys, key, ARRAY_COUNT(key), &is_new);
	if (!index || array_grow(otlp->limits, otlp->limits_capacity, index + (size_t)1)) {
		otlp->error = -ENOMEM;
		return 0;
	}
	if (frame->address >= otlp->limits[index])
		otlp->limits[index] = frame->address + 1;
	return index;
}

static void write_mapping(struct otlp *otlp, uint32_t index)
{
	struct protobuf *message = &otlp->mappings.elements;
	const uint64_t *key = (const void *)string_table_text(&otlp->mappings.keys, index, NULL);
	size_t begin = protobuf_begin(message, OTLP_PROFILES_DICTIONARY_MAPPING_TABLE);
	uint64_t ids[2];

	memcpy(ids, key, sizeof(ids));
	protobuf_u64(message, OTLP_MAPPING_MEMORY_LIMIT, otlp->limits[index]);
	protobuf_u64(message, OTLP_MAPPING_FILENAME_STRINDEX, ids[0]);
	protobuf_packed(message, OTLP_MAPPING_ATTRIBUTE_INDICES, &ids[1], ids[1] != 0);
	protobuf_end(message, begin);
}

static uint32_t function_of(struct otlp *otlp, const struct profile_frame *frame)
{
	const uint64_t key[] = {text_of(otlp, frame->function),
				text_of(otlp, frame->file ? frame->file : ""), frame->first_line};
	struct protobuf *message = &otlp->functions.elements;
	bool is_new;
	uint32_t index = intern_key(otlp, &otlp->functions.keys, key, ARRAY_COUNT(key), &is_new);
	size_t begin;

	if (!index || !is_new)
		return index;
	begin = protobuf_begin(message, OTLP_PROFILES_DICTIONARY_FUNCTION_TABLE);
	protobuf_u64(message, OTLP_FUNCTION_NAME_STRINDEX, key[0]);
	protobuf_u64(message, OTLP_FUNCTION_SYSTEM_NAME_STRINDEX, key[0]);
	if (key[1])
		protobuf_u64(message, OTLP_FUNCTION_FILENAME_STRINDEX, key[1]);
	if (key[2])
		protobuf_u64(message, OTLP_FUNCTION_START_LINE, key[2]);
	protobuf_end(message, begin);
	return index;
}

/* "gpu", "gpu_instruction" and "jit" are our own words: profile.frame.type has none for device code
 * and JIT code yet. */
static const char *frame_type(const struct profile_frame *frame)
{
	static const char *const types[PROFILE_FRAME_KIND_COUNT] = {
		[PROFILE_NATIVE] = "native",  [PROFILE_INLINED] = "native",
		[PROFILE_PYTHON] = "cpython", [PROFILE_JIT] = "jit",
		[PROFILE_KERNEL] = "kernel",  [PROFILE_PLACEHOLDER] = "unknown",
		[PROFILE_DEVICE] = "gpu",     [PROFILE_DEVICE_INSTRUCTION] = "gpu_instruction"};

	return types[frame->kind];
}

static void write_location(struct otlp *otlp, const uint64_t *key, size_t count)
{
	struct protobuf *message = &otlp->locations.elements;
	size_t begin = protobuf_begin(message, OTLP_PROFILES_DICTIONARY_LOCATION_TABLE);

	if (key[0])
		protobuf_u64(message, OTLP_LOCATION_MAPPING_INDEX, key[0]);
	if (key[1])
		protobuf_u64(message, OTLP_LOCATION_ADDRESS, key[1]);
	for (size_t i = 3; i + 1 < count; i += 2) {
		size_t line = protobuf_begin(message, OTLP_LOCATION_LINES);

		protobuf_u64(message, OTLP_LINE_FUNCTION_INDEX, key[i]);
		if (key[i + 1])
			protobuf_u64(message, OTLP_LINE_LINE, key[i + 1]);
		protobuf_end(message, line);
	}
	protobuf_packed(message, OTLP_LOCATION_ATTRIBUTE_INDICES, &key[2], 1);
	protobuf_end(message, begin);
}

/* A location is one address: the function, followed by those that were inlined there. */
static uint32_t location_of(struct otlp *otlp, const struct profile_frame *frames, size_t count)
{
	size_t length = 3 + 2 * count;
	bool is_new;
	uint32_t index;

	if (array_grow(otlp->key, otlp->key_capacity, length)) {
		otlp->error = -ENOMEM;
		return 0;
	}
	otlp->key[0] = frames->module ? mapping_of(otlp, frames) : 0;
	otlp->key[1] = frames->address;
	otlp->key[2] = text_attribute(otlp, "profile.frame.type", frame_type(frames));
	for (size_t i = 0; i < count; i++) {
		otlp->key[3 + 2 * i] = function_of(otlp, &frames[count - 1 - i]);
		otlp->key[4 + 2 * i] = frames[count - 1 - i].line;
	}
	index = intern_key(otlp, &otlp->locations.keys, otlp->key, length, &is_new);
	if (is_new)
		write_location(otlp, otlp->key, length);
	return index;
}

/* The locations of a stack, leaf first. */
static uint32_t stack_of(struct otlp *otlp, const struct profile_row *row)
{
	struct protobuf *message = &otlp->stacks.elements;
	size_t count = 0, place = row->frames_count, begin;
	bool is_new;
	uint32_t index;

	if (array_grow(otlp->ids, otlp->ids_capacity, place)) {
		otlp->error = -ENOMEM;
		return 0;
	}
	for (size_t i = 0, length; i < row->frames_count; i += length, count++) {
		length = profile_inlined(&row->frames[i], row->frames_count - i);
		otlp->ids[--place] = location_of(otlp, &row->frames[i], length);
	}
	index = intern_key(otlp, &otlp->stacks.keys, otlp->ids + place, count, &is_new);
	if (!is_new)
		return index;
	begin = protobuf_begin(message, OTLP_PROFILES_DICTIONARY_STACK_TABLE);
	protobuf_packed(message, OTLP_STACK_LOCATION_INDICES, otlp->ids + place, count);
	protobuf_end(message, begin);
	return index;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void add_text(struct otlp *otlp, uint64_t *key, size_t *count, const char *name,
		     const char *text)
{
	if (*text)
		key[(*count)++] = text_attribute(otlp, name, text);
}

static void add_number(struct otlp *otlp, uint64_t *key, size_t *count, const char *name,
		       uint64_t number)
{
	if (number)
		key[(*count)++] = int_attribute(otlp, name, number);
}

static size_t list_attributes(struct otlp *otlp, const struct profile_row *row, uint64_t *key)
{
	const struct profile *profile = &otlp->profile;
	size_t count = 0;

	add_number(otlp, key, &count, "process.pid", profile_pid(profile, row));
	add_text(otlp, key, &count, "process.executable.name", profile_comm(profile, row));
	add_number(otlp, key, &count, "thread.id", profile_tid(profile, row));
	add_text(otlp, key, &count, "thread.name", profile_thread_name(profile, row));
	if (row->kind == PROFILE_CPU_SAMPLE)
		return count;
	add_text(otlp, key, &count, "duet.gpu_view",
		 row->kind == PROFILE_INSTRUCTION ? "pc_sample" : "kernel_time");
	add_text(otlp, key, &count, "duet.kernel", row->command);
	if (row->kind == PROFILE_INSTRUCTION)
		add_text(otlp, key, &count, "duet.stall_reason", row->stall);
	add_number(otlp, key, &count, "duet.queue", row->queue);
	if (row->device) {
		add_text(otlp, key, &count, "hw.id", row->device->key);
		add_text(otlp, key, &count, "hw.name", row->device->name);
	}
	return count;
}

/* Finds or adds the set of a row; NULL: no memory. */
static struct set *set_of(struct otlp *otlp, const struct profile_row *row)
{
	bool is_sample = row->kind == PROFILE_CPU_SAMPLE;
	struct set *set;

	for (size_t i = 0; i < otlp->sets_count; i++) {
		set = &otlp->sets[i];
		if (set->kind == row->kind && (!is_sample || strcmp(set->source, row->source) == 0))
			return set;
	}
	if (array_grow(otlp->sets, otlp->sets_capacity, otlp->sets_count + 1))
		return NULL;
	set = &otlp->sets[otlp->sets_count++];
	*set = (struct set){.kind = row->kind,
			    .source = row->source,
			    .is_ns = is_sample && row->is_time && strcmp(row->unit, "ns") == 0};
	return set;
}

static int on_row(void *context, const struct profile_row *row)
{
	struct otlp *otlp = context;
	struct set *set = set_of(otlp, row);
	const uint64_t values[MAX_VALUES] = {row->kind == PROFILE_INSTRUCTION ? row->count
									      : row->value,
					     row->count, row->duration_ns};
	uint64_t key[1 + MAX_ATTRIBUTES] = {stack_of(otlp, row)};
	size_t count = 1 + list_attributes(otlp, row, key + 1);
	bool is_new;
	uint32_t index = set ? intern_key(otlp, &set->keys, key, count, &is_new) : 0;

	if (!index || array_grow(set->sums, set->capacity, index))
		return -ENOMEM;
	for (size_t i = 0; i < MAX_VALUES; i++)
		set->sums[index - 1].values[i] =
			add_saturated(set->sums[index - 1].values[i], values[i]);
	otlp->rows++;
	return otlp->error;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static void put_sample(struct otlp *otlp, const struct set *set, uint32_t index, size_t value)
{
	struct protobuf *message = &otlp->message;
	uint64_t key[1 + MAX_ATTRIBUTES], sum = set->sums[index - 1].values[value];
	size_t begin = protobuf_begin(message, OTLP_PROFILE_SAMPLES), size;
	const char *bytes = string_table_text(&set->keys, index, &size);

	memcpy(key, bytes, size);
	sum = sum > INT64_MAX ? INT64_MAX : sum;
	protobuf_u64(message, OTLP_SAMPLE_STACK_INDEX, key[0]);
	protobuf_packed(message, OTLP_SAMPLE_ATTRIBUTE_INDICES, key + 1, size / sizeof(*key) - 1);
	protobuf_packed(message, OTLP_SAMPLE_VALUES, &sum, 1);
	protobuf_end(message, begin);
}

static void put_profile(struct otlp *otlp, const struct set *set, size_t value, const char *type,
			const char *unit)
{
	const struct analysis *analysis = otlp->profile.analysis;
	struct protobuf *message = &otlp->message;
	size_t begin = protobuf_begin(message, OTLP_SCOPE_PROFILES_PROFILES);
	size_t types = protobuf_begin(message, OTLP_PROFILE_SAMPLE_TYPE);
	uint64_t realtime_ns;

	protobuf_u64(message, OTLP_VALUE_TYPE_TYPE_STRINDEX, text_of(otlp, type));
	protobuf_u64(message, OTLP_VALUE_TYPE_UNIT_STRINDEX, text_of(otlp, unit));
	protobuf_end(message, types);
	for (uint32_t i = 1; i <= set->keys.count; i++)
		put_sample(otlp, set, i, value);
	if (model_wall_clock(otlp->profile.model, analysis->from_ns, &realtime_ns))
		protobuf_fixed64(message, OTLP_PROFILE_TIME_UNIX_NANO, realtime_ns);
	protobuf_u64(message, OTLP_PROFILE_DURATION_NANO, analysis->to_ns - analysis->from_ns);
	protobuf_end(message, begin);
}

static void put_set(struct otlp *otlp, const struct set *set)
{
	switch (set->kind) {
	case PROFILE_EXECUTION:
		put_profile(otlp, set, 0, "gpu_time", "nanoseconds");
		put_profile(otlp, set, 1, "executions", "count");
		put_profile(otlp, set, 2, "gpu_duration", "nanoseconds");
		break;
	case PROFILE_CPU_SAMPLE:
		put_profile(otlp, set, 0, set->is_ns ? "cpu" : set->source,
			    set->is_ns ? "nanoseconds" : "count");
		put_profile(otlp, set, 1, "samples", "count");
		break;
	default:
		put_profile(otlp, set, 0, "gpu_samples", "count");
	}
}

static void put_resources(struct otlp *otlp)
{
	const struct analysis *analysis = otlp->profile.analysis;
	struct protobuf *message = &otlp->message;
	size_t begin = protobuf_begin(message, OTLP_PROFILES_DATA_RESOURCE_PROFILES), scopes;

	otlp_put_resource(message, analysis);
	scopes = protobuf_begin(message, OTLP_RESOURCE_PROFILES_SCOPE_PROFILES);
	otlp_put_scope(message, analysis, otlp->profile.options);
	for (size_t i = 0; i < otlp->sets_count; i++)
		put_set(otlp, &otlp->sets[i]);
	protobuf_end(message, scopes);
	protobuf_end(message, begin);
}

/* ---- the dictionary -------------------------------------------------------------------------- */

static void put_table(struct otlp *otlp, unsigned int field, const struct dictionary_table *table)
{
	if (table->elements.error)
		otlp->error = table->elements.error;
	protobuf_end(&otlp->message, protobuf_begin(&otlp->message, field));
	protobuf_append(&otlp->message, table->elements.bytes, table->elements.size);
}

static void put_dictionary(struct otlp *otlp)
{
	static const uint8_t none[16];
	struct protobuf *message = &otlp->message;
	size_t begin = protobuf_begin(message, OTLP_PROFILES_DATA_DICTIONARY), link;

	for (uint32_t i = 1; i <= otlp->mappings.keys.count; i++)
		write_mapping(otlp, i);
	put_table(otlp, OTLP_PROFILES_DICTIONARY_MAPPING_TABLE, &otlp->mappings);
	put_table(otlp, OTLP_PROFILES_DICTIONARY_LOCATION_TABLE, &otlp->locations);
	put_table(otlp, OTLP_PROFILES_DICTIONARY_FUNCTION_TABLE, &otlp->functions);
	link = protobuf_begin(message, OTLP_PROFILES_DICTIONARY_LINK_TABLE);
	protobuf_bytes(message, OTLP_LINK_TRACE_ID, none, 16);
	protobuf_bytes(message, OTLP_LINK_SPAN_ID, none, 8);
	protobuf_end(message, link);
	for (uint32_t i = 0; i <= otlp->strings.count; i++)
		protobuf_text(message, OTLP_PROFILES_DICTIONARY_STRING_TABLE,
			      string_table_text(&otlp->strings, i, NULL));
	put_table(otlp, OTLP_PROFILES_DICTIONARY_ATTRIBUTE_TABLE, &otlp->attributes);
	put_table(otlp, OTLP_PROFILES_DICTIONARY_STACK_TABLE, &otlp->stacks);
	protobuf_end(message, begin);
}

/* ---- the message ----------------------------------------------------------------------------- */

static int gather_samples(struct otlp *otlp, const struct model *model,
			  const struct output_options *options)
{
	int error = profile_open(&otlp->profile, model, options);

	if (!error)
		error = profile_each(&otlp->profile, on_row, otlp);
	if (error)
		return error;
	put_resources(otlp);
	put_dictionary(otlp);
	return otlp->error ? otlp->error : otlp->message.error;
}

static void table_fini(struct dictionary_table *table)
{
	string_table_fini(&table->keys);
	protobuf_fini(&table->elements);
}

static void otlp_fini(struct otlp *otlp)
{
	profile_close(&otlp->profile);
	string_table_fini(&otlp->strings);
	table_fini(&otlp->mappings);
	table_fini(&otlp->locations);
	table_fini(&otlp->functions);
	table_fini(&otlp->attributes);
	table_fini(&otlp->stacks);
	for (size_t i = 0; i < otlp->sets_count; i++) {
		string_table_fini(&otlp->sets[i].keys);
		free(otlp->sets[i].sums);
	}
	free(otlp->sets);
	protobuf_fini(&otlp->message);
	free(otlp->limits);
	free(otlp->key);
	free(otlp->ids);
	free(otlp);
}

static int write_otlp(const struct model *model, const struct output_options *options, FILE *file,
		      uint64_t *ret_rows)
{
	struct otlp *otlp = calloc(1, sizeof(*otlp));
	int error = otlp ? gather_samples(otlp, model, options) : -ENOMEM;

	if (!otlp)
		return error;
	if (!error)
		protobuf_write(&otlp->message, file);
	*ret_rows = otlp->rows;
	otlp_fini(otlp);
	return error ? error : stream_flush(file);
}

const struct exporter export_otlp = {
	.name = "otlp",
	.help = "OpenTelemetry profiles (v1development of " OTLP_VERSION
		"): ProfilesData in protobuf",
	.kinds = PROFILE_KINDS,
	.is_binary = true,
	.write = write_otlp,
};
