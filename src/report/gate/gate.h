/* SPDX-License-Identifier: MIT
 *
 * report/gate/gate.h - interface between the parts that print the result of a gate
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/compare/gate/gate.h"
#include "base/format.h"
#include "report/verdict/sentence.h"

struct gate_report {
	const struct gate *gate;
	const char *range;    /* --range; NULL: the whole runs */
	const char *baseline; /* a sentence about the accepted recordings; NULL: none */
	const char *no_base;  /* the result if there is nothing to compare with; NULL: there is */
	size_t columns;       /* width of the text; 0: 100 */
	bool is_forced;       /* numbers are printed although the comparison was refused */
	bool is_same_command; /* --run recorded the same command on both sides: an A/A test */
	int status;           /* exit status */
};

/* stdout */
void gate_print_text(const struct gate_report *report);
/* Schema duet.gate/1, docs/gate.schema.json. -ENOMEM, -EIO. */
int gate_print_json(const struct gate_report *report);
/* Workflow commands of GitHub on stdout: a line per check that did not pass. */
void gate_print_github(const struct gate_report *report);

/* A file of another tool. Errors: -ENOMEM, -EIO. */
int gate_write_junit(const struct gate_report *report, FILE *out);
int gate_write_markdown(const struct gate_report *report, FILE *out);
/* GitLab's Code Quality format. */
int gate_write_gitlab(const struct gate_report *report, FILE *out);

/* ---- shared: words.c ---- */

/* "pass", "regression", "inconclusive" or "not comparable" */
const char *gate_result_word(const struct gate_report *report);
/* "REGRESSION: kernel step takes 5.1 % more, limit +2 %": the first line. */
void gate_say_result(const struct gate_report *report, struct sentence *sentence);
/* "wall", "kernel gemm on device 1, mean" */
void gate_say_name(const struct gate_report *report, const struct gate_check *check,
		   struct sentence *sentence);
/* "+5.12 % (499.8 ms -> 525.4 ms per run), +4.90 % to +5.31 %; limit +2 %" */
void gate_say_change(const struct gate_check *check, struct sentence *sentence);
/* Why the check is inconclusive; nothing for the others. */
void gate_say_doubt(const struct gate_report *report, const struct gate_check *check,
		    struct sentence *sentence);
/* "record about 3 more runs a side"; nothing if it is not known. */
void gate_say_need(const struct gate_report *report, struct sentence *sentence);
/* "10 runs a side, in pairs, 98 % confidence" */
void gate_say_basis(const struct gate_report *report, struct sentence *sentence);
/* "+5.12 %", "+300 us", "+2": a value in the unit of the check's limit. */
struct number gate_format_change(const struct gate_check *check, double value);
struct number gate_format_limit(const struct gate_limit *limit);
/* The amount on a side: a duration or a count. */
struct number gate_format_amount(const struct gate_check *check, double value);
/* A reason of a regression, see diff_say_reason; false: there is none of this number. */
bool gate_say_reason(const struct gate_report *report, size_t number, struct sentence *sentence);
enum { GATE_REASONS = 3 };
/* A copy to be freed: malformed bytes become U+FFFD, control characters except newline and tab `?`.
 * NULL: no memory. */
char *gate_safe_text(const char *text);
