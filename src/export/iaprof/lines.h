/* SPDX-License-Identifier: MIT
 *
 * export/iaprof/lines.h - the parts of the iaprof exporter: iaprof.c collects samples, lines.c
 * writes lines
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/filter.h"
#include "base/hash.h"
#include "base/pair_map.h"
#include "base/string.h"
#include "export/common/profile.h"

struct analysis;
struct device_code;

#define IAPROF_KINDS "tiber, head, v0.5.0, article"

/* Kinds of texts that lines define and other lines refer to by number. */
enum iaprof_names {
	IAPROF_STRING,
	IAPROF_USTACK,
	IAPROF_KSTACK,
	IAPROF_FILE,
	IAPROF_SYMBOL,
	IAPROF_TEXT,
	IAPROF_NAMES_COUNT
};

/* Origin of samples; texts are numbers, 0: not known. */
struct iaprof_place {
	uint32_t comm, pid, ustack, kstack, file, symbol, text;
	uint32_t type; /* shader type, numbered as in iaprof */
	uint64_t offset;
	const char *stall;    /* "": not known */
	bool has_kernel;      /* its stack has frames of the operating system */
	uint32_t first, rank; /* used while an interval is sorted */
	bool is_known;
};

struct iaprof;

struct iaprof_form {
	const char *name;
	char separator;
	/* The words that define texts; NULL: defined as a string, sharing the numbers of
	 * strings. */
	const char *words[IAPROF_NAMES_COUNT];
	const char *const *first; /* strings at the start of the file; ends with NULL */
	const char *begin, *end;  /* words of an interval's lines; NULL: no line */
	const char *no_file, *no_symbol, *no_text; /* texts for unknown values; "": number 0 */
	bool joins;      /* ';' separates frames; false: it follows each frame */
	bool has_kernel; /* can express kernel stacks */
	bool has_metrics;
	bool by_kernel; /* iaprof_put_kernels writes a whole interval */
	/* Writes a sample. NULL if by_kernel is set. Errors: -ENOMEM. */
	int (*put)(struct iaprof *iaprof, const struct iaprof_place *place, uint64_t count);
};

struct iaprof {
	const struct model *model; /* borrowed */
	const struct iaprof_form *form;
	FILE *file;
	struct filter filter;
	struct profile profile;    /* used for names of frames only */
	struct device_code *code;  /* owned */
	struct analysis *analysis; /* owned: the first one */
	unsigned int sweeps, sweeps_wanted;
	uint32_t *by_number;         /* owned; instruction number -> index in the analysis */
	struct iaprof_place *places; /* owned; by number */
	uint64_t *counts;            /* owned; by number, of the interval */
	uint32_t *seen; /* owned; numbers with a count, in the order of their first samples */
	uint32_t seen_count;
	struct string_table names[IAPROF_NAMES_COUNT]; /* ids are the numbers */
	struct hash_map processes;                     /* comm << 32 | pid of those with a line */
	struct pair_map stacks; /* (stack, called function) -> number of the first place with it */
	uint32_t *written; /* owned; by_kernel: text number -> number in the file; 0: none yet */
	size_t written_capacity;
	uint32_t written_count;
	struct string_builder text, whole;
	uint64_t time_us, number; /* time and number of the interval */
	uint32_t clock_series, busy_series;
	bool has_clock, has_busy;
	uint64_t mhz, percent;
	struct iaprof_place now; /* the current values of the state lines */
	uint64_t rows, without_kernel, without_stall, metrics_left_out, series_left_out;
};

/* Finds a form by name; name NULL: the first form. Returns NULL if there is none of that name. */
const struct iaprof_form *iaprof_find_form(const char *name);

/* The number of a text. Writes the line of a new text, except in a form with by_kernel, where the
 * order of lines is not known yet. Errors: -ENOMEM. */
int iaprof_define(struct iaprof *iaprof, enum iaprof_names names, const char *text,
		  uint32_t *ret_number);

/* Writes the samples of an interval, grouped by kernel. */
int iaprof_put_kernels(struct iaprof *iaprof);
