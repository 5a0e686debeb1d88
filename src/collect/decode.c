/* SPDX-License-Identifier: MIT
 *
 * collect/decode.c - records of guests to rows of the trace
 *
 * Runs in:  the recorder
 * Gets:     private copies of records, any bytes   Gives: rows and things
 * Owns:     nothing; maps of ids belong to the injected process
 * Fails:    a record that makes no sense is counted and left out
 * Why:      the guest writes the least it can (its own ids, raw times); everything that costs is done here,
 *           at about 100 ns a record against the 2 ns it cost there
 */
#include "collect/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"
#include "collect/record_texts.h"

/* No program has a million queues; a scribbled id must not allocate gigabytes. Programs are built anew in
 * each iteration by some, with an id for the source, the log and the binary. A content is a record's bytes
 * until it is whole, then the file's: so many of a process may be on their way at the same time. Executions wait where their
 * ring is read before the one that describes their queue: as many as 16 MiB hold. */
enum {
	GUEST_ID_MOST = 1 << 20,
	GUEST_CODE_MOST = 1 << 22,
	WAITING_MOST = 1 << 18,
	WAITING_QUEUES_MOST = 1 << 10,
	CONTENT_MOST = 16 << 20,
	ASSEMBLIES_MOST = 64 << 20,
	DESCRIBED_MOST = 32 << 20,
	REFUSALS_MOST = 16,
	HELD_MOST = 512 << 20
};

/* A call of a driver takes longer: one that lies within another is so, however the clocks are off. */
#define CLOCK_ERROR_MOST_NS 1000

static void broken(struct injected *injected)
{
	injected->broken_times++;
}

static struct trace_source source_of(const struct injected *injected, uint32_t source)
{
	return (struct trace_source){
		.source = source,
		.clock = injected->recording->guest_clock,
		.seen_clock = injected->recording->guest_clock,
	};
}

static void put_row(struct injected *injected, enum event_kind kind, uint32_t source,
		    const void *row)
{
	struct trace_source from = source_of(injected, source);

	trace_writer_row(injected->recording->writer, kind, &from, row);
}

/* ---- room -------------------------------------------------------------------------------------- */

/* Whatever a record makes the recorder keep is asked for here first: a program that makes up devices and
 * kernels without end would else take the recorder's memory. A real one describes some thousands. What there
 * is no room for is not described; calls and commands go on being taken. */

/* Texts and what else stays to the end of the recording: counted when the record is done, because most is
 * known already. */
static bool has_room(const struct injected *injected, uint64_t bytes)
{
	return injected->described_bytes + bytes <= DESCRIBED_MOST && bytes <= injected->room_bytes;
}

/* What goes with the process. */
static bool hold(struct injected *injected, uint64_t bytes)
{
	if (injected->held_bytes + bytes > HELD_MOST || bytes > injected->room_bytes)
		return false;
	injected->held_bytes += bytes;
	injected->room_bytes -= bytes;
	return true;
}

/* Without a limit the room is whole again in each round, what was held in an earlier one included: to add that would
 * wrap around, and leave next to none. */
static void let_go(struct injected *injected, uint64_t bytes)
{
	const uint64_t most = UINT64_MAX - injected->room_bytes;

	injected->held_bytes -= bytes;
	injected->room_bytes += bytes < most ? bytes : most;
}

/* array_grow for one array of a process. */
static bool grow_items(struct injected *injected, void **items, size_t *capacity, size_t count,
		       size_t size)
{
	size_t before = *capacity, wanted = before ? before : 8;

	if (count <= before)
		return true;
	while (wanted < count)
		wanted *= 2;
	if (!hold(injected, (wanted - before) * size))
		return false;
	if (array_reserve(items, capacity, count, size) == 0)
		return true;
	let_go(injected, (wanted - before) * size);
	return false;
}
#define grow(injected, items, capacity, count) \
	grow_items(injected, (void **)&(items), &(capacity), (count), sizeof(*(items)))

static void undescribed(struct injected *injected)
{
	injected->undescribed++;
}

/* ---- ids --------------------------------------------------------------------------------------- */

static uint32_t id_most(const struct injected *injected, const struct id_map *map)
{
	return map == &injected->codes ? GUEST_CODE_MOST : GUEST_ID_MOST;
}

static uint32_t get_id(const struct id_map *map, uint32_t guest_id)
{
	return guest_id && guest_id <= map->capacity ? map->items[guest_id - 1] : 0;
}

/* False, and counted: no honest guest has such an id. */
static bool is_possible(struct injected *injected, const struct id_map *map, uint32_t guest_id)
{
	if (guest_id && guest_id <= id_most(injected, map))
		return true;
	broken(injected);
	return false;
}

/* The trace's id of a guest's id, given out at its first mention. 0 for 0, for nonsense, and where there is
 * no room for one more. */
static uint32_t map_id(struct injected *injected, struct id_map *map, uint32_t guest_id,
		       uint32_t *last)
{
	uint32_t known = get_id(map, guest_id);

	if (known || !guest_id || !is_possible(injected, map, guest_id))
		return known;
	if (!grow(injected, map->items, map->capacity, guest_id) || !hold(injected, THING_BYTES))
		return 0;
	map->items[guest_id - 1] = ++*last;
	return *last;
}

/* False: no room. The id is a possible one. */
static bool set_id(struct injected *injected, struct id_map *map, uint32_t guest_id, uint32_t id)
{
	if (!grow(injected, map->items, map->capacity, guest_id))
		return false;
	map->items[guest_id - 1] = id;
	return true;
}

/* ---- things ------------------------------------------------------------------------------------ */

/* 0: no room. */
static uint32_t describe_device_clock(struct injected *injected, uint32_t device,
				      uint64_t frequency_hz)
{
	struct event_clock clock = {
		.type = CLOCK_TYPE_DEVICE,
		.device = device,
		.process = injected->process->row.id,
		.frequency_hz = frequency_hz,
		.begin_ns = host_clocks_now_ns(),
	};

	if (!hold(injected, THING_BYTES))
		return 0;
	clock.id = ++injected->recording->last_clock;
	trace_writer_thing(injected->recording->writer, EVENT_CLOCK, &clock);
	return clock.id;
}

/* The queue of a guest's id; its trace id is given out at the first mention. NULL for 0, nonsense, and where
 * there is no room for one more. */
static struct injected_queue *find_queue(struct injected *injected, uint32_t guest_id)
{
	struct injected_queue *queue;

	if (!guest_id)
		return NULL;
	if (guest_id > GUEST_ID_MOST) {
		broken(injected);
		return NULL;
	}
	if (!grow(injected, injected->queues, injected->queues_capacity, guest_id))
		return NULL;
	queue = &injected->queues[guest_id - 1];
	if (!queue->id && !hold(injected, THING_BYTES))
		return NULL;
	if (!queue->id)
		queue->id = ++injected->recording->last_queue;
	return queue;
}

/* With what is known of its device by now. */
static void put_queue(struct injected *injected, const struct waiting_queue *waiting)
{
	struct injected_queue *queue = find_queue(injected, waiting->guest_queue);
	struct event_queue row = waiting->row;

	if (!queue)
		return;
	row.device = get_id(&injected->devices, waiting->guest_device);
	row.clock = get_id(&injected->device_clocks, waiting->guest_device);
	injected->untimed_queues +=
		!queue->described && injected->wants_times && !(row.flags & QUEUE_TIMED);
	queue->described = true;
	queue->clock = row.clock;
	devices_note_user(injected->recording, row.device, row.process);
	trace_writer_thing(injected->recording->writer, EVENT_QUEUE, &row);
}

/* guest_device 0: all, whether their device was described or not. */
static void put_waiting_queues(struct injected *injected, uint32_t guest_device)
{
	size_t left = 0;

	for (size_t i = 0; i < injected->waiting_queues_count; i++) {
		const struct waiting_queue *waiting = &injected->waiting_queues[i];

		if (!guest_device || waiting->guest_device == guest_device)
			put_queue(injected, waiting);
		else
			injected->waiting_queues[left++] = *waiting;
	}
	injected->waiting_queues_count = left;
}

/* A device is everybody's and described once, by the first process that has it; id: as which it is counted already, or 0.
 * 0: no room. */
static uint32_t describe_device(struct injected *injected, const struct record_device *record,
				const char *const texts[5], uint32_t id, uint64_t begin_ns,
				uint64_t local_bytes)
{
	const uint32_t type = record->head.detail & ~(uint32_t)RECORD_DEVICE_LOCAL;
	const uint64_t own_bytes = IDENTITY_BYTES + THING_BYTES + strlen(texts[0]);
	struct recording *recording = injected->recording;
	struct event_device device;

	if (!has_room(injected, own_bytes + 5 * TEXT_BYTES + record->head.size))
		return 0;
	device = (struct event_device){
		.id = id ? id : ++recording->last_device,
		.key_string = recording_string(recording, texts[0]),
		.name_string = recording_string(recording, texts[1]),
		.vendor_string = recording_string(recording, texts[2]),
		.driver_string = recording_string(recording, texts[3]),
		.platform_string = recording_string(recording, texts[4]),
		.type = type <= DEVICE_ACCELERATOR ? type : DEVICE_OTHER,
		.compute_units = record->compute_units,
		.memory_bytes = record->memory_bytes,
		.begin_ns = begin_ns,
		.local_bytes = local_bytes,
	};
	devices_remember(recording, texts[0], device.id);
	recording->kept_bytes += own_bytes;
	trace_writer_thing(recording->writer, EVENT_DEVICE, &device);
	return device.id;
}

static void decode_device(struct injected *injected, const struct record *head)
{
	const struct record_device *record = (const struct record_device *)head;
	const char *texts[5]; /* key, name, vendor, driver, platform */
	struct recording *recording = injected->recording;
	uint32_t id, clock = 0;
	uint64_t local_bytes = 0, begin_ns;
	size_t last = head->detail & RECORD_DEVICE_LOCAL ? sizeof(local_bytes) : 0;

	if (head->size < sizeof(*record) + last ||
	    !record_texts(head, offsetof(struct record_device, texts), last, texts, 5))
		return broken(injected);
	memcpy(&local_bytes, (const char *)head + head->size - last, last);
	if (!is_possible(injected, &injected->devices, record->device))
		return;
	id = devices_find(recording, texts[0]);
	begin_ns = id ? devices_take_sketch(recording, id) : host_clocks_now_ns();
	if (begin_ns)
		id = describe_device(injected, record, texts, id, begin_ns, local_bytes);
	/* Described again it has the clock it had. */
	if (id && get_id(&injected->devices, record->device) == id)
		clock = get_id(&injected->device_clocks, record->device);
	if (id && !clock)
		clock = describe_device_clock(injected, id, record->frequency_hz);
	if (!clock || !set_id(injected, &injected->devices, record->device, id) ||
	    !set_id(injected, &injected->device_clocks, record->device, clock))
		return undescribed(injected);
	put_waiting_queues(injected, record->device);
}

static void decode_context(struct injected *injected, const struct record *head)
{
	const struct record_context *record = (const struct record_context *)head;
	struct event_context context = {
		.process = injected->process->row.id,
		.begin_ns = host_clocks_now_ns(),
	};

	if (head->size < sizeof(*record))
		return broken(injected);
	context.id = map_id(injected, &injected->contexts, record->context,
			    &injected->recording->last_context);
	context.handle = record->handle;
	if (context.id)
		trace_writer_thing(injected->recording->writer, EVENT_CONTEXT, &context);
	else if (record->context && record->context <= GUEST_ID_MOST)
		undescribed(injected);
}

static void decode_queue(struct injected *injected, const struct record *head)
{
	const struct record_queue *record = (const struct record_queue *)head;
	struct injected_queue *queue;
	struct waiting_queue waiting;

	if (head->size < sizeof(*record))
		return broken(injected);
	queue = find_queue(injected, record->queue);
	if (!queue) {
		if (record->queue && record->queue <= GUEST_ID_MOST)
			undescribed(injected);
		return;
	}
	waiting = (struct waiting_queue){
		.row = {.id = queue->id,
			.process = injected->process->row.id,
			.context = map_id(injected, &injected->contexts, record->context,
					  &injected->recording->last_context),
			.flags = head->detail & (QUEUE_OUT_OF_ORDER | QUEUE_TIMED |
						 QUEUE_TIMING_FORCED | QUEUE_DIRECT),
			.handle = record->handle,
			.begin_ns = host_clocks_now_ns()},
		.guest_queue = record->queue,
		.guest_device = record->device,
	};
	/* Another thread may have described the device, in a ring that is read after this one. */
	if (record->device && !get_id(&injected->devices, record->device) &&
	    injected->waiting_queues_count < WAITING_QUEUES_MOST &&
	    grow(injected, injected->waiting_queues, injected->waiting_queues_capacity,
		 injected->waiting_queues_count + 1))
		injected->waiting_queues[injected->waiting_queues_count++] = waiting;
	else
		put_queue(injected, &waiting);
}

/* ---- code -------------------------------------------------------------------------------------- */

enum { CODE_KEY_BYTES = 2 * RECORD_TEXT_BYTES + 160 };

/* What makes two descriptions one code object. What came without its content is itself alone. A kernel is one
 * wherever it was launched first, unless its code lies elsewhere. */
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

/* A code object met again (the same source built in each iteration) keeps its first id. */
static bool find_code(struct injected *injected, uint32_t guest_code, const struct event_code *row,
		      const char *name, const char *options)
{
	char key[CODE_KEY_BYTES];
	uint32_t id;

	format_code_key(row, name, options, key);
	id = identities_find(&injected->codes_known, key);
	return id && (!is_possible(injected, &injected->codes, guest_code) ||
		      set_id(injected, &injected->codes, guest_code, id));
}

/* Of one that was not found. */
static void describe_code(struct injected *injected, uint32_t guest_code, struct event_code *row,
			  const char *name, const char *options)
{
	struct recording *recording = injected->recording;
	char key[CODE_KEY_BYTES];

	if (!is_possible(injected, &injected->codes, guest_code))
		return;
	format_code_key(row, name, options, key);
	if (!has_room(injected, strlen(name) + strlen(options) + 2 * TEXT_BYTES) ||
	    !hold(injected, IDENTITY_BYTES + strlen(key)))
		return undescribed(injected);
	row->id = map_id(injected, &injected->codes, guest_code, &recording->last_code);
	if (!row->id)
		return undescribed(injected);
	identities_remember(&injected->codes_known, key, row->id);
	row->name_string = recording_string(recording, name);
	row->options_string = recording_string(recording, options);
	trace_writer_thing(recording->writer, EVENT_CODE, row);
}

/* Before a content is written its code object must be known to find room. */
static void finish_content(struct injected *injected, struct assembly *assembly)
{
	struct trace_writer *writer = injected->recording->writer;
	struct event_code *row = &assembly->row;

	trace_writer_hash(assembly->bytes, assembly->got, &row->hash_low, &row->hash_high);
	if (find_code(injected, assembly->guest_code, row, "", assembly->options))
		return;
	if (!has_room(injected, CONTENT_BYTES + strlen(assembly->options) + TEXT_BYTES))
		return undescribed(injected);
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
		injected->contents_lost++;
		describe_code(injected, assembly->guest_code, &assembly->row, "",
			      assembly->options);
	}
	injected->assembling_bytes -= assembly_bytes(assembly);
	let_go(injected, assembly_bytes(assembly));
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

	if (row->size_bytes > CONTENT_MOST ||
	    injected->assembling_bytes + bytes > ASSEMBLIES_MOST || !hold(injected, bytes))
		return false;
	*assembly = (struct assembly){.row = *row, .guest_code = guest_code};
	assembly->options = strdup(options);
	assembly->bytes = assembly->options ? malloc(row->size_bytes) : NULL;
	if (assembly->bytes) {
		injected->assembling_bytes += bytes;
		return true;
	}
	free(assembly->options);
	*assembly = (struct assembly){0};
	let_go(injected, bytes);
	return false;
}

static void decode_code(struct injected *injected, struct injected_ring *ring,
			const struct record *head)
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
		return broken(injected);
	memcpy(&needs, end - last, needs_bytes);
	memcpy(&place, end - place_bytes, place_bytes);
	decode_end_assembly(injected, ring);
	row = (struct event_code){
		.process = injected->process->row.id,
		.parent = map_id(injected, &injected->codes, record->parent,
				 &injected->recording->last_code),
		.type = type,
		.device = get_id(&injected->devices, record->device),
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
	injected->contents_lost += row.size_bytes != 0;
	if (type == CODE_KERNEL && place.address) {
		row.size_bytes = place.size_bytes;
		/* samples of its first launch may come before this is read */
		if (place.time)
			row.begin_ns =
				recording_host_ns(injected->recording, place.time, &error_ns);
	}
	if (!find_code(injected, record->code, &row, texts[0], texts[1]))
		describe_code(injected, record->code, &row, texts[0], texts[1]);
}

/* Launches tell of it when they are over, and the kernel is known by then. */
static void decode_kernel_needs(struct injected *injected, const struct record *head)
{
	const struct record_kernel_needs *record = (const struct record_kernel_needs *)head;
	struct trace_writer *writer = injected->recording->writer;
	struct event_code row;
	uint32_t id;

	if (head->size < sizeof(*record))
		return broken(injected);
	id = get_id(&injected->codes, record->code);
	if (!id || !trace_writer_find_thing(writer, EVENT_CODE, id, &row) ||
	    row.type != CODE_KERNEL)
		return;
	row.registers = record->registers;
	row.local_bytes = record->local_bytes;
	trace_writer_thing(writer, EVENT_CODE, &row);
}

static void decode_bytes(struct injected *injected, struct injected_ring *ring,
			 const struct record *head)
{
	const struct record_bytes *record = (const struct record_bytes *)head;
	struct assembly *assembly = &ring->assembly;
	uint32_t length = head->detail;

	if (head->size < sizeof(*record) || length > head->size - sizeof(*record))
		return broken(injected);
	/* A piece before this one was lost: what follows does not fit any more, and the end notices. */
	if (!assembly->bytes || assembly->guest_code != record->code ||
	    record->offset != assembly->got || length > assembly->row.size_bytes - assembly->got)
		return;
	memcpy(assembly->bytes + assembly->got, record->bytes, length);
	assembly->got += length;
	if (assembly->got == assembly->row.size_bytes)
		decode_end_assembly(injected, ring);
}

/* ---- happenings -------------------------------------------------------------------------------- */

static void decode_function(struct injected *injected, struct injected_ring *ring,
			    const struct record *head)
{
	const uint32_t index = head->detail - RECORD_FUNCTION_FIRST;
	const char *name;

	if (!record_texts(head, offsetof(struct record_function, texts), 0, &name, 1) ||
	    index >= RECORD_FUNCTION_MOST)
		return broken(injected);
	if (!has_room(injected, strlen(name) + TEXT_BYTES))
		return undescribed(injected);
	if (!ring->functions && hold(injected, RECORD_FUNCTION_MOST * sizeof(*ring->functions)))
		ring->functions = calloc(RECORD_FUNCTION_MOST, sizeof(*ring->functions));
	if (!ring->functions)
		return undescribed(injected);
	ring->functions[index] = recording_string(injected->recording, name);
}

/* Of a function that the guest has named itself. */
static uint32_t named_function(struct injected *injected, const struct injected_ring *ring,
			       uint32_t function)
{
	uint32_t index = function - RECORD_FUNCTION_FIRST;

	if (ring->functions && index < RECORD_FUNCTION_MOST && ring->functions[index])
		return ring->functions[index];
	broken(injected);
	return 0;
}

static uint32_t function_string(struct injected *injected, const struct injected_ring *ring,
				uint32_t function)
{
	struct recording *recording = injected->recording;
	const char *name = guest_function_name(function);

	if (function >= RECORD_FUNCTION_FIRST)
		return named_function(injected, ring, function);

	if (!*name) {
		broken(injected);
		return 0;
	}
	if (!recording->functions[function])
		recording->functions[function] = recording_string(recording, name);
	return recording->functions[function];
}

static void decode_api(struct injected *injected, struct injected_ring *ring,
		       const struct record *head)
{
	const struct record_api *record = (const struct record_api *)head;
	struct event_api row;

	if (head->size < RECORD_API_BYTES)
		return broken(injected);
	row = (struct event_api){
		.begin = record->begin,
		.end = record->end,
		.thread = ring->thread.id,
		.function_string = function_string(injected, ring, head->detail & 0xffff),
		.result = record->result,
		.type = head->detail >> 16 & 3,
		.argument = head->size >= RECORD_API_ARGUMENT_BYTES ? record->argument : 0,
		.stack = stacks_find(&ring->stacks, record->stack),
	};
	if (row.type > API_TYPE_DUET)
		return broken(injected);
	if (row.type == API_TYPE_WAIT && row.argument) {
		struct injected_queue *queue = find_queue(injected, (uint32_t)row.argument);

		row.argument = queue ? queue->id : 0;
	}
	put_row(injected, EVENT_API, ring->thread.id, &row);
}

/* Commands are counted anew with each attachment of each guest of a process, up to 2^56. 0: the call failed. */
static uint64_t correlation_of(const struct injected *injected, uint64_t correlation)
{
	return correlation ? correlation | (uint64_t)(injected->attachment & 0xff) << 56 : 0;
}

/* clock 0: nobody knows whose times they are. */
static void put_execution(struct injected *injected, const struct event_execution *execution,
			  uint32_t clock)
{
	struct trace_source source = source_of(injected, execution->queue);
	struct event_execution row = *execution;

	if (!clock)
		row.valid = 0;
	if (row.valid)
		source.clock = clock;
	trace_writer_row(injected->recording->writer, EVENT_EXECUTION, &source, &row);
}

/* A command without device times is known to have been launched and nothing else: said at once. */
static void put_untimed(struct injected *injected, const struct event_launch *launch)
{
	struct event_execution row = {
		.seen = launch->exit,
		.correlation = launch->correlation,
		.process = injected->process->row.id,
		.queue = launch->queue,
	};

	put_execution(injected, &row, 0);
}

static void put_dependencies(struct injected *injected, uint32_t thread,
			     const struct record_launch *record, const uint64_t *handles)
{
	for (uint32_t i = 0; i < record->wait_count; i++) {
		struct event_dependency row = {
			.time = record->enter,
			.process = injected->process->row.id,
			.correlation = correlation_of(injected, record->correlation),
			.handle = handles[i],
		};

		put_row(injected, EVENT_DEPENDENCY, thread, &row);
	}
}

static uint32_t stack_of(const struct injected_ring *ring, const struct record_launch *record)
{
	uint32_t before = 2u * record->dimensions + record->wait_count;
	uint32_t values = (uint32_t)(record->head.size - sizeof(*record)) / 8;

	return record->head.detail >> 24 & RECORD_LAUNCH_STACK && before < values
		       ? stacks_find(&ring->stacks, record->values[before])
		       : 0;
}

/* The thread's way into the driver, too, where that is known. Its time may be off by how well two clocks are known. */
static uint32_t launch_stack(struct injected *injected, const struct injected_ring *ring,
			     const struct record_launch *record)
{
	struct recording *recording = injected->recording;
	const uint32_t stack = stack_of(ring, record);
	struct driver_call call = {.tid = ring->thread.tid};
	uint64_t error_ns;

	if (!stack || !recording->submissions.catch_up)
		return stack;
	call.enter_ns = recording_host_ns(recording, record->enter, &error_ns);
	if (error_ns > CLOCK_ERROR_MOST_NS)
		return stack;
	call.enter_ns -= error_ns;
	call.exit_ns = recording_host_ns(recording, record->exit, &error_ns) + error_ns;
	return driver_calls_extend(recording, &call, stack);
}

/* What it launched is told of by the device, and may be told of before. */
static void remember_call(struct injected *injected, const struct event_launch *row,
			  uint64_t correlation)
{
	const struct node_call call = {
		.correlation = correlation,
		.enter = row->enter,
		.exit = row->exit,
		.thread = row->thread,
		.function_string = row->function_string,
		.stack = row->stack,
	};

	if (!correlation)
		return;
	if (!injected->nodes.calls && !hold(injected, NODE_CALLS * sizeof(*injected->nodes.calls)))
		return;
	nodes_remember(&injected->nodes, &call);
}

/* A call whose commands have rows of their own. */
static void put_call(struct injected *injected, const struct event_launch *launch)
{
	struct event_api row = {
		.begin = launch->enter,
		.end = launch->exit,
		.thread = launch->thread,
		.function_string = launch->function_string,
		.result = launch->result,
		.type = API_TYPE_CALL,
		.stack = launch->stack,
	};

	put_row(injected, EVENT_API, launch->thread, &row);
}

static void decode_launch(struct injected *injected, struct injected_ring *ring,
			  const struct record *head)
{
	const struct record_launch *record = (const struct record_launch *)head;
	struct injected_queue *queue;
	struct event_launch row;

	if (head->size < sizeof(*record) || record->dimensions > 3 ||
	    head->size - sizeof(*record) < 8u * (2u * record->dimensions + record->wait_count))
		return broken(injected);
	queue = find_queue(injected, record->queue);
	row = (struct event_launch){
		.enter = record->enter,
		.exit = record->exit,
		.thread = ring->thread.id,
		.function_string = function_string(injected, ring, head->detail & 0xffff),
		.result = record->result,
		.queue = queue ? queue->id : 0,
		.correlation = correlation_of(injected, record->correlation),
		.command = head->detail >> 16 & 0xff,
		.flags = head->detail >> 24 &
			 ~(uint32_t)(RECORD_LAUNCH_STACK | RECORD_LAUNCH_PARENT),
		.kernel = map_id(injected, &injected->codes, record->kernel,
				 &injected->recording->last_code),
		.dimensions = record->dimensions,
		.bytes = record->bytes,
		.handle = record->handle,
		.stack = launch_stack(injected, ring, record),
	};
	if (row.command >= COMMAND_COUNT)
		row.command = COMMAND_OTHER;
	for (uint32_t i = 0; i < row.dimensions; i++) {
		row.global_size[i] = record->values[i];
		row.local_size[i] = record->values[row.dimensions + i];
	}
	if (head->detail >> 24 & RECORD_LAUNCH_PARENT) {
		remember_call(injected, &row, record->correlation);
		if (row.command == COMMAND_GRAPH)
			return put_call(injected, &row);
	}
	put_row(injected, EVENT_LAUNCH, ring->thread.id, &row);
	put_dependencies(injected, ring->thread.id, record, record->values + 2 * row.dimensions);
	if (row.result == 0 && (row.flags & LAUNCH_UNTIMED))
		put_untimed(injected, &row);
}

static void keep_waiting(struct injected *injected, const struct event_execution *row,
			 uint32_t guest_queue)
{
	if (injected->waiting_count >= WAITING_MOST ||
	    !grow(injected, injected->waiting, injected->waiting_capacity,
		  injected->waiting_count + 1)) {
		injected->waiting_lost++;
		return;
	}
	injected->waiting[injected->waiting_count++] =
		(struct waiting_execution){.row = *row, .guest_queue = guest_queue};
}

/* Where the device is known whose times they are, now, else when it is. */
static void take_execution(struct injected *injected, const struct event_execution *row,
			   uint32_t guest_queue)
{
	struct injected_queue *queue = find_queue(injected, guest_queue);

	if (queue && !queue->described)
		keep_waiting(injected, row, guest_queue);
	else
		put_execution(injected, row, queue ? queue->clock : 0);
}

static void decode_execution(struct injected *injected, const struct record *head)
{
	const struct record_execution *record = (const struct record_execution *)head;
	struct injected_queue *queue;
	struct event_execution row;

	if (head->size < sizeof(*record))
		return broken(injected);
	queue = find_queue(injected, record->queue);
	row = (struct event_execution){
		.queued = record->queued,
		.submitted = record->submitted,
		.started = record->started,
		.ended = record->ended,
		.seen = record->seen,
		.correlation = correlation_of(injected, record->correlation),
		.process = injected->process->row.id,
		.queue = queue ? queue->id : 0,
		.valid = head->detail & EXECUTION_TIMED,
		.status = record->status,
	};
	take_execution(injected, &row, record->queue);
}

/* ---- nodes ------------------------------------------------------------------------------------- */

static void put_node(struct injected *injected, struct waiting_node *node,
		     const struct node_call *call)
{
	nodes_complete(&injected->nodes, injected->recording, node, call);
	put_row(injected, EVENT_LAUNCH, node->launch.thread, &node->launch);
	take_execution(injected, &node->execution, node->guest_queue);
}

static bool keep_node(struct injected *injected, const struct waiting_node *node)
{
	struct nodes *nodes = &injected->nodes;

	if (nodes->waiting_count >= NODES_WAITING_MOST ||
	    !grow(injected, nodes->waiting, nodes->waiting_capacity, nodes->waiting_count + 1))
		return false;
	nodes->waiting[nodes->waiting_count++] = *node;
	return true;
}

static void decode_node(struct injected *injected, const struct record *head)
{
	const struct record_node *record = (const struct record_node *)head;
	const struct node_call *call;
	struct injected_queue *queue;
	struct waiting_node node;
	bool is_whole;

	if (head->size < sizeof(*record) || record->dimensions > 3 ||
	    head->size - sizeof(*record) < 16u * record->dimensions)
		return broken(injected);
	queue = find_queue(injected, record->queue);
	node = (struct waiting_node){
		.parent = record->parent,
		.graph_node = record->graph_node,
		.guest_queue = record->queue,
		.launch = {.enter = record->seen,
			   .exit = record->seen,
			   .queue = queue ? queue->id : 0,
			   .correlation = correlation_of(injected, record->correlation),
			   .command = head->detail >> 16 & 0xff,
			   .flags = LAUNCH_FURTHER,
			   .kernel = map_id(injected, &injected->codes, record->kernel,
					    &injected->recording->last_code),
			   .dimensions = record->dimensions,
			   .bytes = record->bytes},
		.execution = {.queued = record->queued,
			      .submitted = record->submitted,
			      .started = record->started,
			      .ended = record->ended,
			      .seen = record->seen,
			      .correlation = correlation_of(injected, record->correlation),
			      .process = injected->process->row.id,
			      .queue = queue ? queue->id : 0,
			      .valid = head->detail & EXECUTION_TIMED,
			      .status = record->status},
	};
	if (node.launch.command >= COMMAND_COUNT)
		node.launch.command = COMMAND_OTHER;
	for (uint32_t i = 0; i < record->dimensions; i++) {
		node.launch.global_size[i] = record->values[i];
		node.launch.local_size[i] = record->values[record->dimensions + i];
	}
	call = nodes_find(&injected->nodes, record->parent);
	/* What made it may be in a ring that comes later in this round. */
	is_whole = !record->parent ||
		   (call && (!record->graph_node ||
			     nodes_is_captured(&injected->nodes, record->graph_node)));
	if (is_whole || !keep_node(injected, &node))
		put_node(injected, &node, call);
}

static void decode_captured(struct injected *injected, struct injected_ring *ring,
			    const struct record *head)
{
	const struct record_captured *record = (const struct record_captured *)head;
	struct captured captured;

	if (head->size < sizeof(*record) || !record->node)
		return broken(injected);
	if (!hold(injected, CAPTURED_BYTES))
		return undescribed(injected);
	if (record->original) {
		nodes_copy(&injected->nodes, record->node, record->original);
		return;
	}
	captured = (struct captured){function_string(injected, ring, head->detail & 0xffff),
				     stacks_find(&ring->stacks, record->stack)};
	nodes_capture(&injected->nodes, record->node, &captured);
}

/* final: their calls will not come any more. */
static void decode_waiting_nodes(struct injected *injected, bool final)
{
	struct nodes *nodes = &injected->nodes;
	size_t left = 0;

	for (size_t i = 0; i < nodes->waiting_count; i++) {
		struct waiting_node node = nodes->waiting[i];
		const struct node_call *call = nodes_find(nodes, node.parent);

		if (call || final)
			put_node(injected, &node, call);
		else
			nodes->waiting[left++] = node;
	}
	nodes->waiting_count = left;
}

/* ---- what waits -------------------------------------------------------------------------------- */

void decode_waiting(struct injected *injected, bool final)
{
	size_t left = 0;

	if (final)
		put_waiting_queues(injected, 0);
	decode_waiting_nodes(injected, final);
	for (size_t i = 0; i < injected->waiting_count; i++) {
		struct waiting_execution *waiting = &injected->waiting[i];
		struct injected_queue *queue = find_queue(injected, waiting->guest_queue);

		if (queue && (queue->described || final)) {
			put_execution(injected, &waiting->row, queue->clock);
		} else {
			injected->waiting[left++] = *waiting;
		}
	}
	injected->waiting_count = left;
}

static void decode_clock_pair(struct injected *injected, const struct record *head)
{
	const struct record_clock_pair *record = (const struct record_clock_pair *)head;
	struct trace_source source = {0};
	struct event_clock_pair row;
	uint64_t before_error, after_error;

	if (head->size < sizeof(*record))
		return broken(injected);
	source.clock = get_id(&injected->device_clocks, record->device);
	row = (struct event_clock_pair){
		.time = record->time,
		.host_lower_ns =
			recording_host_ns(injected->recording, record->before, &before_error),
		.host_upper_ns =
			recording_host_ns(injected->recording, record->after, &after_error),
	};
	row.host_lower_ns -= before_error < row.host_lower_ns ? before_error : row.host_lower_ns;
	row.host_upper_ns += after_error;
	if (source.clock)
		trace_writer_row(injected->recording->writer, EVENT_CLOCK_PAIR, &source, &row);
}

static const char *unit_name(uint32_t unit)
{
	static const char *const names[] = {
#define PC_UNIT(number, name, text) [number] = (text),
#include "event/pc_sampling.h"
#undef PC_UNIT
	};

	return unit < ARRAY_COUNT(names) ? names[unit] : "";
}

static const char *stall_name(uint32_t stall)
{
	static const char *const names[] = {
#define PC_STALL(number, text) [number] = (text),
#include "event/pc_sampling.h"
#undef PC_STALL
	};

	return stall < ARRAY_COUNT(names) && names[stall] ? names[stall] : "";
}

static uint32_t stall_string(struct injected *injected, const struct injected_ring *ring,
			     uint32_t stall)
{
	return stall >= RECORD_FUNCTION_FIRST
		       ? named_function(injected, ring, stall)
		       : recording_string(injected->recording, stall_name(stall));
}

/* detail: of either record. */
static void write_samples(struct injected *injected, const struct injected_ring *ring,
			  uint32_t detail, const struct record_samples *record)
{
	struct trace_source source = source_of(injected, injected->process->row.id);
	struct event_instruction_sample row = {
		.begin = record->begin,
		.end = record->end,
		.offset = record->offset,
		.correlation =
			record->correlation ? correlation_of(injected, record->correlation) : 0,
		.count = record->count,
		.period = record->period,
		.period_unit_string =
			recording_string(injected->recording, unit_name(detail >> 16)),
		.stall_string = stall_string(injected, ring, detail & 0xffff),
		.process = injected->process->row.id,
		.device = get_id(&injected->devices, record->device),
		.code = record->code ? map_id(injected, &injected->codes, record->code,
					      &injected->recording->last_code)
				     : 0,
	};

	source.clock = get_id(&injected->device_clocks, record->device);
	/* Of a device that was never described nobody could place the time. */
	if (!source.clock)
		return broken(injected);
	trace_writer_row(injected->recording->writer, EVENT_INSTRUCTION_SAMPLE, &source, &row);
}

static void decode_instruction(struct injected *injected, const struct injected_ring *ring,
			       const struct record *head)
{
	const struct record_instruction *record = (const struct record_instruction *)head;

	if (head->size < sizeof(*record))
		return broken(injected);
	write_samples(injected, ring, head->detail,
		      &(struct record_samples){.begin = record->time,
					       .end = record->time,
					       .offset = record->offset,
					       .count = 1,
					       .period = record->period,
					       .code = record->code,
					       .device = record->device});
}

static void decode_samples(struct injected *injected, const struct injected_ring *ring,
			   const struct record *head)
{
	const struct record_samples *record = (const struct record_samples *)head;

	if (head->size < sizeof(*record) || record->end < record->begin)
		return broken(injected);
	write_samples(injected, ring, head->detail, record);
}

static void tell_refused(const struct injected *injected)
{
	const struct recording *recording = injected->recording;

	if (recording->on_refused)
		recording->on_refused(recording->refused_context, injected->collector,
				      injected->process->row.pid);
}

static void decode_refused(struct injected *injected, const struct record *head)
{
	const struct record_refused *record = (const struct record_refused *)head;
	const struct event_process *process = &injected->process->row;
	const char *texts[2]; /* function, holder */
	char text[512];
	int length;

	if (head->size < sizeof(*record) || !injected->explain ||
	    !record_texts(head, offsetof(struct record_refused, texts), 0, texts, 2))
		return broken(injected);
	if (++injected->refusals > REFUSALS_MOST)
		return;
	if (!has_room(injected, sizeof(text) + TEXT_BYTES))
		return undescribed(injected);
	length = snprintf(text, sizeof(text), "%u %.64s: ", process->pid, injected->name);
	injected->explain(texts[0], record->result, texts[1], text + length,
			  sizeof(text) - (size_t)length);
	recording_note(injected->recording, injected->collector,
		       head->detail == REFUSED_ALL     ? COLLECTOR_REFUSED
		       : head->detail == REFUSED_LATER ? COLLECTOR_AVAILABLE
						       : COLLECTOR_PARTIAL,
		       process->id, text);
	if (head->detail != REFUSED_LATER)
		recording_warn(injected->recording, text);
	if (head->detail == REFUSED_ALL)
		tell_refused(injected);
}

typedef bool take_stack_record(struct stacks *, const struct stacks_owner *, const struct record *);

static void decode_stack_record(struct injected *injected, struct injected_ring *ring,
				take_stack_record *take, const struct record *record)
{
	const struct stacks_owner owner = {
		.recording = injected->recording,
		.pid = injected->process->row.pid,
		.pid_fd = injected->pid_fd,
		.process = injected->process->row.id,
		.collector = injected->collector,
		.made = &injected->made,
		.images = &injected->images,
		.exe = injected->exe ? injected->exe : "",
		.looks = &injected->looks,
		.bytes = &injected->stack_bytes,
		.held = &injected->held_bytes,
		.room = &injected->room_bytes,
		.refused = &injected->stacks_refused,
	};

	if (!take(&ring->stacks, &owner, record))
		broken(injected);
}

static void decode(struct injected *injected, struct injected_ring *ring,
		   const struct record *record)
{
	switch (record->kind) {
	case EVENT_API:
		return decode_api(injected, ring, record);
	case EVENT_LAUNCH:
		return decode_launch(injected, ring, record);
	case EVENT_EXECUTION:
		return decode_execution(injected, record);
	case EVENT_INSTRUCTION_SAMPLE:
		return decode_instruction(injected, ring, record);
	case RECORD_SAMPLES:
		return decode_samples(injected, ring, record);
	case EVENT_DEVICE:
		return decode_device(injected, record);
	case EVENT_CONTEXT:
		return decode_context(injected, record);
	case EVENT_QUEUE:
		return decode_queue(injected, record);
	case EVENT_CODE:
		return decode_code(injected, ring, record);
	case RECORD_BYTES:
		return decode_bytes(injected, ring, record);
	case EVENT_RANGE:
		return ranges_take(injected, ring, record) ? (void)0 : broken(injected);
	case EVENT_COUNTER:
		return program_counters_take(injected, record) ? (void)0 : broken(injected);
	case EVENT_CLOCK_PAIR:
		return decode_clock_pair(injected, record);
	case RECORD_FUNCTION:
		return decode_function(injected, ring, record);
	case RECORD_NODE:
		return decode_node(injected, record);
	case RECORD_KERNEL_NEEDS:
		return decode_kernel_needs(injected, record);
	case RECORD_CAPTURED:
		return decode_captured(injected, ring, record);
	case RECORD_REFUSED:
		return decode_refused(injected, record);
	case RECORD_STACK:
		return decode_stack_record(injected, ring, stacks_take_stack, record);
	case RECORD_PYTHON_CODE:
		return decode_stack_record(injected, ring, stacks_take_function, record);
	case RECORD_MODULE:
		return decode_stack_record(injected, ring, stacks_take_module, record);
	default:
		return broken(injected);
	}
}

void decode_record(struct injected *injected, struct injected_ring *ring,
		   const struct record *record)
{
	const struct recording *recording = injected->recording;
	uint64_t kept_bytes = recording->kept_bytes;

	decode(injected, ring, record);
	kept_bytes = recording->kept_bytes - kept_bytes;
	/* Stacks have a limit of their own. */
	if (record->kind < RECORD_STACK)
		injected->described_bytes += kept_bytes;
	injected->room_bytes -=
		kept_bytes < injected->room_bytes ? kept_bytes : injected->room_bytes;
}
