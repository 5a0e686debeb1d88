/* SPDX-License-Identifier: MIT
 *
 * collect/counter/counter_choice.h - the user's choice of metrics, their rates, and instances
 *
 * Part of a collector's own options, so all bytes 0 is: no choice, which reads everything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source;
struct source_list;

enum { PATTERN_BYTES = 384 };

/* Texts, each with its NUL, one behind the other; an empty text ends the list. */
struct name_patterns {
	char texts[PATTERN_BYTES];
};

struct counter_choice {
	struct name_patterns metrics; /* GLOB or GLOB@HZ */
	struct name_patterns disks, interfaces, processes;
};

/* The first text, or the one behind `after`. NULL: no more. */
const char *name_patterns_next(const struct name_patterns *patterns, const char *after);
bool name_patterns_is_empty(const struct name_patterns *patterns);
/* Whether a pattern matches. An empty list matches all names. */
bool name_patterns_match(const struct name_patterns *patterns, const char *name);
/* Whether the text has one of the special characters of glob(7). */
bool name_pattern_is_glob(const char *pattern);

/* Reads an option "NAME=PATTERN" into a list. Errors: -ENOENT: it is another option; -EINVAL with
 * the error chain. */
int name_patterns_read(const char *option, const char *name, struct name_patterns *patterns);

/* Reads an option "metric=GLOB" or "metric=GLOB@HZ". The pattern must match a metric of the
 * sources, and HZ must be 1 to max_hz. Errors: as above. */
int counter_choice_read_metric(const char *option, const char *collector,
			       const struct source_list *sources, uint32_t max_hz,
			       struct name_patterns *metrics);

/* Bits of the source's metrics that are not chosen. */
uint64_t counter_choice_left_out(const struct counter_choice *choice, const struct source *source);
/* Whether a metric of the source is chosen by its whole name. */
bool counter_choice_names(const struct counter_choice *choice, const struct source *source);
/* The rate of a source whose collector reads `hz` times per second: the highest of its chosen
 * metrics. */
uint32_t counter_choice_hz(const struct counter_choice *choice, const struct source *source,
			   uint32_t hz);

/* Refuses a whole name (no glob) that is not among the existing names. kind: "disk"; topic: the one
 * that `duet list` has for it. Errors: -EINVAL with the error chain. */
int name_patterns_check(const struct name_patterns *patterns, const char *kind, const char *topic,
			const char *const *names, size_t count);
