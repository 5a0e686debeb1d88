/* SPDX-License-Identifier: MIT
 *
 * collect/guest/decode/code.c - turns a guest's code objects and their contents into entities
 *
 * Runs in:  the recorder
 * Gets:     records of code objects, and the pieces of their contents
 * Gives:    code objects, contents
 * Owns:     nothing; the tables belong to struct injected
 * Fails:    a code object whose content is incomplete is written without it
 * Why:      A program may build the same source in each iteration. The content's hash identifies a
 * code object, so it is written when the content is complete.
 */
#include "collect/guest/decode/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/guest/record_texts.h"
#include "collect/host_clocks.h"

/* Contents are held in memory until they are complete. */
enum { MAX_CONTENT = 16 << 20 };

enum { CODE_KEY_BYTES = 2 * RECORD_TEXT_BYTES + 160 };

/* Formats the key by which two descriptions are the same code object. Code without a known content
 * is identified by its handle. A kernel is the same on all devices unless its address differs. */
static void format_code_key(const struct event_code *row, const char *name, const char *options,
			    char key[CODE_KEY_BYTES])
{
	bool known = row->type == CODE_KERNEL || row->hash_low || row->hash_high;

	snprintf(key, CODE_KEY_BYTES, "%u %u %u %d %llx %llx %016llx%016llx %.*s %.*s", row->type,
		 row->parent, row->type == CODE_KERNEL ? 0 : row->device, row->status,
		 known ? 0 : (unsigned long long)row->handle, (unsigned long long)row->address,
		 (unsigned long long)row->hash_high, (unsigned long long)row->hash_low,
		 RECORD_TEXT_BYTES, name, RECORD_TEXT_BYTES, options);
}

/* Maps a guest's code to one that is known already. A program that builds the same source in each
 * iteration gets one id. */
static bool find_code(struct injected *injected, uint32_t guest_code, const struct event_code *row,
		      const char *name, const char *options)
{
	char key[CODE_KEY_BYTES];
	uint32_t id;

	format_code_key(row, name, options, key);
	id = identities_find(&injected->ids.codes_known, key);
	return id && (!decode_is_possible(injected, &injected->ids.codes, guest_code) ||
		      decode_set_id(injected, &injected->ids.codes, guest_code, id));
}

/* Writes a code object that find_code did not find. */
static void describe_code(struct injected *injected, uint32_t guest_code, struct event_code *row,
			  const char *name, const char *options)
{
	struct recording *recording = injected->recording;
	char key[CODE_KEY_BYTES];

	if (!decode_is_possible(injected, &injected->ids.codes, guest_code))
		return;
	format_code_key(row, name, options, key);
	if (!guest_budget_has(&injected->budget, strlen(name) + strlen(options) + 2 * TEXT_BYTES) ||
	    !guest_budget_hold(&injected->budget, IDENTITY_BYTES + strlen(key)))
		return decode_undescribed(injected);
	row->id = decode_map_id(injected, &injected->ids.codes, guest_code, &recording->last_code);
	if (!row->id)
		return decode_undescribed(injected);
	identities_remember(&injected->ids.codes_known, key, row->id);
	row->name_string = recording_string(recording, name);
	row->options_string = recording_string(recording, options);
	trace_writer_entity(recording->writer, EVENT_CODE, row);
}

/* The code object is described first, because the content needs its id. */
static void finish_content(struct injected *injected, struct assembly *assembly)
{
	struct trace_writer *writer = injected->recording->writer;
	struct event_code *row = &assembly->row;

	trace_writer_hash(assembly->bytes, assembly->got, &row->hash_low, &row->hash_high);
	if (find_code(injected, assembly->guest_code, row, "", assembly->options))
		return;
	if (!guest_budget_has(&injected->budget,
			      CONTENT_BYTES + strlen(assembly->options) + TEXT_BYTES))
		return decode_undescribed(injected);
	/* The writer counts what it cannot write. */
	if (trace_writer_content(writer, assembly->bytes, assembly->got, &row->hash_low,
				 &row->hash_high) < 0)
		row->hash_low = row->hash_high = 0;
	else
		injected->recording->kept_bytes += CONTENT_BYTES;
	describe_code(injected, assembly->guest_code, row, "", assembly->options);
}

static uint64_t assembly_bytes(const struct assembly *assembly)
{
	return assembly->row.size_bytes + strlen(assembly->options) + 1;
}

void decode_end_assembly(struct injected *injected, struct injected_ring *ring)
{
	struct assembly *assembly = &ring->assembly;

	if (!assembly->bytes)
		return;
	if (assembly->got == assembly->row.size_bytes) {
		finish_content(injected, assembly);
	} else {
		injected->losses.contents++;
		describe_code(injected, assembly->guest_code, &assembly->row, "",
			      assembly->options);
	}
	guest_budget_release_part(&injected->budget, &injected->budget.contents,
				  assembly_bytes(assembly));
	free(assembly->bytes);
	free(assembly->options);
	*assembly = (struct assembly){0};
}

/* False: no room. */
static bool begin_assembly(struct injected *injected, struct injected_ring *ring,
			   const struct event_code *row, uint32_t guest_code, const char *options)
{
	struct assembly *assembly = &ring->assembly;
	uint64_t bytes = row->size_bytes + strlen(options) + 1;

	if (row->size_bytes > MAX_CONTENT ||
	    !guest_budget_hold_part(&injected->budget, &injected->budget.contents, bytes))
		return false;
	*assembly = (struct assembly){.row = *row, .guest_code = guest_code};
	assembly->options = strdup(options);
	assembly->bytes = assembly->options ? malloc(row->size_bytes) : NULL;
	if (assembly->bytes)
		return true;
	free(assembly->options);
	*assembly = (struct assembly){0};
	guest_budget_release_part(&injected->budget, &injected->budget.contents, bytes);
	return false;
}

void decode_code(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_code *record = (const struct record_code *)head;
	const uint32_t type = head->detail & ~(uint32_t)(RECORD_CODE_NEEDS | RECORD_CODE_PLACED);
	struct record_needs needs = {.local_bytes = CODE_UNKNOWN, .private_bytes = CODE_UNKNOWN};
	struct record_place place = {0};
	size_t needs_bytes = head->detail & RECORD_CODE_NEEDS ? sizeof(needs) : 0;
	size_t place_bytes = head->detail & RECORD_CODE_PLACED ? sizeof(place) : 0;
	size_t last = needs_bytes + place_bytes;
	const char *end = (const char *)head + head->size;
	const char *texts[2]; /* name, options */
	struct event_code row;
	uint64_t error_ns;

	if (head->size < sizeof(*record) + last ||
	    !record_texts(head, offsetof(struct record_code, texts), last, texts, 2) ||
	    !record->code || type < CODE_SOURCE || type > CODE_KERNEL)
		return decode_broken(injected);
	memcpy(&needs, end - last, needs_bytes);
	memcpy(&place, end - place_bytes, place_bytes);
	decode_end_assembly(injected, ring);
	row = (struct event_code){
		.process = injected->process->row.id,
		.parent = decode_map_id(injected, &injected->ids.codes, record->parent,
					&injected->recording->last_code),
		.type = type,
		.device = decode_get_id(&injected->ids.devices, record->device),
		.status = record->status,
		.handle = record->handle,
		.size_bytes = record->size_bytes,
		.begin_ns = host_clocks_now_ns(),
		.group_most = needs.group_most,
		.group_multiple = needs.group_multiple,
		.local_bytes = needs.group_most ? needs.local_bytes : 0,
		.private_bytes = needs.group_most ? needs.private_bytes : 0,
		.address = place.address,
	};
	if (row.size_bytes && begin_assembly(injected, ring, &row, record->code, texts[1]))
		return;
	injected->losses.contents += row.size_bytes != 0;
	if (type == CODE_KERNEL && place.address) {
		row.size_bytes = place.size_bytes;
		/* Samples of the first launch may be read before this record, so the start is the
		 * load time. */
		if (place.time)
			row.begin_ns =
				recording_host_ns(injected->recording, place.time, &error_ns);
	}
	if (!find_code(injected, record->code, &row, texts[0], texts[1]))
		describe_code(injected, record->code, &row, texts[0], texts[1]);
}

/* Guests report the needs of a kernel when its launch is over. The kernel has been described by
 * then. */
void decode_kernel_needs(struct injected *injected, struct injected_ring *ring,
			 const struct record *head)
{
	const struct record_kernel_needs *record = (const struct record_kernel_needs *)head;
	struct trace_writer *writer = injected->recording->writer;
	struct event_code row;
	uint32_t id;

	id = decode_get_id(&injected->ids.codes, record->code);
	if (!id || !trace_writer_find_entity(writer, EVENT_CODE, id, &row) ||
	    row.type != CODE_KERNEL)
		return;
	row.registers = record->registers;
	row.local_bytes = record->local_bytes;
	trace_writer_entity(writer, EVENT_CODE, &row);
}

void decode_bytes(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_bytes *record = (const struct record_bytes *)head;
	struct assembly *assembly = &ring->assembly;
	uint32_t length = head->detail;

	if (length > head->size - sizeof(*record))
		return decode_broken(injected);
	/* An earlier piece was lost. The rest does not fit, and decode_end_assembly counts the
	 * loss. */
	if (!assembly->bytes || assembly->guest_code != record->code ||
	    record->offset != assembly->got || length > assembly->row.size_bytes - assembly->got)
		return;
	memcpy(assembly->bytes + assembly->got, record->bytes, length);
	assembly->got += length;
	if (assembly->got == assembly->row.size_bytes)
		decode_end_assembly(injected, ring);
}
