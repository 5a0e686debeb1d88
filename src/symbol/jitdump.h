/* SPDX-License-Identifier: MIT
 *
 * symbol/jitdump.h - names, lines and bytes of generated code from jit-PID.dump
 */
#ifndef SYMBOL_JITDUMP_H
#define SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitdump;

struct jitdump_frame {
	const char *name; /* texts and bytes live as long as the dump */
	const char *file; /* NULL: unknown */
	uint32_t line;    /* 0: unknown */
	uint64_t start;   /* where the code lay at that time */
	uint64_t size;
	const uint8_t *code; /* its `size` bytes; NULL: not in the dump */
	uint64_t id;         /* code index, as the runtime counts */
};

#define JITDUMP_LATEST UINT64_MAX

/* `size` bytes, which are copied. A dump that ends in the middle of a record is read up to there.
 * Errors: -EPROTO for no dump, -ENOTSUP for another byte order or version, -ENOMEM; with the error
 * chain. */
int jitdump_parse(const void *bytes, size_t size, struct jitdump **ret_dump);

/* Errors: those and -errno. */
int jitdump_open(const char *path, struct jitdump **ret_dump);
/* Of a file of any size only what is about `count` addresses, sorted: names without lines and bytes, at most 16 MiB.
 * most_bytes: of the file; what comes behind is not looked at. Errors: as jitdump_parse. */
int jitdump_open_part(int fd, uint64_t most_bytes, const uint64_t *addresses, size_t count,
		      struct jitdump **ret_dump);
void jitdump_close(struct jitdump *dump); /* NULL-safe */

/* What was at `address` at `time` (in the dump's own clock, usually CLOCK_MONOTONIC in ns), or at
 * its end with JITDUMP_LATEST. Errors: -ENOENT. */
int jitdump_find(const struct jitdump *dump, uint64_t address, uint64_t time,
		 struct jitdump_frame *ret_frame);

struct jitdump_info {
	uint32_t pid;
	uint32_t machine;     /* ELF's number, EM_X86_64 */
	uint64_t timestamp;   /* of the beginning */
	bool has_cpu_clock;   /* times are the processor's counter, not the kernel's clock */
	bool is_truncated;    /* without a close record, or in the middle of one */
	size_t code_count;    /* loaded */
	size_t damaged_count; /* records that make no sense, left out */
};

void jitdump_info(const struct jitdump *dump, struct jitdump_info *ret_info);

#endif
