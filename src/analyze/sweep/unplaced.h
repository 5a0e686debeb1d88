/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/unplaced.h - launches in flight that name no described queue
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/pair_map.h"

struct analysis;

struct unplaced_launch {
	uint32_t process; /* id */
	uint64_t enter;
};

/* A process that launched a command of a device. */
struct device_user {
	uint32_t process;      /* id */
	uint32_t device;       /* index */
	uint64_t latest_enter; /* enter of its latest launch */
};

/* All zero before the first sweep_unplaced_init. */
struct sweep_unplaced {
	struct unplaced_launch *launches; /* owned */
	size_t count, capacity;
	struct device_user *users; /* owned */
	size_t users_count, users_capacity;
	struct pair_map users_index; /* (process, device) -> index of users */
};

void sweep_unplaced_fini(struct sweep_unplaced *unplaced);

/* A launch without an execution. Errors: -ENOMEM. */
int sweep_unplaced_add(struct sweep_unplaced *unplaced, uint32_t process, uint64_t enter);

/* A recorded launch whose command is in the account of the device. Errors: -ENOMEM. */
int sweep_unplaced_note_user(struct sweep_unplaced *unplaced, uint32_t process, size_t device,
			     uint64_t enter);

/* Adds each launch to the devices on which it may be in flight. */
void sweep_unplaced_place(struct sweep_unplaced *unplaced, struct analysis *analysis);
