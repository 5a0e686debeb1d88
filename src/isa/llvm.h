/* SPDX-License-Identifier: MIT
 *
 * isa/llvm.h - a disassembler of LLVM, from whichever library is on this machine
 *
 * Only isa/ includes this.
 */
#ifndef ISA_LLVM_H
#define ISA_LLVM_H

#include <stddef.h>
#include <stdint.h>

#include "isa/processors.h"

#define LLVM_OLDEST  11 /* major versions that are looked for; the features of arm64 begin here */
#define LLVM_NEWEST  30 /* 22 is the newest that was tried; a name that is not there costs 10 us */
#define LLVM_WHY_MAX 512

struct llvm;

/* Names by the first major version that knows all of them, newest first. LLVM says on stderr which it
 * does not know, so that none is tried. */
struct llvm_features {
	int first_major;
	const char *names;
};

struct llvm_target {
	const char *name; /* as in LLVMInitialize<name>Disassembler */
	const char *triple;
	const struct llvm_features *features; /* the last has first_major 0 */
};

/* processor: NULL for the target's general one. -ENOENT: no library can, and ret_why, of LLVM_WHY_MAX bytes, says
 * why; -ENOMEM. */
int llvm_open(const struct llvm_target *target, const struct processor *processor,
	      struct llvm **ret_llvm, char *ret_why);
void llvm_close(struct llvm *llvm); /* NULL-safe */

const char *llvm_name(const struct llvm *llvm);

/* Length in bytes; 0 where they are no instruction. The text is LLVM's own, with tabs and comments. */
size_t llvm_decode(struct llvm *llvm, const uint8_t *bytes, size_t size, uint64_t address,
		   char *text, size_t text_size);

#endif
