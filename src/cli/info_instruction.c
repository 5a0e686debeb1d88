/* SPDX-License-Identifier: MIT
 *
 * cli/info_instruction.c - an instruction of a code object as 'duet info' shows it, whoever's GPU it is for
 *
 * Runs in:  our own process
 * Gets:     an instruction   Gives: a line of text, or an object of JSON
 * Owns:     nothing
 * Fails:    never
 */
#include "cli/info_instruction.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/format.h"
#include "base/json.h"
#include "base/string.h"

enum { LINE_WIDTH = 24 };

void info_instruction_print(const struct info_instruction *instruction)
{
	char place[512] = "";

	if (instruction->file)
		snprintf(place, sizeof(place), "%s:%" PRIu32, path_base(instruction->file),
			 instruction->line);
	printf("  0x%04" PRIx64 "  %-*s %s\n", instruction->offset, LINE_WIDTH,
	       format_text(place).text, instruction->text);
}

void info_instruction_write(const struct info_instruction *instruction, struct json_writer *json)
{
	json_newline(json);
	json_object_begin(json);
	json_pair_u64(json, "offset", instruction->offset);
	json_pair_u64(json, "length", instruction->length);
	json_pair_text(json, "text", instruction->text);
	if (instruction->file) {
		json_pair_text(json, "file", instruction->file);
		json_pair_u64(json, "line", instruction->line);
	}
	json_object_end(json);
}
