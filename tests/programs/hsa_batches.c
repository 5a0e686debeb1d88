/* SPDX-License-Identifier: MIT
 *
 * tests/programs/hsa_batches.c - a tool for HSA that makes batches: what ROCr 7 does of itself, on
 * an older one
 *
 * Named in HSA_TOOLS_LIB behind the guest, so that packets come here first. It holds dispatches
 * back until there are four, or something else comes, and hands them on in one piece. One queue at
 * a time.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <hsa/hsa.h>

enum { PACKET_BYTES = 64, GATHERED = 4, QUEUE_CREATE = 72, REGISTER = 304, REGISTER_LATE = 320 };

typedef void packet_writer(const void *packets, uint64_t count);
typedef void packet_handler(const void *packets, uint64_t count, uint64_t index, void *data,
			    packet_writer *writer);
typedef hsa_status_t register_function(hsa_queue_t *queue, packet_handler *handler, void *data);

struct tables {
	uint32_t version[4];
	uint8_t *core, *amd; /* each begins as this does */
};

static __typeof__(hsa_queue_create) *next_create;
static register_function *register_handler;
static uint8_t held[(GATHERED + 1) * PACKET_BYTES];
static uint64_t held_count;

static void on_packets(const void *packets, uint64_t count, uint64_t index, void *data,
		       packet_writer *writer)
{
	(void)index;
	(void)data;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *packet = (const uint8_t *)packets + i * PACKET_BYTES;
		uint64_t full = packet[0] == HSA_PACKET_TYPE_KERNEL_DISPATCH ? GATHERED : 0;

		memcpy(held + held_count++ * PACKET_BYTES, packet, PACKET_BYTES);
		if (held_count < full)
			continue;
		writer(held, held_count);
		held_count = 0;
	}
}

static hsa_status_t own_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
			       void (*error)(hsa_status_t, hsa_queue_t *, void *), void *data,
			       uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
{
	hsa_status_t status =
		next_create(agent, size, type, error, data, private_bytes, group_bytes, queue);

	if (status == HSA_STATUS_SUCCESS)
		register_handler(*queue, on_packets, NULL);
	return status;
}

__attribute__((visibility("default"))) bool OnLoad(struct tables *tables, uint64_t version,
						   uint64_t failed_count,
						   const char *const *failed_names);
bool OnLoad(struct tables *tables, uint64_t version, uint64_t failed_count,
	    const char *const *failed_names)
{
	__typeof__(hsa_queue_create) *own = own_create;
	uint32_t bytes;

	(void)version;
	(void)failed_count;
	(void)failed_names;
	memcpy(&bytes, tables->amd + 4, sizeof(bytes));
	memcpy(&register_handler, tables->amd + (bytes >= 456 ? REGISTER_LATE : REGISTER),
	       sizeof(register_handler));
	memcpy(&next_create, tables->core + QUEUE_CREATE, sizeof(next_create));
	memcpy(tables->core + QUEUE_CREATE, &own, sizeof(own));
	return true;
}
