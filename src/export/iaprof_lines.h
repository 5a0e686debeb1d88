/* SPDX-License-Identifier: MIT
 *
 * export/iaprof_lines.h - what the parts of the exporter iaprof share: iaprof.c gathers, iaprof_lines.c writes lines
 */
#ifndef EXPORT_IAPROF_LINES_H
#define EXPORT_IAPROF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/pair_map.h"
#include "base/hash.h"
#include "base/string.h"
#include "export/filter.h"
#include "export/profile.h"

struct analysis;
struct device_code;

#define IAPROF_KINDS "tiber, head, v0.5.0, article"

/* Texts that lines define and others name by number. */
enum iaprof_names {
	IAPROF_STRING,
	IAPROF_USTACK,
	IAPROF_KSTACK,
	IAPROF_FILE,
	IAPROF_SYMBOL,
	IAPROF_TEXT,
	IAPROF_NAMES_COUNT
};

/* Of samples: numbers of texts, 0: not known. */
struct iaprof_place {
	uint32_t comm, pid, ustack, kstack, file, symbol, text;
	uint32_t type; /* of shader, as the program counts */
	uint64_t offset;
	const char *stall;    /* "": not known */
	bool has_kernel;      /* its stack has frames of the operating system's kernel */
	uint32_t first, rank; /* while an interval is put in order */
	bool is_known;
};

struct iaprof;

struct iaprof_form {
	const char *name;
	char separator;
	/* How a text is defined; NULL: as a string, which then shares its numbers. */
	const char *words[IAPROF_NAMES_COUNT];
	const char *const *first; /* strings that stand at the begin; ends with NULL */
	const char *begin, *end;  /* of an interval; NULL: no line */
	const char *no_file, *no_symbol,
		*no_text; /* what stands for what is not known; "": number 0 */
	bool joins;       /* ';' stands between frames, not behind each */
	bool has_kernel;  /* stacks of the kernel have a place */
	bool has_metrics;
	bool by_kernel; /* iaprof_put_kernels writes all of an interval */
	/* NULL where by_kernel is. -ENOMEM. */
	int (*put)(struct iaprof *iaprof, const struct iaprof_place *place, uint64_t count);
};

struct iaprof {
	const struct model *model; /* borrowed */
	const struct iaprof_form *form;
	FILE *file;
	struct filter filter;
	struct profile profile;    /* for names of frames only */
	struct device_code *code;  /* owned */
	struct analysis *analysis; /* owned: the first one */
	unsigned int sweeps, sweeps_wanted;
	uint32_t *by_number;         /* owned; number of an instruction -> index in the analysis */
	struct iaprof_place *places; /* owned; by number */
	uint64_t *counts;            /* owned; by number, in the interval */
	uint32_t *seen; /* owned; numbers that have a count, in the order in which they came */
	uint32_t seen_count;
	struct string_table names[IAPROF_NAMES_COUNT]; /* ids are the numbers */
	struct hash_map processes;                     /* comm << 32 | pid that have a line */
	struct pair_map stacks; /* (stack, called function) -> number of a place that has it */
	uint32_t *written; /* owned; by_kernel: number of a text -> that in the file; 0: none yet */
	size_t written_capacity;
	uint32_t written_count;
	struct string_builder text, whole;
	uint64_t time_us, number; /* of the interval */
	uint32_t clock_series, busy_series;
	bool has_clock, has_busy;
	uint64_t mhz, percent;
	struct iaprof_place now; /* what the lines that hold on say */
	uint64_t rows, without_kernel, without_stall, metrics_left_out, series_left_out;
};

/* NULL: the first; NULL where there is none of that name. */
const struct iaprof_form *iaprof_find_form(const char *name);

/* The number of a text; a new one has a line, but of a form that is by_kernel, where the order is not known yet.
 * -ENOMEM. */
int iaprof_define(struct iaprof *iaprof, enum iaprof_names names, const char *text,
		  uint32_t *ret_number);

/* The samples of an interval, of which those of one kernel follow one another. */
int iaprof_put_kernels(struct iaprof *iaprof);

#endif
