/* SPDX-License-Identifier: MIT
 *
 * symbol/jit/jitdump.h - names of JIT code from jit-PID.dump
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct jitdump;

/* Reads the names of the code at `count` addresses, sorted, from a file of any size; it keeps at
 * most 16 MiB. A file that ends in the middle of a record is read up to there. max_bytes: max bytes
 * read from the file. Errors: -EPROTO not a dump, -ENOTSUP other byte order or version, -ENOMEM.
 * Does not set the error chain, because a program may write anything there. */
int jitdump_open(int fd, uint64_t max_bytes, const uint64_t *addresses, size_t count,
		 struct jitdump **ret_dump);
void jitdump_close(struct jitdump *dump); /* NULL-safe */

/* The name of the code at `address` at `time` (CLOCK_MONOTONIC in ns; UINT64_MAX: at the end). A
 * dump whose timestamps are the processor's counter gives the code at the end. Lives as long as the
 * dump. NULL: no code. */
const char *jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t time);
