/* SPDX-License-Identifier: MIT
 *
 * import/rocm/agents.h - the agents (processors and GPUs) of a recording
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct import_target;

/* 0 and "": not known. */
struct rocm_agent_facts {
	const char *name, *vendor;
	bool is_gpu;
	uint64_t index; /* among all agents of the host */
	uint64_t domain, location;
	uint64_t compute_units, memory_bytes, local_bytes;
};

struct rocm_agent {
	uint32_t key, name, vendor; /* in texts */
	uint32_t compute_units;
	uint64_t memory_bytes, local_bytes;
	uint32_t device; /* 0: no command ran on it yet */
	bool is_gpu;
};

/* All zero: empty, once target is set. */
struct rocm_agents {
	struct import_target *target;
	struct string_table texts;
	struct hash_map by_handle; /* index */
	struct rocm_agent *rows;
	size_t count, capacity;
};

void rocm_agents_fini(struct rocm_agents *agents);

/* Errors: -EBADMSG with a text for too many agents, -ENOMEM. */
int rocm_agents_add(struct rocm_agents *agents, uint64_t handle,
		    const struct rocm_agent_facts *facts);

/* The device of an agent; one that the file does not describe is "GPU <handle>". *ret_device is 0
 * for a processor. Errors: those of rocm_agents_add and the target. */
int rocm_agents_device(struct rocm_agents *agents, uint64_t handle, uint32_t *ret_device);
