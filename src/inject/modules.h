/* SPDX-License-Identifier: MIT
 *
 * inject/modules.h - which library an address belongs to, and since when
 *
 * Runs in:  the profiled process, when a stack is met for the first time
 */
#ifndef INJECT_MODULES_H
#define INJECT_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { MODULES_MOST = 32767, MODULE_PATH_BYTES = 4096, MODULE_BUILD_ID_BYTES = 32 };

/* One executable segment of the program or of a library. Loaded again after it was unloaded it is another. */
struct module {
	uint32_t id; /* from 1 */
	uint32_t build_id_bytes;
	uint64_t address, size_bytes, file_offset_bytes;
	uint8_t build_id[MODULE_BUILD_ID_BYTES];
	char path
		[MODULE_PATH_BYTES]; /* as the loader names it: "" the program, else perhaps not absolute */
};

/* Id of the module that an address lies in, 0: none (code made at run time), or more modules than are followed.
 * Valid for addresses on the calling thread's stack: what lies there is not unloaded meanwhile. MODULES_UNKNOWN: now
 * nobody can tell, as while a thread forks. */
enum { MODULES_UNKNOWN = MODULES_MOST + 1 };
uint32_t modules_find(uint64_t address);

/* What is to be said of a module, which was found by this thread just now. False: it is gone. */
bool modules_describe(uint32_t id, struct module *ret_module);

/* In a forked child: the lock may be held by a thread it does not have. */
void modules_forked(void);

#pragma GCC visibility pop

#endif
