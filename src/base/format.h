/* SPDX-License-Identifier: MIT
 *
 * base/format.h - format numbers, dates and names for people
 */
#pragma once

#include <stdint.h>

struct number {
	char text[32];
};

struct shown {
	char text[1024];
};

/* Makes a text from a trace or a path safe for a terminal: string_make_printable. */
struct shown format_text(const char *text);

/* "11 (SIGSEGV)" */
struct number format_signal(int number);

/* "2026-11-21 17:05:09 +0100", in this machine's time zone. */
struct number format_realtime(uint64_t realtime_ns);

/* "12.34 ms", "1.5 KiB", "12.3 %" ("-" if the total is 0), "1234". */
struct number format_duration(uint64_t ns);
struct number format_size(double bytes);
struct number format_percent(uint64_t part, uint64_t whole);
struct number format_count(uint64_t value);

/* `one` if value is 1, otherwise `many`. */
const char *format_noun(uint64_t value, const char *one, const char *many);
