/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/sequences.c - the state of each writer of packets: its numbers of texts, its
 * clocks and defaults
 *
 * Runs in:  our own process
 * Gets:     InternedData, TracePacketDefaults
 * Gives:    texts, stacks
 * Owns:     texts of all sequences, numbers of each
 * Fails:    -ENOMEM; -EFBIG if the names of the file need more than 32 MiB
 * Why limits: a packet of 10 bytes can add an entry of 50 bytes. A trace of 10^6 slices has some
 *           1000 texts.
 */
#include "import/perfetto/sequences.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "import/target.h"
#include "perfetto_trace.numbers.h"

enum { MAX_SEQUENCES = 16384, MAX_ENTRIES = 1 << 19, MAX_STACK = 1024 };

#define MAX_TEXT_BYTES ((size_t)64 << 10)
#define MAX_TEXTS      (1u << 18)
#define TEXTS_BYTES    ((size_t)32 << 20)
#define ENTRY_BYTES    32 /* that the table needs for a text */
#define LIST_SHIFT     56

void perfetto_sequences_init(struct perfetto_sequences *sequences)
{
	*sequences = (struct perfetto_sequences){0};
}

void perfetto_sequences_clear(struct perfetto_sequences *sequences)
{
	for (size_t i = 0; i < sequences->count; i++) {
		hash_map_fini(&sequences->rows[i]->interned);
		hash_map_fini(&sequences->rows[i]->values);
		hash_map_fini(&sequences->rows[i]->cpus);
		free(sequences->rows[i]);
	}
	sequences->count = sequences->frames_count = 0;
	sequences->entries = 0;
	hash_map_clear(&sequences->by_id);
}

void perfetto_sequences_fini(struct perfetto_sequences *sequences)
{
	perfetto_sequences_clear(sequences);
	free(sequences->rows);
	free(sequences->frames);
	hash_map_fini(&sequences->by_id);
	string_table_fini(&sequences->texts);
}

struct perfetto_sequence *perfetto_sequences_find(struct perfetto_sequences *sequences, uint64_t id)
{
	uint64_t index = hash_map_get(&sequences->by_id, id, 0);
	struct perfetto_sequence *row;

	if (index)
		return sequences->rows[index - 1];
	if (sequences->count == MAX_SEQUENCES) {
		error_set(-EFBIG, "the file has more than %d writers of packets", MAX_SEQUENCES);
		return NULL;
	}
	row = calloc(1, sizeof(*row));
	if (!row || array_grow(sequences->rows, sequences->capacity, sequences->count + 1) ||
	    hash_map_put(&sequences->by_id, id, sequences->count + 1)) {
		free(row);
		return NULL;
	}
	sequences->rows[sequences->count++] = row;
	return row;
}

void perfetto_sequence_clear(struct perfetto_sequences *sequences,
			     struct perfetto_sequence *sequence)
{
	sequences->entries -= sequence->interned.count;
	hash_map_clear(&sequence->interned);
	hash_map_clear(&sequence->values);
}

/* ---- texts ---- */

int perfetto_sequences_text(struct perfetto_sequences *sequences, const struct wire_field *field,
			    uint32_t *ret_text)
{
	const size_t size = field->type != WIRE_BYTES ? 0
			    : field->size < MAX_TEXT_BYTES
				    ? strnlen((const char *)field->bytes, field->size)
				    : 0;
	const uint32_t before = sequences->texts.count;

	if (before >= MAX_TEXTS)
		return error_set(-EFBIG, "the file has more than %u names", MAX_TEXTS);
	if (sequences->texts_bytes > TEXTS_BYTES)
		return error_set(-EFBIG, "the names of the file need more than %zu MiB",
				 TEXTS_BYTES >> 20);
	*ret_text = size ? string_table_add(&sequences->texts, field->bytes, size) : 0;
	if (sequences->texts.count > before)
		sequences->texts_bytes += size + ENTRY_BYTES;
	return size && !*ret_text ? -ENOMEM : 0;
}

uint64_t perfetto_sequence_get(const struct perfetto_sequence *sequence, unsigned int list,
			       uint64_t number)
{
	return number >> LIST_SHIFT ? 0
				    : hash_map_get(&sequence->interned,
						   (uint64_t)list << LIST_SHIFT ^ number, 0);
}

static int put_entry(struct perfetto_sequences *sequences, struct perfetto_sequence *sequence,
		     unsigned int list, uint64_t number, uint64_t value)
{
	size_t before = sequence->interned.count;

	if (number >> LIST_SHIFT)
		return 0; /* no program counts that far; it could be a number of another list */
	if (sequences->entries >= MAX_ENTRIES)
		return error_set(-EFBIG, "the file has more than %d numbers of names at once",
				 MAX_ENTRIES);
	if (hash_map_put(&sequence->interned, (uint64_t)list << LIST_SHIFT ^ number, value))
		return -ENOMEM;
	sequences->entries += sequence->interned.count - before;
	return 0;
}

/* All lists of texts have the number as field 1 and the text as field 2. */
static int intern_text(struct perfetto_sequences *sequences, struct perfetto_sequence *sequence,
		       const struct wire_field *entry)
{
	struct wire message = wire_inside(entry);
	struct wire_field field;
	uint64_t number = 0;
	uint32_t text = 0;
	int error = 0;

	while (!error && wire_next(&message, &field)) {
		if (field.number == PF_EVENT_NAME_IID)
			number = field.value;
		else if (field.number == PF_EVENT_NAME_NAME)
			error = perfetto_sequences_text(sequences, &field, &text);
	}
	return error ? error
		     : put_entry(sequences, sequence, (unsigned int)entry->number, number, text);
}

/* ---- stacks ---- */

/* A mapping is the text of its path. */
static int intern_mapping(struct perfetto_sequences *sequences, struct perfetto_sequence *sequence,
			  const struct wire_field *entry)
{
	uint64_t number = wire_number(wire_inside(entry), PF_MAPPING_IID, 0);
	uint64_t path = wire_number(wire_inside(entry), PF_MAPPING_PATH_STRING_IDS, 0);

	return put_entry(sequences, sequence, PF_INTERNED_DATA_MAPPINGS, number,
			 perfetto_sequence_get(sequence, PF_INTERNED_DATA_MAPPING_PATHS, path));
}

static int intern_frame(struct perfetto_sequences *sequences, struct perfetto_sequence *sequence,
			const struct wire_field *entry)
{
	struct wire message = wire_inside(entry);
	struct perfetto_frame frame = {
		.function = (uint32_t)perfetto_sequence_get(
			sequence, PF_INTERNED_DATA_FUNCTION_NAMES,
			wire_number(message, PF_FRAME_FUNCTION_NAME_ID, 0)),
		.mapping = (uint32_t)perfetto_sequence_get(
			sequence, PF_INTERNED_DATA_MAPPINGS,
			wire_number(message, PF_FRAME_MAPPING_ID, 0)),
		.kind = (uint32_t)wire_number(message, PF_FRAME_KIND, 0),
	};

	if (sequences->frames_count >= MAX_ENTRIES ||
	    array_grow(sequences->frames, sequences->frames_capacity, sequences->frames_count + 1))
		return -ENOMEM;
	sequences->frames[sequences->frames_count++] = frame;
	return put_entry(sequences, sequence, PF_INTERNED_DATA_FRAMES,
			 wire_number(message, PF_FRAME_IID, 0), sequences->frames_count);
}

static enum event_frame_type type_of(const struct perfetto_frame *frame, const char *mapping)
{
	if (frame->kind == PF_KIND_KERNEL || strcmp(mapping, "kernel") == 0 ||
	    strcmp(mapping, "/kernel") == 0 || strcmp(mapping, "[kernel.kallsyms]") == 0)
		return FRAME_KERNEL;
	return frame->kind == PF_KIND_JIT ? FRAME_JIT : FRAME_NATIVE;
}

static int push_frame(struct perfetto_sequences *sequences, const struct perfetto_frame *frame,
		      uint32_t *stack)
{
	const char *mapping = string_table_text(&sequences->texts, frame->mapping, NULL);
	const char *function = string_table_text(&sequences->texts, frame->function, NULL);
	enum event_frame_type type = type_of(frame, mapping);

	return import_target_push(sequences->target, type, 0, *function ? function : "[unknown]",
				  type == FRAME_NATIVE && *mapping != '[' ? mapping : "", stack);
}

/* Frames stand from the outermost one on. */
static int intern_stack(struct perfetto_sequences *sequences, struct perfetto_sequence *sequence,
			const struct wire_field *entry)
{
	struct wire message = wire_inside(entry);
	uint64_t number = wire_number(message, PF_CALLSTACK_IID, 0);
	struct wire_field field;
	uint32_t stack = 0;
	int error = 0, depth = 0;

	while (!error && sequences->target && wire_next(&message, &field)) {
		uint64_t frame = field.number == PF_CALLSTACK_FRAME_IDS
					 ? perfetto_sequence_get(sequence, PF_INTERNED_DATA_FRAMES,
								 field.value)
					 : 0;

		if (frame && frame <= sequences->frames_count && depth++ < MAX_STACK)
			error = push_frame(sequences, &sequences->frames[frame - 1], &stack);
	}
	return error ? error
		     : put_entry(sequences, sequence, PF_INTERNED_DATA_CALLSTACKS, number, stack);
}

/* ---- messages ---- */

static int intern_list(struct perfetto_sequences *sequences, struct perfetto_sequence *sequence,
		       const struct wire_field *entry)
{
	switch (entry->number) {
	case PF_INTERNED_DATA_EVENT_CATEGORIES:
	case PF_INTERNED_DATA_EVENT_NAMES:
	case PF_INTERNED_DATA_DEBUG_ANNOTATION_NAMES:
	case PF_INTERNED_DATA_FUNCTION_NAMES:
	case PF_INTERNED_DATA_MAPPING_PATHS:
	case PF_INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES:
		return intern_text(sequences, sequence, entry);
	default:
		return 0;
	}
}

static int intern_later(struct perfetto_sequences *sequences, struct perfetto_sequence *sequence,
			const struct wire_field *entry, unsigned int list)
{
	if (entry->number != list)
		return 0;
	if (list == PF_INTERNED_DATA_MAPPINGS)
		return intern_mapping(sequences, sequence, entry);
	if (list == PF_INTERNED_DATA_FRAMES)
		return intern_frame(sequences, sequence, entry);
	return intern_stack(sequences, sequence, entry);
}

/* Entries of one packet refer to each other, whatever their order. */
int perfetto_sequence_intern(struct perfetto_sequences *sequences,
			     struct perfetto_sequence *sequence, struct wire data)
{
	static const unsigned int later[] = {PF_INTERNED_DATA_MAPPINGS, PF_INTERNED_DATA_FRAMES,
					     PF_INTERNED_DATA_CALLSTACKS};
	struct wire rest = data;
	struct wire_field field;
	int error = 0;

	while (!error && wire_next(&rest, &field))
		if (field.type == WIRE_BYTES)
			error = intern_list(sequences, sequence, &field);
	for (size_t i = 0; i < ARRAY_COUNT(later); i++) {
		rest = data;
		while (!error && wire_next(&rest, &field))
			if (field.type == WIRE_BYTES)
				error = intern_later(sequences, sequence, &field, later[i]);
	}
	return error;
}

static int set_timebase(struct perfetto_sequences *sequences, struct perfetto_sequence *sequence,
			struct wire defaults)
{
	struct wire_field field, inner, name;
	int error = 0;

	while (!error && wire_next(&defaults, &field)) {
		struct wire timebase = wire_inside(&field);

		if (field.number != PF_PERF_SAMPLE_DEFAULTS_TIMEBASE || field.type != WIRE_BYTES)
			continue;
		while (!error && wire_next(&timebase, &inner)) {
			name = inner;
			if (inner.number == PF_TIMEBASE_NAME)
				error = perfetto_sequences_text(sequences, &name,
								&sequence->timebase);
		}
	}
	return error;
}

int perfetto_sequence_set_defaults(struct perfetto_sequences *sequences,
				   struct perfetto_sequence *sequence, struct wire defaults)
{
	struct wire_field field;
	int error = 0;

	sequence->track = 0;
	sequence->clock = 0;
	while (!error && wire_next(&defaults, &field)) {
		if (field.number == PF_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID)
			sequence->clock = (uint32_t)field.value;
		else if (field.type == WIRE_BYTES &&
			 field.number == PF_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS)
			sequence->track = wire_number(wire_inside(&field),
						      PF_TRACK_EVENT_DEFAULTS_TRACK_UUID, 0);
		else if (field.type == WIRE_BYTES &&
			 field.number == PF_TRACE_PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS)
			error = set_timebase(sequences, sequence, wire_inside(&field));
	}
	return error;
}
