/* SPDX-License-Identifier: MIT
 *
 * report/verdict/cause.h - sentences about causes of idle time, threads and places
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/text/name_pattern.h"
#include "analyze/verdict/verdict.h"

struct json_writer;
struct report;
struct sentence;

/* "the main thread computed in reload_metadata (train.py:51)" */
void say_cause(const struct report *report, const struct verdict_cause *cause,
	       struct sentence *sentence);

/* The name of a thread by its id; "": not known. */
const char *thread_name(const struct report *report, uint32_t id);
/* The name of a group, or the pattern of its names; "" if they have none. */
void group_name(const char *name, const struct verdict_group *group,
		char ret_name[NAME_PATTERN_BYTES]);
void say_one_thread(const struct report *report, struct sentence *sentence, uint32_t id);
/* "the main thread", "one of 1000 threads (worker-*)" */
void say_thread(const struct report *report, struct sentence *sentence, uint32_t id,
		const struct verdict_group *threads);
/* Appends " WORD FUNCTION (FILE:LINE)"; nothing if the place is not known. */
void say_in(struct sentence *sentence, const char *word, const struct verdict_place *place);
/* The keys "function", "file" and "line"; none if the place is not known. */
void report_write_place(const struct verdict_place *place, struct json_writer *json);
/* " for rank 1 of 2", " for other ranks", " for other ranks, 60 % of that time for rank 1 of 2".
 * False: the late rank is not known. */
bool say_late_rank(const struct report *report, struct sentence *sentence,
		   const struct verdict_cause *cause);
/* The process of the launching threads: "rank 2 of 4", "process 71", "several processes". Nothing
 * if it is not known. */
void say_waiting_process(const struct report *report, struct sentence *sentence,
			 const struct verdict_cause *cause);
/* "device 1 (gfx90a)"; device: its index + 1. */
void say_device(const struct report *report, struct sentence *sentence, uint32_t device);
/* The object of a wait or who ran: "ld (process 12)", "ld (97 processes)" */
void say_what(const struct verdict_cause *cause, struct sentence *sentence);
