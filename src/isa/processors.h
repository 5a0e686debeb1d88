/* SPDX-License-Identifier: MIT
 *
 * isa/processors.h - AMDGPU processors, and which releases of LLVM know them
 *
 * Only isa/ includes this.
 */
#ifndef ISA_PROCESSORS_H
#define ISA_PROCESSORS_H

struct processor {
	const char *name;
	unsigned int elf_number;     /* in the flags of a code object */
	int first_major, last_major; /* of LLVM; last_major 0: never removed */
};

/* By a target id, "gfx90a" or "gfx90a:sramecc+:xnack-". NULL: there is none of that name. */
const struct processor *processor_find(const char *target_id);

#endif
