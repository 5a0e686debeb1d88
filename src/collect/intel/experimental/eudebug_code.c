/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug_code.c - code objects of processes, from debugger events
 *
 * Runs in:  the recorder's main thread
 * Gets:     events of connections (eudebug_links.c)
 * Gives:    code objects with their bytes, kernels with their addresses
 * Owns:     the kernels of each binary, the list of places
 * Fails:    places and kernels above the limit, or without memory, are counted
 * Why:      A bind may be reported before the bytes of its code object could be read. The place, an
 *           address of the code, then waits for the bytes.
 */
#include "collect/intel/experimental/eudebug_private.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/devices.h"
#include "symbol/device/zebin.h"

enum { MAX_PLACES = 1 << 20 };

struct eudebug_debuggee *eudebug_debuggee_of(const struct eudebug *debug, uint32_t link)
{
	for (size_t i = 0; i < debug->debuggees_count; i++)
		if (debug->debuggees[i].link == link)
			return &debug->debuggees[i];
	return NULL;
}

static struct eudebug_binary *find_binary(const struct eudebug *debug, uint32_t link,
					  uint64_t client, uint64_t number)
{
	for (size_t i = debug->binaries_count; i-- > 0;) {
		struct eudebug_binary *binary = &debug->binaries[i];

		if (binary->link == link && binary->client == client && binary->number == number)
			return binary;
	}
	return NULL;
}

static uint32_t describe_binary(struct eudebug *debug, const struct eudebug_debuggee *debuggee,
				const struct eudebug_link_event *link_event)
{
	struct recording *recording = debug->recording;
	struct event_code row = {.id = ++recording->last_code,
				 .process = process_describe(debuggee->table, debuggee->process),
				 .type = CODE_BINARY,
				 .device = debug->gpus[debuggee->gpu].device,
				 .size_bytes = link_event->size,
				 .begin_ns = link_event->time_ns};

	/* the writer counts what it cannot write */
	if (trace_writer_content(recording->writer, link_event->bytes, link_event->size,
				 &row.hash_low, &row.hash_high) < 0)
		row.hash_low = row.hash_high = 0;
	recording->kept_bytes += ENTITY_BYTES + CONTENT_BYTES;
	trace_writer_entity(recording->writer, EVENT_CODE, &row);
	return row.id;
}

static void describe_kernel(struct eudebug *debug, const struct eudebug_debuggee *debuggee,
			    const struct eudebug_binary *binary,
			    const struct eudebug_kernel *kernel, const struct eudebug_place *place)
{
	struct recording *recording = debug->recording;
	struct eudebug_place own = *place;
	struct event_code row = {.process = debuggee->process->row.id,
				 .parent = binary->code,
				 .type = CODE_KERNEL,
				 .name_string = kernel->name_string,
				 .device = debug->gpus[debuggee->gpu].device,
				 .size_bytes = kernel->size,
				 .begin_ns = place->time_ns,
				 .address = kernel->address ? kernel->address : place->begin};

	if (debug->places_count == MAX_PLACES ||
	    array_grow(debug->places, debug->places_capacity, debug->places_count + 1)) {
		debug->left_out++;
		return;
	}
	row.id = own.code = ++recording->last_code;
	recording->kept_bytes += ENTITY_BYTES;
	trace_writer_entity(recording->writer, EVENT_CODE, &row);
	debug->places[debug->places_count++] = own;
	debug->kernels++;
}

/* Identifies the kernels at a place. Unlinked code is identified only if it is the only kernel
 * there. */
static void place_kernels(struct eudebug *debug, const struct eudebug_binary *binary,
			  const struct eudebug_place *place)
{
	const struct eudebug_debuggee *debuggee = eudebug_debuggee_of(debug, place->link);
	uint64_t before = debug->kernels;

	if (!debuggee || !binary->code)
		return;
	if (devices_has_user(debug->recording, debug->gpus[debuggee->gpu].device,
			     debuggee->process->row.id)) {
		debug->reported++;
		return;
	}
	for (size_t i = 0; i < binary->count; i++) {
		const struct eudebug_kernel *kernel = &binary->kernels[i];
		const bool is_there = kernel->address
					      ? kernel->address >= place->begin &&
							kernel->address - place->begin < place->size
					      : binary->count == 1;

		if (is_there)
			describe_kernel(debug, debuggee, binary, kernel, place);
	}
	debug->unplaced += debug->kernels == before;
}

static int read_kernels(struct eudebug *debug, const struct eudebug_link_event *link_event,
			struct eudebug_binary *binary)
{
	const struct zebin_kernel *kernels;
	struct zebin *zebin;
	int error = zebin_open(link_event->bytes, link_event->size, &zebin);

	if (error)
		return error;
	binary->count = zebin_kernels(zebin, &kernels);
	binary->kernels = calloc(binary->count + 1, sizeof(*binary->kernels));
	for (size_t i = 0; binary->kernels && i < binary->count; i++)
		binary->kernels[i] = (struct eudebug_kernel){
			.name_string = recording_string(debug->recording, kernels[i].name),
			.address = kernels[i].address,
			.size = kernels[i].size_bytes};
	zebin_close(zebin);
	return binary->kernels ? 0 : -ENOMEM;
}

void eudebug_take_binary(struct eudebug *debug, const struct eudebug_link_event *link_event)
{
	const struct eudebug_debuggee *debuggee = eudebug_debuggee_of(debug, link_event->link);
	struct eudebug_binary binary = {.link = link_event->link,
					.client = link_event->client,
					.number = link_event->binary};

	/* i915 uses this kind for other objects too, and a runtime may have another format of
	 * code */
	if (!debuggee || !zebin_is(link_event->bytes, link_event->size) ||
	    array_grow(debug->binaries, debug->binaries_capacity, debug->binaries_count + 1))
		return;
	if (read_kernels(debug, link_event, &binary)) {
		error_clear();
		debug->left_out++;
		return;
	}
	binary.code = describe_binary(debug, debuggee, link_event);
	debug->binaries[debug->binaries_count++] = binary;
	/* places that were reported before the bytes could be read */
	for (size_t i = debug->places_count; i-- > 0;) {
		const struct eudebug_place place = debug->places[i];

		if (place.code || place.link != link_event->link ||
		    place.client != link_event->client || place.binary != link_event->binary)
			continue;
		debug->places[i] = debug->places[--debug->places_count];
		place_kernels(debug, &binary, &place);
	}
}

/* The last entry moves to its index. */
static void end_place(struct eudebug *debug, size_t index, uint64_t time_ns)
{
	if (debug->places[index].code)
		trace_writer_end_entity(debug->recording->writer, EVENT_CODE,
					debug->places[index].code, time_ns);
	debug->places[index] = debug->places[--debug->places_count];
}

void eudebug_end_places(struct eudebug *debug, const struct eudebug_link_event *link_event)
{
	const bool is_all = link_event->kind == EUDEBUG_LINK_SPACE_END;

	for (size_t i = debug->places_count; i-- > 0;) {
		const struct eudebug_place *place = &debug->places[i];

		if (place->link == link_event->link && place->client == link_event->client &&
		    place->space == link_event->space &&
		    (is_all || (place->begin < link_event->begin + link_event->size &&
				link_event->begin < place->begin + place->size)))
			end_place(debug, i, link_event->time_ns);
	}
}

/* An unbind of a whole buffer has neither address nor size. Its code stays known until other code
 * is bound at the same address. */
void eudebug_take_bound(struct eudebug *debug, const struct eudebug_link_event *link_event)
{
	if (link_event->size)
		eudebug_end_places(debug, link_event);
	else
		debug->placeless++;
}

void eudebug_take_placed(struct eudebug *debug, const struct eudebug_link_event *link_event)
{
	const struct eudebug_binary *binary =
		find_binary(debug, link_event->link, link_event->client, link_event->binary);
	const struct eudebug_place place = {.link = link_event->link,
					    .client = link_event->client,
					    .space = link_event->space,
					    .binary = link_event->binary,
					    .begin = link_event->begin,
					    .size = link_event->size,
					    .time_ns = link_event->time_ns};

	if (binary) {
		place_kernels(debug, binary, &place);
		return;
	}
	if (debug->places_count < MAX_PLACES &&
	    !array_grow(debug->places, debug->places_capacity, debug->places_count + 1))
		debug->places[debug->places_count++] = place;
	else
		debug->left_out++;
}

static void free_binary(struct eudebug *debug, struct eudebug_binary *binary)
{
	free(binary->kernels);
	*binary = debug->binaries[--debug->binaries_count];
}

void eudebug_end_binary(struct eudebug *debug, const struct eudebug_link_event *link_event)
{
	struct eudebug_binary *binary =
		find_binary(debug, link_event->link, link_event->client, link_event->binary);

	if (!binary)
		return;
	/* its kernels stay until they are unbound */
	trace_writer_end_entity(debug->recording->writer, EVENT_CODE, binary->code,
				link_event->time_ns);
	free_binary(debug, binary);
}

void eudebug_end_code(struct eudebug *debug, const struct eudebug_link_event *link_event)
{
	for (size_t i = debug->places_count; i-- > 0;)
		if (debug->places[i].link == link_event->link)
			end_place(debug, i, link_event->time_ns);
	for (size_t i = debug->binaries_count; i-- > 0;)
		if (debug->binaries[i].link == link_event->link)
			free_binary(debug, &debug->binaries[i]);
}
