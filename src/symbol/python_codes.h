/* SPDX-License-Identifier: MIT
 *
 * symbol/python_codes.h - what code objects of another process's CPython say
 */
#ifndef SYMBOL_PYTHON_CODES_H
#define SYMBOL_PYTHON_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/python_offsets.h"
#include "symbol/remote_memory.h"

struct python_types {
	uint64_t code, text, bytes; /* PyCode_Type, PyUnicode_Type, PyBytes_Type */
};

/* What was found at an address, and tells it from a later one there. */
struct python_code_facts {
	uint64_t name, qualified_name, file, lines; /* objects */
	uint32_t version, first_line, first_traceable;
};

struct python_code {
	const char *function, *file; /* NULL: could not be read; else until python_codes_free */
	uint64_t address;
	struct python_code_facts facts;
	uint64_t round;      /* of python_codes_ask */
	bool is_seen;        /* facts are those of the last look */
	bool is_known;       /* … and the texts too */
	bool is_doubtful;    /* of no file and without a version: a later one can look the same */
	uint8_t *line_table; /* owned; NULL: none */
	size_t line_table_bytes;
	uint32_t last_instruction, last_line; /* the answer before */
};

struct python_codes;

/* memory and offsets are borrowed. NULL: no memory. */
struct python_codes *python_codes_new(struct remote_memory *memory,
				      const struct python_offsets *offsets,
				      const struct python_types *types);
void python_codes_free(struct python_codes *codes); /* NULL-safe */

/* A round: begin, ask for what is wanted, read all of it. What was asked for is valid until the next round; before
 * the read it only says whose code it will be. python_codes_ask gives NULL without memory. */
void python_codes_begin(struct python_codes *codes);
struct python_code *python_codes_ask(struct python_codes *codes, uint64_t address);

/* 0: all are as they were known before; 1: one of them is new. Whoever got an address earlier than this one is new has
 * to look whether it is still in use. -EAGAIN: at one of the addresses is no code object; -ENOMEM, -ESRCH, -EPERM. */
int python_codes_read(struct python_codes *codes);

/* 0: not known. instruction: bytes from the begin of the code. */
uint32_t python_codes_line(const struct python_codes *codes, struct python_code *code,
			   uint32_t instruction);

#endif
