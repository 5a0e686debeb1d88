/* SPDX-License-Identifier: MIT
 *
 * symbol/kernel/modules.h - find the kernel module that contains an address, also after it was
 * unloaded
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_symbol;

enum { KERNEL_MODULE_NAME_BYTES = 56 }; /* the kernel's own limit */

struct kernel_module {
	uint64_t start, size;
	char name[KERNEL_MODULE_NAME_BYTES];
	uint64_t seen; /* the last scan that found it */
};

/* All modules found by any scan. All zero: no scan yet. */
struct kernel_modules {
	struct kernel_module *modules; /* owned */
	size_t count, capacity;
	uint64_t looks;
};

void kernel_modules_fini(struct kernel_modules *modules); /* NULL-safe */

/* Adds modules loaded since the last scan. path NULL: /proc/modules. Errors: -EACCES if it contains
 * no addresses (without rights they are 0), -ENOMEM, -errno of reading, each with the error chain.
 */
int kernel_modules_scan(struct kernel_modules *modules, const char *path);

/* The module whose code was there in the latest scan. NULL: none. */
const struct kernel_module *kernel_modules_find(const struct kernel_modules *modules,
						uint64_t address);
/* "function", "function [module]", "bpf_prog_… [bpf]"; for a module that is unloaded, or whose
 * functions have no names, "module+0x40 [module]". symbol: the kernel's current name for the
 * address. False: the owner of the address is unknown. */
bool kernel_modules_name(const struct kernel_modules *modules, const struct kernel_symbol *symbol,
			 char *ret_text, size_t size);
