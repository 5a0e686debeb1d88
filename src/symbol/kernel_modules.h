/* SPDX-License-Identifier: MIT
 *
 * symbol/kernel_modules.h - which of the kernel's modules an address lies in, also of one that is gone
 */
#ifndef SYMBOL_KERNEL_MODULES_H
#define SYMBOL_KERNEL_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_symbol;

enum { KERNEL_MODULE_NAME_BYTES = 56 }; /* the kernel's own limit */

struct kernel_module {
	uint64_t start, size;
	char name[KERNEL_MODULE_NAME_BYTES];
	uint64_t seen; /* the last look that it was there at */
};

/* Those that were there at any look. All zero: there was none. */
struct kernel_modules {
	struct kernel_module *modules; /* owned */
	size_t count, capacity;
	uint64_t looks;
};

void kernel_modules_fini(struct kernel_modules *modules); /* NULL-safe */

/* Adds what was loaded since the look before. path NULL: /proc/modules. Errors: -EACCES where it tells no addresses (without
 * rights they are 0), -ENOMEM, -errno of reading, each with the error chain. */
int kernel_modules_look(struct kernel_modules *modules, const char *path);

/* The module whose code lies there, by the latest look that saw one. NULL: none. */
const struct kernel_module *kernel_modules_find(const struct kernel_modules *modules,
						uint64_t address);
/* "function", "function [module]", "bpf_prog_… [bpf]"; of a module that is gone, or whose functions have no names, "module+0x40
 * [module]". symbol: as the kernel names the address now. False: it cannot be known what lay there. */
bool kernel_modules_name(const struct kernel_modules *modules, const struct kernel_symbol *symbol,
			 char *ret_text, size_t size);

#endif
