/* SPDX-License-Identifier: MIT
 *
 * collect/devices.c - one id per device, whichever collector sees it first
 *
 * Runs in:  the recorder
 * Gets:     UUIDs and addresses
 * Gives:    ids, one for each device
 * Owns:     nothing; the identities belong to the recording
 * Fails:    without memory, a device may get a second id
 * Why all names: A device is known by all its names, because NVML gives UUID and address, OpenCL
 *           one of them, and the kernel an address only. An ordinal identifies no device, because
 *           it depends on the process.
 */
#include "collect/devices.h"

#include <stdio.h>
#include <string.h>

#include "collect/host_clocks.h"

enum { KEY_BYTES = 4200 };

/* The prefix separates devices from other identities in the same table. */
static const char *key_text(char text[KEY_BYTES], const char *key)
{
	snprintf(text, KEY_BYTES, "device %s", key);
	return text;
}

uint32_t devices_find(const struct recording *recording, const char *key)
{
	char text[KEY_BYTES];

	return identities_find(&recording->device_table.known, key_text(text, key));
}

void devices_remember(struct recording *recording, const char *key, uint32_t id)
{
	char text[KEY_BYTES];

	identities_remember(&recording->device_table.known, key_text(text, key), id);
}

static uint64_t user_key(uint32_t id, uint32_t process)
{
	return (uint64_t)id << 32 | process;
}

void devices_note_user(struct recording *recording, uint32_t id, uint32_t process)
{
	hash_map_put(&recording->device_table.users, user_key(id, process), 1);
}

bool devices_has_user(const struct recording *recording, uint32_t id, uint32_t process)
{
	return hash_map_get(&recording->device_table.users, user_key(id, process), 0) != 0;
}

uint32_t devices_parent(const struct recording *recording, uint32_t id)
{
	return (uint32_t)hash_map_get(&recording->device_table.parents, id, 0);
}

uint64_t devices_take_sketch(struct recording *recording, uint32_t id)
{
	uint64_t begin_ns = 0;

	hash_map_remove(&recording->device_table.sketches, id, &begin_ns);
	return begin_ns;
}

/* NVIDIA puts "GPU-" before the UUID of a whole GPU; OpenCL does not. */
static const char *plain_uuid(const char *uuid)
{
	return strncmp(uuid, "GPU-", 4) == 0 ? uuid + 4 : uuid;
}

static uint32_t text_of(struct recording *recording, const char *text)
{
	return text ? recording_string(recording, text) : 0;
}

static void describe(struct recording *recording, const struct device_facts *facts, const char *key,
		     uint32_t id, uint64_t begin_ns)
{
	const struct event_device row = {
		.id = id,
		.key_string = recording_string(recording, key),
		.name_string = text_of(recording, facts->name),
		.vendor_string = text_of(recording, facts->vendor),
		.driver_string = text_of(recording, facts->driver),
		.type = DEVICE_GPU,
		.memory_bytes = facts->memory_bytes,
		.begin_ns = begin_ns,
		.parent = devices_parent(recording, id),
	};

	recording->kept_bytes += IDENTITY_BYTES + ENTITY_BYTES;
	hash_map_put(&recording->device_table.sketches, row.id, row.begin_ns);
	trace_writer_entity(recording->writer, EVENT_DEVICE, &row);
}

/* CUDA reports the bytes of a MIG instance's UUID without "MIG-", like those of a whole GPU. */
static void remember_instance(struct recording *recording, const char *bare, uint32_t id)
{
	char text[80];

	snprintf(text, sizeof(text), "GPU-%.64s", bare);
	devices_remember(recording, bare, id);
	devices_remember(recording, text, id);
}

uint32_t devices_meet(struct recording *recording, const struct device_facts *facts)
{
	const char *uuid = facts->uuid ? plain_uuid(facts->uuid) : NULL;
	uint32_t id = uuid ? devices_find(recording, uuid) : 0;
	uint64_t begin_ns;

	if (!id && facts->address)
		id = devices_find(recording, facts->address);
	begin_ns = id ? 0 : host_clocks_now_ns();
	if (!id)
		id = ++recording->last_device;
	if (uuid)
		devices_remember(recording, uuid, id);
	if (facts->uuid)
		devices_remember(recording, facts->uuid, id);
	if (uuid && strncmp(uuid, "MIG-", 4) == 0)
		remember_instance(recording, uuid + 4, id);
	if (facts->address)
		devices_remember(recording, facts->address, id);
	if (facts->parent && !devices_parent(recording, id)) {
		hash_map_put(&recording->device_table.parents, id, facts->parent);
		/* Only what a collector of counters has described without the parent is described
		 * again. A guest's description stays without it. */
		begin_ns = begin_ns ? begin_ns : devices_take_sketch(recording, id);
	}
	/* after its names, by which record --device finds it */
	if (begin_ns)
		describe(recording, facts, uuid ? uuid : facts->address, id, begin_ns);
	return id;
}
