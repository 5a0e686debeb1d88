/* SPDX-License-Identifier: MIT
 *
 * isa/llvm.h - load a disassembler of LLVM, from any installed version
 *
 * Only isa/ includes this.
 */
#ifndef ISA_LLVM_H
#define ISA_LLVM_H

#include <stddef.h>
#include <stdint.h>

#include "isa/processors.h"

#define LLVM_OLDEST  11 /* major versions that are tried; the features of arm64 start here */
#define LLVM_NEWEST  30 /* 22 is the newest that was tested; a missing name costs 10 us */
#define LLVM_WHY_MAX 512

struct llvm;

/* Names by the first major version that has all of them, newest first. LLVM prints unknown names on
 * stderr, so none is tried. */
struct llvm_features {
	int first_major;
	const char *names;
};

struct llvm_target {
	const char *name; /* as in LLVMInitialize<name>Disassembler */
	const char *triple;
	const struct llvm_features *features; /* the last has first_major 0 */
};

/* processor: NULL for the target's generic one. -ENOENT: no library supports it, and ret_why, of
 * LLVM_WHY_MAX bytes, is the reason; -ENOMEM. */
int llvm_open(const struct llvm_target *target, const struct processor *processor,
	      struct llvm **ret_llvm, char *ret_why);
void llvm_close(struct llvm *llvm); /* NULL-safe */

const char *llvm_name(const struct llvm *llvm);

/* Length in bytes; 0 if they are not an instruction. The text is LLVM's own, with tabs and
 * comments. */
size_t llvm_decode(struct llvm *llvm, const uint8_t *bytes, size_t size, uint64_t address,
		   char *text, size_t text_size);

#endif
