/* SPDX-License-Identifier: MIT
 *
 * import/rocm/agents.c - the agents (processors and GPUs) of a recording
 *
 * Runs in:  our own process
 * Gets:     facts about agents
 * Gives:    devices of the target
 * Owns:     a table of agents
 * Fails:    -EBADMSG for too many agents, -ENOMEM, errors of the target
 * Why the place on the PCI bus is the key: the files of the processes of one job number the same
 *           GPUs differently, and the field "uuid" is the same for all GPUs of one model
 */
#include "import/rocm/agents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "import/target.h"

enum { MAX_AGENTS = 4096 };

void rocm_agents_fini(struct rocm_agents *agents)
{
	string_table_fini(&agents->texts);
	hash_map_fini(&agents->by_handle);
	free(agents->rows);
}

static uint32_t add_text(struct rocm_agents *agents, const char *text)
{
	return string_table_add(&agents->texts, text, strlen(text));
}

static bool has_key(const struct rocm_agents *agents, const char *key)
{
	uint32_t id = string_table_find(&agents->texts, key, strlen(key));

	for (size_t i = 0; id && i < agents->count; i++)
		if (agents->rows[i].key == id)
			return true;
	return false;
}

/* The partitions of one GPU share its place on the bus. */
static uint32_t add_key(struct rocm_agents *agents, const struct rocm_agent_facts *facts)
{
	char key[64], part[96];

	if (!facts->location) {
		snprintf(key, sizeof(key), "agent %" PRIu64, facts->index);
		return add_text(agents, key);
	}
	snprintf(key, sizeof(key), "%04" PRIx64 ":%02" PRIx64 ":%02" PRIx64 ".%" PRIx64,
		 facts->domain & 0xffffffff, facts->location >> 8 & 0xff,
		 facts->location >> 3 & 0x1f, facts->location & 7);
	if (!has_key(agents, key))
		return add_text(agents, key);
	snprintf(part, sizeof(part), "%s/%" PRIu64, key, facts->index);
	return add_text(agents, part);
}

static uint32_t limit(uint64_t number)
{
	return number > UINT32_MAX ? 0 : (uint32_t)number;
}

int rocm_agents_add(struct rocm_agents *agents, uint64_t handle,
		    const struct rocm_agent_facts *facts)
{
	struct rocm_agent row = {.compute_units = limit(facts->compute_units),
				 .memory_bytes = facts->memory_bytes,
				 .local_bytes = facts->local_bytes,
				 .is_gpu = facts->is_gpu};
	int error;

	if (agents->count == MAX_AGENTS)
		return error_set(-EBADMSG, "expected at most %d agents, found more", MAX_AGENTS);
	row.key = add_key(agents, facts);
	row.name = add_text(agents, facts->name);
	row.vendor = add_text(agents, facts->vendor);
	if (!row.key || (!row.name && *facts->name))
		return -ENOMEM;
	error = array_append(agents->rows, agents->capacity, agents->count, row);
	return error ? error : hash_map_put(&agents->by_handle, handle, agents->count - 1);
}

static int add_unknown(struct rocm_agents *agents, uint64_t handle)
{
	char name[32];

	snprintf(name, sizeof(name), "GPU %" PRIu64, handle);
	return rocm_agents_add(
		agents, handle,
		&(struct rocm_agent_facts){
			.name = name, .vendor = "", .is_gpu = true, .index = handle});
}

static int describe_device(struct rocm_agents *agents, struct rocm_agent *row)
{
	struct event_device device = {.type = DEVICE_GPU,
				      .compute_units = row->compute_units,
				      .memory_bytes = row->memory_bytes,
				      .local_bytes = row->local_bytes};
	int error = import_target_text(agents->target,
				       string_table_text(&agents->texts, row->vendor, NULL),
				       &device.vendor_string);

	return error ? error
		     : import_target_describe_device(
			       agents->target, string_table_text(&agents->texts, row->key, NULL),
			       string_table_text(&agents->texts, row->name, NULL), &device,
			       &row->device);
}

int rocm_agents_device(struct rocm_agents *agents, uint64_t handle, uint32_t *ret_device)
{
	uint64_t *index = hash_map_find(&agents->by_handle, handle);
	struct rocm_agent *row;
	int error = 0;

	if (!index) {
		error = add_unknown(agents, handle);
		if (error)
			return error;
		index = hash_map_find(&agents->by_handle, handle);
	}
	row = &agents->rows[*index];
	if (row->is_gpu && !row->device)
		error = describe_device(agents, row);
	*ret_device = row->device;
	return error;
}
