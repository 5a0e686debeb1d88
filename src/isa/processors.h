/* SPDX-License-Identifier: MIT
 *
 * isa/processors.h - AMDGPU processors, and the LLVM releases that support them
 *
 * Only isa/ includes this.
 */
#ifndef ISA_PROCESSORS_H
#define ISA_PROCESSORS_H

struct processor {
	const char *name;
	unsigned int elf_number; /* in the flags of a code object */
	int first_major,
		last_major; /* LLVM versions that support it; last_major 0: never removed */
};

/* By a target id, "gfx90a" or "gfx90a:sramecc+:xnack-". NULL: unknown. */
const struct processor *processor_find(const char *target_id);

#endif
