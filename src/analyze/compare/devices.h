/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/devices.h - the devices of several recordings as one list
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/compare/comparison.h"

/* For each run of both sides, the base first: the index of comparison.devices by the index of the
 * run's device. */
struct device_map {
	uint32_t **of_run; /* owned */
	size_t runs;
};

/* Fills comparison->devices with names and sums. A device is the same if its key is equal,
 * otherwise if its name is, otherwise if its number is and no other is left. -ENOMEM. */
int device_map_make(struct comparison *comparison, struct device_map *ret_map);
void device_map_fini(struct device_map *map); /* NULL-safe */
