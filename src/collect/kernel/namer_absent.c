/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/namer_absent.c - kernel/namer.h in a build without libbpf
 *
 * Runs in:  the recorder
 * Gets:     nothing
 * Gives:    nothing
 * Owns:     nothing
 * Fails:    always
 */
#include "collect/kernel/namer.h"

#include <errno.h>

int kernel_namer_open(struct kernel_namer **ret_names)
{
	return -ENOSYS;
}

void kernel_namer_close(struct kernel_namer *names)
{
}

int kernel_namer_find(struct kernel_namer *names, struct kernel_symbol *symbols, size_t count)
{
	return -ENOSYS;
}
