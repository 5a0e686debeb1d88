/* SPDX-License-Identifier: MIT
 *
 * inject/modules.h - the library that contains an address, with an id per load
 *
 * Runs in:  the profiled process, at the first occurrence of a stack
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { MAX_MODULES = 32767, MODULE_PATH_BYTES = 4096, MODULE_BUILD_ID_BYTES = 32 };

/* One executable segment of the program or of a library. A library loaded again after it was
 * unloaded gets a new one. */
struct module {
	uint32_t id; /* from 1 */
	uint32_t build_id_bytes;
	uint64_t address, size_bytes, file_offset_bytes;
	uint8_t build_id[MODULE_BUILD_ID_BYTES];
	/* from the loader: "" is the program, other paths may be relative */
	char path[MODULE_PATH_BYTES];
};

/* Id of the module that contains an address, 0: none (JIT code), or more modules than the table
 * holds. Valid for addresses on the calling thread's stack, because such code is not unloaded
 * meanwhile. MODULES_UNKNOWN: cannot be determined now, as while a thread forks. */
enum { MODULES_UNKNOWN = MAX_MODULES + 1 };
uint32_t modules_find(uint64_t address);

/* Describes a module that this thread has just found. False: it was unloaded. */
bool modules_describe(uint32_t id, struct module *ret_module);

/* In a forked child: a thread that it does not have may hold the lock. */
void modules_forked(void);

#pragma GCC visibility pop
