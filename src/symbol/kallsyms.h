/* SPDX-License-Identifier: MIT
 *
 * symbol/kallsyms.h - functions of the running kernel and its modules
 */
#ifndef SYMBOL_KALLSYMS_H
#define SYMBOL_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct kallsyms;

/* path NULL: /proc/kallsyms, which tells its reader all addresses, or, without rights, that they are 0. Errors:
 * -EACCES where it tells none, -ENOMEM, -errno of reading, each with the error chain. */
int kallsyms_open(const char *path, struct kallsyms **ret_symbols);
void kallsyms_close(struct kallsyms *symbols); /* NULL-safe */

size_t kallsyms_count(const struct kallsyms *symbols);

/* The function an address lies in, of a module as "name [module]"; NULL before the first one. */
const char *kallsyms_find(const struct kallsyms *symbols, uint64_t address);
/* … and how far behind its begin; NULL where that is KALLSYMS_FAR or more: no function is so long, and what lay there is gone. */
#define KALLSYMS_FAR (UINT64_C(1) << 20)
const char *kallsyms_find_near(const struct kallsyms *symbols, uint64_t address,
			       uint64_t *ret_distance);

#endif
