/* SPDX-License-Identifier: MIT
 *
 * event/memory_names.h - the names of memories in PyTorch's names of copies: "Memcpy HtoD (Pageable
 * -> Device)"
 *
 * Runs in:  our own process
 */
#pragma once

#include "event/event.h"

static const char *const memory_names[MEMORY_COUNT] = {
	[MEMORY_UNKNOWN] = "Unknown",
	[MEMORY_PAGEABLE] = "Pageable",
	[MEMORY_PINNED] = "Pinned",
	[MEMORY_DEVICE] = "Device",
	[MEMORY_MANAGED] = "Managed",
	[MEMORY_ARRAY] = "Array",
	[MEMORY_DEVICE_STATIC] = "Device Static",
};
