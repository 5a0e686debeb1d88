/* SPDX-License-Identifier: MIT
 *
 * symbol/jit/jitdump.h - names, lines and bytes of JIT code from jit-PID.dump
 */
#ifndef SYMBOL_JIT_JITDUMP_H
#define SYMBOL_JIT_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitdump;

struct jitdump_frame {
	const char *name; /* texts and bytes live as long as the dump */
	const char *file; /* NULL: unknown */
	uint32_t line;    /* 0: unknown */
	uint64_t start;   /* address of the code at that time */
	uint64_t size;
	const uint8_t *code; /* its `size` bytes; NULL: not in the dump */
	uint64_t id;         /* code index, numbered by the runtime */
};

#define JITDUMP_LATEST UINT64_MAX

/* `size` bytes, which are copied. A dump that ends in the middle of a record is read up to there.
 * Errors: -EPROTO not a dump, -ENOTSUP other byte order or version, -ENOMEM; with the error chain.
 */
int jitdump_parse(const void *bytes, size_t size, struct jitdump **ret_dump);

/* Errors: as above and -errno. */
int jitdump_open(const char *path, struct jitdump **ret_dump);
/* Reads only the records about `count` addresses, sorted, from a file of any size: names without
 * lines and bytes, at most 16 MiB. max_bytes: max bytes read from the file. Errors: as
 * jitdump_parse. */
int jitdump_open_part(int fd, uint64_t max_bytes, const uint64_t *addresses, size_t count,
		      struct jitdump **ret_dump);
void jitdump_close(struct jitdump *dump); /* NULL-safe */

/* The code at `address` at `time` (in the dump's own clock, usually CLOCK_MONOTONIC in ns), or at
 * the end with JITDUMP_LATEST. Errors: -ENOENT. */
int jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t time,
		 struct jitdump_frame *ret_frame);

struct jitdump_info {
	uint32_t pid;
	uint32_t machine;     /* ELF's number, EM_X86_64 */
	uint64_t timestamp;   /* start of the dump */
	bool has_cpu_clock;   /* timestamps are the processor's counter, not the kernel's clock */
	bool is_truncated;    /* ends without a close record, or in the middle of a record */
	size_t code_count;    /* loaded */
	size_t damaged_count; /* invalid records, left out */
};

void jitdump_info(const struct jitdump *dump, struct jitdump_info *ret_info);

#endif
