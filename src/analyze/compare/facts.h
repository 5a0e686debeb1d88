/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/facts.h - the conditions of a recording, which must be equal for a fair
 * comparison
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct analysis;
struct arena;

struct side_fact {
	const char *name;  /* "command", "driver of device 0", … */
	const char *value; /* "": not known */
};

/* A measured condition, such as a clock rate. */
struct side_reading {
	const char *name, *unit;
	double mean;
};

/* Texts and lists live in the arena of the side. */
struct side_facts {
	struct side_fact *texts;
	size_t texts_count;
	struct side_reading *readings; /* clocks, temperature, throttling, load */
	size_t readings_count;
	uint64_t started_realtime_ns; /* 0: not known */
	uint64_t begin_ns;            /* host time of the start */
	const char *boot_id, *command, *host;
	const char *content; /* identity of the recording: equal for the same file */
	uint64_t expected, matched, contradictions;
	bool is_damaged;  /* cut off or damaged */
	bool is_complete; /* matched share at least 95 %, neither damaged nor contradicted */
};

/* -ENOMEM. */
int facts_collect(const struct analysis *analysis, struct arena *arena,
		  struct side_facts *ret_facts);
