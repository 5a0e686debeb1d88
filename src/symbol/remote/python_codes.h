/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_codes.h - read and cache code objects of another process's CPython
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/python_offsets.h"
#include "symbol/remote/memory.h"

struct python_types {
	uint64_t code, text, bytes; /* PyCode_Type, PyUnicode_Type, PyBytes_Type */
};

/* The fields found at an address; they distinguish the object from a later one there. */
struct python_code_facts {
	uint64_t name, qualified_name, file, lines; /* objects */
	uint32_t version, first_line, first_traceable;
};

struct remote_python_code {
	const char *function, *file; /* NULL: unreadable; otherwise valid until python_codes_free */
	uint64_t address;
	struct python_code_facts facts;
	uint64_t round;      /* number of the round of the last python_codes_ask */
	bool is_seen;        /* facts are those of the last read */
	bool is_known;       /* the texts are those of the last read too */
	bool is_doubtful;    /* without a file and a version: a later object can look the same */
	uint8_t *line_table; /* owned; NULL: none */
	size_t line_table_bytes;
	uint32_t last_instruction, last_line; /* cached answer of python_codes_line */
};

struct python_codes;

/* memory and offsets are borrowed. NULL: no memory. */
struct python_codes *python_codes_new(struct remote_memory *memory,
				      const struct python_offsets *offsets,
				      const struct python_types *types);
void python_codes_free(struct python_codes *codes); /* NULL-safe */

/* A round: begin, ask for code objects, read all of them. Results are valid until the next round;
 * before the read only their address is valid. python_codes_ask returns NULL without memory. */
void python_codes_begin(struct python_codes *codes);
struct remote_python_code *python_codes_ask(struct python_codes *codes, uint64_t address);

/* 0: all are as known before; 1: one of them is new. If a caller got an address before the object
 * became new, it has to check that the address is still in use. -EAGAIN: no code object at one of
 * the addresses; -ENOMEM, -ESRCH, -EPERM. */
int python_codes_read(struct python_codes *codes);

/* 0: unknown. instruction: bytes from the start of the code. */
uint32_t python_codes_line(const struct python_codes *codes, struct remote_python_code *code,
			   uint32_t instruction);
