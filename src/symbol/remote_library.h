/* SPDX-License-Identifier: MIT
 *
 * symbol/remote_library.h - functions of a library that another process has loaded, by the table that it was linked with
 */
#ifndef SYMBOL_REMOTE_LIBRARY_H
#define SYMBOL_REMOTE_LIBRARY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct remote_library {
	pid_t pid;
	uint64_t base; /* where its first byte is mapped */
	uint64_t bias; /* 0 of a program that has fixed addresses, else base */
	uint64_t symbols, texts, text_bytes; /* addresses in the process; bytes */
	uint64_t hash;                       /* of DT_GNU_HASH */
	uint32_t bucket_count, first_symbol, bloom_words;
};

/* base: where offset 0 of its file is mapped. Errors: -ENOEXEC: no library of 64 bits; -ENOTSUP: one without such a table, or
 * with one that cannot be read; -errno of reading its first bytes. The error chain is left alone. */
int remote_library_open(struct remote_library *library, pid_t pid, uint64_t base);

/* Address of an exported function in the process, 0: there is none. ret_bytes: its size; NULL: nobody asks. */
uint64_t remote_library_find(const struct remote_library *library, const char *name,
			     uint64_t *ret_bytes);

/* Reads all of it or nothing. Errors: -errno. */
int remote_library_read(pid_t pid, uint64_t address, void *to, size_t size);

#endif
