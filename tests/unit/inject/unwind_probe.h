/* SPDX-License-Identifier: MIT */
#pragma once

#include "inject/unwind.h"

#pragma GCC visibility push(default)

/* The stack from the caller on; *ret_same: libgcc says the same. */
bool probe(struct unwind *ret_stack, bool *ret_same);
/* Only its hash. */
uint64_t probe_quick(void);
struct unwind_counts probe_counts(void);

#pragma GCC visibility pop
