/* SPDX-License-Identifier: MIT
 *
 * report/diff/diff.h - interface between the parts that print a comparison
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/compare/comparison.h"
#include "base/format.h"

struct json_writer;
struct sentence;

struct diff_report {
	const struct comparison *comparison;
	enum compare_table by; /* COMPARE_TABLES: the account */
	const char *range;     /* --range; NULL: the whole runs */
	uint64_t top;          /* rows of each table; 0: all */
	size_t columns;        /* width of the text; 0: 100 */
	bool is_forced;        /* print numbers although the comparison was refused */
};

/* stdout. Errors: -ENOMEM. */
int diff_print_text(const struct diff_report *report);
int diff_print_json(const struct diff_report *report);
/* The same document. */
void diff_write_json(const struct diff_report *report, struct json_writer *json);

/* ---- shared ---- */

/* "+12.34 ms", "-3 ns", "0 ns" */
struct number diff_signed_duration(int64_t ns);
/* "+3.0 %"; "-" if the base is 0 */
struct number diff_signed_percent(double change, double base);
/* " per run", " per iteration" or "" */
const char *diff_per_unit(const struct comparison *comparison);
/* The verdict: "NEW is 6.3 % slower than BASE: …". */
void diff_say_verdict(const struct diff_report *report, struct sentence *sentence);
/* A reason: "kernel gemm, +400 ms: each 3.0 % slower (…). Proved." */
void diff_say_reason(const struct diff_report *report, const struct comparison_row *row,
		     struct sentence *sentence);
/* "each +3.0 %, launched 100 -> 120 times": the reason of a row's change and its match. */
void diff_say_how(const struct diff_report *report, const struct comparison_row *row,
		  struct sentence *sentence);
/* Whether the row is part of the busy or the idle time. */
bool diff_is_idle(const struct diff_report *report, const struct comparison_row *row);
/* Keys of a row, in an object that is open. */
void diff_write_row(const struct comparison_row *row, enum compare_table table,
		    struct json_writer *json);
void diff_write_noise(const char *key, const struct compare_noise *noise, struct json_writer *json);
/* The keys verdict and reasons; a total; the key devices. */
void diff_write_verdict(const struct diff_report *report, struct json_writer *json);
void diff_write_total(const char *key, const struct comparison_total *total,
		      struct json_writer *json);
void diff_write_devices(const struct comparison *comparison, struct json_writer *json);
/* Keys base, new, paired, same, comparable and notes. */
void diff_write_sides(const struct comparison *comparison, struct json_writer *json);
enum { DIFF_REASONS = 3 };
