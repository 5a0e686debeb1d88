/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/library.h - functions of a library that another process has loaded, found in its
 * mapped symbol table
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_library {
	pid_t pid;
	uint64_t base; /* address of its first mapped byte */
	uint64_t bias; /* 0 for a program with fixed addresses, otherwise base */
	uint64_t symbols, texts, text_bytes; /* addresses in the process; bytes */
	uint64_t hash;                       /* address of the DT_GNU_HASH table */
	uint32_t bucket_count, first_symbol, bloom_words;
};

/* base: address of offset 0 of its file. Errors: -ENOEXEC: not a 64-bit library; -ENOTSUP: no such
 * table, or an unreadable one; -errno of reading its first bytes. Does not set the error chain. */
int remote_library_open(struct remote_library *library, pid_t pid, uint64_t base);

/* Address of an exported function in the process; 0: not found. ret_bytes: its size; may be NULL.
 * */
uint64_t remote_library_find(const struct remote_library *library, const char *name,
			     uint64_t *ret_bytes);

/* Reads all bytes or fails. Errors: -errno. */
int remote_library_read(pid_t pid, uint64_t address, void *to, size_t size);
