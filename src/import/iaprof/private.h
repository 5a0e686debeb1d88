/* SPDX-License-Identifier: MIT
 *
 * import/iaprof/private.h - the state of an iaprof import, shared by iaprof.c, rows.c and
 * forms.c
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "import/faults.h"

struct import_source;
struct import_target;

/* Limits a count and the sum of all counts, so that no sum overflows. */
#define IAPROF_MAX_COUNT ((uint64_t)INT64_MAX)

/* The program's texts for unknown values. */
#define IAPROF_NO_FILE   "[unknown file]"
#define IAPROF_NO_SYMBOL "[unknown code]" /* duet's exporter writes it too */
#define IAPROF_NO_TEXT   "[failed decode]"
#define IAPROF_NO_REASON "unknown"

/* The spaces of numbers. In the form with ';' each kind of text has numbers of its own; the other
 * forms use IAPROF_NUMBERS_STRING only. */
enum iaprof_number_space {
	IAPROF_NUMBERS_STRING,
	IAPROF_NUMBERS_USTACK,
	IAPROF_NUMBERS_KSTACK,
	IAPROF_NUMBERS_FILE,
	IAPROF_NUMBERS_SYMBOL,
	IAPROF_NUMBERS_TEXT,
	IAPROF_NUMBERS_COUNT
};

/* Origin of a sample; texts are ids in `texts`, 0: unknown. */
struct iaprof_origin {
	uint32_t comm, pid, ustack, kstack, file, symbol, text;
};

/* The state lines of form tiber, and `kernel` of form head. Each is valid until the next line of
 * its kind. */
enum iaprof_state_line {
	IAPROF_STATE_COMM = 1,
	IAPROF_STATE_PID = 2,
	IAPROF_STATE_USTACK = 4,
	IAPROF_STATE_KSTACK = 8,
	IAPROF_STATE_SHADER = 16,
	IAPROF_STATE_FILE = 32,
	IAPROF_STATE_SYMBOL = 64,
	IAPROF_STATE_TEXT = 128,
	IAPROF_STATE_KERNEL = 256
};

struct iaprof_import {
	struct import_source *source;
	struct import_target *target;
	struct string_table texts;
	struct hash_map ids[IAPROF_NUMBERS_COUNT]; /* number -> id in texts */
	struct hash_map stacks;                    /* ustack << 32 | kstack -> stack of the trace */
	struct iaprof_origin now;
	bool has_kernel;      /* a line 'kernel' was read */
	unsigned int unknown; /* bits of enum iaprof_state_line whose last line was bad */
	/* The ids for `last`; a sample usually has the same origin as the one before. */
	struct iaprof_origin last;
	bool has_last;
	uint32_t process, code, stack, text_string;
	uint32_t unit_string, device;
	uint64_t begin_ns, end_ns; /* the current interval */
	bool has_times;
	struct import_faults faults;
	uint64_t samples, lines, frames, routines, cut_stacks, again, anew;
	uint64_t counted; /* number of counts and metric values that were read, including zeros */
};

/* A form of lines. */
struct iaprof_line_form {
	const char *word; /* NULL ends a list */
	char separator;
	size_t fields;     /* including the word */
	bool has_text;     /* the last field is the rest of the line */
	unsigned int says; /* bits of enum iaprof_state_line that the line sets */
	int (*take)(struct iaprof_import *iaprof, char **fields);
};

/* iaprof_rows.c: defines the number of a text. */
int iaprof_import_define(struct iaprof_import *iaprof, enum iaprof_number_space names,
			 const char *number, const char *text);
/* Finds the text of a number; number 0 means no text. */
int iaprof_import_find_text(struct iaprof_import *iaprof, enum iaprof_number_space names,
			    const char *field, uint32_t *ret_text);
/* The same for a name, which must not exceed 64 KiB; a stack may be longer. */
int iaprof_import_find_name(struct iaprof_import *iaprof, enum iaprof_number_space names,
			    const char *field, uint32_t *ret_text);
int iaprof_import_parse_pid(struct iaprof_import *iaprof, const char *field, uint32_t *ret_pid);
int iaprof_import_parse_count(struct iaprof_import *iaprof, const char *field, uint64_t *ret_count);
/* The trace's string of a name; that of "" if the name is the text for unknown values. */
int iaprof_import_intern_name(struct iaprof_import *iaprof, uint32_t id, const char *not_known,
			      uint32_t *ret_string);
/* Writes an instruction sample; 0 samples are only counted. */
int iaprof_import_add_row(struct iaprof_import *iaprof, const struct iaprof_origin *place,
			  uint32_t stall, uint64_t offset, uint64_t count);
/* Finds or adds the GPU. Errors: -ENOMEM, -errno of a write with a text. */
int iaprof_import_find_device(struct iaprof_import *iaprof);
/* Lines that several forms have: a text with a number; the start of an interval. */
int iaprof_import_take_string(struct iaprof_import *iaprof, char **fields);
int iaprof_import_take_interval(struct iaprof_import *iaprof, char **fields);

/* forms.c: the lines of older forms; a word of NULL ends the list. */
extern const struct iaprof_line_form iaprof_old_forms[];
/* The line 'eustall' of v0.5.0, whose word form head uses too. */
int iaprof_import_take_whole(struct iaprof_import *iaprof, char **fields);
