/* SPDX-License-Identifier: MIT
 *
 * cli/info_instruction.h - an instruction of a code object as 'duet info' shows it, whoever's GPU it is for
 */
#ifndef CLI_INFO_INSTRUCTION_H
#define CLI_INFO_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

#include "isa/isa.h"

struct json_writer;

struct info_instruction {
	uint64_t offset; /* in its kernel or function */
	size_t length;
	char text[ISA_TEXT_SIZE];
	const char *file; /* NULL: not known */
	uint32_t line;
};

/* A line of text; an object of JSON. */
void info_instruction_print(const struct info_instruction *instruction);
void info_instruction_write(const struct info_instruction *instruction, struct json_writer *json);

#endif
