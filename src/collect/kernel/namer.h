/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/namer.h - names of the kernel's functions, asked of the kernel itself
 */
#ifndef COLLECT_KERNEL_NAMER_H
#define COLLECT_KERNEL_NAMER_H

#include <stddef.h>

struct kernel_namer;
struct kernel_symbol;

/* Loads src/bpf/names.bpf.c (0.7 ms), while the calling thread may still load programs. Later calls need no rights from
 * Linux 5.19 on. Errors: -ENOSYS: a build without libbpf; -EPERM: no rights; -errno of the kernel. Leaves no error text. */
int kernel_namer_open(struct kernel_namer **ret_names);
void kernel_namer_close(struct kernel_namer *names); /* NULL-safe */

/* Sets name and distance of each symbol by its address. Errors: -errno of the kernel; names set before it stay. */
int kernel_namer_find(struct kernel_namer *names, struct kernel_symbol *symbols, size_t count);

#endif
