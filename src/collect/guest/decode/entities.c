/* SPDX-License-Identifier: MIT
 *
 * collect/guest/decode/entities.c - turns a guest's ids, devices, contexts and queues into entities
 *
 * Runs in:  the recorder
 * Gets:     ids of a guest, and records that describe entities
 * Gives:    ids of the trace, entities
 * Owns:     nothing; the tables belong to struct injected
 * Fails:    an impossible id is counted as broken, and an entity without room as undescribed
 * Why:      A record may use an id before its description, which may be in a ring that is read
 * later. So the trace's id is assigned at the first use.
 */
#include "collect/guest/decode/private.h"

#include <string.h>

#include "base/array.h"
#include "collect/devices.h"
#include "collect/guest/record_texts.h"
#include "collect/host_clocks.h"

/* Limits on ids in corrupt records. No program has a million queues. Some programs build their code
 * anew in each iteration, with one id each for source, log and binary. */
enum { MAX_GUEST_ID = 1 << 20, MAX_GUEST_CODE = 1 << 22, MAX_WAITING_QUEUES = 1 << 10 };

bool decode_grow_items(struct injected *injected, void **items, size_t *capacity, size_t count,
		       size_t size)
{
	size_t before = *capacity, wanted = before ? before : 8;

	if (count <= before)
		return true;
	while (wanted < count)
		wanted *= 2;
	if (!guest_budget_hold(&injected->budget, (wanted - before) * size))
		return false;
	if (array_reserve(items, capacity, count, size) == 0)
		return true;
	guest_budget_release(&injected->budget, (wanted - before) * size);
	return false;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static uint32_t max_id(const struct injected *injected, const struct id_map *map)
{
	return map == &injected->ids.codes ? MAX_GUEST_CODE : MAX_GUEST_ID;
}

uint32_t decode_get_id(const struct id_map *map, uint32_t guest_id)
{
	return guest_id && guest_id <= map->capacity ? map->items[guest_id - 1] : 0;
}

bool decode_is_possible(struct injected *injected, const struct id_map *map, uint32_t guest_id)
{
	if (guest_id && guest_id <= max_id(injected, map))
		return true;
	decode_broken(injected);
	return false;
}

uint32_t decode_map_id(struct injected *injected, struct id_map *map, uint32_t guest_id,
		       uint32_t *last)
{
	uint32_t known = decode_get_id(map, guest_id);

	if (known || !guest_id || !decode_is_possible(injected, map, guest_id))
		return known;
	if (!decode_grow(injected, map->items, map->capacity, guest_id) ||
	    !guest_budget_hold(&injected->budget, ENTITY_BYTES))
		return 0;
	map->items[guest_id - 1] = ++*last;
	return *last;
}

bool decode_set_id(struct injected *injected, struct id_map *map, uint32_t guest_id, uint32_t id)
{
	if (!decode_grow(injected, map->items, map->capacity, guest_id))
		return false;
	map->items[guest_id - 1] = id;
	return true;
}

/* ---- entities -------------------------------------------------------------------------------- */

/* Returns the new clock's id; 0: no room. */
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

	if (!guest_budget_hold(&injected->budget, ENTITY_BYTES))
		return 0;
	clock.id = ++injected->recording->last_clock;
	trace_writer_entity(injected->recording->writer, EVENT_CLOCK, &clock);
	return clock.id;
}

struct injected_queue *decode_find_queue(struct injected *injected, uint32_t guest_id)
{
	struct injected_queue *queue;

	if (!guest_id)
		return NULL;
	if (guest_id > MAX_GUEST_ID) {
		decode_broken(injected);
		return NULL;
	}
	if (!decode_grow(injected, injected->ids.queues, injected->ids.queues_capacity, guest_id))
		return NULL;
	queue = &injected->ids.queues[guest_id - 1];
	if (!queue->id && !guest_budget_hold(&injected->budget, ENTITY_BYTES))
		return NULL;
	if (!queue->id)
		queue->id = ++injected->recording->last_queue;
	return queue;
}

/* Writes the queue with the device and clock that are known by now. */
static void put_queue(struct injected *injected, const struct waiting_queue *waiting)
{
	struct injected_queue *queue = decode_find_queue(injected, waiting->guest_queue);
	struct event_queue row = waiting->row;

	if (!queue)
		return;
	row.device = decode_get_id(&injected->ids.devices, waiting->guest_device);
	row.clock = decode_get_id(&injected->ids.device_clocks, waiting->guest_device);
	injected->notes.untimed_queues += !queue->described &&
					  (injected->region.options & RING_OPTION_DEVICE_TIME) &&
					  !(row.flags & QUEUE_TIMED);
	queue->described = true;
	queue->clock = row.clock;
	devices_note_user(injected->recording, row.device, row.process);
	trace_writer_entity(injected->recording->writer, EVENT_QUEUE, &row);
}

void decode_put_waiting_queues(struct injected *injected, uint32_t guest_device)
{
	size_t left = 0;

	for (size_t i = 0; i < injected->pending.queues_count; i++) {
		const struct waiting_queue *waiting = &injected->pending.queues[i];

		if (!guest_device || waiting->guest_device == guest_device)
			put_queue(injected, waiting);
		else
			injected->pending.queues[left++] = *waiting;
	}
	injected->pending.queues_count = left;
}

/* Devices are shared by all processes. The first process that reports one describes it. id: the id
 * that a counter gave it already, or 0. Returns the id; 0: no room. */
static uint32_t describe_device(struct injected *injected, const struct record_device *record,
				const char *const texts[5], uint32_t id, uint64_t begin_ns,
				uint64_t local_bytes)
{
	const uint32_t type = record->head.detail & ~(uint32_t)RECORD_DEVICE_LOCAL;
	const uint64_t own_bytes = IDENTITY_BYTES + ENTITY_BYTES + strlen(texts[0]);
	struct recording *recording = injected->recording;
	struct event_device device;

	if (!guest_budget_has(&injected->budget, own_bytes + 5 * TEXT_BYTES + record->head.size))
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
		.parent = devices_parent(recording, id),
	};
	devices_remember(recording, texts[0], device.id);
	recording->kept_bytes += own_bytes;
	trace_writer_entity(recording->writer, EVENT_DEVICE, &device);
	return device.id;
}

void decode_device(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_device *record = (const struct record_device *)head;
	const char *texts[5]; /* key, name, vendor, driver, platform */
	struct recording *recording = injected->recording;
	uint32_t id, clock = 0;
	uint64_t local_bytes = 0, begin_ns;
	size_t last = head->detail & RECORD_DEVICE_LOCAL ? sizeof(local_bytes) : 0;

	if (head->size < sizeof(*record) + last ||
	    !record_texts(head, offsetof(struct record_device, texts), last, texts, 5))
		return decode_broken(injected);
	memcpy(&local_bytes, (const char *)head + head->size - last, last);
	if (!decode_is_possible(injected, &injected->ids.devices, record->device))
		return;
	id = devices_find(recording, texts[0]);
	begin_ns = id ? devices_take_sketch(recording, id) : host_clocks_now_ns();
	if (begin_ns)
		id = describe_device(injected, record, texts, id, begin_ns, local_bytes);
	/* A device that is described again keeps its clock. */
	if (id && decode_get_id(&injected->ids.devices, record->device) == id)
		clock = decode_get_id(&injected->ids.device_clocks, record->device);
	if (id && !clock)
		clock = describe_device_clock(injected, id, record->frequency_hz);
	if (!clock || !decode_set_id(injected, &injected->ids.devices, record->device, id) ||
	    !decode_set_id(injected, &injected->ids.device_clocks, record->device, clock))
		return decode_undescribed(injected);
	decode_put_waiting_queues(injected, record->device);
}

void decode_context(struct injected *injected, struct injected_ring *ring,
		    const struct record *head)
{
	const struct record_context *record = (const struct record_context *)head;
	struct event_context context = {
		.process = injected->process->row.id,
		.begin_ns = host_clocks_now_ns(),
	};

	context.id = decode_map_id(injected, &injected->ids.contexts, record->context,
				   &injected->recording->last_context);
	context.handle = record->handle;
	if (context.id)
		trace_writer_entity(injected->recording->writer, EVENT_CONTEXT, &context);
	else if (record->context && record->context <= MAX_GUEST_ID)
		decode_undescribed(injected);
}

void decode_queue(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_queue *record = (const struct record_queue *)head;
	struct injected_queue *queue;
	struct waiting_queue waiting;

	queue = decode_find_queue(injected, record->queue);
	if (!queue) {
		if (record->queue && record->queue <= MAX_GUEST_ID)
			decode_undescribed(injected);
		return;
	}
	waiting = (struct waiting_queue){
		.row = {.id = queue->id,
			.process = injected->process->row.id,
			.context = decode_map_id(injected, &injected->ids.contexts, record->context,
						 &injected->recording->last_context),
			.flags = head->detail & (QUEUE_OUT_OF_ORDER | QUEUE_TIMED |
						 QUEUE_TIMING_FORCED | QUEUE_DIRECT),
			.handle = record->handle,
			.begin_ns = host_clocks_now_ns()},
		.guest_queue = record->queue,
		.guest_device = record->device,
	};
	/* Another thread may have described the device in a ring that is read later in this
	 * round. */
	if (record->device && !decode_get_id(&injected->ids.devices, record->device) &&
	    injected->pending.queues_count < MAX_WAITING_QUEUES &&
	    decode_grow(injected, injected->pending.queues, injected->pending.queues_capacity,
			injected->pending.queues_count + 1))
		injected->pending.queues[injected->pending.queues_count++] = waiting;
	else
		put_queue(injected, &waiting);
}
