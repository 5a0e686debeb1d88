/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/holders.h - who may have a GPU's hardware counters
 */
#ifndef COLLECT_NVIDIA_HOLDERS_H
#define COLLECT_NVIDIA_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOLDERS_MOST = 16 };

struct holder {
	uint32_t pid;
	char name[16];    /* as the kernel has it */
	const char *what; /* what it is known by */
};

/* Looks at all processes below root's /proc: known names, and, with look_at_maps, libraries of CUPTI in the processes that
 * we may look at, of which the first 1024 are. Returns how many were found, at most HOLDERS_MOST. */
size_t holders_find(const char *root, bool look_at_maps, struct holder holders[HOLDERS_MOST]);

/* "nv-hostengine (812): …; python3 (4711): …" */
void holders_format(const struct holder *holders, size_t count, char *ret_text, size_t size);

#endif
