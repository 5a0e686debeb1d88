/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/holders.h - finds processes that may hold a GPU's hardware counters
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_HOLDERS = 16 };

struct holder {
	uint32_t pid;
	char name[16];    /* from /proc/PID/comm */
	const char *what; /* description of the tool */
};

/* Checks all processes in root's /proc for known names and, with look_at_maps, for loaded CUPTI
 * libraries (the first 1024 processes that may be inspected). Returns the number found, at most
 * MAX_HOLDERS. */
size_t holders_find(const char *root, bool look_at_maps, struct holder holders[MAX_HOLDERS]);

/* Formats "nv-hostengine (812): …; python3 (4711): …". */
void holders_format(const struct holder *holders, size_t count, char *ret_text, size_t size);
