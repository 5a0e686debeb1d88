/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/namer.h - names of kernel functions, looked up by the kernel itself
 */
#pragma once

#include <stddef.h>

struct kernel_namer;
struct kernel_symbol;

/* Loads src/bpf/names.bpf.c, which takes 0.7 ms. The calling thread needs the right to load
 * programs. Later calls need no rights from Linux 5.19 on. Errors: -ENOSYS: built without libbpf;
 * -EPERM: no rights; -errno of the kernel. Sets no error text. */
int kernel_namer_open(struct kernel_namer **ret_names);
void kernel_namer_close(struct kernel_namer *names); /* NULL-safe */

/* Sets name and distance of each symbol, from its address. Errors: -errno of the kernel; names that
 * were set before stay. */
int kernel_namer_find(struct kernel_namer *names, struct kernel_symbol *symbols, size_t count);
